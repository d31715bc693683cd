//go:build linux || darwin

package cli_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/acp/acptest"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/face/port/porttest"
	"github.com/lathe-dev/lathe/internal/llm"
)

// notInVersion1 are the tests of the port that version 1 of the protocol cannot express.
var notInVersion1 = map[string]string{
	"SamePromptOnce":   "a prompt of the protocol has no id of the client",
	"Queue":            "messages that wait cannot be listed or changed",
	"NamedTurn":        "a prompt and a cancellation name no turn",
	"QuestionsReach":   "a client is not told what a turn of another client does, so it sees no end of it",
	"FirstAnswer":      "a client is not told who answered",
	"AnswersByPolicy":  "a client has no principal and no policy",
	"CursorGetsMissed": "updates have no cursor; a client that comes back loads the whole history",
	"TurnWithoutFace":  "a history has no ends of turns; see TestASessionOutlivesItsEditor",
	"SameOrder":        "updates have no cursor that two clients could compare",
	"Restart":          "a prompt that is sent again has no id; see TestAnEditorGoesOnAfterACrash",
	"ManyAtOnce":       "a client asks for no completions",
	"Read":             "a client reads no pages, settings or files of the session",
}

func TestThePortThroughTheProtocolOfEditors(t *testing.T) {
	porttest.Run(t, func(t *testing.T) porttest.Place {
		return porttest.Place{
			Without: notInVersion1,
			Face: func(t *testing.T, _ port.Face) port.Session {
				e := newJobsPlace(t).editor(t, "v1")
				e.initialize(t, object{})
				return &editorSession{e: e, id: e.session(t), events: make(chan event.Event, 100)}
			},
		}
	})
}

// editorSession is a session of an editor as the port sees it.
type editorSession struct {
	port.Session // what the protocol lacks
	e            *editor
	id           string
	events       chan event.Event
}

func (s *editorSession) put(b event.Body) { s.events <- event.Event{Session: s.id, Body: b} }

// Attach is as in port.Session.
func (s *editorSession) Attach(context.Context, port.From) (port.Events, error) {
	s.put(event.Opened{Session: s.id})
	s.put(event.State{Doing: event.Idle})
	return s, nil
}

// Next is as in port.Events.
func (s *editorSession) Next(ctx context.Context) (event.Event, error) {
	select {
	case e := <-s.events:
		return e, nil
	case <-ctx.Done():
		return event.Event{}, errors.Join(ctx.Err(), io.ErrUnexpectedEOF)
	}
}

// Close is as in port.Events.
func (s *editorSession) Close() {}

// Prompt is as in port.Session: the client shows its own message, and knows that the turn ended by the answer.
func (s *editorSession) Prompt(ctx context.Context, p port.Prompt) (port.Receipt, error) {
	wait := s.e.Begin("session/prompt", say(s.id, p.Message.PlainText()))
	s.put(event.State{Doing: event.Working, Turn: p.ID})
	m := p.Message
	m.ID = p.ID
	s.put(event.UserMessage{Message: m})
	go func() {
		if err := wait(ctx, nil); err != nil {
			s.put(event.TurnEnd{Reason: event.EndFailed, Err: err.Error()})
		} else {
			s.put(event.PartDone{Part: llm.Text{Text: s.e.Text("agent_message_chunk")}})
			s.put(event.TurnEnd{Reason: event.EndCompleted})
		}
		s.put(event.State{Doing: event.Idle})
	}()
	return port.Receipt{ID: p.ID, State: port.Begun}, nil
}

// A session process that is killed goes on, its question comes again, and its prompt is answered.
func TestAnEditorGoesOnAfterACrash(t *testing.T) {
	p := newJobsPlace(t)
	e := p.editor(t, "v1")
	e.choose = ""
	e.initialize(t, object{})
	id := e.session(t)
	wait := e.Begin("session/prompt", say(id, "ask me"))
	e.untilAsked(t, 1)
	j, err := p.Find(id)
	if err != nil {
		t.Fatal(err)
	}
	e.mu.Lock()
	e.choose = "allow_once"
	e.mu.Unlock()
	p.kill(j.ID)
	var out object
	if err := wait(t.Context(), &out); err != nil || out["stopReason"] != "end_turn" {
		t.Errorf("%v %v", out, err)
	}
	e.Until(func(u acptest.Update) bool { return u.Kind == "agent_message_chunk" && u.Text() == "It is made." })
}
