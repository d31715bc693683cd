package eval_test

import (
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/agent/eval"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
)

type noJournal struct{ last event.Goal }

func (*noJournal) Publish(event.Body)      {}
func (*noJournal) Messages() []llm.Message { return nil }
func (j *noJournal) AddWith(_ session.Body, bodies ...event.Body) error {
	j.last, _ = bodies[0].(event.Goal)
	return nil
}

func newGoal(busy ...string) (*eval.Goal, *noJournal) {
	j := &noJournal{}
	return eval.NewGoal(eval.GoalConfig{
		Config: eval.Config{
			Journal:  j,
			Settings: func() eval.Settings { return eval.Settings{} },
		},
		Bounds: func() event.GoalBounds { return event.GoalBounds{Rounds: 7} },
		Used:   func() (int, float64) { return 1, 0 }, Busy: func() []string { return busy }, Now: time.Now,
	}), j
}

// What a person must mend ends the goal; what passes by itself does not.
func TestAGoalEndsWithErrorsForAPerson(t *testing.T) {
	for kind, ends := range map[llm.ErrorKind]bool{
		llm.KindAuth: true, llm.KindBilling: true, llm.KindNotFound: true, llm.KindTooLarge: true,
		llm.KindOverloaded: false, llm.KindNetwork: false, llm.KindRateLimit: false, llm.KindStall: false,
	} {
		g, j := newGoal()
		if err := g.Set(event.Goal{Condition: "green"}); err != nil {
			t.Fatal(err)
		}
		g.Failed(&llm.Error{Kind: kind, Message: "no"})
		if g.Active() == ends || (j.last.State == event.GoalFailed) != ends {
			t.Errorf("%s: %+v", kind, j.last)
		}
	}
}

func TestAGoalTellsTheConversationOnce(t *testing.T) {
	g, j := newGoal()
	if err := g.Set(event.Goal{Check: "make test"}); err != nil || j.last.Bounds.Rounds != 7 {
		t.Fatalf("%v %+v", err, j.last)
	}
	m := llm.UserText("begin")
	if g.Tell(&m); len(m.Parts) != 2 {
		t.Errorf("%+v", m)
	}
	if g.Tell(&m); len(m.Parts) != 2 {
		t.Errorf("told twice: %+v", m)
	}
	if err := g.Set(event.Goal{}); err == nil {
		t.Error("an empty goal was set")
	}
}
