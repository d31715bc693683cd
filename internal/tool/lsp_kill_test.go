package tool_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/extend/lsp/lsptest"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/files/transact"
	"github.com/lathe-dev/lathe/internal/tool"
)

const (
	renameVar = "LATHE_TEST_RENAME" // the folder of the child that renames
	renamed   = 50
)

// TestRenameInAChild renames in the folder of another test, which kills it.
func TestRenameInAChild(t *testing.T) {
	base := os.Getenv(renameVar)
	if base == "" {
		t.Skip("it is the child of TestARenameOver50FilesIsAllOrNothingUnderAKill")
	}
	dir := filepath.Join(base, "project")
	env, err := tool.NewEnv(dir)
	if err != nil {
		t.Fatal(err)
	}
	env.Journals = filepath.Join(base, "journals")
	changes := in{}
	for i := range renamed {
		changes["file://"+filepath.Join(dir, fmt.Sprintf("f%02d.fk", i))] = []any{lsptest.Edit(0, 0, 3, "new")}
	}
	env.Language, _ = lsptest.Pool(t, in{"textDocument/rename": in{"changes": changes}})
	input, _ := json.Marshal(in{
		"operation": "rename", "file_path": filepath.Join(dir, "f00.fk"), "line": 1,
		"character": 1, "new_name": "new",
	})
	plan, err := toolOf(env, "LSP").Prepare(t.Context(), llm.ToolCall{ID: "c", Name: "LSP", Input: input})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plan.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// countNew counts the files that have the new text, and those that have another than the old one.
func countNew(t *testing.T, dir string) (changed, odd int) {
	t.Helper()
	for i := range renamed {
		data, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("f%02d.fk", i)))
		switch text := string(data); {
		case err != nil:
			odd++
		case strings.HasPrefix(text, "new = "):
			changed++
		case !strings.HasPrefix(text, "old = "):
			odd++
		}
	}
	return changed, odd
}

func TestARenameOver50FilesIsAllOrNothingUnderAKill(t *testing.T) {
	for _, after := range []int{1, 20, 45, renamed} {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			base, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(base, "project")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			for i := range renamed {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%02d.fk", i)),
					[]byte("old = "+strings.Repeat("x", 10_000)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			child := exec.Command(os.Args[0], "-test.run=^TestRenameInAChild$")
			child.Env = append(os.Environ(), renameVar+"="+base)
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- child.Wait() }()
			killed := killWhen(t, child, ended, func() bool { n, _ := countNew(t, dir); return n >= after })
			if _, err := transact.Recover(filepath.Join(base, "journals")); err != nil {
				t.Fatal(err)
			}
			if n, odd := countNew(t, dir); odd > 0 || n != 0 && n != renamed {
				t.Errorf("%d of %d files have the new name, %d are neither (killed: %v)", n, renamed, odd, killed)
			}
			if list, _ := filepath.Glob(filepath.Join(dir, ".lathe-tmp-*")); len(list) > 0 {
				t.Errorf("left: %v", list)
			}
		})
	}
}

// killWhen kills a child as soon as a state is reached; false: it ended before that.
func killWhen(t *testing.T, child *exec.Cmd, ended chan error, reached func() bool) bool {
	t.Helper()
	for {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("the child failed: %v", err)
			}
			return false
		default:
		}
		if reached() {
			_ = child.Process.Kill()
			return <-ended != nil // nil: it was done before the signal came
		}
	}
}
