package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/llm"
)

// attend follows a session until it rests. The caller holds the lock.
func (h *Host) attend(ctx context.Context, id string) {
	if h.j.Talks[id] == nil {
		return
	}
	h.begin(ctx, "talk:"+id, func(ctx context.Context) {
		pause := firstPause
		for failed := 0; ; {
			err := h.follow(ctx, id)
			if h.rests(ctx, id, err == nil) {
				return
			}
			if err == nil {
				failed = 0
				continue
			}
			if failed++; failed == attempts && ctx.Err() == nil {
				h.mu.Lock()
				t := h.j.Talks[id]
				h.mu.Unlock()
				h.post(ctx, fmt.Sprintf("fails:%s:%d", id, time.Now().Unix()), Message{
					Place: h.place(*t), Text: "The session cannot be reached: " + escape(err.Error()) + ". I keep trying.",
				})
			}
			h.o.Log.Info("a session cannot be followed", "session", id, "error", err)
			pauseFor(ctx, pause)
			pause = min(2*pause, lastPause)
		}
	})
}

func (h *Host) place(t talk) Place {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.placeOf(t)
}

// rests ends the following of a session that owes nothing.
func (h *Host) rests(ctx context.Context, id string, well bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.j.Talks[id]
	if ctx.Err() == nil && t != nil && (!well || h.owes(t)) {
		return false
	}
	delete(h.running, "talk:"+id)
	if ctx.Err() == nil && t != nil {
		now := *t
		now.At = time.Now()
		r := record{Talk: &now}
		if c := h.j.Chats[t.Chat]; c != nil && c.Session != id {
			r = record{Drop: id} // the chat goes on with another one
		}
		_ = h.add(r)
	}
	return true
}

// owes reports whether a prompt waits for its answer, or a question for one. The caller holds the lock.
func (h *Host) owes(t *talk) bool {
	for _, a := range h.j.Asked {
		if a.Talk == t.ID {
			return true
		}
	}
	return len(t.Owed) > 0
}

// follower is how a session is followed.
type follower struct {
	h     *Host
	id    string
	place Place
	s     port.Session
	open  map[string]bool // questions that came since the stream began; nil: its beginning is read
	state event.State

	prompts []string // of the turn
	said    string   // the newest text of the turn
	live    string   // of the message that streams
	streams string   // its id
	message string   // that of said
	lines   []string // what the turn does
	quiet   bool     // it did something since its newest text
	todos   []event.TodoItem
	todoID  string
	dirty   bool
	shown   time.Time // when the draft was sent
	draft   string
}

// Times of following.
const (
	draftEvery = time.Second
	draftKeep  = 20 * time.Second // a draft lives 30 seconds
	stuckAfter = 60 * time.Second
	draftWait  = 8 * time.Second
)

// follow reads the events of a session until it rests.
func (h *Host) follow(ctx context.Context, id string) error {
	h.mu.Lock()
	t := *h.j.Talks[id]
	f := &follower{h: h, id: id, place: h.placeOf(t), open: map[string]bool{}, draft: t.Draft}
	h.mu.Unlock()
	dial := func(ctx context.Context) (*port.Client, error) { return h.dial(ctx, id, "") }
	first, err := dial(ctx)
	if err != nil {
		return err
	}
	s := port.NewStay(first, dial)
	defer func() { _ = s.Close() }()
	events, err := s.Attach(ctx, port.From{After: t.Cursor})
	if errors.Is(err, event.ErrCursor) { // somebody went back in the session
		events, err = s.Attach(ctx, port.From{})
	}
	if err != nil {
		return err
	}
	defer events.Close()
	f.s = s
	return f.read(ctx, events)
}

func (f *follower) read(ctx context.Context, events port.Events) error {
	for {
		wait := stuckAfter
		if f.dirty {
			wait = max(0, draftEvery-time.Since(f.shown)) + time.Millisecond
		} else if f.state.Turn != "" {
			wait = draftKeep
		}
		limited, cancel := context.WithTimeout(ctx, wait)
		e, err := events.Next(limited)
		late := limited.Err() != nil && ctx.Err() == nil && err != nil
		cancel()
		switch {
		case late && f.state.Turn != "":
			f.show(ctx)
		case late && f.stuck(ctx):
			return nil
		case late:
		case errors.Is(err, port.ErrResync):
			return nil // and again from the last cursor
		case err != nil:
			return err
		default:
			if err := f.take(ctx, e); err != nil || f.done() {
				return err
			}
			if f.dirty && time.Since(f.shown) > draftEvery {
				f.show(ctx)
			}
		}
	}
}

// done reports that nothing runs and nothing is owed.
func (f *follower) done() bool {
	f.h.mu.Lock()
	defer f.h.mu.Unlock()
	t := f.h.j.Talks[f.id]
	return f.open == nil && f.state.Doing == event.Idle && (t == nil || !f.h.owes(t))
}

