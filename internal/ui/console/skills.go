package console

import (
	"context"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/skill"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/ui/command"
)

// fileCommand turns a skill or command from a file into a prompt. The prompt is the typed text; the session adds the
// text of the skill.
func (c *Console) fileCommand(ctx context.Context, name, args string) (event.Output, error) {
	files := c.inst.Extensions().Skills.Catalog()
	s, ok := files.Get(name)
	if own, taken := command.Owned(files, name); taken && own != s { // the project's comes first otherwise
		s, name = own, skill.SourceUser+":"+name
	}
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

// sayClash says once that a file and a command of lathe's have a name.
func (c *Console) sayClash(files *skill.Catalog, name string) {
	c.mu.Lock()
	said := c.clashes[name]
	if c.clashes == nil {
		c.clashes = map[string]bool{}
	}
	c.clashes[name] = true
	c.mu.Unlock()
	if text := command.Clash(files, name); text != "" && !said {
		c.notice("info", "%s", text)
	}
}
