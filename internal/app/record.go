package app

import (
	"context"
	"errors"
	"path/filepath"
	"sync"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/session"
)

// Record runs write, which adds an entry to the log, and publishes the events that tell of it, with their
// place in the log. Nothing is published when write fails. All recorded events of a session go this way, so
// that readers get them in the order of the log.
func (s *Session) Record(write func() error, bodies ...event.Body) error {
	s.order.Lock()
	defer s.order.Unlock()
	if err := write(); err != nil {
		return err
	}
	defer s.watchDisk()
	for i, b := range bodies {
		seen := i + 1
		if seen == len(bodies) {
			seen = 0
		}
		s.bus.PublishAt(s.cursor(seen), s.ID(), s.chain, b)
	}
	return nil
}

// Note publishes a notice and journals it, for notices that a reader who comes back must not miss: something was
// lost, cut or replaced. One that cannot be journaled is only published.
func (s *Session) Note(n event.Notice) {
	if s.JournalNote(n, n) != nil {
		s.publish(n)
	}
}

// JournalNote adds a notice to the log and publishes bodies with its place.
func (s *Session) JournalNote(n event.Notice, bodies ...event.Body) error {
	if s.log == nil {
		return errors.New("the session has no log")
	}
	return s.Record(func() error {
		_, err := s.log.Add(context.Background(), session.Note{Level: n.Level, Text: n.Text})
		return err
	}, bodies...)
}

// publishAgent publishes an event of the agent; its notices are journaled.
func (s *Session) publishAgent(b event.Body) {
	if n, ok := b.(event.Notice); ok {
		s.Note(n)
		return
	}
	s.publish(b)
}

// watchDisk tells once when the disk has become full, and once when there is room again.
func (s *Session) watchDisk() {
	if s.log == nil || s.diskFull == (s.log.Unwritten() > 0) {
		return
	}
	s.diskFull = !s.diskFull
	n := event.Notice{Level: "info", Text: "there is room on the disk again, and the conversation is written"}
	if s.diskFull {
		n = event.Notice{Level: "warning", Text: "the disk is full: the conversation goes on in memory only, and commands and edits are refused; make room in " +
			filepath.Dir(s.log.Path())}
	}
	s.publish(n)
}

// cursor is the place after the newest entry, of which so many events were published; 0: all.
func (s *Session) cursor(events int) event.Cursor {
	if s.log == nil {
		return ""
	}
	return event.CursorAt(s.ID(), s.log.Head(), events)
}

// Order is held while an entry is written and its events published: who has it sees the log and the stream
// at the same point.
func (s *Session) Order() sync.Locker { return &s.order }

// Answer answers an open question of one of the sessions that are open here.
func (i *Instance) Answer(session, id string, a event.Answer) error {
	i.mu.Lock()
	var of *Session
	for s := range i.sessions {
		if s.ID() == session {
			of = s
		}
	}
	i.mu.Unlock()
	if of == nil {
		return ErrNoQuestion
	}
	return of.Answer(id, a)
}
