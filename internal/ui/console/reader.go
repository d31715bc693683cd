package console

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// Reader is one front end's view of the console. Any number may be attached; they do not affect each other.
// Next is for one goroutine.
type Reader struct {
	c     *Console
	sub   *event.Subscription
	limit int             // events of a history; 0: all
	joins bool            // the replay is not over
	state bool            // State is next
	again []event.Event   // questions to repeat
	asked map[string]bool // ids of the questions that the front end knows
}

// Attach adds a reader. If the conversation in front continues from o.After, it first gets the events it missed, else
// Opened with the history; then the open questions of all sessions; then Status and State. After that it gets every
// event exactly once. It ends with ctx, by Close, or with the console.
func (c *Console) Attach(ctx context.Context, o port.From) (port.Events, error) {
	c.turning.Lock()
	defer c.turning.Unlock()
	c.mu.Lock()
	s, closed := c.front, c.closed
	c.mu.Unlock()
	if closed {
		return nil, errClosed
	}
	sub, err := c.bus.Resume(ctx, event.Options{Limit: port.MostBehind}, backlog{s.Order(), s, o.History}, o.After)
	if err != nil {
		return nil, err
	}
	return &Reader{c: c, sub: sub, limit: o.History, joins: true}, nil
}

// Close detaches the reader; others continue.
func (r *Reader) Close() { r.sub.Close() }

// Next returns the next event. User messages are stripped of the context that lathe and user commands put
// before them. After Close it returns io.EOF.
func (r *Reader) Next(ctx context.Context) (event.Event, error) {
	if r.joins && r.sub.Resumed() {
		r.joins, r.state = false, true
		now := r.c.Status()
		return event.Event{Time: time.Now(), Session: now.Session, Body: now}, nil
	}
	if r.state {
		r.state = false
		return event.Event{Time: time.Now(), Session: r.c.session().ID(), Body: r.c.State()}, nil
	}
	for {
		e, err := r.next(ctx)
		if err != nil || !r.twice(e) {
			e.Body = r.shown(e)
			return e, err
		}
	}
}

func (r *Reader) next(ctx context.Context) (event.Event, error) {
	if len(r.again) > 0 {
		e := r.again[0]
		r.again = r.again[1:]
		return e, nil
	}
	e, ok := r.sub.Next(ctx)
	switch {
	case !ok && ctx.Err() != nil:
		return e, ctx.Err()
	case !ok && r.sub.Err() != nil:
		return e, port.ErrResync
	case !ok:
		return e, io.EOF
	}
	return e, nil
}

// twice records the questions that the front end knows and reports whether e is one of them. Opened clears
// the record, and open questions of all sessions are repeated after it.
func (r *Reader) twice(e event.Event) bool {
	switch b := e.Body.(type) {
	case event.Opened, opening:
		r.asked, r.again = nil, nil
		if !r.joins { // else they come by themselves
			r.again = r.c.bus.Questions()
		}
	case event.Asked:
		if r.asked[b.ID] {
			return true
		}
		if r.asked == nil {
			r.asked = map[string]bool{}
		}
		r.asked[b.ID] = true
	case event.Answered:
		delete(r.asked, b.ID)
	}
	return false
}

// shown returns a body in the form for front ends.
func (r *Reader) shown(e event.Event) event.Body {
	switch b := e.Body.(type) {
	case opening:
		if b.branch.Len() > 0 {
			defer collectOften()()
		}
		return b.body(r.limit)
	case event.UserMessage:
		b.Attached, b.Told = session.Attached(b.Message), session.Told(b.Message)
		b.Message = session.StripContext(b.Message)
		return b
	case event.Returned:
		b.Message = session.StripContext(b.Message)
		return b
	case event.TurnStart:
		b.Prompt = session.StripContext(b.Prompt)
		return b
	case event.Asked:
		if front := r.c.session(); e.Session != front.ID() {
			b.Of = r.c.askedBy(e)
		}
		return b
	}
	return e.Body
}

// askedBy names who asks, unless the question is of the conversation in front.
func (c *Console) askedBy(e event.Event) string {
	if n := len(e.Agent); n > 0 {
		kind, call, _ := strings.Cut(e.Agent[n-1], "/")
		for _, t := range c.session().Env().Agents.Tasks.List() {
			if t.Call == call && t.Title != "" {
				return "the agent " + kind + ", which works on: " + t.Title
			}
		}
		return "an agent of the kind " + kind
	}
	if info, err := c.inst.Store().Find("", e.Session); err == nil {
		return "session " + cmp.Or(info.Title, info.FirstPrompt, e.Session)
	}
	return "session " + e.Session
}

// history returns up to n events before a cursor of the conversation in front.
func (c *Console) history(before event.Cursor, n int) (*event.Opened, error) {
	return History(c.session().Log(), before, n)
}

// History returns up to n events of a session's log before a cursor (the More of an Opened or of an earlier call;
// empty: the end), and the cursor of the events before them, which is empty when there are none.
func History(log *session.Session, before event.Cursor, n int) (*event.Opened, error) {
	branch := log.Branch()
	at := branch.Len() - 1
	if before != "" {
		var err error
		if at, _, err = find(log.ID(), branch, before); err != nil {
			return nil, err
		}
	}
	info := log.Info()
	out := &event.Opened{
		Session: log.ID(), Title: cmp.Or(info.Title, info.FirstPrompt), Dir: log.Dir(), Path: log.Folder(),
	}
	out.History, out.More = page(log.ID(), branch, at+1, max(n, 1))
	return out, nil
}

