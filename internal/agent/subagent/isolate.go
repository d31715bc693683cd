package subagent

import (
	"context"
	"encoding/json"
	"os"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/worktree"
)

// worktree is the folder of the agent's own copy of the project; empty: it has none.
func (t *task) worktree() string {
	if !t.kind.Isolated || t.owner.Trees == nil {
		return ""
	}
	return worktree.Path(t.owner.Tree.Moved(t.owner.Dir), t.id)
}

// isolate makes the copy of the project for an isolated agent. The log names it before it is made.
func (t *task) isolate(ctx context.Context) (*worktree.Tree, error) {
	if !t.kind.Isolated {
		return nil, nil
	}
	if !t.request.Git {
		if tree, ok, err := t.owner.Trees.OpenHooked(ctx, t.owner.Dir, t.owner.Tree, "agent-"+t.id, t.owner.Hooks); ok {
			return tree, err
		}
	}
	return t.owner.Trees.OpenAt(ctx, t.owner.Dir, t.owner.Tree, t.id, t.request.Base)
}

// mostSetUp bounds the output of a set-up command that failed, in bytes.
const mostSetUp = 2_000

// setUp runs the set-up command of a new copy. It returns a note for the agent if that fails or is refused.
func setUp(ctx context.Context, tree *worktree.Tree, c Conversation) string {
	if tree == nil || tree.Command() == "" {
		return ""
	}
	input, err := json.Marshal(map[string]any{
		"command": tree.Command(), "description": "Set up the worktree",
		"timeout": 600_000,
	})
	if err != nil {
		return ""
	}
	note := ""
	for _, r := range c.Invoke(ctx, []llm.ToolCall{{ID: "setup-" + c.ID(), Name: "Bash", Input: input}}) {
		if r.IsError {
			text := llm.Message{Parts: r.Parts}.PlainText()
			note = "\n\n[The set-up command of this worktree failed: " + strings.ToValidUTF8(text[:min(len(text), mostSetUp)],
				"") + "]"
		}
	}
	// Also after an interrupt: the files that an unfinished set-up made are no work of the agent.
	if err := tree.Begun(context.WithoutCancel(ctx)); err != nil {
		note += "\n\n[The state of the worktree is unknown: " + err.Error() + "]"
	}
	return note
}

// leave removes the agent's copy if it is unchanged, else names it in the answer.
func (o *Outcome) leave(tree *worktree.Tree) {
	if tree == nil {
		return
	}
	if text := tree.Leave(context.Background()); text != "" {
		o.Answer = strings.TrimSpace(o.Answer + "\n\n" + text)
	}
}

// kept names the copy that the agent left, for a list.
func (r Record) kept() string {
	if r.Worktree == "" {
		return ""
	}
	if _, err := os.Lstat(r.Worktree); err != nil {
		return ""
	}
	return ", its work is in " + r.Worktree
}
