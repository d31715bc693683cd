package console

import (
	"testing"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/llm"
)

// What waited when a session was closed waits again when it is resumed; what was dropped does not.
func TestMessagesThatWaitSurviveTheirProcess(t *testing.T) {
	p := newPlace(t, slow("answered", "later answered"))
	s := p.open(t, nil)
	_, ended := s.begin("go")
	for _, id := range []string{"kept", "dropped"} {
		_, err := s.Console.Prompt(t.Context(), port.Prompt{ID: id, Message: llm.UserText(id), When: port.AfterTurn})
		if err != nil {
			t.Fatal(err)
		}
	}
	if m, ok := s.Unqueue(); !ok || m.ID != "dropped" {
		t.Errorf("%+v", m)
	}
	id := s.session().ID()
	s.session().Interrupt()
	s.wait(ended)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := p.open(t, func(o *Options) { o.Session = conversation.SessionOptions{Resume: id, Interactive: true} })
	if w := again.Status().Waiting; len(w) != 1 || w[0] != (event.Waiting{ID: "kept", Text: "kept", After: true}) {
		t.Errorf("%+v", w)
	}
	for _, id := range []string{"kept", "dropped"} {
		r, err := again.Console.Prompt(t.Context(), port.Prompt{ID: id, Message: llm.UserText(id)})
		if err != nil || r.State != port.Known {
			t.Errorf("%+v %v", r, err)
		}
	}
	again.command("new", "")
	back := p.open(t, func(o *Options) { o.Session = conversation.SessionOptions{Resume: id, Interactive: true} })
	if w := back.Status().Waiting; len(w) != 0 {
		t.Errorf("%+v waits in a session that was left", w)
	}
}
