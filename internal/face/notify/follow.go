package notify

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/llm"
)

// Watch follows a session until it or ctx ends, and calls send when it needs an answer, is done or failed. It has
// nothing to do with how the session is shown.
func Watch(ctx context.Context, s port.Session, send func(Message)) {
	for ctx.Err() == nil {
		events, err := s.Attach(ctx, port.From{History: 1, Gather: port.Rarely})
		if err != nil {
			return
		}
		w := watcher{send: send, doing: event.Idle}
		for err == nil {
			var e event.Event
			if e, err = events.Next(ctx); err == nil {
				w.take(e)
			}
		}
		events.Close()
		if !errors.Is(err, port.ErrResync) {
			return
		}
	}
}

// watcher knows what a session did last.
type watcher struct {
	send    func(Message)
	doing   event.Doing
	session string
	title   string
	dir     string
	asked   []event.Asked // that are open
	said    string        // by the model, in the running turn
	end     *event.TurnEnd
}

func (w *watcher) take(e event.Event) {
	switch b := e.Body.(type) {
	case event.Opened:
		w.session, w.title, w.dir = b.Session, b.Title, b.Dir
	case event.Status:
		w.title = b.Title
	case event.Asked:
		w.asked = append(w.asked, b)
	case event.Answered:
		for i, a := range w.asked {
			if a.ID == b.ID {
				w.asked = append(w.asked[:i:i], w.asked[i+1:]...)
				break
			}
		}
	case event.PartDone:
		if text, ok := b.Part.(llm.Text); ok && len(e.Agent) == 0 && strings.TrimSpace(text.Text) != "" {
			if w.said = text.Text; b.Shown != nil {
				w.said = *b.Shown
			}
		}
	case event.TurnEnd:
		if len(e.Agent) == 0 {
			w.end = &b
		}
	case event.State:
		w.state(b.Doing)
	}
}

// state sends what a change means to the user.
func (w *watcher) state(now event.Doing) {
	before := w.doing
	w.doing = now
	switch {
	case now == before:
	case now == event.Blocked:
		text := "It needs an answer."
		if len(w.asked) > 0 {
			text = question(w.asked[len(w.asked)-1].Question)
		}
		w.tell(Needs, text)
	case now == event.Idle && w.end != nil:
		end := *w.end
		switch w.end = nil; end.Reason {
		case event.EndInterrupted, event.EndRefused:
		case event.EndFailed:
			w.tell(Failed, "It failed: "+end.Err)
		default:
			w.tell(Done, cmp.Or(w.said, "It is done."))
		}
		w.said = ""
	}
}

// question is what is asked, in a line.
func question(q event.Question) string {
	if len(q.Parts) > 0 {
		q = q.Parts[0]
	}
	if q.Permission != nil {
		return "May " + q.Permission.Tool + " run? " + q.Text
	}
	return cmp.Or(q.Text, q.Title)
}

func (w *watcher) tell(kind, text string) {
	w.send(Message{Kind: kind, Title: cmp.Or(w.title, "lathe"), Text: text, Session: w.session, Dir: w.dir})
}
