package app

import (
	"slices"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// A child session knows its parent, and who it is reaches its events, its questions and its approvals.
func TestASubagentsSessionIsKnownByItsChain(t *testing.T) {
	p := newPlace(t, editScript())
	p.write(t, "a.txt", "one\n")
	inst := p.open(t, nil)
	parent := newSession(t, inst, SessionOptions{})
	chain := []string{"general/toolu_7"}
	s := newSession(t, inst, SessionOptions{Chain: chain, Parent: parent.ID(), Interactive: true})
	if info := s.Log().Info(); info.Parent != parent.ID() || info.Agent != "general" || info.Call != "toolu_7" {
		t.Errorf("%+v", info)
	}
	sub := s.Subscribe(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.Prompt(t.Context(), llm.UserText("change it"))
		done <- err
	}()
	asked := false
	for e := range sub.All(t.Context()) {
		if !slices.Equal(e.Agent, chain) {
			t.Errorf("%s is of the agent %q", e.Body.Kind(), e.Agent)
		}
		switch b := e.Body.(type) {
		case event.Asked:
			asked = true
			if !slices.Equal(b.Question.Agent, chain) || !slices.Equal(b.Question.Permission.Agent, chain) {
				t.Errorf("the question is of %q", b.Question.Agent)
			}
			if err := s.Answer(b.ID, event.Answer{Choice: event.ChoiceOnce}); err != nil {
				t.Error(err)
			}
		case event.TurnEnd:
			sub.Close()
		}
	}
	if err := <-done; err != nil || !asked {
		t.Errorf("%v, asked: %v", err, asked)
	}
}
