//go:build amd64 || arm64

package boundary_test

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
	"github.com/lathe-dev/lathe/internal/permission"
)

// newBorrower is newInner for a shell with copies of git's configurations.
func newBorrower(t *testing.T, b *boundary.Boundary, dir string) *inner {
	t.Helper()
	c, err := b.For([]string{dir}, boundary.Network{})
	if err != nil {
		t.Fatal(err)
	}
	if !c.LendConfig() {
		t.Fatal("no configuration is lent")
	}
	r := sandbox.New()
	t.Cleanup(r.Close)
	p, err := r.StartPiped(t.Context(), sandbox.Spec{Argv: []string{"bash"}, Dir: dir, Env: sandbox.Overlay(os.Environ(),
		c.Environ()), Confine: c.Confinement})
	if err != nil {
		t.Fatal(err)
	}
	return &inner{p, bufio.NewReader(p.Out), c}
}

func TestChangesOfAConfigurationAtTheSameTimeAreJoined(t *testing.T) {
	for _, settings := range []string{"", `{"enabled": true}`} {
		p := newPlace(t)
		b := p.open(t, settings)
		if b.Support().Carrier != "" {
			t.Skip("with bubblewrap no configuration is lent")
		}
		gitIn(t, p.dir, "init", "-q")
		gitIn(t, p.dir, "remote", "add", "origin", "https://example.com/x")
		one, two := newBorrower(t, b, p.dir), newBorrower(t, b, p.dir)
		if got := one.do(t, "git config branch.one.remote origin && git config core.hooksPath x && git config --unset "+
			"core.hooksPath") + two.do(t, "git config branch.two.remote origin"); got != "" {
			t.Fatal(got)
		}
		if got := gitIn(t, p.dir, "config", "--list", "--local"); strings.Contains(got, "branch") {
			t.Errorf("a command that runs changed the file: %s", got)
		}
		gitIn(t, p.dir, "config", "user.name", "outside") // drops the links inside
		if !await.Until(func() bool {
			return one.do(t, "git config branch.late.remote origin && git config branch.late.remote") == "origin"
		}) {
			t.Error("the configuration cannot be written after it was replaced outside")
		}
		if notes := one.end() + two.end(); notes != "" {
			t.Errorf("notes: %s", notes)
		}
		got := gitIn(t, p.dir, "config", "--list", "--local")
		for _, want := range []string{
			"branch.one.remote=origin\n", "branch.two.remote=origin\n",
			"branch.late.remote=origin\n", "user.name=outside\n",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%q: no %s: %s", settings, want, got)
			}
		}
	}
}

func TestAChangeThatCannotBeJoinedIsReported(t *testing.T) {
	p := newPlace(t)
	b := p.open(t, "")
	if b.Support().Carrier != "" {
		t.Skip("with bubblewrap no configuration is lent")
	}
	gitIn(t, p.dir, "init", "-q")
	config := filepath.Join(p.dir, ".git", "config")
	for name, tt := range map[string]struct{ inside, later, want string }{
		"the same section":       {"git config user.name inside", "true", "changed the same section"},
		"git's lock stays":       {"git config user.email a@example.com", "touch .git/config.lock", "config.lock"},
		"a key names a program":  {"git config core.pager ./evil", "true", "core.pager"},
		"a link in its place":    {`d=$(readlink .git/config); rm $d; ln -s /etc/passwd $d`, "true", "not kept"},
		"a pipe in its place":    {`d=$(readlink .git/config); rm $d; mkfifo $d`, "true", "not kept"},
		"an address of a helper": {"git config remote.x.url ext::./evil", "true", "remote.url"},
	} {
		i := newBorrower(t, b, p.dir)
		i.do(t, tt.inside)
		gitIn(t, p.dir, "config", "user.name", name)
		i.do(t, tt.later)
		before, err := os.ReadFile(config)
		if err != nil {
			t.Fatal(err)
		}
		notes := i.end()
		if now, err := os.ReadFile(config); err != nil || string(now) != string(before) || !strings.Contains(notes, tt.want) {
			t.Errorf("%s: %v, notes %q, now %s", name, err, notes, now)
		}
		_ = os.Remove(config + ".lock")
	}
}

func TestAConfigurationThatTheUserKeepsReadOnlyIsNotLent(t *testing.T) {
	p := newPlace(t)
	gitIn(t, p.dir, "init", "-q")
	r, err := p.open(t, `{"filesystem": {"denyWrite": [".git/config"]}}`).For([]string{p.dir}, boundary.Network{})
	if err != nil {
		t.Fatal(err)
	}
	r.LendConfig()
	if len(r.Policy.Copies) > 0 {
		t.Errorf("%v", r.Policy.Copies)
	}
	if r.Support = (confine.Support{Tier: confine.Landlock}); r.LendConfig() {
		t.Error("a weaker tier lends")
	}
	r.Done()
}

// Work trees are made beside the project only: not where keys are, and not where something is.
func TestOnlyNewPlacesBesideTheProjectBecomeWorkTrees(t *testing.T) {
	p := newPlace(t)
	gitIn(t, p.dir, "init", "-q", "-b", "main")
	gitIn(t, p.dir, "commit", "-q", "--allow-empty", "-m", "one")
	write(t, p.home+"/.ssh/id", "key")
	write(t, p.home+"/full/x", "x")
	gitIn(t, p.dir, "worktree", "add", "-q", p.home+"/mine")
	gitIn(t, p.home, "init", "-q", "other")
	beside := filepath.Dir(p.dir) + "/a/b"
	paths := []string{p.home + "/.ssh/tree", p.home + "/full", p.home, p.dir + "/inner", beside}
	l := boundary.Linked{Made: paths, Named: []string{p.home + "/mine/sub", p.home + "/mine", p.home + "/other", p.home +
		"/full"}}
	for settings, want := range map[string]string{"": beside + " " + p.home + "/mine", `{"enabled": true}`: ""} {
		r, err := p.open(t, settings).ForLine([]string{p.dir}, nil, l, permission.ReachWrite, boundary.Network{},
			func(path string) string { return path })
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, dir := range r.Policy.Write {
			if filepath.Dir(dir) != p.cache+"/sandbox" && !strings.HasPrefix(dir, p.dir) {
				got = append(got, dir)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: commands write %q, want %q", settings, got, want)
		}
		if notes := r.Done(); len(notes) > 0 {
			t.Errorf("%q", notes)
		}
		if _, err := os.Lstat(filepath.Dir(beside)); err == nil {
			t.Error("a folder stays that no work tree was made in")
		}
	}
}
