package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// Kinds of journal entries for messages that wait: queued has the message, again after each change, and unqueued says
// that it was dropped. One that was delivered is a user message with the id.
const (
	queuedKind   = "queued"
	unqueuedKind = "unqueued"
)

type queuedEntry struct {
	ID      string       `json:"prompt"`
	Message *llm.Message `json:"message,omitempty"`
}

// journalQueue writes a change of the messages that wait, which survives a power cut then.
func (c *Console) journalQueue(s *conversation.Session, kind string, e queuedEntry) error {
	body, err := json.Marshal(e)
	if err == nil && s.Log() != nil {
		if _, err = s.Log().Add(c.ctx, session.Unknown{Name: kind, JSON: body}); err == nil {
			err = s.Log().Sync(c.ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("the message is not kept: %w", err)
	}
	return nil
}

// unqueued notes that messages do not wait any more and were not delivered. That it cannot be noted is said.
func (c *Console) unqueued(s *conversation.Session, all ...llm.Message) {
	for _, m := range all {
		if err := c.journalQueue(s, unqueuedKind, queuedEntry{ID: m.ID}); err != nil && m.ID != "" {
			c.bus.Publish(s.ID(), nil, event.Notice{Level: "warning", Text: err.Error()})
		}
	}
}

// queuedIn are the messages of a log that wait, in the order in which they came.
func queuedIn(log *session.Session) (out []llm.Message) {
	if log == nil {
		return nil
	}
	all := log.Everything()
	if all.Only(queuedKind).Len() == 0 {
		return nil
	}
	all = all.Only(queuedKind, unqueuedKind, session.User{}.Kind())
	for _, e := range all.Entries(0, all.Len()) {
		switch b := e.Body.(type) {
		case session.User:
			out = without(out, b.Message.ID)
		case session.Unknown:
			var q queuedEntry
			if json.Unmarshal(b.JSON, &q) != nil {
				continue
			}
			i := slices.IndexFunc(out, func(m llm.Message) bool { return m.ID == q.ID })
			switch {
			case b.Name == unqueuedKind || q.Message == nil:
				out = without(out, q.ID)
			case i >= 0:
				out[i] = *q.Message
			default:
				out = append(out, *q.Message)
			}
		}
	}
	return out
}

func without(all []llm.Message, id string) []llm.Message {
	return slices.DeleteFunc(all, func(m llm.Message) bool { return m.ID == id })
}

func unsent(n int) string {
	if n == 1 {
		return "1 message was not sent; Up takes it back, and it is sent after the next turn"
	}
	return fmt.Sprintf("%d messages were not sent; Up takes them back, and they are sent after the next turn", n)
}

// waiting lists the messages that were not delivered. The caller holds the lock.
func (c *Console) waiting() (out []event.Waiting) {
	add := func(m llm.Message, after bool) {
		first, _, _ := strings.Cut(strings.TrimSpace(session.StripContext(m).PlainText()), "\n")
		out = append(out, event.Waiting{ID: m.ID, Text: first, After: after})
	}
	for _, m := range c.front.Steers() {
		add(m, false)
	}
	for _, m := range c.queue {
		add(m, true)
	}
	return out
}

// errNotWaiting is returned for a change of a message that does not wait.
var errNotWaiting = errors.New("no such message waits; it may have been delivered")

// Queue changes the messages that wait; see [port.Session].
func (c *Console) Queue(_ context.Context, q port.QueueChange) (port.Queue, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.touch()
	now := c.waiting()
	if q.Do == "" || q.Do == "list" {
		return port.Queue{Waiting: now}, nil
	}
	if q.ID == "" {
		q.ID = c.newest(now)
	}
	i := slices.IndexFunc(c.queue, func(m llm.Message) bool { return m.ID == q.ID })
	if i < 0 { // it may be for the next step; changed, it waits for the end of the turn
		m, ok := c.front.Unsteer(q.ID)
		if !ok {
			return port.Queue{Waiting: now}, errNotWaiting
		}
		c.queue, i = slices.Insert(c.queue, 0, m), 0
	}
	out, err := c.change(q, i)
	out.Waiting = c.waiting()
	return out, err
}

// newest is the id of the message that was taken last.
func (c *Console) newest(waiting []event.Waiting) (id string) {
	last := -1
	for _, w := range waiting {
		stamp := 0 // it came from an earlier process
		if a := c.taken[w.ID]; a != nil {
			stamp = a.stamp
		}
		if stamp >= last {
			id, last = w.ID, stamp
		}
	}
	return id
}

// change changes the i-th message of the queue.
func (c *Console) change(q port.QueueChange, i int) (out port.Queue, err error) {
	m := c.queue[i]
	rest := slices.Concat(c.queue[:i], c.queue[i+1:])
	switch q.Do {
	case "drop":
		out.Dropped, c.queue = &m, rest
		err = c.journalQueue(c.front, unqueuedKind, queuedEntry{ID: m.ID})
	case "move":
		c.queue = slices.Insert(rest, min(max(q.To, 0), len(rest)), m)
	case "edit":
		if q.Message == nil {
			return out, errors.New("the new message is missing")
		}
		m.Parts = q.Message.Parts
		c.queue[i] = m
		err = c.journalQueue(c.front, queuedKind, queuedEntry{m.ID, &m})
	case "send":
		if c.front.Steer(m) {
			c.queue = rest
			_, _ = c.detachRunning(c.front)
		} else if !c.busy && !c.closed {
			c.queue = rest
			c.beginTurns(m)
		}
	default:
		err = fmt.Errorf("the queue has no change %q: give list, edit, drop, move or send", q.Do)
	}
	return out, err
}
