package app

import (
	"slices"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/permission"
)

// A child session knows its parent, and who it is reaches its events, its questions and its approvals.
func TestASubagentsSessionIsKnownByItsChain(t *testing.T) {
	p := newPlace(t, editScript())
	p.write(t, "a.txt", "one\n")
	inst := p.open(t, nil)
	parent := newSession(t, inst, SessionOptions{})
	chain := []string{"general/toolu_7"}
	s := newSession(t, inst, SessionOptions{Chain: chain, Parent: parent, Interactive: true})
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

// A child begins with its parent's mode, folders and granted rules, and its spending counts against the parent's
// budget, while it runs and after.
func TestASubagentsSessionInheritsModeRulesAndBudget(t *testing.T) {
	say := llmtest.Say(llmtest.Text("Done."))
	p := newPlace(t, llmtest.Replies(say, say, say, say))
	more := t.TempDir()
	inst := p.open(t, func(o *Options) { o.MaxBudgetUSD = 1e-9 })
	parent := newSession(t, inst, SessionOptions{})
	if err := parent.SetMode(t.Context(), permission.AcceptEdits); err != nil {
		t.Fatal(err)
	}
	if err := parent.Grant("Bash(make)", permission.Allow); err != nil {
		t.Fatal(err)
	}
	dir, err := parent.AddDir(more)
	if err != nil {
		t.Fatal(err)
	}
	child := newSession(t, inst, SessionOptions{Chain: []string{"general/1"}, Parent: parent})
	c, err := child.Consider(t.Context(), llm.ToolCall{ID: "1", Name: "Bash", Input: []byte(`{"command":"make"}`)})
	if err != nil || c.Decision.Effect != permission.Allow || child.Mode() != permission.AcceptEdits || !slices.Contains(child.Dirs(), dir) {
		t.Errorf("%+v %v, mode %s, folders %q", c.Decision, err, child.Mode(), child.Dirs())
	}
	if end, err := child.Prompt(t.Context(), llm.UserText("go")); err != nil || end.Reason != event.EndCompleted || end.CostUSD <= 0 {
		t.Fatalf("%+v %v", end, err)
	}
	for range 2 { // while the child is open, and after
		if end, err := parent.Prompt(t.Context(), llm.UserText("go")); err != nil || end.Reason != event.EndBudget {
			t.Errorf("%+v %v", end, err)
		}
		if err := child.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
