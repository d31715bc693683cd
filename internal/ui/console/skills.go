package console

import (
	"context"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent/hook"
	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/skill"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/ui/command"
)

type extensions struct{ c *Console }

// Skills lists the skills and the commands from files as the commands see them.
func (e extensions) Skills() []command.Skill {
	var out []command.Skill
	for _, s := range e.c.inst.Extensions().Skills.Catalog().All() {
		out = append(out, command.Skill{
			Name: s.Name, Args: s.ArgumentHint, Help: s.Description, Source: s.Source, Path: s.Path, Limits: limits(s),
			Typed: !s.HiddenFromUser,
		})
	}
	return out
}

// limits lists who cannot invoke a skill, or when, and the fields of its file that have no effect.
func limits(s *skill.Skill) []string {
	var out []string
	_, taken := command.Find(s.Name)
	switch {
	case s.HiddenFromUser && s.HiddenFromModel:
		out = append(out, "nobody can invoke it (user-invocable: false, disable-model-invocation: true)")
	case s.HiddenFromUser:
		out = append(out, "only the model invokes it")
	case taken && s.HiddenFromModel:
		out = append(out, "nobody can invoke it: lathe has a command of this name")
	case taken:
		out = append(out, "only the model invokes it: lathe has a command of this name")
	case s.HiddenFromModel:
		out = append(out, "the model does not see it")
	}
	if len(s.Paths) > 0 && !s.HiddenFromModel {
		out = append(out, "the model sees it when a file is touched that matches "+strings.Join(s.Paths, ", "))
	}
	return append(out, s.Notes...)
}

func (e extensions) Notes() []string { return e.c.inst.Extensions().Skills.Catalog().Notes }

func (e extensions) Agents() *subagent.Catalog { return e.c.inst.Extensions().Agents.Catalog() }

func (e extensions) Agent() string { return e.c.session().Agent() }

func (e extensions) SetAgent(ctx context.Context, name string) error {
	return e.c.session().SetAgent(ctx, name)
}

func (e extensions) Styles() command.Styles { return styles(e) }

type styles struct{ c *Console }

func (e styles) All() []command.Style {
	all, next := e.c.inst.Extensions().Styles.All()
	now := e.c.session().Style()
	out := make([]command.Style, len(all))
	for i, s := range all {
		out[i] = command.Style{
			Name: s.Name, Help: s.Description, Source: s.Source, Current: s.Name == now,
			Next: s.Name == next,
		}
	}
	return out
}

func (e styles) Set(_ context.Context, name string) error {
	value, err := quote(name)
	if err != nil {
		return err
	}
	if err := e.c.inst.Config().Set("outputStyle", value, config.Local); err != nil {
		return err
	}
	e.c.inst.Extensions().Styles.Set(name)
	return nil
}

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

func (e extensions) Hooks() *hook.Hooks { return e.c.session().Hooks() }
