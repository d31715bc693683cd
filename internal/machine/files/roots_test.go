package files

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestPathsResolveToWhatTheyMean(t *testing.T) {
	dir, outside := realTemp(t), realTemp(t)
	write(t, filepath.Join(dir, "a.txt"), "")
	write(t, filepath.Join(outside, "secret"), "")
	t.Setenv("HOME", outside)
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skipf("no links here: %v", err)
		}
	}
	link("a.txt", "in")
	link(filepath.Join(outside, "secret"), "out")
	link(outside, "outdir")
	link(filepath.Join(outside, "missing"), "dangling")
	link("loop2", "loop1")
	link("loop1", "loop2")
	link("missing/../../x", "climbing")
	r := newRoots(t, dir)
	for _, c := range []struct {
		path, real     string
		inside, exists bool
	}{
		{"a.txt", dir + "/a.txt", true, true},
		{"./x/../a.txt", dir + "/a.txt", true, true},
		{"in", dir + "/a.txt", true, true},
		{"out", outside + "/secret", false, true},
		{"outdir/secret", outside + "/secret", false, true},
		{"outdir/new/file", outside + "/new/file", false, false},
		{"outdir/../a.txt", dir + "/a.txt", true, true}, // cleaned before links are followed
		{"dangling", outside + "/missing", false, false},
		{"new/deep/file", dir + "/new/deep/file", true, false},
		{"../" + filepath.Base(dir) + "x", filepath.Dir(dir) + "/" + filepath.Base(dir) + "x", false, false},
		{"~/secret", outside + "/secret", false, true},
		{dir, dir, true, true},
	} {
		p, err := r.Resolve(c.path, dir)
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		if p.Real != filepath.FromSlash(c.real) || p.Inside() != c.inside || p.Exists() != c.exists {
			t.Errorf("%s: real %s inside %v exists %v, want %+v", c.path, p.Real, p.Inside(), p.Exists(), c)
		}
	}
	for _, bad := range []string{"", "a\x00b", "loop1", "climbing"} {
		if p, err := r.Resolve(bad, dir); err == nil {
			t.Errorf("%q resolved to %s", bad, p.Real)
		}
	}
}

func TestAddedRootsCount(t *testing.T) {
	dir, more := realTemp(t), realTemp(t)
	write(t, filepath.Join(more, "f"), "")
	r := newRoots(t, dir)
	if err := r.Add(filepath.Join(more, "f"), false); err == nil || !strings.Contains(err.Error(), "it is a file") {
		t.Errorf("a file as root: %v", err)
	}
	if err := r.Add(filepath.Join(more, "missing"), false); err == nil {
		t.Error("a missing folder as root")
	}
	if err := r.Add(more, true); err != nil {
		t.Fatal(err)
	}
	p, err := r.Resolve(filepath.Join(more, "f"), dir)
	if err != nil || p.Root == nil || !p.Root.ReadOnly || p.Root.Path != more {
		t.Errorf("%+v, %v", p, err)
	}
	if err := r.Add(dir, true); err != nil || r.List()[0].ReadOnly {
		t.Errorf("the session's own folder became read-only (%v)", err)
	}
	if got := len(r.List()); got != 2 {
		t.Errorf("%d roots", got)
	}
}

func TestAFolderSwappedForALinkIsNoticed(t *testing.T) {
	dir, outside := realTemp(t), realTemp(t)
	write(t, filepath.Join(dir, "sub/a.txt"), "inside")
	write(t, filepath.Join(outside, "a.txt"), "outside")
	r := newRoots(t, dir)
	p, err := r.Resolve("sub/a.txt", dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "sub"), filepath.Join(dir, "moved")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "sub")); err != nil {
		t.Skip(err)
	}
	if target, err := r.Hold(p); err == nil {
		data, _, err := target.Read(100)
		t.Errorf("held %q, %v", data, err)
		_ = target.Close()
	}
}

