package event

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Log is the record of one session, for readers that come back.
type Log interface {
	// The lock is held wherever an entry is written and its events are published: between Lock and Unlock,
	// the log and the stream hold the same events.
	sync.Locker
	// Since returns the events that the log has after a cursor. It is called with the lock held and only
	// notes the present end; the replay reads the entries afterwards. ErrCursor: nothing can follow the
	// cursor.
	Since(after Cursor) (Replay, error)
}

// Replay returns the next events of a log in order, as many as are convenient, and none at the end. It is for
// one goroutine.
type Replay func() []Event

// Resume returns a subscription that begins after a cursor: first the events that the log has, then the open
// questions of all sessions of the bus, then every event published from now on. No recorded event is skipped
// or repeated. Events that were never recorded (pieces of text and output, states) are not repeated.
//
// Open questions are published again to each reader that resumes. A question that was open before and does
// not come again has been answered.
func (b *Bus) Resume(ctx context.Context, o Options, log Log, after Cursor) (*Subscription, error) {
	log.Lock()
	s, now := b.join(ctx, o)
	replay, err := log.Since(after)
	log.Unlock()
	if err != nil {
		s.Close()
		return nil, err
	}
	s.replay = replay.with(now, o)
	return s, nil
}

// with completes a replay with the state that the log does not hold: running calls and open questions.
func (r Replay) with(now live, o Options) Replay {
	var asked []Event
	for _, e := range now.asked {
		if o.Session == "" || o.Session == e.Session {
			asked = append(asked, e)
		}
	}
	return func() []Event {
		if r != nil {
			if out := r(); len(out) > 0 {
				for i, e := range out {
					out[i].Body = now.complete(e)
				}
				return out
			}
			r = nil
		}
		out := asked
		asked = nil
		return out
	}
}

// Resumed reports whether Next has returned everything that precedes the live events.
func (s *Subscription) Resumed() bool {
	return s.next >= len(s.batch) && !s.replayed()
}

// replayed takes the next events of the replay as the batch to read.
func (s *Subscription) replayed() bool {
	if s.replay == nil {
		return false
	}
	events := s.replay()
	if len(events) == 0 {
		s.replay = nil
		return false
	}
	s.batch, s.next = s.batch[:0], 0
	for _, e := range events {
		s.batch = append(s.batch, pending{Event: e})
	}
	return true
}

// Questions lists the open questions of all sessions and agents, oldest first: events whose body is Asked.
func (b *Bus) Questions() []Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.live.asked)
}

// FindQuestion returns the open question of a session, or an error that says why there is none.
func (b *Bus) FindQuestion(session, id string) (Event, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.live.asked {
		if e.Body.(Asked).ID != id {
			continue
		}
		if e.Session != session {
			return Event{}, fmt.Errorf("%w: question %s is of another session", ErrNoQuestion, id)
		}
		return e, nil
	}
	return Event{}, ErrNoQuestion
}

// live is the current state, as derived from the events so far.
type live struct {
	asked   []Event               // open questions, oldest first
	running map[callKey]ToolStart // calls without a result
	reply   map[string]string     // the message that a session's reply has, by session
}

// callKey names a call; ids are unique within a session only.
type callKey struct{ session, call string }

func (l *live) clone() live {
	return live{slices.Clone(l.asked), maps.Clone(l.running), maps.Clone(l.reply)}
}

func (l *live) take(e Event) {
	switch b := e.Body.(type) {
	case Asked:
		l.asked = append(l.asked, e)
	case Answered:
		l.asked = slices.DeleteFunc(l.asked, func(a Event) bool {
			return a.Session == e.Session && a.Body.(Asked).ID == b.ID
		})
	case PartDone:
		if l.reply == nil {
			l.reply = map[string]string{}
		}
		l.reply[e.Session] = b.MessageID
	case ToolStart:
		if l.running == nil {
			l.running = map[callKey]ToolStart{}
		}
		l.running[callKey{e.Session, b.Call.ID}] = b
	case ToolEnd:
		delete(l.running, callKey{e.Session, b.Call.ID})
	case TurnEnd:
		delete(l.reply, e.Session)
	}
}

// complete adds the state that is known only while a turn runs to a body from a log.
func (l *live) complete(e Event) Body {
	switch b := e.Body.(type) {
	case PartDone:
		if b.MessageID == "" {
			b.MessageID = l.reply[e.Session]
		}
		return b
	case ToolStart:
		if now, ok := l.running[callKey{e.Session, b.Call.ID}]; ok {
			return now
		}
	}
	return e.Body
}
