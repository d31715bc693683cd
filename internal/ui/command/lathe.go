package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/event"
)

func latheCommands() []Command {
	return []Command{
		{
			Name: "help", Aliases: []string{"h"}, Group: groupLathe, Args: "[command]",
			Help: "List the commands, or explain one",
			Complete: func(_ context.Context, h *Host, typed string) []event.Candidate {
				return Complete(typed, Skills(h.Instance), nil, 0)
			},
			Run: help,
		},
		{Name: "keys", Aliases: []string{"keybindings"}, Group: groupLathe, Help: "Show the keys", Run: open("keys")},
		{
			Name: "theme", Group: groupLathe, Args: "[name]", Help: "Choose the colours",
			Complete: func(_ context.Context, h *Host, typed string) []event.Candidate {
				return choices(typed, words(h.themes()...))
			},
			Run: theme,
		},
		{
			Name: "doctor", Group: groupLathe, Help: "Check the installation",
			Run: func(ctx context.Context, h *Host, _ string) (event.Output, error) {
				if h.Doctor == nil {
					return event.Output{}, errors.New("there is no doctor here; run: lathe doctor")
				}
				report, err := h.Doctor(ctx)
				if err != nil {
					return event.Output{}, err
				}
				return event.Output{Text: fenced("", report)}, nil
			},
		},
		{
			Name: "init", Group: groupLathe, Args: "[instructions]", Help: "Have the agent write AGENTS.md for this project",
			Doc: "The agent looks through the repository and writes how it is built, tested and divided. A CLAUDE.md or " +
				"AGENTS.md that is there already is mended instead.",
			Run: initialize,
		},
		memoryCommand(),
		{
			Name: "reload", Group: groupLathe, Help: "Read the settings again",
			Doc: "lathe follows its settings files by itself; this is for places where that fails (network drives). Rules " +
				"and instructions for " +
				"single files and folders are read again too; those that changed reach the model with the next file that they " +
				"are for.", Run: reload,
		},
		{
			Name: "bg", Group: groupLathe, Help: "Leave the session as it is, in the background",
			Doc: "A turn that runs goes on, and so do questions and what waits. `lathe attach` opens the session again. A " +
				"session that has no process of its own (`lathe ps` lists those that have) cannot be left so.",
			Run: toBackground,
		},
		{
			Name: "quit", Aliases: []string{"exit", "q"}, Group: groupLathe, Help: "Leave lathe; the session is kept",
			Run: func(context.Context, *Host, string) (event.Output, error) { return event.Output{Quit: true}, nil },
		},
	}
}

func open(view string) func(context.Context, *Host, string) (event.Output, error) {
	return func(context.Context, *Host, string) (event.Output, error) { return event.Output{Open: view}, nil }
}

func help(_ context.Context, h *Host, args string) (event.Output, error) {
	if args != "" {
		skills := Skills(h.Instance)
		c, ok := Find(args)
		if !ok {
			c, ok = findFile(skills, args)
		}
		if !ok {
			return event.Output{}, Unknown(strings.TrimPrefix(args, "/"), skills...)
		}
		return text("`%s`\n\n%s", c.usage(), describe(c)), nil
	}
	var b strings.Builder
	group := ""
	files := h.Instance.Extensions().Skills.Catalog()
	for _, c := range append(listed(), fromFiles(Skills(h.Instance))...) {
		if _, own := Owned(files, c.Name); own && c.Group != groupSkills {
			c.Name = builtIn + c.Name
		}
		if c.Group != group {
			group = c.Group
			fmt.Fprintf(&b, "\n**%s**\n\n", group)
		}
		fmt.Fprintf(&b, "- %s %s\n", code(c.usage()), c.Help)
	}
	b.WriteString("\nA line that begins with `!` is run as your own command; one that begins with `#` is added to the " +
		"project's memory file.\n")
	return event.Output{Text: strings.TrimLeft(b.String(), "\n")}, nil
}

// listed returns the visible commands, group by group.
func listed() []Command {
	all := slices.DeleteFunc(All(), func(c Command) bool { return c.Hidden })
	order := []string{groupConversation, groupSessions, groupModel, groupRules, groupLathe}
	slices.SortStableFunc(all, func(a, b Command) int {
		return slices.Index(order, a.Group) - slices.Index(order, b.Group)
	})
	return all
}

