package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/app"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/tool"
)

// Commands in the background of a run without a front end: their starts and ends are messages, and at the end of the
// run they are waited for as long as the settings say; those that still run are named.

// hear turns the starts and ends of a session's commands into events.
func (l *local) hear(s *app.Session) {
	s.Background().Notify(func(now tool.BackgroundShell) {
		b := event.Background{Task: backgroundTask(now)}
		for _, t := range s.Background().List() {
			if t.Status == tool.ShellRunning {
				b.Running = append(b.Running, backgroundTask(t))
			}
		}
		l.bus.Publish(s.ID(), nil, b)
	})
}

func backgroundTask(t tool.BackgroundShell) event.BackgroundTask {
	return event.BackgroundTask{ID: t.ID, CallID: t.CallID, Command: t.Command, Status: string(t.Status), ExitCode: t.ExitCode, Output: t.Output}
}

// leftover waits for commands in the background and returns those that run on all the same.
func (l *local) leftover(ctx context.Context) []event.BackgroundTask {
	b := l.front().Background()
	if b.Running() == 0 {
		return nil
	}
	if wait := l.inst.Config().Settings.Bash.BackgroundWaitMs; wait > 0 {
		ctx, cancel := context.WithTimeout(ctx, time.Duration(wait)*time.Millisecond)
		defer cancel()
		b.Wait(ctx)
	}
	var out []event.BackgroundTask
	for _, t := range b.List() {
		if t.Status == tool.ShellRunning {
			out = append(out, backgroundTask(t))
		}
	}
	return out
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
		names = append(names, fmt.Sprintf("%s (%s)", t.ID, first))
	}
	return "ended with the run: " + strings.Join(names, ", ") + "; bash.backgroundWaitMs in the settings waits for commands in the background"
}

type taskStartedLine struct {
	Type        string `json:"type"`
	Subtype     string `json:"subtype"`
	TaskID      string `json:"task_id"`
	ToolUseID   string `json:"tool_use_id,omitempty"`
	Description string `json:"description"`
	TaskType    string `json:"task_type"`
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

const taskType = "local_bash"

// background reports one command in the background, and all that run now.
func (p *streamPrinter) background(b event.Background) error {
	var err error
	switch t := b.Task; t.Status {
	case string(tool.ShellRunning):
		err = p.w.write(&taskStartedLine{
			Type: "system", Subtype: "task_started", TaskID: t.ID, ToolUseID: t.CallID, Description: t.Command, TaskType: taskType,
		})
	default:
		status := t.Status
		if status == string(tool.ShellKilled) {
			status = "stopped"
		}
		err = p.w.write(&taskEndedLine{
			Type: "system", Subtype: "task_notification", TaskID: t.ID, ToolUseID: t.CallID, Status: status, Output: t.Output,
			Summary: fmt.Sprintf("%s: %s, exit code %d", t.Command, t.Status, t.ExitCode),
		})
	}
	l := &tasksLine{Type: "system", Subtype: "background_tasks_changed", Tasks: []taskItem{}}
	for _, t := range b.Running {
		l.Tasks = append(l.Tasks, taskItem{t.ID, taskType, t.Command})
	}
	return joinErrors(err, p.w.write(l))
}
