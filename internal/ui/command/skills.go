package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/skill"
	"github.com/lathe-dev/lathe/internal/extend/style"
)

// Skill is a skill, or a command from a file.
type Skill struct {
	Name   string
	Args   string // hint
	Help   string
	Source string // in words: user, project
	Path   string
	Limits []string // who cannot invoke it, or when, and the fields of its file that are not obeyed
	Typed  bool     // a person can invoke it
	Own    bool     // it takes the name of a command of lathe's
}

func skillCommands() []Command {
	return []Command{
		{
			Name: "skills", Group: groupLathe, Args: "[name]", Help: "List the skills and commands from files",
			Doc: "Each with its origin, and why it cannot be invoked where that is so; also files that were left out. " +
				"docs/skills.md has more.",
			Complete: func(_ context.Context, h *Host, typed string) []event.Candidate { return skillNames(h, typed) },
			Run:      listSkills,
		},
		{
			Name: "hooks", Group: groupLathe, Args: "[on|off|try event [json]]",
			Help: "List the hooks, try those of an event, or switch them off until lathe ends",
			Doc: "Each with its event, matcher and origin. Hooks of managed settings and of a host program cannot be " +
				"switched off. `try PreToolUse {\"tool_name\":\"Bash\"}` runs those of an event with an input and shows their " +
				"decisions. docs/hooks.md has more.",
			Complete: oneOf("on", "off", "try"),
			Run:      hooks,
		},
		{
			Name: "lsp", Group: groupLathe, Args: "[restart [name]]", Help: "Show the language servers, or restart them",
			Doc: "The running servers with state, memory and diagnostics, and the installed ones. docs/lsp.md " +
				"has more.",
			Complete: oneOf("restart"),
			Run:      languageServers,
		},
		{
			Name: "output-style", Group: groupLathe, Args: "[name]", Help: "Choose how the model answers",
			Doc: "A style is part of the system prompt, so it counts from the next conversation (`/new`). The choice is " +
				"saved for you in this project.",
			Complete: func(_ context.Context, h *Host, typed string) []event.Candidate {
				var out []event.Candidate
				all, _ := h.Instance.Extensions().Styles.All()
				for _, s := range all {
					out = append(out, event.Candidate{Text: s.Name, Help: s.Description})
				}
				return choices(typed, out)
			},
			Run: outputStyle,
		},
	}
}

// fromFiles are the skills that a person can type, as commands.
func fromFiles(skills []Skill) []Command {
	var out []Command
	for _, s := range skills {
		if _, taken := Find(s.Name); s.Typed && (s.Own || !taken) {
			out = append(out, Command{
				Name: s.Name, Args: s.Args, Help: short(s.Help, 120), Doc: "From " + s.Path + ".",
				Group: groupSkills,
			})
		}
	}
	return out
}

func findFile(skills []Skill, name string) (Command, bool) {
	name = strings.TrimPrefix(name, "/")
	for _, c := range fromFiles(skills) {
		if strings.EqualFold(c.Name, name) {
			return c, true
		}
	}
	return Command{}, false
}

func skillNames(h *Host, typed string) []event.Candidate {
	var out []event.Candidate
	for _, s := range Skills(h.Instance) {
		out = append(out, event.Candidate{Text: s.Name, Help: short(s.Help, 120)})
	}
	return choices(typed, out)
}

func listSkills(_ context.Context, h *Host, name string) (event.Output, error) {
	skills := Skills(h.Instance)
	if name = strings.TrimPrefix(name, "/"); name != "" {
		i := slices.IndexFunc(skills, func(s Skill) bool { return strings.EqualFold(s.Name, name) })
		if i < 0 {
			return event.Output{}, fmt.Errorf("there is no skill %q; /skills lists them", name)
		}
		return event.Output{Text: skills[i].describe()}, nil
	}
	var b strings.Builder
	for _, s := range skills {
		b.WriteString("- " + s.line() + "\n")
	}
	if len(skills) == 0 {
		b.WriteString("There are no skills. A folder with a SKILL.md in `.lathe/skills` or `.claude/skills`, of the " +
			"project or yours, is one.\n")
	}
	if notes := h.Instance.Extensions().Skills.Catalog().Notes; len(notes) > 0 {
		b.WriteString("\nLeft out:\n\n")
		for _, n := range notes {
			b.WriteString("- " + code(n) + "\n")
		}
	}
	return event.Output{Text: b.String()}, nil
}

func (s Skill) line() string {
	out := code("/"+strings.TrimSpace(s.Name+" "+s.Args)) + " (" + s.Source + ") " + code(short(s.Help, 160))
	for _, l := range s.Limits {
		out += "; " + l
	}
	return out
}

func (s Skill) describe() string {
	out := s.line() + "\n\n" + code(s.Path) + "\n"
	return out
}

func outputStyle(_ context.Context, h *Host, name string) (event.Output, error) {
	styles, next := h.Instance.Extensions().Styles.All()
	if name == "" {
		p := &event.Pick{Title: "Output style of new conversations", Command: "output-style"}
		for _, s := range styles {
			p.Items = append(p.Items, event.PickItem{ID: s.Name, Label: s.Name, Detail: s.Description, Current: s.Name == next})
		}
		return event.Output{Pick: p}, nil
	}
	i := slices.IndexFunc(styles, func(s style.Style) bool { return strings.EqualFold(s.Name, name) })
	if i < 0 {
		var names []string
		for _, s := range styles {
			names = append(names, s.Name)
		}
		return event.Output{}, fmt.Errorf("there is no output style %q; the styles are %s", name, strings.Join(names, ", "))
	}
	chosen := styles[i]
	if err := h.Instance.Config().Set("outputStyle", quote(chosen.Name), config.Local); err != nil {
		return event.Output{}, err
	}
	h.Instance.Extensions().Styles.Set(chosen.Name)
	now := "default"
	for _, s := range styles {
		if s.Name == h.Session().Style() {
			now = cmp.Or(s.Name, now)
		}
	}
	return text("Output style %s, from the next conversation on (`/new`); this one keeps %s.", code(chosen.Name),
		code(now)), nil
}

// Skills lists the skills and the commands from files as the commands see them.
func Skills(inst *conversation.Instance) []Skill {
	var out []Skill
	for _, s := range inst.Extensions().Skills.Catalog().All() {
		_, taken := Find(s.Name)
		out = append(out, Skill{
			Name: Typed(s), Args: s.ArgumentHint, Help: s.Description, Source: s.Source, Path: s.Path, Limits: limits(s),
			Typed: !s.HiddenFromUser, Own: taken && Typed(s) == s.Name && s.Source == skill.SourceUser,
		})
	}
	return out
}

// limits lists who cannot invoke a skill, or when, and the fields of its file that have no effect.
func limits(s *skill.Skill) []string {
	var out []string
	_, taken := Find(s.Name)
	own := s.Source == skill.SourceUser && Typed(s) == s.Name
	taken = taken && !own && Typed(s) == s.Name
	switch {
	case s.HiddenFromUser && s.HiddenFromModel:
		out = append(out, "neither you nor the model can invoke it (user-invocable: false, disable-model-invocation: true)")
	case s.HiddenFromUser:
		out = append(out, "only the model invokes it")
	case taken && s.HiddenFromModel:
		out = append(out, "it cannot be invoked: lathe has a command of this name")
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