func (c Command) usage() string { return strings.TrimSpace("/" + c.Name + " " + c.Args) }

func describe(c Command) string {
	var b strings.Builder
	b.WriteString(c.Help + ".")
	if c.Doc != "" {
		b.WriteString(" " + c.Doc)
	}
	if len(c.Aliases) > 0 {
		names := make([]string, len(c.Aliases))
		for i, a := range c.Aliases {
			names[i] = "`/" + a + "`"
		}
		b.WriteString(" Also: " + strings.Join(names, ", ") + ".")
	}
	return b.String() + "\n"
}

// Document returns the text of docs/commands.md.
func Document() string {
	var b strings.Builder
	b.WriteString("# Commands\n\n" +
		"Typed at the prompt, in the terminal and in plain lines alike; `lathe -c -p \"/cost\"` works too. This page is " +
		"written from\n" +
		"the code: `go test ./internal/ui/command -update`.\n")
	group := ""
	for _, c := range listed() {
		if c.Group != group {
			group = c.Group
			fmt.Fprintf(&b, "\n## %s\n", group)
		}
		fmt.Fprintf(&b, "\n### `%s`\n\n%s", c.usage(), describe(c))
	}
	return b.String() + prompts
}

// prompts describes how a prompt names files, runs commands and adds to memory.
const prompts = `
## In a prompt

| written | does |
|---|---|
| ` + "`@path`" +
	` | attaches a file: its lines with numbers, a folder as a listing, an image as an image. A path is relative to the working folder and must exist in it or in an added folder |
| ` + "`@path#L10`, `@path#L10-20`" + ` | attaches these lines |
| ` + "`@\"a path\"`" + ` | names a path with blanks |
| ` + "`!command`" + ` | runs your command; the next message tells the model its output |
| ` + "`#note`" + ` | adds a line to the project's memory file |

An attached file is read as the Read tool reads it, with the same rules and limits: one that may not be read is left out with a
notice, and one that was read may be edited. One message attaches 20 files at most. The terminal completes paths after ` + "`@`" + ` and
shows each file below the prompt with its tokens; ` + "`lathe -p`" + ` attaches them too.
`

func theme(_ context.Context, h *Host, args string) (event.Output, error) {
	names := h.themes()
	if args == "" {
		p := &event.Pick{Title: "Theme", Command: "theme"}
		for i, n := range names {
			if i > 0 && n == names[0] {
				continue
			}
			p.Items = append(p.Items, event.PickItem{ID: n, Label: n, Current: i == 0})
		}
		return event.Output{Pick: p}, nil
	}
	if !slices.Contains(names, args) {
		return event.Output{}, fmt.Errorf("there is no theme %q; the themes are %s", args, strings.Join(names, ", "))
	}
	if err := h.Instance.Config().Set("theme", quote(args), config.User); err != nil {
		return event.Output{}, err
	}
	return event.Output{Theme: args}, nil
}

func reload(_ context.Context, h *Host, _ string) (event.Output, error) {
	changes, err := h.Instance.Reload()
	if err != nil {
		return event.Output{}, err
	}
	var changed []string
	for _, ch := range changes {
		changed = append(changed, ch.Path)
	}
	if len(changed) == 0 {
		return text("The settings are as they were."), nil
	}
	return text("Changed: %s.", strings.Join(changed, ", ")), nil
}

// themes lists the current theme first.
func (h *Host) themes() []string {
	out := []string{h.Instance.Config().Settings.Theme}
	if h.Themes != nil {
		out = append(out, h.Themes()...)
	}
	return out
}

// toBackground leaves a session that has its own process.
func toBackground(_ context.Context, h *Host, _ string) (event.Output, error) {
	if h.Job == "" {
		return event.Output{}, fmt.Errorf("this session ends with its terminal; after /quit, go on with it in the "+
			"background: lathe --bg --resume %s \"go on\"", h.Session().ID())
	}
	text := "It goes on in the background; `lathe attach " + h.Job + "` opens it again."
	return event.Output{Quit: true, Stay: true, Text: text}, nil
}
