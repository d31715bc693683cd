// Package command implements the slash commands for all front ends: the terminal, plain lines, `-p "/x"` and
// chat.
//
// A [Command] has a name, aliases and arguments; it acts on a [Host]: lathe with one session in front. A new one is a
// function and a line in one of the lists that [All] joins. Its result is an event.Output: text, a list to choose from,
// a prompt to send, text for the editor. A command draws nothing and asks nothing: where it needs a choice it returns a
// Pick whose items are arguments of a command, so a front end without lists can ask for a number.
//
// Promises: every listed command works; a wrong name or argument is one error that names the right ones;
// anything a command removes can be restored with the command that its output names.
package command

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/base/fuzzy"
	"github.com/lathe-dev/lathe/internal/event"
)

// Command is one slash command.
type Command struct {
	Name     string
	Aliases  []string
	Args     string // hint: "[name]"
	Help     string // one line
	Doc      string // more, for docs/commands.md
	Group    string
	Hidden   bool // for front ends and lists, not for typing
	Alone    bool // not during a turn
	Needs    bool // needs an argument where the front end shows no list
	Complete func(ctx context.Context, h *Host, text string) []event.Candidate
	Run      func(ctx context.Context, h *Host, args string) (event.Output, error)
}

// The groups, in the order of help.
const (
	groupConversation = "Conversation"
	groupSessions     = "Sessions"
	groupModel        = "Model and cost"
	groupRules        = "Permissions and files"
	groupLathe        = "lathe"
	groupSkills       = "Skills and commands from files"
)

// All lists every command in the order of help, hidden ones too.
func All() []Command {
	return slices.Concat(conversationCommands(), workCommands(), scheduleCommands(), sessionCommands(), modelCommands(),
		ruleCommands(), latheCommands(), settingCommands(), skillCommands(), agentCommands(),
		[]Command{mcpCommand(), pluginCommand(), teamCommand()})
}

// Find returns the command of a name or an alias, also behind "lathe:".
func Find(name string) (Command, bool) {
	name = strings.TrimPrefix(strings.ToLower(strings.TrimPrefix(name, "/")), builtIn)
	for _, c := range All() {
		if c.Name == name || slices.Contains(c.Aliases, name) {
			return c, true
		}
	}
	return Command{}, false
}

// Parse splits "/model opus" into its name and arguments. It is a command only if the first word is a
// slash and a name, so that a prompt may begin with a path.
func Parse(text string) (name, args string, ok bool) {
	text = strings.TrimSpace(text)
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return "", "", false
	}
	name, args = rest, ""
	if i := strings.IndexFunc(rest, func(r rune) bool { return r == ' ' || r == '\n' || r == '\t' }); i >= 0 {
		name, args = rest[:i], strings.TrimSpace(rest[i:])
	}
	if name == "" || strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == ':')
	}) {
		return "", "", false
	}
	return name, args, true
}

// Run runs a command by name.
func Run(ctx context.Context, h *Host, name, args string) (event.Output, error) {
	c, ok := Find(name)
	if !ok {
		return event.Output{}, Unknown(name, Skills(h.Instance)...)
	}
	return c.Run(ctx, h, strings.TrimSpace(args))
}

// Unknown is the error for a name that no command has, an UnknownError.
func Unknown(name string, more ...Skill) error { return &UnknownError{unknown(name, more)} }

func unknown(name string, more []Skill) string {
	near := Complete(name, more, nil, 3)
	if len(near) == 0 {
		var all []string
		for _, c := range append(All(), fromFiles(more)...) {
			if !c.Hidden {
				all = append(all, c.Name)
			}
		}
		if typo, d := fuzzy.Nearest(name, all, 2); d <= 2 && len(name) > 2 {
			return fmt.Sprintf("there is no command /%s; did you mean /%s? /help lists them all", name, typo)
		}
		return fmt.Sprintf("there is no command /%s; /help lists them", name)
	}
	var names []string
	for _, c := range near {
		names = append(names, "/"+c.Text)
	}
	return fmt.Sprintf("there is no command /%s; did you mean %s? /help lists them all", name, strings.Join(names, " or "))
}

func text(format string, args ...any) event.Output {
	return event.Output{Text: fmt.Sprintf(format, args...)}
}

// done is a text about what was done, unless it failed.
func done(err error, format string, args ...any) (event.Output, error) {
	if err != nil {
		return event.Output{}, err
	}
	return text(format, args...), nil
}

// code formats foreign text as Markdown code, unchanged.
func code(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), " ")
	if s == "" {
		return "(none)"
	}
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return fence + s + fence
}

// fenced formats foreign text as a Markdown code block.
func fenced(language, s string) string {
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + language + "\n" + strings.TrimRight(s, "\n") + "\n" + fence
}

// short shortens a text to n characters on one line.
func short(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// age is the time since t, in words.
func age(t time.Time) string {
	switch d := time.Since(t); {
	case t.IsZero():
		return ""
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	case d < 7*24*time.Hour:
		return fmt.Sprintf("%d days ago", int(d.Hours()/24)+1)
	}
	return t.Local().Format("2006-01-02")
}

func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// grouped writes a number with commas, since 200000 and 2000000 look alike.
func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func dollars(usd float64) string {
	if usd > 0 && usd < 0.01 {
		return fmt.Sprintf("$%.4f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}
