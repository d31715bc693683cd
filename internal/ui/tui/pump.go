package tui

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
)

// The least time between two deliveries of events: deltas wait longer, so that the screen is
// calm while a reply streams.
const (
	eventGap = 16 * time.Millisecond
	deltaGap = 33 * time.Millisecond
)

// eventsMsg says that events wait in the pump.
type eventsMsg struct{}

// endedMsg says that no more events come.
type endedMsg struct{ err error }

// pump reads the session's events and wakes the loop when there are some, but not for each: the loop takes
// all that came. It never waits for the loop.
type pump struct {
	mu      sync.Mutex
	waiting []event.Event
	timer   *time.Timer
	due     time.Time // when the timer fires; zero: no wake is on its way
	last    time.Time // of the last wake
	wake    func()
}

func newPump(wake func()) *pump { return &pump{wake: wake} }

// run reads until the stream or ctx ends, and returns why; nil if that was meant.
func (p *pump) run(ctx context.Context, next func(context.Context) (event.Event, error)) error {
	for {
		e, err := next(ctx)
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
				return nil
			}
			return err
		}
		p.add(e)
	}
}

func (p *pump) add(e event.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = append(p.waiting, e)
	gap := eventGap
	switch e.Body.(type) {
	case event.Delta, event.ToolOutput:
		gap = deltaGap
	}
	due := p.last.Add(gap)
	if now := time.Now(); due.Before(now) {
		due = now
	}
	switch {
	case p.due.IsZero():
		p.due = due
		if p.timer == nil {
			p.timer = time.AfterFunc(time.Until(due), p.fire)
			return
		}
		p.timer.Reset(time.Until(due))
	case due.Before(p.due):
		p.due = due
		p.timer.Reset(time.Until(due))
	}
}

func (p *pump) fire() { p.wake() }

// take returns the events since the last call.
func (p *pump) take() []event.Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.waiting
	p.waiting, p.due, p.last = nil, time.Time{}, time.Now()
	return out
}

// stop ends the timer.
func (p *pump) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
	}
}
