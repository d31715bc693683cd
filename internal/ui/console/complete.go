package console

import (
	"context"
	"fmt"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/ui/command"
)

// defaultLimit is the number of completions when the query sets none.
const defaultLimit = 50

// Complete lists completions, best first.
func (c *Console) Complete(ctx context.Context, q event.Query) ([]event.Candidate, error) {
	return c.complete(ctx, q), nil
}

func (c *Console) complete(ctx context.Context, q event.Query) []event.Candidate {
	limit := q.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	switch q.Kind {
	case event.QueryCommand:
		return command.Complete(q.Text, append(command.Skills(c.inst), c.prompted()...), c.used.score, q.Limit)
	case event.QueryArgument:
		out := c.arguments(ctx, q)
		return out[:min(limit, len(out))]
	case event.QueryHistory:
		return c.prompts.search(q.Text, q.Limit)
	case event.QueryAttach:
		return c.attached(q.Text)
	case event.QueryFile:
		found := c.inst.Servers().CompleteResource(ctx, q.Text, limit)
		if room := limit - len(found); room > 0 {
			found = append(found, c.files(ctx, q.Text, room)...)
		}
		return found
	}
	return nil
}

// arguments completes the argument of a command or of a server's prompt.
func (c *Console) arguments(ctx context.Context, q event.Query) []event.Candidate {
	if cmd, ok := command.Find(q.Name); ok && cmd.Complete != nil {
		return cmd.Complete(ctx, c.host(), q.Text)
	}
	if p, ok := c.inst.Servers().FindPrompt(q.Name); ok {
		return p.Complete(ctx, q.Text)
	}
	return nil
}

// files finds files below the working folders. A search that fails or is cancelled returns nothing.
func (c *Console) files(ctx context.Context, text string, limit int) []event.Candidate {
	c.mu.Lock()
	index := c.index
	c.mu.Unlock()
	found, err := index.Search(ctx, text, limit)
	if err != nil {
		return nil
	}
	out := make([]event.Candidate, len(found))
	for i, f := range found {
		out[i] = event.Candidate{Text: f.Path, Marks: f.Marks}
	}
	return out
}

// attached lists the files that a prompt would attach.
func (c *Console) attached(text string) []event.Candidate {
	var out []event.Candidate
	for _, m := range c.session().Mentioned(text) {
		help := "folder"
		if !m.Folder {
			help = "~" + tokens(m.Tokens)
		}
		out = append(out, event.Candidate{Text: m.Name, Help: help})
	}
	return out
}

func tokens(n int) string {
	if n < 1000 {
		return fmt.Sprintf("%d tokens", n)
	}
	return fmt.Sprintf("%.1fk tokens", float64(n)/1000)
}