// stuck reports whether the session rests although prompts are owed, and gives them up: somebody dropped them.
func (f *follower) stuck(ctx context.Context) bool {
	now, err := f.s.Read(ctx, port.ReadRequest{What: "status"})
	if err != nil || now.State == nil || now.State.Doing != event.Idle {
		return false
	}
	if now.Status != nil && len(now.Status.Waiting) > 0 {
		_, _ = f.s.Queue(ctx, port.QueueChange{Do: "send"}) // what waits after a turn that failed
		return false
	}
	f.h.mu.Lock()
	defer f.h.mu.Unlock()
	busy := f.h.running["in:"+f.place.Key()]
	if !busy {
		_ = f.h.changeLocked(f.id, func(t *talk) record { t.Owed = nil; return record{} })
	}
	return !busy
}

// take deals with an event.
func (f *follower) take(ctx context.Context, e event.Event) error {
	if opened, ok := e.Body.(event.Opened); ok {
		f.reset()
		f.open = map[string]bool{}
		for _, b := range opened.History {
			if err := f.body(ctx, event.Event{Session: e.Session, Body: b, Cursor: e.Cursor}); err != nil {
				return err
			}
		}
		return nil
	}
	switch b := e.Body.(type) {
	case event.Asked:
		if f.open != nil {
			f.open[b.ID] = true
		}
		return f.h.ask(ctx, f, e.Session, b)
	case event.Answered:
		return f.h.closeQuestion(ctx, b.ID, outcome(f.h, b.Answer))
	case event.State:
		f.state = b
		return f.begun(ctx)
	case event.Status:
		f.tasks(ctx, b.Todos)
		return nil
	}
	if len(e.Agent) > 0 {
		return nil
	}
	return f.body(ctx, e)
}

// begun closes the questions that are open no more when the beginning of the stream was read.
func (f *follower) begun(ctx context.Context) error {
	if f.open == nil {
		return nil
	}
	var stale []string
	f.h.mu.Lock()
	for id, a := range f.h.j.Asked {
		if a.Talk == f.id && !f.open[id] {
			stale = append(stale, id)
		}
	}
	f.h.mu.Unlock()
	f.open = nil
	for _, id := range stale {
		if err := f.h.closeQuestion(ctx, id, "No longer open."); err != nil {
			return err
		}
	}
	return nil
}

func (f *follower) reset() {
	f.prompts, f.said, f.live, f.message, f.lines, f.quiet = nil, "", "", "", nil, false
}

// mostLines is how many lines of what the turn does a draft has.
const mostLines = 4

// body deals with an event of the conversation itself.
func (f *follower) body(ctx context.Context, e event.Event) error {
	switch b := e.Body.(type) {
	case event.UserMessage:
		if !b.Synthetic {
			f.prompts = append(f.prompts, b.Message.ID)
		}
	case event.Delta:
		f.delta(b.ForPeople())
		f.streams = b.MessageID
	case event.Retry:
		f.live = ""
	case event.PartDone:
		if text, ok := b.ForPeople().Part.(llm.Text); ok && strings.TrimSpace(text.Text) != "" {
			if b.MessageID != "" && b.MessageID == f.message {
				f.said += "\n\n" + text.Text
			} else {
				f.said = text.Text
			}
			f.message, f.live, f.dirty, f.quiet = b.MessageID, "", true, false
		}
	case event.ToolStart:
		f.lines = append(f.lines, b.Title)
		f.lines, f.dirty, f.quiet = f.lines[max(0, len(f.lines)-mostLines):], true, true
	case event.ToolEnd:
		f.image(ctx, b)
	case event.Returned:
		return f.returned(ctx, b)
	case event.TurnEnd:
		return f.turnEnd(ctx, e, b)
	}
	return nil
}

// mostImage is the size of the largest picture that is sent by itself, in bytes.
const mostImage = 5 << 20

// image sends a picture that a tool made. Read shows pictures to the model.
func (f *follower) image(ctx context.Context, b event.ToolEnd) {
	v, ok := b.View.(event.Image)
	if !ok || b.Call.Name == "Read" || len(v.Data) > mostImage {
		return
	}
	name := v.Name
	if name == "" {
		name = "picture.png"
	}
	f.h.post(ctx, "image:"+f.id+":"+b.Call.ID, Message{
		Place: f.place, Text: escape(b.Title), Quiet: true, File: &Document{Name: name, MIME: v.MIME, Data: v.Data},
	})
}

func (f *follower) delta(b event.Delta) {
	if text, ok := b.Delta.(llm.TextDelta); ok {
		f.live += text.Text
		f.dirty = true
	}
}