func TestHeldFoldersStayTheSame(t *testing.T) {
	dir, outside := realTemp(t), realTemp(t)
	write(t, filepath.Join(dir, "sub/a.txt"), "inside")
	write(t, filepath.Join(outside, "a.txt"), "outside")
	r := newRoots(t, dir)
	target := hold(t, r, dir, "sub/a.txt")
	if err := os.Rename(filepath.Join(dir, "sub"), filepath.Join(dir, "moved")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "sub")); err != nil {
		t.Skip(err)
	}
	data, info, err := target.Read(100)
	if err != nil || string(data) != "inside" {
		t.Fatalf("read %q, %v", data, err)
	}
	if _, err := target.Replace([]byte("new"), info); !errors.Is(err, ErrMoved) {
		t.Errorf("writing after the folder was moved: %v", err)
	}
	if got, _ := os.ReadFile(filepath.Join(outside, "a.txt")); string(got) != "outside" {
		t.Errorf("the file outside is %q", got)
	}
}

func hold(t testing.TB, r *Roots, dir, path string) *Target {
	t.Helper()
	p, err := r.Resolve(path, dir)
	if err != nil {
		t.Fatal(err)
	}
	target, err := r.Hold(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = target.Close() })
	return target
}

func TestNearNamesAreFound(t *testing.T) {
	dir := realTemp(t)
	for _, f := range []string{
		"src/config.go", "src/confg_test.go", "lib/parser.go", "lib/other/parser.go", "README.md",
		"node_modules/parser.go",
	} {
		write(t, filepath.Join(dir, f), "")
	}
	write(t, filepath.Join(dir, ".gitignore"), "node_modules\n")
	r := newRoots(t, dir)
	for missing, want := range map[string]string{
		"src/confg.go":     "src/config.go",
		"src/Config.go":    "src/config.go",
		"src/config.ts":    "src/config.go",
		"parser.go":        "lib/parser.go",
		"x/lib/parser.go":  "lib/parser.go",
		"other/parser.go":  "lib/other/parser.go",
		"docs/README.md":   "README.md",
		"readme":           "README.md",
		"src/zzzzzzz.html": "",
	} {
		p, err := r.Resolve(missing, dir)
		if err != nil {
			t.Fatal(err)
		}
		got := r.Near(t.Context(), p)
		if want == "" {
			if len(got) > 0 {
				t.Errorf("%s: %q", missing, got)
			}
			continue
		}
		if len(got) == 0 || got[0] != filepath.Join(dir, want) {
			t.Errorf("%s: %q, want %s first", missing, got, want)
		}
		if slices.Contains(got, filepath.Join(dir, "node_modules/parser.go")) {
			t.Errorf("%s: an ignored file is proposed", missing)
		}
	}
}

func TestAPinnedFileThatWasReplacedIsNotRead(t *testing.T) {
	dir := realTemp(t)
	path := filepath.Join(dir, "a.txt")
	for name, change := range map[string]func() error{
		"by another": func() error {
			write(t, filepath.Join(dir, "b.txt"), "other")
			return os.Rename(filepath.Join(dir, "b.txt"), path)
		},
		"by a link": func() error {
			return errors.Join(os.Remove(path), os.Symlink(filepath.Join(dir, "c.txt"), path))
		},
		"by nothing": func() error { return os.Remove(path) },
	} {
		_ = os.Remove(path)
		write(t, path, "mine")
		write(t, filepath.Join(dir, "c.txt"), "other")
		target := hold(t, newRoots(t, dir), dir, "a.txt")
		target.Pin()
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if data, _, err := target.Read(100); err == nil {
			t.Errorf("%s: read %q", name, data)
		}
	}
}

func TestAFolderThatWasReplacedIsNotListed(t *testing.T) {
	dir := realTemp(t)
	write(t, filepath.Join(dir, "sub/a.txt"), "mine")
	target := hold(t, newRoots(t, dir), dir, "sub")
	if list, err := target.ReadDir(); err != nil || len(list) != 1 {
		t.Fatalf("%v %v", list, err)
	}
	if err := os.Rename(filepath.Join(dir, "sub"), filepath.Join(dir, "moved")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "sub/b.txt"), "other")
	if list, err := target.ReadDir(); err == nil {
		t.Errorf("listed %v", list)
	}
}
