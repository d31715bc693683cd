package console

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/lsp"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/tool"
	"github.com/lathe-dev/lathe/internal/ui/command"
)

// background moves the commands and agents that running calls wait for to the background, and the turn goes on.
func (c *Console) background() (event.Output, error) {
	s := c.session()
	waiting := s.Env().InFront()
	if len(waiting) == 0 {
		return event.Output{}, errors.New("nothing runs that could go on in the background")
	}
	n := 0
	for _, id := range waiting {
		if s.Env().Detach(id) {
			n++
		}
	}
	if n == 0 {
		return event.Output{}, errors.New("too much runs in the background already; /tasks ends some of it")
	}
	c.touch()
	return event.Output{}, nil
}

// watchTasks follows the background commands and agents of a session. An end that nobody asked for wakes the session.
func (c *Console) watchTasks(s *conversation.Session) {
	s.Env().Background.Notify(func(now tool.BackgroundShell) {
		c.touch()
		if now.Status == tool.ShellRunning || c.session() != s {
			return
		}
		c.notice("info", "%s ended in the background: %s", now.ID, taskLine(now))
		if now.Status != tool.ShellKilled {
			c.wake(s)
		}
	})
	s.Hooks().Wakes(func() { c.wake(s) })
	s.Env().Agents.Tasks.Notify(func(now subagent.State) {
		c.touch()
		if now.Working() || c.session() != s {
			return
		}
		c.notice("info", "the agent %s (%s) ended in the background: %s", now.Kind, now.Title, now)
		if now.Status != subagent.Stopped {
			c.wake(s)
		}
	})
}

// wake runs a turn with the news from the background, now or when the running turn has ended in order.
func (c *Console) wake(s *conversation.Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed || c.front != s:
	case c.busy:
		c.woken = true
	default:
		c.busy, c.own = true, true
		c.works.Go(func() { c.wakeTurn(s) })
	}
}

func (c *Console) wakeTurn(s *conversation.Session) {
	m, ok := c.news(s)
	if !ok { // a turn that just ended had it
		c.afterTurn(s, false)
		return
	}
	c.recordChoices(c.ctx, s)
	_ = c.turns(c.ctx, s, m) // a failed turn has an event
}

// news is the message about ends in the background.
func (c *Console) news(s *conversation.Session) (llm.Message, bool) {
	m, err := s.Env().News(c.ctx)
	if err != nil || len(m) == 0 {
		return s.Hooks().News()
	}
	return m[0], true
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

// tasks implements command.Tasks.
type tasks struct{ c *Console }

func (w workspace) Tasks() command.Tasks { return tasks(w) }

func (w workspace) Language() *lsp.Pool { return w.c.inst.Code.Pool() }

// List returns the commands in the background and the agents, also those that a call waits for.
func (t tasks) List() []command.Task {
	s := t.c.session()
	var out []command.Task
	for _, now := range s.Env().Background.List() {
		out = append(out, command.Task{
			ID: now.ID, Title: now.Command, State: state(now) + ", " + now.Duration.Round(time.Second).String(),
			Running: now.Status == tool.ShellRunning, Output: now.Output,
		})
	}
	for _, now := range s.Env().Agents.Tasks.List() {
		out = append(out, agentTask(now, s.Env().Agents.Tasks.Messages(now.ID)))
	}
	return out
}

// agentTask describes an agent, with its last calls while it works and its answer then.
func agentTask(now subagent.State, messages []llm.Message) command.Task {
	t := command.Task{
		ID: now.ID, Title: now.Kind + ": " + now.Title, State: now.String(), Running: now.Working(), Agent: true,
		Detail: now.Answer,
	}
	if now.Working() {
		t.Detail = strings.Join(tool.AgentCalls(messages, 20), "\n")
	}
	return t
}

func (t tasks) End(ctx context.Context, id string) (command.Task, error) {
	s := t.c.session()
	now, err := s.Env().Agents.Tasks.Stop(ctx, id)
	if !errors.Is(err, subagent.ErrNoTask) {
		return agentTask(now, nil), err
	}
	shell, err := s.Env().Background.Kill(ctx, id)
	return command.Task{ID: shell.ID, Title: shell.Command, State: state(shell)}, err
}

func (t tasks) Tell(ctx context.Context, id, text string) error {
	return t.c.session().Env().Agents.Tasks.Steer(ctx, id, llm.UserText(text))
}