// reply is the reply that streams, as far as it is there.
func (f *follower) reply() string {
	switch {
	case f.quiet && f.live == "":
		return ""
	case f.live == "":
		return f.said
	case f.streams == f.message && f.said != "":
		return f.said + "\n\n" + f.live
	}
	return f.live
}

// show sends the draft. That it cannot be shown is no failure: the answer comes.
func (f *follower) show(ctx context.Context) {
	f.dirty, f.shown = false, time.Now()
	var b strings.Builder
	for _, l := range f.lines {
		b.WriteString("▸ " + escape(short(l, 200)) + "  \n")
	}
	text := f.reply()
	b.WriteString("\n" + text)
	ctx, cancel := context.WithTimeout(ctx, draftWait)
	defer cancel()
	m := Message{Place: f.place, Text: strings.TrimSpace(b.String()), Live: text, Quiet: true}
	id, err := f.h.t.Draft(ctx, m, f.draft)
	if err != nil {
		f.h.o.Log.Debug("a draft was not shown", "error", err)
		return
	}
	if id != f.draft {
		f.draft = id
		_ = f.h.change(f.id, func(t *talk) record { t.Draft = id; return record{} })
	}
}

// tasks keeps one message with the task list.
func (f *follower) tasks(ctx context.Context, now []event.TodoItem) {
	if len(now) == 0 || slices.Equal(now, f.todos) || f.state.Turn == "" {
		return
	}
	f.todos = now
	ctx, cancel := context.WithTimeout(ctx, draftWait)
	defer cancel()
	m := Message{Place: f.place, Text: taskList(now), Quiet: true}
	if f.todoID == "" {
		f.todoID, _ = f.h.t.Send(ctx, m) // it is repeated by /todo
	} else {
		_ = f.h.t.Edit(ctx, f.todoID, m)
	}
}

// taskList is a task list in Markdown.
func taskList(items []event.TodoItem) string {
	var b strings.Builder
	for _, i := range items {
		switch i.Status {
		case "completed":
			b.WriteString("- [x] " + escape(i.Content) + "\n")
		case "in_progress":
			b.WriteString("- [ ] **" + escape(i.Content) + "**\n")
		default:
			b.WriteString("- [ ] " + escape(i.Content) + "\n")
		}
	}
	return b.String()
}

// returned tells the author that a message was not taken.
func (f *follower) returned(ctx context.Context, b event.Returned) error {
	return f.pay(ctx, []string{b.Message.ID}, "answer:"+b.Message.ID, "Your message was not taken.", record{}, "")
}

// turnEnd sends what the turn said, in the same step in which its prompts are paid.
func (f *follower) turnEnd(ctx context.Context, e event.Event, b event.TurnEnd) error {
	text := f.said
	switch b.Reason {
	case event.EndCompleted:
		if text == "" {
			text = "Done."
		}
	case event.EndFailed:
		text = strings.TrimSpace(text + "\n\n**The turn failed:** " + escape(b.Err))
	case event.EndInterrupted:
		text = strings.TrimSpace(text + "\n\n*Stopped.*")
	default:
		text = strings.TrimSpace(text + "\n\n*The turn ended: " + strings.ReplaceAll(string(b.Reason), "_", " ") + ".*")
	}
	id := string(e.Cursor)
	if len(f.prompts) > 0 {
		id = f.prompts[0]
	}
	var r record
	f.h.mu.Lock()
	if c := f.h.chatOf(f.place); f.h.j.Chats[f.place.Key()] != nil {
		if c.Day != today() {
			c.Day, c.Spent = today(), 0
		}
		c.Spent += b.CostUSD
		r.Chat = &c
	}
	f.h.mu.Unlock()
	err := f.pay(ctx, f.prompts, "answer:"+f.id+":"+id, text, r, e.Cursor)
	f.reset()
	f.todos, f.todoID, f.dirty = nil, "", false
	return err
}

// pay writes an answer and what it is for. The lock makes both, and the cursor, one step.
func (f *follower) pay(ctx context.Context, prompts []string, id, text string, r record, cursor event.Cursor) error {
	reply, draft := "", f.draft
	f.h.mu.Lock()
	defer f.h.mu.Unlock()
	err := f.h.changeLocked(f.id, func(t *talk) record {
		t.Owed = slices.DeleteFunc(t.Owed, func(o owed) bool {
			paid := slices.Contains(prompts, o.Prompt)
			if paid && o.Message != "" {
				reply = o.Message
			}
			return paid
		})
		if cursor != "" {
			t.Cursor, t.Draft = cursor, ""
		}
		if t.Aside {
			text = "**In the background:** " + text
		}
		r.Put = []out{{ID: id, Message: Message{Place: f.place, Text: text, Reply: reply, Draft: draft}}}
		return r
	})
	f.draft = ""
	f.h.deliver(ctx, f.place.Key())
	return err
}
