package console

import (
	"context"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// fileCommand turns a skill or command from a file into a prompt. The prompt is the typed text; the session adds the
// text of the skill.
func (c *Console) fileCommand(ctx context.Context, name, args string) (event.Output, error) {
	s, ok := c.inst.Extensions().Skills.Catalog().Get(name)
	switch {
	case !ok:
		if out, ok, err := c.processCommand(ctx, name, args); ok || err != nil {
			return out, err
		}
		return c.serverPrompt(ctx, name, args)
	case s.HiddenFromUser:
		return event.Output{}, fmt.Errorf("/%s is for the model only (user-invocable: false)", s.Name)
	}
	c.used.note(s.Name)
	m := llm.UserText("/" + strings.TrimSpace(name+" "+args))
	return event.Output{Prompt: &m}, nil
}
