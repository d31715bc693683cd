package console

import (
	"context"

	"github.com/lathe-dev/lathe/internal/command"
	"github.com/lathe-dev/lathe/internal/event"
)

// defaultLimit is how many completions are listed where nobody says.
const defaultLimit = 50

// Complete lists completions, best first.
func (c *Console) Complete(ctx context.Context, q event.Query) []event.Candidate {
	limit := q.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	switch q.Kind {
	case event.QueryCommand:
		return command.Complete(q.Text, c.used.score, q.Limit)
	case event.QueryArgument:
		cmd, ok := command.Find(q.Name)
		if !ok || cmd.Complete == nil {
			return nil
		}
		out := cmd.Complete(ctx, host{c}, q.Text)
		return out[:min(limit, len(out))]
	case event.QueryHistory:
		return c.past.search(q.Text, q.Limit)
	case event.QueryFile:
		if c.opts.Files == nil {
			return nil
		}
		out, err := c.opts.Files.Search(ctx, q.Text, limit)
		if err != nil {
			return nil // a completion that fails offers nothing
		}
		return out
	}
	return nil
}
