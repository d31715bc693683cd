package command

import (
	"context"
	_ "embed"
	"os"
	"path/filepath"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

//go:embed init.md
var initPrompt string

// memoryFiles are the files of instructions that /init mends instead of writing a second one. The first counts.
var memoryFiles = []string{"CLAUDE.md", "AGENTS.md"}

// initialize has the agent write the project's first file of instructions, or mend the one there is.
func initialize(_ context.Context, h *Host, instructions string) (event.Output, error) {
	dir := h.Status().Dir
	task := "Write it as AGENTS.md in " + dir + "."
	for _, name := range memoryFiles {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			task = "There is " + filepath.Join(dir, name) +
				" already: read it, keep what is right, and mend what is wrong or missing."
			break
		}
	}
	s := strings.TrimSpace(initPrompt) + "\n\n" + task
	if instructions = strings.TrimSpace(instructions); instructions != "" {
		s += "\n\nThe user adds: " + instructions
	}
	m := llm.UserText(s)
	return event.Output{Prompt: &m}, nil
}
