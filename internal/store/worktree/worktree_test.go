package worktree_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/store/worktree"
)

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // a file of a test
		t.Fatal(err)
	}
}

func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=x", "-c", "user.email=x@example.com"},
		args...)...)
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// project makes a folder, and a repository with one commit of it where git is true.
func project(t *testing.T, git bool, set config.Worktree) (m *worktree.Maker, dir string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(top, "p")
	put(t, dir, "a.txt", "one\n")
	put(t, dir, ".gitignore", "*.env\nbuild/\n")
	put(t, dir, "my.env", "SECRET=1\n")
	put(t, dir, "build/out", "old\n")
	if git {
		if _, err := exec.LookPath("git"); err != nil {
			t.Skip("git is not installed")
		}
		gitIn(t, dir, "init", "-q", "-b", "main")
		gitIn(t, dir, "add", "a.txt", ".gitignore")
		gitIn(t, dir, "commit", "-qm", "one")
	}
	runner := sandbox.New()
	t.Cleanup(runner.Close)
	return worktree.New(runner, func() config.Worktree { return set }), dir
}

func open(t *testing.T, m *worktree.Maker, dir, id string) *worktree.Tree {
	t.Helper()
	tree, err := m.Open(t.Context(), dir, nil, id)
	if err != nil {
		t.Fatal(err)
	}
	if tree.Path != worktree.Path(dir, id) {
		t.Errorf("it is at %s, not at %s", tree.Path, worktree.Path(dir, id))
	}
	return tree
}

func gone(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("%s is there: %v", path, err)
	}
}

func TestAnUnchangedWorktreeIsRemovedWithItsBranch(t *testing.T) {
	m, dir := project(t, true, config.Worktree{Copy: []string{"*.env"}, SetUp: "make"})
	tree := open(t, m, dir, "one")
	if text, err := os.ReadFile(filepath.Join(tree.Path, "my.env")); err != nil || string(text) != "SECRET=1\n" {
		t.Errorf("the ignored file was not copied: %q %v", text, err)
	}
	gone(t, filepath.Join(tree.Path, "build"))
	if tree.Command() != "make" {
		t.Errorf("the set-up command is %q", tree.Command())
	}
	put(t, tree.Path, "build/made", "by the set-up")
	if err := tree.Begun(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text := tree.Leave(t.Context()); text != "" {
		t.Errorf("%q", text)
	}
	gone(t, tree.Path)
	gone(t, filepath.Dir(tree.Path))
	if out := gitIn(t, dir, "branch"); strings.Contains(out, "agent-") {
		t.Errorf("%s", out)
	}
}

func TestAChangedWorktreeIsKeptAndNamed(t *testing.T) {
	m, dir := project(t, true, config.Worktree{BranchPrefix: "work/"})
	for id, change := range map[string]func(path string){
		"edited":  func(path string) { put(t, path, "a.txt", "two\n") },
		"added":   func(path string) { put(t, path, "new.txt", "new\n") },
		"ignored": func(path string) { put(t, path, "my.env", "OTHER=1\n") },
		"commits": func(path string) {
			put(t, path, "a.txt", "two\n")
			gitIn(t, path, "commit", "-qam", "two")
		},
	} {
		t.Run(id, func(t *testing.T) {
			tree := open(t, m, dir, id)
			if tree.Branch() != "work/"+id {
				t.Errorf("the branch is %s", tree.Branch())
			}
			change(tree.Path)
			text := tree.Leave(t.Context())
			for _, want := range []string{tree.Path, "work/" + id, "git merge", "git worktree remove"} {
				if !strings.Contains(text, want) {
					t.Errorf("%q does not name %s", text, want)
				}
			}
			again := open(t, m, dir, id) // as an agent that is resumed does
			if again.Command() != "" {
				t.Error("it would be set up twice")
			}
			if err := again.Remove(t.Context()); err != nil {
				t.Fatal(err)
			}
			gone(t, tree.Path)
		})
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(text) != "one\n" {
		t.Errorf("the project changed: %q %v", text, err)
	}
}

func TestAPatchHasNewFilesAndNoIgnoredOnes(t *testing.T) {
	m, dir := project(t, true, config.Worktree{})
	tree := open(t, m, dir, "one")
	put(t, tree.Path, "a.txt", "two\n")
	put(t, tree.Path, "new.txt", "new\n")
	put(t, tree.Path, "my.env", "X=1\n")
	patch, err := tree.Patch(t.Context())
	if text := string(patch); err != nil || !strings.Contains(text, "+two") || !strings.Contains(text, "+++ b/new.txt") ||
		strings.Contains(text, "my.env") {
		t.Errorf("%s %v", text, err)
	}
	if cut := tree.Diff(t.Context(), 20); !strings.HasSuffix(cut, "\n[more]") || len(cut) > 30 {
		t.Errorf("%q", cut)
	}
}

func TestWithoutARepositoryTheFolderIsCopied(t *testing.T) {
	m, dir := project(t, false, config.Worktree{})
	tree := open(t, m, dir, "one")
	if text, err := os.ReadFile(filepath.Join(tree.Path, "build", "out")); err != nil || string(text) != "old\n" ||
		tree.Branch() != "" {
		t.Errorf("%q %v, branch %q", text, err, tree.Branch())
	}
	if text := tree.Leave(t.Context()); text != "" {
		t.Errorf("%q", text)
	}
	gone(t, tree.Path)

	tree = open(t, m, dir, "two")
	put(t, tree.Path, "a.txt", "two\n")
	if text := tree.Leave(t.Context()); !strings.Contains(text, tree.Path) || !strings.Contains(text, "a.txt") {
		t.Errorf("%q", text)
	}
	if text, err := os.ReadFile(filepath.Join(tree.Path, "a.txt")); err != nil || string(text) != "two\n" {
		t.Errorf("%q %v", text, err)
	}
}

func TestNamesThatLeaveTheFolderMakeNoWorktree(t *testing.T) {
	for _, tc := range []struct{ id, prefix, base string }{
		{id: "../x"},
		{id: ""},
		{id: "a", prefix: "-x"},
		{id: "a", prefix: "x//"},
		{id: "a", base: "nothing"},
		{id: "a", base: "--help"},
	} {
		m, dir := project(t, true, config.Worktree{BranchPrefix: tc.prefix, Base: tc.base})
		if tree, err := m.Open(t.Context(), dir, nil, tc.id); err == nil {
			t.Errorf("%+v makes %s", tc, tree.Path)
		}
		if out := gitIn(t, dir, "worktree", "list"); strings.Count(out, "\n") != 1 {
			t.Errorf("%+v leaves %s", tc, out)
		}
	}
}
