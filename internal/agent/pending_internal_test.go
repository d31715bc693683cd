package agent

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
)

func TestACallMovesForwardOnePhaseAtATime(t *testing.T) {
	legal := map[phase][]phase{
		added:      {judged, answered},
		judged:     {prepared, answered},
		prepared:   {prepared, authorised, answered},
		authorised: {started, answered},
		started:    {answered},
		answered:   nil,
	}
	for from := added; from <= answered; from++ {
		for to := added; to <= answered; to++ {
			p := &pending{phase: from}
			err, want := p.move(to), from
			if slices.Contains(legal[from], to) {
				want = to
			}
			if p.phase != want || (err == nil) != slices.Contains(legal[from], to) {
				t.Errorf("from %d to %d: %v, now %d", from, to, err, p.phase)
			}
		}
	}
}

// observed is an agent that notes the phase of its one call wherever it looks at it.
func observed(t *testing.T, change func(*Config, func(string))) []string {
	var q *queue
	var got []string
	names := []string{"added", "judged", "prepared", "authorised", "started", "answered"}
	see := func(where string) { got = append(got, where+" "+names[q.phaseOf(q.snapshot()[0])]) }
	tool := NewTool(llm.ToolSpec{Name: "T", Schema: []byte(`{"type":"object"}`)},
		func(context.Context, llm.ToolCall, struct{}) (*Plan, error) {
			see("Prepare")
			return &Plan{Run: func(context.Context) (*Result, error) { see("Run"); return TextResult("ran"), nil }}, nil
		})
	cfg := Config{
		Calls: Calls{
			Tools: func(context.Context) (ToolSet, error) { return ToolSet{Tools: []Tool{tool}}, nil },
			Authorize: func(context.Context, Approval) (permission.Decision, error) {
				see("Authorize")
				return permission.Decision{Effect: permission.Allow}, nil
			},
			Snapshot: func(context.Context, *Plan) (func(), error) { see("Snapshot"); return nil, nil },
		},
		Hooks: Hooks{BeforeTool: []BeforeTool{{Name: "h", Run: func(context.Context, llm.ToolCall) (Verdict, error) {
			see("hook")
			return Verdict{}, nil
		}}}},
		Journal: Journal{Transcript: &Memory{}, Publish: func(b event.Body) {
			if _, ok := b.(event.ToolEnd); ok {
				see("ToolEnd")
			}
		}},
	}
	change(&cfg, see)
	a := New(cfg)
	if _, err := a.refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	q = a.newQueue(t.Context(), false)
	q.add(llm.ToolCall{ID: "1", Name: "T", Input: json.RawMessage(`{}`)}, false)
	q.wait()
	return got
}

// A plan that runs alone is made twice: the first one only tells that it cannot run beside other calls.
func TestTheLifeOfACall(t *testing.T) {
	got := observed(t, func(*Config, func(string)) {})
	want := []string{
		"hook added", "Prepare judged", "Prepare prepared", "Authorize prepared", "Snapshot authorised", "Run started",
		"ToolEnd answered",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestTheLifeOfACallWhoseInputTheApprovalReplaces(t *testing.T) {
	got := observed(t, func(c *Config, see func(string)) {
		c.Authorize = func(context.Context, Approval) (permission.Decision, error) {
			see("Authorize")
			return permission.Decision{Effect: permission.Allow, Input: json.RawMessage(`{"x":1}`)}, nil
		}
	})
	want := []string{
		"hook added", "Prepare judged", "Prepare prepared", "Authorize prepared", "Prepare prepared", "Authorize prepared",
		"Snapshot authorised", "Run started", "ToolEnd answered",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestTheLifeOfACallThatIsDenied(t *testing.T) {
	got := observed(t, func(c *Config, see func(string)) {
		c.Authorize = func(context.Context, Approval) (permission.Decision, error) {
			see("Authorize")
			return permission.Decision{Effect: permission.Deny}, nil
		}
	})
	want := []string{"hook added", "Prepare judged", "Prepare prepared", "Authorize prepared", "ToolEnd answered"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// A turn that gives up on a call whose result is being written waits for that result, and writes no other.
func TestAbandonWaitsForAResultThatIsBeingWritten(t *testing.T) {
	writing, release := make(chan struct{}), make(chan struct{})
	var shown []string
	a := New(Config{Journal: Journal{
		Transcript: &Memory{}, Record: func(write func() error, bodies ...event.Body) error {
			close(writing)
			<-release
			for _, b := range bodies {
				shown = append(shown, b.(event.ToolEnd).Result.PlainText())
			}
			return write()
		},
	}})
	q := a.newQueue(t.Context(), false)
	p := &pending{id: "1", phase: started, done: make(chan struct{})}
	go q.finish(p, TextResult("its own"), "", 0)
	<-writing
	left := make(chan struct{})
	go func() { q.abandon(p); close(left) }()
	select {
	case <-left:
		t.Error("it left before the result was written")
	default:
	}
	close(release)
	<-left
	if !slices.Equal(shown, []string{"its own"}) {
		t.Errorf("%q", shown)
	}
}
