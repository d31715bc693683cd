package subagent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent/subagent"
)

// After a kill the next start names the work of an isolated agent, if its copy was made.
func TestAStartNamesTheWorktreeOfAnAgentThatWasAtWork(t *testing.T) {
	b := newBench(t)
	dir := t.TempDir()
	tree := filepath.Join(dir, "agent-1")
	if err := os.Mkdir(tree, 0o700); err != nil {
		t.Fatal(err)
	}
	note := b.Restore([]subagent.Record{
		{ID: "1", Kind: "Plan", Worktree: tree},
		{ID: "2", Kind: "Plan", Worktree: filepath.Join(dir, "agent-2")},
	})
	if !strings.Contains(note, "its work is in "+tree) || strings.Contains(note, "agent-2") {
		t.Errorf("%q", note)
	}
}
