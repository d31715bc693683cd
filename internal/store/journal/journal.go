// Package journal joins the log of a session and the stream of its events: an entry and the events that announce it
// are one step.
//
// The words: to record is to write an entry and publish its events with their place in the log; a note is a notice
// that is recorded, so that a reader who comes back does not miss it.
//
// Promises: nothing is published when its entry cannot be written; the events of entries come in the order of the
// log; a full disk is reported once, and so is its end.
package journal

import (
	"context"
	"errors"
	"path/filepath"
	"sync"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// Journal is the log and the events of one agent. It is safe for concurrent use.
type Journal struct {
	log   *session.Session
	bus   *event.Bus
	chain []string

	order    sync.Mutex // held while an entry is written and its events published
	diskFull bool       // guarded by order: the user was warned

	prefix *session.Prefix // guarded by order: the newest in the log; nil: not looked up yet
}

// New makes the journal of the agent with a chain, as in agent.Config. A nil log keeps nothing.
func New(log *session.Session, bus *event.Bus, chain []string) *Journal {
	return &Journal{log: log, bus: bus, chain: chain}
}

// Log is the record of the conversation; nil when nothing is kept. Entries are added through the journal.
func (j *Journal) Log() *session.Session { return j.log }

// ID is the session's id; empty when nothing is kept.
func (j *Journal) ID() string {
	if j.log == nil {
		return ""
	}
	return j.log.ID()
}

// Path is the session's log file, or empty.
func (j *Journal) Path() string {
	if j.log == nil {
		return ""
	}
	return j.log.Path()
}

// Messages is the conversation so far.
func (j *Journal) Messages() []llm.Message {
	if j.log == nil {
		return nil
	}
	return j.log.Messages()
}

// Revision changes whenever Messages does otherwise than to grow.
func (j *Journal) Revision() int {
	if j.log == nil {
		return 0
	}
	return j.log.Revision()
}

// Publish publishes an event that no entry belongs to.
func (j *Journal) Publish(b event.Body) { j.bus.Publish(j.ID(), j.chain, b) }

// Subscribe gives a reader all events from now on.
func (j *Journal) Subscribe(ctx context.Context) *event.Subscription {
	return j.bus.Subscribe(ctx, event.Options{})
}

// Order is held while an entry is written and its events published: its holder sees the log and the stream at the
// same point.
func (j *Journal) Order() sync.Locker { return &j.order }

// Record runs write, which adds an entry to the log, and publishes its events with their place in the log. Nothing
// is published when write fails. All recorded events of a session go this way, so that readers get them in the
// order of the log.
func (j *Journal) Record(write func() error, bodies ...event.Body) error {
	j.order.Lock()
	defer j.order.Unlock()
	if err := write(); err != nil {
		return err
	}
	defer j.watchDisk()
	for i, b := range bodies {
		seen := i + 1
		if seen == len(bodies) {
			seen = 0
		}
		j.bus.PublishAt(j.cursor(seen), j.ID(), j.chain, b)
	}
	return nil
}

// Add writes an entry that no event announces; without a log it does nothing. It goes through Record all the same:
// written between the entry of a recorded event and its publication, it would move that event's cursor.
func (j *Journal) Add(b session.Body) error {
	if j.log == nil {
		return nil
	}
	return j.Record(func() error {
		_, err := j.log.Add(context.Background(), b)
		return err
	})
}

// AddWith writes an entry and publishes the events that announce it; without a log it only publishes.
func (j *Journal) AddWith(entry session.Body, bodies ...event.Body) error {
	return j.Record(func() error {
		if j.log == nil {
			return nil
		}
		_, err := j.log.Add(context.Background(), entry)
		return err
	}, bodies...)
}

// Note publishes a notice and records it, for notices that a reader who comes back must not miss: something was
// lost, cut or replaced. One that cannot be recorded is only published.
func (j *Journal) Note(n event.Notice) {
	if j.JournalNote(n, n) != nil {
		j.Publish(n)
	}
}

// JournalNote adds a notice to the log and publishes bodies with its place.
func (j *Journal) JournalNote(n event.Notice, bodies ...event.Body) error {
	if j.log == nil {
		return errors.New("the session has no log")
	}
	return j.Record(func() error {
		_, err := j.log.Add(context.Background(), session.Note{Level: n.Level, Text: n.Text})
		return err
	}, bodies...)
}

// SideRequest records and publishes a request beside the conversation. One that cannot be recorded is only published.
func (j *Journal) SideRequest(b event.SideRequest) {
	if j.log == nil || j.Record(func() error {
		_, err := j.log.Add(context.Background(), session.SideRequest(b))
		return err
	}, b) != nil {
		j.Publish(b)
	}
}

// watchDisk reports once when the disk has become full, and once when there is room again.
func (j *Journal) watchDisk() {
	if j.log == nil || j.diskFull == (j.log.Unwritten() > 0) {
		return
	}
	j.diskFull = !j.diskFull
	n := event.Notice{Level: "info", Text: "there is room on the disk again, and the conversation is written"}
	if j.diskFull {
		n = event.Notice{Level: "warning", Text: "the disk is full: the conversation goes on in memory only, and commands " +
			"and edits are refused; make room in " +
			filepath.Dir(j.log.Path())}
	}
	j.Publish(n)
}

// cursor is the place after the newest entry, of which so many events were published; 0: all.
func (j *Journal) cursor(events int) event.Cursor {
	if j.log == nil {
		return ""
	}
	return event.CursorAt(j.ID(), j.log.Head(), events)
}
