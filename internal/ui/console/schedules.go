package console

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/schedule"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// scheduledID begins the ids of prompts that schedules send. They name the run, so each runs once.
const scheduledID = "schedule-"

// scheduleEvery is how often the console looks whether a schedule is due.
const scheduleEvery = time.Second

// scheduler sends the prompts of the session in front that are due.
type scheduler struct {
	c    *Console
	s    *conversation.Session // whose loop ran last
	loop string                // the schedule of that loop, until its turn is over
}

// run goes on until the console ends. Where nothing is scheduled it sleeps.
func (r *scheduler) run() {
	for {
		s := r.c.session()
		all, err := s.Env().Schedules.List()
		var tick <-chan time.Time
		if err != nil || len(all) > 0 {
			tick = time.After(scheduleEvery)
		}
		select {
		case <-r.c.ctx.Done():
			return
		case <-s.Env().Schedules.Changed():
		case <-r.c.switched:
		case <-tick:
			if err == nil && r.c.between(s) {
				err = r.send(s)
			}
			if err != nil && r.c.ctx.Err() == nil {
				r.c.notice("warning", "the schedules of this session do not run: %v", err)
				r.c.awaitSwitch()
			}
		}
	}
}

// awaitSwitch waits until another session is in front: the schedules of this one are broken.
func (c *Console) awaitSwitch() {
	select {
	case <-c.switched:
	case <-c.ctx.Done():
	}
}

// between reports that a session is in front and no turn runs.
func (c *Console) between(s *conversation.Session) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.front == s && !c.busy && !c.closed
}

// send sends the prompt that has been due for longest.
func (r *scheduler) send(s *conversation.Session) error {
	if err := r.endLoop(s); err != nil {
		return err
	}
	all, now := s.Env().Schedules, time.Now()
	due, err := all.Due(now)
	if err != nil || len(due) == 0 {
		return err
	}
	x := due[0]
	p := port.Prompt{ID: fmt.Sprintf("%s%s-%d", scheduledID, x.ID, x.Due.UnixMilli()), When: port.AfterTurn}
	p.Message = llm.UserText(x.Prompt)
	p.Message.Parts = append(p.Message.Parts, llm.Text{Text: about(x), Origin: llm.OriginReminder})
	_, err = r.c.Prompt(r.c.ctx, p)
	switch {
	case errors.Is(err, errClosed) || r.c.ctx.Err() != nil:
		return nil // the next process sends it
	case err != nil:
		r.c.notice("warning", "schedule %s did not run: %v", x.ID, err)
	case x.Paced:
		r.s, r.loop = s, x.ID
	}
	return all.Ran(x, now)
}

// about tells the model where a prompt comes from.
func about(x schedule.Schedule) string {
	text := fmt.Sprintf("lathe sent this prompt by schedule %s (%s); the user may be away.", x.ID, x.When())
	if x.Paced {
		text = fmt.Sprintf("This is a run of a loop at your pace (schedule %s); the user may be away. Before you end, call "+
			"ScheduleWakeup with when to go on, or with stop when nothing is left to do. Without it the loop ends.", x.ID)
	}
	return "<system-reminder>\n" + text + "\n</system-reminder>"
}

// endLoop removes a loop at the model's pace whose turn planned no other run, or was interrupted before it did. One
// whose turn failed is kept.
func (r *scheduler) endLoop(s *conversation.Session) error {
	id := r.loop
	r.loop = ""
	if id == "" || r.s != s {
		return nil
	}
	if end := lastEnd(s.Log().Branch()); end != event.EndCompleted && end != event.EndInterrupted {
		return nil
	}
	all, err := s.Env().Schedules.List()
	i := slices.IndexFunc(all, func(x schedule.Schedule) bool { return x.ID == id })
	if err != nil || i < 0 || all[i].Planned {
		return err
	}
	if _, err := s.Env().Schedules.Remove(id); err != nil {
		return err
	}
	r.c.notice("info", "the loop %s has ended: its turn planned no other run", id)
	return nil
}

// lastEnd is how the last turn of a branch ended.
func lastEnd(b session.Branch) event.EndReason {
	for at := b.Len() - 1; at >= 0; at-- {
		if b.Kind(at) == (session.TurnEnd{}).Kind() {
			for _, e := range b.Entries(at, at+1) {
				if end, ok := e.Body.(session.TurnEnd); ok {
					return event.EndReason(end.Reason)
				}
			}
		}
	}
	return ""
}

// scheduled reports that a prompt is one of a schedule.
func scheduled(p port.Prompt) bool { return strings.HasPrefix(p.ID, scheduledID) }

// Schedules is the file with the schedules of the session in front, which need not be there.
func (c *Console) Schedules() string { return c.session().Env().Schedules.Path() }

// watchSchedules follows what a session in front plans and watches.
func (c *Console) watchSchedules(s *conversation.Session) {
	s.Env().Background.Heard(func() { c.wake(s) })
	select {
	case c.switched <- struct{}{}:
	default:
	}
}
