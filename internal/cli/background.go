package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/tool"
)

// Commands and agents in the background of a run without a front end: their starts and ends are messages, and at the
// end of the run they are waited for as long as the settings say; those that still run are named.

// hear turns the starts and ends of a session's tasks into events. Ends wake the conversation where it takes more
// messages.
func (l *local) hear(s *conversation.Session) {
	s.Env().Background.Notify(func(now tool.BackgroundShell) {
		l.heard(s, now.Task(), now.Status == tool.ShellCompleted || now.Status == tool.ShellFailed)
	})
	s.Env().Agents.Tasks.Notify(func(now subagent.State) {
		l.heard(s, tool.AgentTask(now), now.Status == subagent.Completed || now.Status == subagent.Failed)
	})
}

func (l *local) heard(s *conversation.Session, now event.BackgroundTask, ended bool) {
	l.bus.Publish(s.ID(), nil, event.Background{Task: now, Running: s.Env().InBackground()})
	l.mu.Lock()
	wake := l.wake
	l.mu.Unlock()
	if ended && wake != nil {
		wake()
	}
}

// onEnd sets the function that is called when a task has ended in the background.
func (l *local) onEnd(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wake = f
}

// leftover waits for commands in the background and returns the tasks that run on all the same. Agents were waited for
// by the turn.
func (l *local) leftover(ctx context.Context) []event.BackgroundTask {
	b := l.front().Env().Background
	if wait := l.inst.Config().Settings.Bash.BackgroundWaitMs; wait > 0 && b.Running() > 0 {
		ctx, cancel := context.WithTimeout(ctx, time.Duration(wait)*time.Millisecond)
		defer cancel()
		b.Wait(ctx)
	}
	return l.front().Env().InBackground()
}

// awaitNews waits for an agent to end in the background as long as the settings say, and reports whether one did.
func (l *local) awaitNews(ctx context.Context) bool {
	s := l.front()
	wait := l.inst.Config().Settings.Bash.BackgroundWaitMs
	if wait <= 0 || s.Env().Agents.Tasks.Running() == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(wait)*time.Millisecond)
	defer cancel()
	return s.Env().AwaitNews(ctx)
}

// News is the message about ends in the background that opens a turn, if there is news.
func (l *local) News(ctx context.Context) (llm.Message, bool) {
	if m, err := l.front().Env().News(ctx); err == nil && len(m) > 0 {
		return m[0], true
	}
	return llm.Message{}, false
}

// endBackground names the commands that end with the run; "" when none does.
func endBackground(ctx context.Context, conv Conversation) string {
	l, ok := conv.(interface {
		leftover(ctx context.Context) []event.BackgroundTask
	})
	if !ok {
		return ""
	}
	tasks := l.leftover(ctx)
	if len(tasks) == 0 {
		return ""
	}
	var names []string
	for _, t := range tasks {
		first, _, _ := strings.Cut(t.Command, "\n")
		if t.Agent != "" {
			first = t.Agent + ": " + first + ", its session is kept"
		}
		names = append(names, fmt.Sprintf("%s (%s)", t.ID, first))
	}
	return "ended with the run: " + strings.Join(names, ", ") +
		"; bash.backgroundWaitMs in the settings waits for commands and agents in the background"
}

type taskStartedLine struct {
	Type        string `json:"type"`
	Subtype     string `json:"subtype"`
	TaskID      string `json:"task_id"`
	ToolUseID   string `json:"tool_use_id,omitempty"`
	Description string `json:"description"`
	TaskType    string `json:"task_type"`
	Kind        string `json:"subagent_type,omitempty"`
	Away        *bool  `json:"is_backgrounded,omitempty"`
	Depth       int    `json:"spawn_depth,omitempty"` // of an agent: 1 where the main one started it
	Prompt      string `json:"prompt,omitempty"`
	stamped
}

type taskEndedLine struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	TaskID    string `json:"task_id"`
	ToolUseID string `json:"tool_use_id,omitempty"`
	Status    string `json:"status"` // completed, failed or stopped
	Output    string `json:"output_file"`
	Summary   string `json:"summary"`

	Usage *taskUsage `json:"usage,omitempty"` // of an agent
	stamped
}

type tasksLine struct {
	Type    string     `json:"type"`
	Subtype string     `json:"subtype"`
	Tasks   []taskItem `json:"tasks"`
	stamped
}

type taskItem struct {
	ID          string `json:"task_id"`
	Type        string `json:"task_type"`
	Description string `json:"description"`
}

// taskType is the ecosystem's name for a kind of task.
func taskType(t event.BackgroundTask) string {
	if t.Agent != "" {
		return "local_agent"
	}
	return "local_bash"
}

// background reports one task in the background, and all that run now.
func (p *streamPrinter) background(b event.Background) error {
	var err error
	switch t := b.Task; t.Status {
	case string(tool.ShellRunning):
		err = p.wentAway(t)
	default:
		status := t.Status
		if status == string(tool.ShellKilled) {
			status = "stopped"
		}
		summary := fmt.Sprintf("%s: %s, exit code %d", t.Command, t.Status, t.ExitCode)
		if t.Agent != "" {
			summary = fmt.Sprintf("%s: %s: %s", t.Agent, t.Command, t.Status)
		}
		l := &taskEndedLine{
			Type: "system", Subtype: "task_notification", TaskID: t.ID, ToolUseID: t.CallID, Status: status, Output: t.Output,
			Summary: summary,
		}
		if r := p.agents.find(t.CallID); r != nil && t.Agent != "" {
			l.Usage, r.started = p.agents.usage(r), false
		}
		err = p.w.write(l)
	}
	l := &tasksLine{Type: "system", Subtype: "background_tasks_changed", Tasks: []taskItem{}}
	for _, t := range b.Running {
		l.Tasks = append(l.Tasks, taskItem{t.ID, taskType(t), t.Command})
	}
	return joinErrors(err, p.w.write(l))
}

// wentAway reports a task that starts in the background, or goes on there.
func (p *streamPrinter) wentAway(t event.BackgroundTask) error {
	yes := true
	if t.Agent == "" {
		return p.w.write(&taskStartedLine{
			Type: "system", Subtype: "task_started", TaskID: t.ID, ToolUseID: t.CallID, Description: t.Command,
			TaskType: taskType(t), Away: &yes,
		})
	}
	r := p.agents.find(t.CallID)
	switch {
	case r == nil:
		return p.agentStarted(&agentRun{state: subagent.State{
			ID: t.ID, Call: t.CallID, Title: t.Command, Kind: t.Agent, Background: true, Depth: 1,
		}})
	case r.started:
		return p.w.write(&taskUpdatedLine{
			Type: "system", Subtype: "task_updated", TaskID: t.ID, Patch: map[string]any{"is_backgrounded": true},
		})
	}
	r.state.Background = true
	return p.agentStarted(r)
}
