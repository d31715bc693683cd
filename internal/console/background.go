package console

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lathe-dev/lathe/internal/app"
	"github.com/lathe-dev/lathe/internal/command"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/tool"
)

// background moves the commands that running calls wait for to the background, and the turn goes on.
func (c *Console) background() (event.Output, error) {
	b := c.session().Background()
	waiting := b.Waiting()
	if len(waiting) == 0 {
		return event.Output{}, errors.New("no command runs that could go on in the background")
	}
	n := 0
	for _, id := range waiting {
		if b.Detach(id) {
			n++
		}
	}
	if n == 0 {
		return event.Output{}, errors.New("too many commands run in the background already; /tasks ends one")
	}
	c.touch()
	return event.Output{}, nil
}

// watchTasks follows the background commands of a session.
func (c *Console) watchTasks(s *app.Session) {
	s.Background().Notify(func(now tool.BackgroundShell) {
		c.touch()
		if now.Status == tool.ShellRunning || c.session() != s {
			return
		}
		c.notice("info", "%s ended in the background: %s", now.ID, taskLine(now))
	})
}

// taskLine describes a background command in one line.
func taskLine(now tool.BackgroundShell) string {
	return fmt.Sprintf("%s, %s, %s", now.Command, state(now), now.Duration.Round(time.Second))
}

func state(now tool.BackgroundShell) string {
	if now.Status == tool.ShellRunning {
		return "runs"
	}
	return fmt.Sprintf("%s, exit code %d", now.Status, now.ExitCode)
}

func (w workspace) Tasks() []command.Task {
	var out []command.Task
	for _, now := range w.c.session().Background().List() {
		out = append(out, command.Task{
			ID: now.ID, Title: now.Command, State: state(now), Running: now.Status == tool.ShellRunning, Started: now.Started, Output: now.Output,
		})
	}
	return out
}

func (w workspace) EndTask(ctx context.Context, id string) (command.Task, error) {
	now, err := w.c.session().Background().Kill(ctx, id)
	return command.Task{ID: now.ID, Title: now.Command, State: state(now)}, err
}
