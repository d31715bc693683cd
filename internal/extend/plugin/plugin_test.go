package plugin_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/extend/plugin"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-C", dir}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Skipf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func store(t *testing.T) *plugin.Store {
	runner := sandbox.New()
	t.Cleanup(runner.Close)
	return plugin.Open(t.TempDir(), runner, os.Environ)
}

func TestARepositoryIsPinnedToItsCommitUntilAnUpdate(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{".claude-plugin/plugin.json": `{"name":"p"}`, "commands/a.md": "one\n"})
	git(t, dir, "init", "-q")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "x")
	first := git(t, dir, "rev-parse", "HEAD")
	s := store(t)
	c, err := s.Fetch(context.Background(), "file://"+dir, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Drop()
	if err := s.Install(c); err != nil || c.ID != "p@git" || c.Commit != first {
		t.Fatalf("%v %s %s", err, c.ID, c.Commit)
	}
	put(t, dir, map[string]string{"commands/a.md": "two\n"})
	git(t, dir, "commit", "-qam", "y")
	if text, _ := os.ReadFile(filepath.Join(c.Root, "commands", "a.md")); string(text) != "one\n" {
		t.Fatalf("the copy changed: %q", text)
	}
	next, err := s.Update(context.Background(), "p@git", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Drop()
	if next.Same || !strings.Contains(next.Diff, "-one\n+two") || next.Commit == first {
		t.Fatalf("%v %s", next.Same, next.Diff)
	}
}

func TestAddressesThatCouldRunProgramsAreRefused(t *testing.T) {
	for _, s := range []string{"ext::sh -c touch% x", "--upload-pack=x", "https://-x", "-a/b"} {
		if src, err := plugin.ParseSource(s, "/"); err == nil {
			t.Errorf("%q is taken as %v", s, src)
		}
	}
}

func TestPartsThatLeadOutOfAPluginAreLeftOut(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{
		"secret/x.md":                  "s",
		"p/.claude-plugin/plugin.json": `{"name":"p","agents":["./../secret","./in"],"hooks":"./../hooks.json"}`,
		"p/in/a.md":                    "a", "hooks.json": "{}",
	})
	if err := os.Symlink(filepath.Join(dir, "secret"), filepath.Join(dir, "p", "commands")); err != nil {
		t.Fatal(err)
	}
	p, err := plugin.Read(filepath.Join(dir, "p"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Agents(); len(got) != 1 || filepath.Base(got[0]) != "in" {
		t.Errorf("agents %v", got)
	}
	if got := p.Commands(); len(got) != 0 {
		t.Errorf("commands %v", got)
	}
	if got, notes := p.Hooks(); len(got) != 0 || len(notes) != 1 {
		t.Errorf("hooks %v, notes %v", got, notes)
	}
	s := store(t)
	if c, err := s.Fetch(context.Background(), filepath.Join(dir, "p"), "", nil); err == nil ||
		!strings.Contains(err.Error(), "leads out of the plugin") {
		t.Errorf("%v %v", c, err)
	}
}

func TestPluginsThatCannotBeReadNameTheNextMove(t *testing.T) {
	for want, files := range map[string]map[string]string{
		"is no plugin":                 {"README.md": "x"},
		"lathe plugin marketplace add": {".claude-plugin/marketplace.json": `{"name":"m","plugins":[]}`},
		"is not up to 64 letters":      {".claude-plugin/plugin.json": `{"name":"../x"}`},
		"cannot be read":               {".claude-plugin/plugin.json": `{"name":`},
	} {
		dir := t.TempDir()
		put(t, dir, files)
		if _, err := plugin.Read(dir, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