// opening is an Opened before each reader has cut its history to the size it asked for.
type opening struct {
	event.Opened
	branch  session.Branch
	history []event.Body // the whole history; nil: no one has read it yet
}

func (o opening) body(limit int) event.Opened {
	out := o.Opened
	if limit <= 0 {
		if out.History = o.history; out.History != nil {
			return out
		}
		limit = o.branch.Len() + 1
	}
	out.History, out.More = page(out.Session, o.branch, o.branch.Len(), limit)
	return out
}

func openedOf(s *conversation.Session) event.Opened {
	info := s.Log().Info()
	return event.Opened{Session: s.ID(), Title: cmp.Or(info.Title, info.FirstPrompt), Dir: s.Dir(), Path: s.Log().Folder()}
}

// placeAfter returns the cursor after the entry at a place of a branch.
func placeAfter(id string, b session.Branch, at int) event.Cursor {
	if at < 0 {
		return event.CursorAt(id, "", 0)
	}
	return event.CursorAt(id, b.ID(at), 0)
}

// find returns the place of a cursor on a branch and how many events of its entry were read, 0 for all.
func find(id string, b session.Branch, c event.Cursor) (at, events int, err error) {
	of, entry, events, err := c.Split()
	if err != nil {
		return 0, 0, err
	}
	at, ok := b.Find(entry)
	if of != id || !ok {
		return 0, 0, event.ErrCursor
	}
	return at, events, nil
}

// carries reports whether entries of a kind are events of a history.
func carries(kind string) bool {
	return slices.Contains([]string{"user", "part", "call_end", "invoke_end", "turn_end", "note", userShellKind}, kind)
}

// page returns the last n events, or a few more, of the entries before a place, and the cursor of the events
// before them. It also reads the neighbouring entries needed to decode them.
func page(id string, b session.Branch, end, n int) ([]event.Body, event.Cursor) {
	from := end
	for count := 0; from > 0 && count < n; {
		from--
		if carries(b.Kind(from)) {
			count++
		}
	}
	var out []event.Body
	p := &player{publish: func(t logged) {
		if t.at >= from && t.at < end {
			out = append(out, t.body)
		}
	}}
	p.play(b, exchange(b, from), replyEnd(b, end))
	for at := from - 1; at >= 0; at-- {
		if carries(b.Kind(at)) {
			return out, placeAfter(id, b, from-1)
		}
	}
	return out, ""
}

// replyEnd returns the place after the end of the reply that is open at a place; its end names its parts.
func replyEnd(b session.Branch, at int) int {
	for i := at; i < b.Len(); i++ {
		switch b.Kind(i) {
		case "reply":
			return i + 1
		case "user", "turn_end":
			return at
		}
	}
	return at
}

// exchange returns the place to start reading at in order to decode the entries from a given place on: the
// user message before it, or the end of the second reply before it, since calls end before the next reply
// begins.
func exchange(b session.Branch, at int) int {
	replies := 0
	for at > 0 {
		at--
		switch b.Kind(at) {
		case "user", "turn_end":
			return at
		case "reply":
			if replies++; replies == 2 {
				return at
			}
		}
	}
	return 0
}

// backlog is the log of a session, for readers that attach.
type backlog struct {
	locker
	s     *conversation.Session
	limit int
}

type locker interface {
	Lock()
	Unlock()
}

// Since never fails: a reader that cannot continue from its cursor starts over, with Opened.
func (l backlog) Since(after event.Cursor) (event.Replay, error) {
	b := l.s.Log().Branch()
	if at, events, err := find(l.s.ID(), b, after); err == nil && after != "" {
		return l.events(b, at, events), nil
	}
	settled := b.Len()
	if running(b) {
		settled = exchange(b, settled) // the rest is replayed event by event, with the present state
	}
	first := []event.Event{{
		Time: time.Now(), Session: l.s.ID(), Cursor: placeAfter(l.s.ID(), b, settled-1),
		Body: l.opened(b, settled),
	}}
	rest := l.events(b, settled-1, 0)
	return func() []event.Event {
		if out := first; out != nil {
			first = nil
			return out
		}
		return rest()
	}, nil
}

func (l backlog) opened(b session.Branch, end int) event.Opened {
	out, n := openedOf(l.s), l.limit
	if n <= 0 {
		n = b.Len() + 1
	}
	out.History, out.More = page(l.s.ID(), b, end, n)
	return out
}

// running reports whether the branch ends within a turn.
func running(b session.Branch) bool {
	for at := b.Len() - 1; at >= 0; at-- {
		switch b.Kind(at) {
		case "turn_end":
			return false
		case "user", "part", "call_start", "call_end", "reply":
			return true
		}
	}
	return false
}

// chunk is how many entries are read at a time.
const chunk = 512

// events replays the events after a place; of the entry at it, those after its first events.
func (l backlog) events(b session.Branch, at, events int) event.Replay {
	from := at + 1
	if events > 0 {
		from = at
	}
	var ready []event.Event
	p := &player{whole: true, publish: func(t logged) {
		if t.at < from || t.at == at && t.n <= events {
			return
		}
		seen := t.n
		if t.n == t.of {
			seen = 0
		}
		ready = append(ready, event.Event{Time: t.time, Session: l.s.ID(), Cursor: event.CursorAt(l.s.ID(), b.ID(t.at),
			seen), Body: t.body})
	}}
	next := exchange(b, max(from, 0))
	b = b.WithMeta()
	p.begin()
	return func() []event.Event {
		ready = nil
		for len(ready) == 0 && next < b.Len() {
			to := min(next+chunk, b.Len())
			p.read(b, next, to)
			if next = to; next == b.Len() {
				p.close(unclosed)
			}
		}
		return ready
	}
}
