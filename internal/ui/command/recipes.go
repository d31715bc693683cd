package command

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

//go:embed verify.md
var verifyPrompt string

//go:embed batch.md
var batchPrompt string

// recipeCommands send a prompt that says how to go about a piece of work.
func recipeCommands() []Command {
	return []Command{
		{
			Name: "verify", Group: groupConversation, Args: "[what]",
			Help: "Run the program and see whether the change works",
			Doc: "The agent follows the project's recipe, `.lathe/verify.md`, and reports what it saw. The first time it " +
				"finds out how to run the program and shows you the recipe before it writes the file.",
			Run: func(_ context.Context, _ *Host, args string) (event.Output, error) {
				text := strings.TrimSpace(verifyPrompt)
				if args != "" {
					text += "\n\nThe user wants to know in particular: " + args
				}
				m := llm.UserText(text)
				return event.Output{Prompt: &m}, nil
			},
		},
		{
			Name: "batch", Group: groupConversation, Args: "<task>", Needs: true,
			Help: "Split a large change into units, each with an agent, a worktree, a check and a branch",
			Doc: "5 to 30 units that can be merged by themselves. You see the list before the work begins, and the outcome " +
				"before a branch is pushed or a pull request opened. `/team` is for work whose parts depend on each other.",
			Run: func(_ context.Context, _ *Host, args string) (event.Output, error) {
				if args == "" {
					return event.Output{}, errors.New("say what to do: /batch move every handler to the new router")
				}
				m := llm.UserText(strings.TrimSpace(fmt.Sprintf(batchPrompt, args)))
				return event.Output{Prompt: &m}, nil
			},
		},
	}
}
