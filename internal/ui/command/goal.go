package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// workCommands are about longer work.
func workCommands() []Command {
	return slices.Concat([]Command{goalCommand()}, asideCommands(), reviewCommands(), recipeCommands())
}

func goalCommand() Command {
	return Command{
		Name: "goal", Group: groupConversation, Args: "[options] [condition]|clear",
		Help: "Work until a condition holds",
		Doc: "`/goal all tests in internal/x pass` begins a turn. Whenever the agent stops, the small model looks at the " +
			"work: met, not yet, or impossible; the reason is the agent's next prompt. With `--check 'go test ./...'` (or the " +
			"setting `eval.command`) the command decides. `--rounds N`, `--time 2h`, `--tokens N` and `--usd N` bound " +
			"the work. Without a condition it shows how far the goal is; `/goal clear` ends it. [Goals](goals.md)",
		Complete: oneOf("clear"), Run: setGoal,
	}
}

func setGoal(_ context.Context, h *Host, args string) (event.Output, error) {
	g := h.Session().Goal()
	switch args {
	case "":
		now, ok := g.State()
		if !ok {
			return text("There is no goal. `/goal CONDITION` sets one."), nil
		}
		return text("%s", aboutGoal(now)), nil
	case "clear", "stop", "off":
		was, err := g.Clear("")
		if err == nil && !was {
			return text("No goal is active."), nil
		}
		return done(err, "The goal is cleared.")
	}
	next, err := readGoal(args)
	if err != nil {
		return event.Output{}, err
	}
	if err := g.Set(next); err != nil {
		return event.Output{}, err
	}
	now, _ := g.State()
	m := llm.UserText(now.Condition)
	return event.Output{Prompt: &m}, nil
}

// readGoal reads the options before a condition.
func readGoal(args string) (g event.Goal, err error) {
	for strings.HasPrefix(args, "--") {
		name, rest, _ := strings.Cut(args, " ")
		value, rest := quotedWord(strings.TrimSpace(rest))
		b := &g.Bounds
		switch name {
		case "--check":
			g.Check = value
		case "--rounds":
			b.Rounds, err = strconv.Atoi(value)
		case "--time":
			b.Time, err = time.ParseDuration(value)
		case "--tokens":
			b.Tokens, err = strconv.Atoi(value)
		case "--usd":
			b.USD, err = strconv.ParseFloat(value, 64)
		default:
			return g, fmt.Errorf("/goal has no option %s; the options are --check, --rounds, --time, --tokens and --usd", name)
		}
		if err != nil || value == "" {
			return g, fmt.Errorf("/goal: %s needs a value, such as --check 'go test ./...', --rounds 10 or --time 2h", name)
		}
		args = strings.TrimSpace(rest)
	}
	if g.Condition = args; args == "" && g.Check == "" {
		return g, errors.New("say what is to hold in the end: /goal all tests pass")
	}
	return g, nil
}

// quotedWord takes the first word of a text, which may be in quotes.
func quotedWord(s string) (word, rest string) {
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		if end := strings.IndexByte(s[1:], s[0]); end >= 0 {
			return s[1 : end+1], s[end+2:]
		}
	}
	word, rest, _ = strings.Cut(s, " ")
	return word, rest
}

func aboutGoal(g event.Goal) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Goal (%s): %s\n", g.State, code(g.Condition))
	if g.Check != "" {
		fmt.Fprintf(&b, "- decided by %s\n", code(g.Check))
	}
	fmt.Fprintf(&b, "- %s, %s, %s tokens, %s\n", plural(g.Rounds, "round"), plainSpan(time.Since(g.Since)),
		grouped(g.Tokens), dollars(g.USD))
	if g.Reason != "" {
		fmt.Fprintf(&b, "- last: %s\n", code(short(g.Reason, 500)))
	}
	return b.String()
}
