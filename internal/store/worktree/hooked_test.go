package worktree_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/store/worktree"
)

// folders makes one folder and records those that are no longer used.
type folders struct {
	path    string
	made    string // the path that is made if it is not there
	removes bool
	gone    []string
}

func (f *folders) CreateWorktree(context.Context, string) (string, bool, error) {
	if f.made == f.path && f.path != "" {
		if err := os.MkdirAll(f.path, 0o755); err != nil {
			return "", true, err
		}
		if err := os.WriteFile(filepath.Join(f.path, "a"), []byte("a"), 0o644); err != nil {
			return "", true, err
		}
	}
	return f.path, f.path != "", nil
}

func (f *folders) WorktreeRemoved(_ context.Context, path string) bool {
	f.gone = append(f.gone, path)
	return f.removes
}

// hooked makes a project, and hooks that make a folder beside it.
func hooked(t *testing.T) (m *worktree.Maker, project string, h *folders) {
	t.Helper()
	runner := sandbox.New()
	t.Cleanup(runner.Close)
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project, made := filepath.Join(top, "p"), filepath.Join(top, "made")
	if err := os.Mkdir(project, 0o755); err != nil {
		t.Fatal(err)
	}
	return worktree.New(runner, func() config.Worktree { return config.Worktree{} }), project,
		&folders{path: made, made: made, removes: true}
}

func TestAnUnchangedFolderOfAHookGoesBackToTheHooks(t *testing.T) {
	m, project, h := hooked(t)
	if worktree.Born(project).IsZero() {
		t.Skip("this file system does not say when a folder was made")
	}
	tree, ok, err := m.OpenHooked(t.Context(), project, nil, "one", h)
	if err != nil || !ok || tree.Dir != h.path || tree.Moved(project) != h.path {
		t.Fatalf("got %+v, %v, %v", tree, ok, err)
	}
	if text := tree.Leave(t.Context()); text != "" || len(h.gone) != 1 || h.gone[0] != h.path {
		t.Errorf("got %q, removed %v", text, h.gone)
	}
	if _, err := os.Stat(h.path); err != nil {
		t.Errorf("lathe removed a folder that is the hooks': %v", err)
	}
	h.removes = false
	if text := tree.Leave(t.Context()); !strings.Contains(text, h.path) {
		t.Errorf("nobody removes it, and the answer does not name it: %q", text)
	}
}

func TestAChangedFolderOfAHookIsKeptAndNamed(t *testing.T) {
	m, project, h := hooked(t)
	tree, _, err := m.OpenHooked(t.Context(), project, nil, "one", h)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.path, "b"), []byte("b"), 0o644); err != nil {
		t.Fatal(err)
	}
	if text := tree.Leave(t.Context()); !strings.Contains(text, "new: b") || len(h.gone) != 0 {
		t.Errorf("got %q, removed %v", text, h.gone)
	}
}

func TestAHookCannotHandOutTheProjectItself(t *testing.T) {
	m, project, h := hooked(t)
	for _, path := range []string{
		project, filepath.Dir(project), filepath.Join(h.path, "a"),
		filepath.Join(h.path, "none"),
	} {
		h.path = path
		if _, ok, err := m.OpenHooked(t.Context(), project, nil, "one", h); !ok || err == nil {
			t.Errorf("%s: %v, %v", path, ok, err)
		}
	}
	h.path = ""
	if _, ok, err := m.OpenHooked(t.Context(), project, nil, "one", h); ok || err != nil {
		t.Errorf("without hooks: %v, %v", ok, err)
	}
}

// An agent that goes on, or a second run with the same name, finds earlier work there, which a hook would delete.
func TestAFolderThatWasThereBeforeIsNotGivenBack(t *testing.T) {
	m, project, h := hooked(t)
	tree, _, err := m.OpenHooked(t.Context(), project, nil, "one", h)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.path, "b"), []byte("b"), 0o644); err != nil {
		t.Fatal(err)
	}
	tree.Leave(t.Context())
	time.Sleep(50 * time.Millisecond) // more than a tick of the file system's clock
	again, _, err := m.OpenHooked(t.Context(), project, nil, "one", h)
	if err != nil {
		t.Fatal(err)
	}
	if text := again.Leave(t.Context()); !strings.Contains(text, "it was there before") || len(h.gone) != 0 {
		t.Errorf("got %q, removed %v", text, h.gone)
	}
}
