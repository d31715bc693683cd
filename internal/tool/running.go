package tool

import (
	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/event"
)

// InBackground lists the commands and agents that work in the background, those of all agents of the conversation.
func (e *Env) InBackground() []event.BackgroundTask {
	var out []event.BackgroundTask
	for _, t := range e.Background.List() {
		if t.Status == ShellRunning {
			out = append(out, t.Task())
		}
	}
	if e.Agents == nil {
		return out
	}
	for _, t := range e.Agents.Tasks.List() {
		if t.Background && t.Working() {
			out = append(out, AgentTask(t))
		}
	}
	return out
}

// Task describes the command as events and hooks do.
func (b BackgroundShell) Task() event.BackgroundTask {
	return event.BackgroundTask{
		ID: b.ID, CallID: b.CallID, Command: b.Command, Status: string(b.Status),
		ExitCode: b.ExitCode, Output: b.Output,
	}
}

// AgentTask describes an agent as events and hooks do.
func AgentTask(t subagent.State) event.BackgroundTask {
	status := t.Status
	switch status {
	case subagent.Waiting:
		status = subagent.Running
	case subagent.Stopped:
		status = "killed"
	}
	return event.BackgroundTask{ID: t.ID, CallID: t.Call, Command: t.Title, Agent: t.Kind, Status: string(status)}
}
