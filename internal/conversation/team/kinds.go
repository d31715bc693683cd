package team

import (
	"github.com/lathe-dev/lathe/internal/agent/subagent"
)

func coordinatorKind() *subagent.Kind {
	return &subagent.Kind{
		Name: Coordinator, ReadOnly: true, Tools: []string{
			"Read", "Glob", "Grep", "TaskCreate", "TaskUpdate", "TaskList",
			"SendMessage",
		},
		Prompt: "You coordinate a team of coding agents. You change no files: you read the project, split the goal into " +
			"tasks with TaskCreate, and end your turn; then workers do them side by side, each in a git worktree of its own, " +
			"and their work is merged in order. " +
			"Make few tasks, each with a prompt that stands alone, and let tasks that touch the same files come after one " +
			"another. " +
			"When workers have ended you get the board again: have failed work and conflicts done again, or answer with a " +
			"summary for the user when the goal is reached.",
	}
}

func workerKind() *subagent.Kind {
	return &subagent.Kind{
		Name: "worker", Isolated: true, Extends: true,
		Prompt: "You are a worker of a team, in a git worktree of your own. Do your task and nothing beside it; do not " +
			"commit. Your last message is a short report. Ask the coordinator or other workers with SendMessage only if you " +
			"cannot decide.",
	}
}
