//go:build amd64 || arm64

package tool_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
)

// What the sandbox kept from a line that ends with success is said in its result.
func TestALineThatEndsWithSuccessSaysWhatWasNotKept(t *testing.T) {
	if s := confine.Detect(); s.Tier != confine.Full {
		t.Skipf("this machine has no tier full: %s", s.Why)
	}
	env := everydayEnv(t, true)
	bash(t, env,
		`git init -q && git config user.email a@example.com && git config user.name A && git add -A && git commit -qm one`)
	private := fmt.Sprintf("/tmp/lathe-tree-%d", os.Getpid())
	bash(t, env, "echo "+private+" >private; echo ../hidden >hidden")
	for line, want := range map[string]string{
		`git worktree add -q -b t $(cat private) 2>&1 | tail -1; make`: "the work tree " + private +
			" is not on this machine",
		`git worktree add -q -b u $(cat hidden) 2>&1 | tail -1; make`:                 "refused a part of the command",
		`git config alias.x '!make' | cat; make`:                                      "was not kept: it sets alias",
		`touch .git/hooks/pre-commit 2>&1 | cat; echo 'Read-only file system: notes'`: "refused a part of the command",
		`echo 'notes: Read-only file system' | tee log`:                               "",
		`grep -r 'touch: /etc/x: Read-only file system' . ; true`:                     "",
	} {
		r := runBash(t, t.Context(), env, map[string]any{"command": line})
		text := textOf(r)
		if r.IsError || !strings.Contains(text, want) || want == "" && strings.Contains(text, "sandbox") {
			t.Errorf("%s: %s", line, text)
		}
	}
	if _, err := os.Lstat(private); err == nil {
		t.Error("the machine has the work tree")
	}
}
