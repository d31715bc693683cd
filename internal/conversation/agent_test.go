package conversation_test

import (
	"slices"
	"testing"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// A child session knows its parent, and who it is reaches its events, its questions and its approvals.
func TestASubagentsSessionIsKnownByItsChain(t *testing.T) {
	p := newPlace(t, editScript())
	p.write(t, "a.txt", "one\n")
	inst := p.open(t, nil)
	parent := newSession(t, inst, conversation.SessionOptions{Interactive: true})
	chain := []string{"general/toolu_7"}
	s := newSession(t, inst, conversation.SessionOptions{Chain: chain, Parent: parent, Interactive: true})
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
	inst := p.open(t, func(o *conversation.Options) { o.MaxBudgetUSD = 1e-9 })
	parent := newSession(t, inst, conversation.SessionOptions{})
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
	child := newSession(t, inst, conversation.SessionOptions{Chain: []string{"general/1"}, Parent: parent})
	c, err := child.Consider(t.Context(), llm.ToolCall{ID: "1", Name: "Bash", Input: []byte(`{"command":"make"}`)})
	if err != nil || c.Decision.Effect != permission.Allow || child.Mode() != permission.AcceptEdits ||
		!slices.Contains(child.Dirs(), dir) {
		t.Errorf("%+v %v, mode %s, folders %q", c.Decision, err, child.Mode(), child.Dirs())
	}
	if end, err := child.Prompt(t.Context(), llm.UserText("go")); err != nil || end.Reason != event.EndCompleted ||
		end.CostUSD <= 0 {
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

// What is decided for the parent while its subagent runs binds the subagent at once: the mode, a denial, a grant that
// is taken back, a folder. The subagent itself changes none of it.
func TestASubagentIsBoundByWhatChangesForItsParent(t *testing.T) {
	p := newPlace(t, llmtest.Replies())
	inst := p.open(t, nil)
	parent := newSession(t, inst, conversation.SessionOptions{})
	middle := newSession(t, inst, conversation.SessionOptions{Chain: []string{"general/1"}, Parent: parent})
	child := newSession(t, inst, conversation.SessionOptions{Chain: []string{"general/1", "general/2"}, Parent: middle})
	decide := func(command string) permission.Effect {
		t.Helper()
		c, err := child.Consider(t.Context(), llm.ToolCall{ID: "1", Name: "Bash", Input: []byte(`{"command":"` + command +
			`"}`)})
		if err != nil {
			t.Fatal(err)
		}
		return c.Decision.Effect
	}
	if got := decide("make"); got != permission.Ask {
		t.Fatal(got)
	}
	for _, step := range []struct {
		name   string
		change func() error
		want   permission.Effect
	}{
		{"a grant", func() error { return parent.Grant("Bash(make)", permission.Allow) }, permission.Allow},
		{"taken back", func() error { parent.Ungrant("Bash(make)", permission.Allow); return nil }, permission.Ask},
		{"a mode", func() error { return parent.SetMode(t.Context(), permission.DontAsk) }, permission.Deny},
		{"bypass", func() error { return parent.SetMode(t.Context(), permission.Bypass) }, permission.Allow},
		{"a denial", func() error { return parent.Grant("Bash(make)", permission.Deny) }, permission.Deny},
	} {
		if err := step.change(); err != nil {
			t.Fatal(err)
		}
		if got := decide("make"); got != step.want || child.Mode() != parent.Mode() {
			t.Errorf("%s: %s, want %s; mode %s", step.name, got, step.want, child.Mode())
		}
	}
	dir, err := parent.AddDir(t.TempDir())
	if err != nil || !slices.Contains(child.Dirs(), dir) {
		t.Errorf("%q %v", child.Dirs(), err)
	}
	if err := child.SetMode(t.Context(), permission.AcceptEdits); err == nil || parent.Mode() != permission.Bypass {
		t.Errorf("a subagent changed the mode: %v, %s", err, parent.Mode())
	}
}

// An answer to a subagent's question holds where it was started from, and is kept in that log.
func TestAGrantForASubagentIsItsParents(t *testing.T) {
	p := newPlace(t, bashScript("touch one"))
	inst := p.open(t, nil)
	parent := newSession(t, inst, conversation.SessionOptions{Interactive: true})
	answering(t, parent, event.Answer{Choice: event.ChoiceOnce})
	if _, err := parent.Prompt(t.Context(), llm.UserText("hi")); err != nil {
		t.Fatal(err)
	}
	child := newSession(t, inst, conversation.SessionOptions{
		Chain: []string{"general/1"}, Parent: parent,
		Interactive: true,
	})
	asked := answering(t, child, event.Answer{Choice: event.ChoiceSession})
	if _, err := child.Prompt(t.Context(), llm.UserText("go")); err != nil || len(asked()) != 1 {
		t.Fatalf("%v, asked %d times", err, len(asked()))
	}
	grants := func(s *conversation.Session) (out []string) {
		for e := range s.Log().Entries() {
			if g, ok := e.Body.(session.Grant); ok {
				out = append(out, g.Rule)
			}
		}
		return out
	}
	if got := grants(parent); len(got) != 1 || len(grants(child)) != 0 {
		t.Errorf("the parent keeps %q, the subagent %q", got, grants(child))
	}
}

// A subagent asks nobody where its parent cannot, gets the tools of its kind only, and no answer of a schema.
func TestASubagentHasNoMoreThanItsParent(t *testing.T) {
	p := newPlace(t, llmtest.Replies())
	inst := p.open(t, func(o *conversation.Options) { o.OutputSchema = []byte(`{"type":"object"}`) })
	parent := newSession(t, inst, conversation.SessionOptions{})
	child := newSession(t, inst, conversation.SessionOptions{
		Chain: []string{"explore/1"}, Parent: parent,
		Interactive: true,
	})
	if child.Interactive() {
		t.Error("a subagent of a run without anybody asks")
	}
	if got := child.Tools(); !slices.Equal(got, []string{"Read", "Glob", "Grep", "LSP"}) {
		t.Errorf("an explorer has %q", got)
	}
	for name, o := range map[string]conversation.SessionOptions{
		"another folder": {Chain: []string{"general/1"}, Parent: newSession(t, newPlace(t, llmtest.Replies()).open(t, nil),
			conversation.SessionOptions{})},
		"no chain": {Parent: parent},
	} {
		if s, err := inst.NewSession(t.Context(), o); err == nil {
			_ = s.Close()
			t.Errorf("%s: it was opened", name)
		}
	}
}

// The steps of a subagent count against the limit of the turn that started it.
func TestASubagentsStepsCountAgainstTheLimit(t *testing.T) {
	read := llmtest.Say(llmtest.Tool("Read", map[string]any{"file_path": "${WORKDIR}/a.txt"}))
	p := newPlace(t, llmtest.Replies(read, read, read, read))
	p.write(t, "a.txt", "one\n")
	inst := p.open(t, func(o *conversation.Options) { o.MaxTurns = 3 })
	parent := newSession(t, inst, conversation.SessionOptions{})
	for i, want := range []int{3, 0} {
		child := newSession(t, inst, conversation.SessionOptions{Chain: []string{"general/1"}, Parent: parent})
		if end, err := child.Prompt(t.Context(), llm.UserText("go")); err != nil || end.Reason != event.EndMaxSteps ||
			end.Steps != want {
			t.Errorf("subagent %d: %+v %v", i, end, err)
		}
	}
}

// The cost of subagents counts against the limit of money over a resume, too.
func TestTheCostOfSubagentsCountsAfterAResume(t *testing.T) {
	say := llmtest.Say(llmtest.Text("Done."))
	p := newPlace(t, llmtest.Replies(say, say, say))
	inst := p.open(t, nil)
	parent := newSession(t, inst, conversation.SessionOptions{})
	if _, err := parent.Prompt(t.Context(), llm.UserText("go")); err != nil {
		t.Fatal(err)
	}
	child := newSession(t, inst, conversation.SessionOptions{Chain: []string{"general/1"}, Parent: parent})
	if _, err := child.Prompt(t.Context(), llm.UserText("go")); err != nil {
		t.Fatal(err)
	}
	cost := parent.Log().Info().CostUSD
	if spent := parent.Spent(); spent <= cost {
		t.Errorf("%v of %v is counted", spent, cost)
	}
	id := parent.ID()
	_, _ = child.Close(), parent.Close()
	again := newSession(t, p.open(t, func(o *conversation.Options) { o.MaxBudgetUSD = cost * 1.5 }),
		conversation.SessionOptions{Resume: id})
	if end, err := again.Prompt(t.Context(), llm.UserText("go")); err != nil || end.Reason != event.EndBudget {
		t.Errorf("%+v %v", end, err)
	}
}
