package console

import (
	"errors"

	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/tool"
	"github.com/lathe-dev/lathe/internal/ui/command"
)

// background moves the commands and agents that running calls wait for to the background, and the turn goes on.
func (c *Console) background() (event.Output, error) {
	defer c.touch()
	return c.detachRunning(c.session())
}

func (c *Console) detachRunning(s *conversation.Session) (event.Output, error) {
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
	return event.Output{}, nil
}

// watchTasks follows the background commands and agents of a session. An end that no one asked for wakes the session.
func (c *Console) watchTasks(s *conversation.Session) {
	s.Env().Background.Notify(func(now tool.BackgroundShell) {
		c.touch()
		if now.Status == tool.ShellRunning || c.session() != s {
			return
		}
		c.notice("info", "%s ended in the background: %s", now.ID, command.TaskLine(now))
		if now.Status != tool.ShellKilled {
			c.wake(s)
		}
	})
	s.Hooks().Wakes(func() { c.wake(s) })
	c.watchSchedules(s)
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
		c.busy = true
		c.works.Go(func() { c.wakeTurn(s) })
	}
}

func (c *Console) wakeTurn(s *conversation.Session) {
	m, ok := c.news(s)
	if !ok { // a turn that just ended had it
		c.afterTurn(s, "")
		return
	}
	c.mu.Lock()
	c.turn = m.ID
	c.mu.Unlock()
	c.publishState()
	c.recordChoices(c.ctx, s)
	c.turns(s, m)
}

// news is the message about ends in the background.
func (c *Console) news(s *conversation.Session) (llm.Message, bool) {
	all, err := s.Env().News(c.ctx)
	m, ok := llm.Message{}, err == nil && len(all) > 0
	if ok {
		m = all[0]
	} else {
		m, ok = s.Hooks().News()
	}
	m.ID = uuid.NewString()
	return m, ok
}
