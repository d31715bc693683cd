package plugin_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/extend/plugin"
)

// packed is a tar.gz. The size of an entry is that of its text, or the one that is claimed.
func packed(t *testing.T, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, h := range entries {
		text := h.Uname // which no one reads
		h.Uname, h.Mode = "", 0o644
		if h.Size == 0 {
			h.Size = int64(len(text))
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	_ = w.Flush() // fails where an entry is shorter than it claims
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// archived is the fetch of a plugin whose source is an archive, with the sum that the marketplace names; "" is the
// right one.
func archived(t *testing.T, s *plugin.Store, data []byte, sum string) (*plugin.Candidate, error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/p.tgz" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write(data)
	}))
	defer server.Close()
	if sum == "" {
		is := sha256.Sum256(data)
		sum = strings.ToUpper(hex.EncodeToString(is[:]))
	}
	dir := t.TempDir()
	put(t, dir, map[string]string{"marketplace.json": `{"name":"` + filepath.Base(dir) + `x","plugins":[
		{"name":"p","source":{"source":"archive","url":"` + server.URL + `/p.tgz","sha256":"` + strings.TrimSpace(sum) + `"}},
		{"name":"gone","source":{"source":"archive","url":"` + server.URL + `/x","sha256":"` + strings.TrimSpace(sum) +
		`"}}]}`})
	m, err := s.AddMarket(context.Background(), plugin.Source{Kind: "directory", Path: dir})
	if err != nil {
		t.Fatal(err)
	}
	if c, err := s.Fetch(context.Background(), "gone@"+m.Name, "", nil); err == nil || !strings.Contains(err.Error(),
		"404") {
		t.Errorf("an address without a file: %v, %v", c, err)
	}
	c, err := s.Fetch(context.Background(), "p@"+m.Name, "", nil)
	if err == nil {
		t.Cleanup(c.Drop)
	}
	return c, err
}

func TestAnArchiveIsTheOneThatTheMarketplaceNames(t *testing.T) {
	s := store(t)
	manifest := tar.Header{Name: "top/plugin.json", Uname: `{"name":"p"}`}
	link := tar.Header{Name: "top/link", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}
	c, err := archived(t, s, packed(t, manifest, link, tar.Header{Name: "top/commands/a.md", Uname: "hello"}), "")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(c.Root, "commands", "a.md")); err != nil || string(text) != "hello" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := os.Lstat(filepath.Join(c.Root, "link")); err == nil {
		t.Error("a link was unpacked")
	}
	for name, bad := range map[string]struct {
		data      []byte
		sum, want string
	}{
		"another sum": {packed(t, manifest), strings.Repeat("0", 64), "does not have the sha256"},
		"no sum":      {packed(t, manifest), " ", "does not have the sha256"},
		"no archive":  {[]byte("x"), "", "is no tar.gz"},
		"path": {
			packed(t, manifest, tar.Header{Name: "../../evil", Uname: "x"}), "",
			"a path leads out of it: ../../evil",
		},
		"root": {
			packed(t, manifest, tar.Header{Name: "/evil", Uname: "x"}), "",
			"a path leads out of it: /evil",
		},
		"too large": {packed(t, manifest, tar.Header{Name: "big", Size: 1 << 30}), "", "is too large"},
		"a size that no sum can hold": {
			packed(t, manifest, tar.Header{Name: "big", Size: math.MaxInt64}), "",
			"is too large",
		},
	} {
		if c, err := archived(t, s, bad.data, bad.sum); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
	c.Drop()
	if left, _ := filepath.Glob(filepath.Join(s.Dir(), "tmp", "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestACommitIsTheOneThatTheMarketplaceNames(t *testing.T) {
	ctx, s, repo, dir := context.Background(), store(t), t.TempDir(), t.TempDir()
	put(t, repo, map[string]string{"sub/plugin.json": `{"name":"p","version":"1"}`})
	git(t, repo, "init", "-q")
	git(t, repo, "add", "-A")
	git(t, repo, "commit", "-qm", "x")
	first := git(t, repo, "rev-parse", "HEAD")
	put(t, repo, map[string]string{"sub/plugin.json": `{"name":"p","version":"2"}`})
	git(t, repo, "commit", "-qam", "y")
	git(t, repo, "branch", "feed")
	at := func(source string) (*plugin.Candidate, error) {
		put(t, dir, map[string]string{"marketplace.json": `{"name":"corp","plugins":[{"name":"p","source":{"url":"file://` +
			repo + `",` + source + `}}]}`})
		if _, err := s.AddMarket(ctx, plugin.Source{Kind: "directory", Path: dir}); err != nil {
			t.Fatal(err)
		}
		c, err := s.Fetch(ctx, "p@corp", "", nil)
		if err == nil {
			t.Cleanup(c.Drop)
		}
		return c, err
	}
	if c, err := at(`"source":"git-subdir","path":"sub","sha":"` + first + `"`); err != nil || c.Version != "1" ||
		c.Commit != first {
		t.Errorf("pinned: %+v, %v", c, err)
	}
	if c, err := at(`"source":"git-subdir","path":"sub","ref":"feed"`); err != nil || c.Version != "2" {
		t.Errorf("by its branch: %+v, %v", c, err)
	}
	for source, want := range map[string]string{
		`"source":"url","sha":"feed"`:                       "instead of feed", // a branch is no pin
		`"source":"url","sha":"` + first[:39] + `z"`:        "cannot be fetched",
		`"source":"url","ref":"--upload-pack=touch x"`:      "is no commit, branch or tag",
		`"source":"url","sha":"--upload-pack=touch x"`:      "is no commit, branch or tag",
		`"source":"git-subdir","path":"../.."`:              "leads out",
		`"source":"git","url":"ext::sh -c touch% /tmp/x"`:   "is no address of a repository",
		`"source":"git-subdir","url":"--upload-pack=x/y:z"`: "is no address of a repository",
		`"source":"github","repo":"-a/b"`:                   "is no owner/repository",
		`"source":"github","repo":"a/b/../../c"`:            "is no owner/repository",
		`"source":"npm","package":"../x"`:                   "is no package of a registry",
		`"source":"npm","package":"x","version":"git+ssh"`:  "is no package of a registry",
		`"source":"svn"`: "is not known",
	} {
		if c, err := at(source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v", source, c, err)
		}
	}
}
