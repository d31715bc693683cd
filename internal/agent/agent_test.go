package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
)

// script is a model that plays one sequence of deltas per request.
type script struct {
	t     *testing.T
	info  llm.ModelInfo
	mu    sync.Mutex
	plays []func(ctx context.Context, yield func(llm.Delta, error) bool)
	reqs  []*llm.Request
}

func (s *script) Info() llm.ModelInfo {
	if s.info.ID == "" {
		s.info = llm.ModelInfo{ID: "m", Provider: "p", MaxOutput: 64000, Price: llm.Price{Input: 1, Output: 1}}
	}
	return s.info
}

func (s *script) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	copied := *req
	copied.Messages = req.Messages[:len(req.Messages):len(req.Messages)]
	s.reqs = append(s.reqs, &copied)
	n := len(s.reqs) - 1
	return func(yield func(llm.Delta, error) bool) {
		if n >= len(s.plays) {
			s.t.Errorf("request %d was not expected", n+1)
			yield(nil, errors.New("script is over"))
			return
		}
		s.plays[n](ctx, yield)
	}
}

type play = func(context.Context, func(llm.Delta, error) bool)

// reply plays a whole reply.
func reply(stop llm.StopReason, parts ...llm.Part) play {
	return func(_ context.Context, yield func(llm.Delta, error) bool) {
		yield(llm.Sent{Attempt: 1}, nil)
		yield(llm.Started{ID: "r"}, nil)
		for i, p := range parts {
			if !emit(yield, i, p) {
				return
			}
		}
		yield(llm.Done{Message: llm.Message{ID: "r", Role: llm.Assistant, Parts: parts, Stop: stop, Usage: &llm.Usage{Input: 10, Output: 5}}}, nil)
	}
}

func emit(yield func(llm.Delta, error) bool, i int, p llm.Part) bool {
	switch p := p.(type) {
	case llm.ToolCall:
		if p.Raw != "" {
			return yield(llm.PartDone{Index: i, Part: p}, nil)
		}
		return yield(llm.ToolReady{Index: i, Call: p}, nil)
	case llm.Text:
		return yield(llm.TextDelta{Index: i, Text: p.Text}, nil) && yield(llm.PartDone{Index: i, Part: p}, nil)
	}
	return yield(llm.PartDone{Index: i, Part: p}, nil)
}

// broken plays parts and then an error.
func broken(err error, parts ...llm.Part) play {
	return func(_ context.Context, yield func(llm.Delta, error) bool) {
		for i, p := range parts {
			if !emit(yield, i, p) {
				return
			}
		}
		yield(nil, err)
	}
}

func call(id, name, input string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: name, Input: json.RawMessage(input)}
}

type fixture struct {
	*Agent
	model  *script
	memory *Memory
	mu     sync.Mutex
	events []event.Body
}

func (f *fixture) publish(b event.Body) { f.mu.Lock(); f.events = append(f.events, b); f.mu.Unlock() }

func ofKind[T event.Body](f *fixture) (out []T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range f.events {
		if v, ok := b.(T); ok {
			out = append(out, v)
		}
	}
	return out
}

// fixed is a set of tools that never changes.
func fixed(tools ...Tool) func(context.Context) (ToolSet, error) {
	return func(context.Context) (ToolSet, error) { return ToolSet{Tools: tools}, nil }
}

func newFixture(t *testing.T, tools []Tool, change func(*Config), plays ...play) *fixture {
	f := &fixture{model: &script{t: t, plays: plays}, memory: &Memory{}}
	cfg := Config{
		Model: f.model, Transcript: f.memory, Tools: fixed(tools...), Publish: f.publish,
		Authorize: func(context.Context, Approval) (permission.Decision, error) {
			return permission.Decision{Effect: permission.Allow}, nil
		},
		Sleep: func(context.Context, time.Duration) error { return nil },
	}
	if change != nil {
		change(&cfg)
	}
	f.Agent = New(cfg)
	return f
}

type in struct {
	X string `json:"x"`
}

// tool makes a tool from a function; read-only and parallel when parallel is set.
func tool(name string, parallel bool, run func(ctx context.Context, x string) (*Result, error)) Tool {
	schema := `{"type":"object","properties":{"x":{"type":"string"}},"required":["x"],"additionalProperties":false}`
	return NewTool(llm.ToolSpec{Name: name, Schema: json.RawMessage(schema)}, func(_ context.Context, _ llm.ToolCall, v in) (*Plan, error) {
		p := &Plan{Parallel: parallel, Run: func(ctx context.Context) (*Result, error) { return run(ctx, v.X) }}
		if parallel {
			p.Accesses = []permission.Access{{Kind: permission.Read, Target: v.X}}
		}
		return p, nil
	})
}

func echo(name string, parallel bool) Tool {
	return tool(name, parallel, func(_ context.Context, x string) (*Result, error) { return TextResult(name + " " + x), nil })
}

func (f *fixture) run(t *testing.T) event.TurnEnd {
	t.Helper()
	end, err := f.Run(t.Context(), llm.UserText("go"))
	if err != nil {
		t.Fatal(err)
	}
	return end
}

// results are the texts of the results in a message.
func results(m llm.Message) (out []string) {
	for _, p := range m.Parts {
		if r, ok := p.(llm.ToolResult); ok {
			out = append(out, r.CallID+"="+r.PlainText())
		}
	}
	return out
}

func TestTurnRunsToolsAndAnswersInCallOrder(t *testing.T) {
	release := make(chan struct{})
	slow := tool("Slow", true, func(context.Context, string) (*Result, error) { <-release; return TextResult("slow"), nil })
	quick := tool("Quick", true, func(context.Context, string) (*Result, error) { close(release); return TextResult("quick"), nil })
	f := newFixture(t, []Tool{slow, quick}, nil,
		reply(llm.StopToolUse, llm.Text{Text: "look"}, call("1", "Slow", `{"x":"a"}`), call("2", "Quick", `{"x":"b"}`)),
		reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	end := f.run(t)
	if end.Reason != event.EndCompleted || end.Steps != 2 {
		t.Errorf("%+v", end)
	}
	got := results(f.model.reqs[1].Messages[2])
	if fmt.Sprint(got) != "[1=slow 2=quick]" {
		t.Errorf("results %v", got)
	}
	if end.Usage.Input != 20 || end.CostUSD <= 0 {
		t.Errorf("usage %+v cost %v", end.Usage, end.CostUSD)
	}
}

func TestToolStartsWhileTheReplyStillStreams(t *testing.T) {
	started := make(chan struct{})
	tl := tool("T", true, func(context.Context, string) (*Result, error) { close(started); return TextResult("ok"), nil })
	f := newFixture(t, []Tool{tl}, nil,
		func(_ context.Context, yield func(llm.Delta, error) bool) {
			c := call("1", "T", `{"x":"a"}`)
			yield(llm.ToolReady{Index: 0, Call: c}, nil)
			<-started // deadlocks unless the tool runs before the reply ends
			yield(llm.Done{Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{c}, Stop: llm.StopToolUse}}, nil)
		},
		reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	f.run(t)
}

func TestBarriersRunAloneAndInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var active, most, writes atomic.Int32
		var log []string
		var mu sync.Mutex
		track := func(name string) func(context.Context, string) (*Result, error) {
			return func(_ context.Context, x string) (*Result, error) {
				n := active.Add(1)
				defer active.Add(-1)
				if name == "W" && n != 1 {
					writes.Add(1)
				}
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				time.Sleep(time.Second) // of the test's own clock
				mu.Lock()
				log = append(log, name+x)
				mu.Unlock()
				return TextResult(name), nil
			}
		}
		f := newFixture(t, []Tool{tool("R", true, track("R")), tool("W", false, track("W"))}, nil,
			reply(llm.StopToolUse, call("1", "R", `{"x":"1"}`), call("2", "R", `{"x":"2"}`), call("3", "W", `{"x":"3"}`),
				call("4", "R", `{"x":"4"}`), call("5", "W", `{"x":"5"}`)),
			reply(llm.StopEndTurn, llm.Text{Text: "done"}))
		f.run(t)
		if writes.Load() != 0 {
			t.Error("a barrier ran beside another call")
		}
		if got := strings.Join(log[2:], " "); got != "W3 R4 W5" {
			t.Errorf("order %v", log)
		}
	})
}

func TestAtMostEightCallsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var active, most atomic.Int32
		tl := tool("R", true, func(context.Context, string) (*Result, error) {
			n := active.Add(1)
			defer active.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(time.Second) // of the test's own clock
			return TextResult("ok"), nil
		})
		var parts []llm.Part
		for i := range 20 {
			parts = append(parts, call(fmt.Sprint(i), "R", fmt.Sprintf(`{"x":"%d"}`, i)))
		}
		f := newFixture(t, []Tool{tl}, nil, reply(llm.StopToolUse, parts...), reply(llm.StopEndTurn, llm.Text{Text: "done"}))
		f.run(t)
		if m := most.Load(); m != maxParallel {
			t.Errorf("%d calls ran together", m)
		}
	})
}

// A call that is not parallel is prepared when the ones before it are done, so that it sees their effects.
func TestCallsArePreparedAfterTheOnesTheyDependOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var read atomic.Bool
		r := tool("Read", true, func(context.Context, string) (*Result, error) {
			time.Sleep(time.Second) // of the test's own clock
			read.Store(true)
			return TextResult("ok"), nil
		})
		e := NewTool(llm.ToolSpec{Name: "Edit", Schema: []byte(`{"type":"object"}`)}, func(context.Context, llm.ToolCall, in) (*Plan, error) {
			if !read.Load() {
				return nil, errors.New("read it first")
			}
			return &Plan{Run: func(context.Context) (*Result, error) { return TextResult("edited"), nil }}, nil
		})
		f := newFixture(t, []Tool{r, e}, nil,
			reply(llm.StopToolUse, call("1", "Read", `{"x":"f"}`), call("2", "Edit", `{}`)),
			reply(llm.StopEndTurn, llm.Text{Text: "done"}))
		f.run(t)
		if got := results(f.model.reqs[1].Messages[2]); got[1] != "2=edited" {
			t.Errorf("%v", got)
		}
	})
}

func TestEveryFailureIsTextForTheModel(t *testing.T) {
	boom := tool("Boom", true, func(context.Context, string) (*Result, error) { panic("boom") })
	fails := tool("Fails", false, func(context.Context, string) (*Result, error) { return nil, errors.New("no such thing") })
	empty := tool("Empty", true, func(context.Context, string) (*Result, error) { return nil, nil })
	crash := NewTool(llm.ToolSpec{Name: "Crash", Schema: []byte(`{"type":"object"}`)}, func(context.Context, llm.ToolCall, in) (*Plan, error) { panic("early") })
	f := newFixture(t, []Tool{boom, fails, empty, crash, echo("Grep", true)}, nil,
		reply(llm.StopToolUse, call("1", "Boom", `{"x":"a"}`), call("2", "Fails", `{"x":"a"}`), call("3", "Empty", `{"x":"a"}`),
			call("4", "Crash", `{}`), call("5", "Grepp", `{}`), call("6", "Grep", `{"y":1}`),
			llm.ToolCall{ID: "7", Name: "Grep", Input: []byte("{}"), Raw: `{"x": "cut`}),
		reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	f.run(t)
	got := results(f.model.reqs[1].Messages[2])
	for i, want := range []string{
		"crashed: boom", "no such thing", "(no output)", "crashed while it was prepared: early",
		"Did you mean Grep?", "does not fit Grep", "not valid JSON",
	} {
		if !strings.Contains(got[i], want) {
			t.Errorf("result %d: %q lacks %q", i+1, got[i], want)
		}
	}
	if !strings.Contains(got[6], `"additionalProperties":false`) {
		t.Errorf("no schema in %q", got[6])
	}
}

func TestBrokenStreamKeepsWhatStarted(t *testing.T) {
	var runs atomic.Int32
	tl := tool("T", false, func(context.Context, string) (*Result, error) { runs.Add(1); return TextResult("ran"), nil })
	reset := &llm.Error{Kind: llm.KindNetwork, Message: "reset", Retryable: true}
	f := newFixture(t, []Tool{tl}, nil,
		broken(reset, llm.Text{Text: "first"}, call("1", "T", `{"x":"a"}`)),
		reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	f.run(t)
	msgs := f.model.reqs[1].Messages
	if runs.Load() != 1 || len(msgs) != 3 || msgs[1].PlainText() != "first" || results(msgs[2])[0] != "1=ran" {
		t.Errorf("runs %d, messages %+v", runs.Load(), msgs)
	}
}

func TestStreamThatAlwaysBreaksEndsTheTurn(t *testing.T) {
	reset := &llm.Error{Kind: llm.KindNetwork, Message: "reset", Retryable: true}
	var plays []play
	for i := range 10 {
		plays = append(plays, broken(reset, call(fmt.Sprint(i), "T", fmt.Sprintf(`{"x":"%d"}`, i))))
	}
	f := newFixture(t, []Tool{echo("T", true)}, nil, plays...)
	end, err := f.Run(t.Context(), llm.UserText("go"))
	if err == nil || end.Reason != event.EndFailed || !strings.Contains(err.Error(), "broke off") {
		t.Errorf("%+v %v", end, err)
	}
	if n := len(f.model.reqs); n != maxBroken {
		t.Errorf("%d requests", n)
	}
}

func TestFailureBeforeAnyCallEndsTheTurnAndKeepsThePrompt(t *testing.T) {
	auth := &llm.Error{Kind: llm.KindAuth, Status: 401, Message: "bad key"}
	f := newFixture(t, nil, nil, broken(auth, llm.Text{Text: "half"}))
	_, err := f.Run(t.Context(), llm.UserText("go"))
	if llm.AsError(err) != auth {
		t.Errorf("%v", err)
	}
	if msgs := f.memory.Messages(); len(msgs) != 1 {
		t.Errorf("%+v", msgs)
	}
	if n := len(ofKind[event.PartDone](f)); n != 0 {
		t.Errorf("%d void parts were shown as complete", n)
	}
}

func TestInterruptAnswersEveryCall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	hang := tool("Hang", false, func(ctx context.Context, _ string) (*Result, error) { cancel(); <-ctx.Done(); return nil, ctx.Err() })
	f := newFixture(t, []Tool{hang}, nil,
		reply(llm.StopToolUse, call("1", "Hang", `{"x":"a"}`), call("2", "Hang", `{"x":"b"}`)))
	end, err := f.Run(ctx, llm.UserText("go"))
	if err != nil || end.Reason != event.EndInterrupted {
		t.Errorf("%+v %v", end, err)
	}
	got := results(f.memory.Messages()[2])
	if len(got) != 2 || got[0] != "1="+interruptedText || got[1] != "2="+notStartedText {
		t.Errorf("%v", got)
	}
}

func TestInterruptKeepsTheTextThatWasRead(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := newFixture(t, nil, nil, func(ctx context.Context, yield func(llm.Delta, error) bool) {
		yield(llm.TextDelta{Index: 0, Text: "half a sen"}, nil)
		cancel()
		yield(nil, ctx.Err())
	})
	end, err := f.Run(ctx, llm.UserText("go"))
	if err != nil || end.Reason != event.EndInterrupted {
		t.Errorf("%+v %v", end, err)
	}
	msgs := f.memory.Messages()
	if len(msgs) != 2 || msgs[1].PlainText() != "half a sen" || msgs[1].Stop != llm.StopInterrupted {
		t.Errorf("%+v", msgs)
	}
}

func TestDenialGoesToTheModel(t *testing.T) {
	f := newFixture(t, []Tool{echo("T", false)}, func(c *Config) {
		c.Authorize = func(context.Context, Approval) (permission.Decision, error) {
			return permission.Decision{Effect: permission.Deny, Reason: "not here", Guidance: "use staging"}, nil
		}
	}, reply(llm.StopToolUse, call("1", "T", `{"x":"a"}`)), reply(llm.StopEndTurn, llm.Text{Text: "ok"}))
	f.run(t)
	got := results(f.model.reqs[1].Messages[2])[0]
	if !strings.Contains(got, "not here") || !strings.Contains(got, "use staging") {
		t.Errorf("%q", got)
	}
	if len(ofKind[event.Denied](f)) != 1 || len(ofKind[event.ToolStart](f)) != 0 {
		t.Error("a denied call must be shown as denied and never start")
	}
}

func TestApprovedInputReplacesTheModels(t *testing.T) {
	asked := 0
	f := newFixture(t, []Tool{echo("T", false)}, func(c *Config) {
		c.Authorize = func(_ context.Context, a Approval) (permission.Decision, error) {
			asked++
			return permission.Decision{Effect: permission.Allow, Input: json.RawMessage(`{"x":"changed"}`)}, nil
		}
	}, reply(llm.StopToolUse, call("1", "T", `{"x":"a"}`)), reply(llm.StopEndTurn, llm.Text{Text: "ok"}))
	f.run(t)
	if got := results(f.model.reqs[1].Messages[2])[0]; got != "1=T changed" || asked != 2 {
		t.Errorf("%q, asked %d times", got, asked)
	}
}

func TestMaxSteps(t *testing.T) {
	f := newFixture(t, []Tool{echo("T", true)}, func(c *Config) { c.MaxSteps = 2 },
		reply(llm.StopToolUse, call("1", "T", `{"x":"a"}`)), reply(llm.StopToolUse, call("2", "T", `{"x":"b"}`)))
	if end := f.run(t); end.Reason != event.EndMaxSteps || end.Steps != 2 {
		t.Errorf("%+v", end)
	}
}

func TestBudget(t *testing.T) {
	f := newFixture(t, []Tool{echo("T", true)}, func(c *Config) { c.BudgetUSD = 10e-6 },
		reply(llm.StopToolUse, call("1", "T", `{"x":"a"}`)))
	if end := f.run(t); end.Reason != event.EndBudget {
		t.Errorf("%+v", end)
	}
}

func TestSteeringIsDeliveredBetweenSteps(t *testing.T) {
	var f *fixture
	tl := tool("T", true, func(context.Context, string) (*Result, error) {
		f.Steer(llm.UserText("also this"))
		return TextResult("ok"), nil
	})
	f = newFixture(t, []Tool{tl}, nil,
		reply(llm.StopToolUse, call("1", "T", `{"x":"a"}`)), reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	f.run(t)
	msgs := f.model.reqs[1].Messages
	if last := msgs[len(msgs)-1]; last.PlainText() != "also this" {
		t.Errorf("%+v", msgs)
	}
}

func TestCutReplyIsAskedAgainWithAHigherLimitAndThenContinued(t *testing.T) {
	f := newFixture(t, nil, nil,
		reply(llm.StopMaxTokens, llm.Text{Text: "half"}),
		reply(llm.StopMaxTokens, llm.Text{Text: "longer half"}),
		reply(llm.StopEndTurn, llm.Text{Text: "rest"}))
	f.run(t)
	if a, b := f.model.reqs[0].MaxTokens, f.model.reqs[1].MaxTokens; a != 16384 || b != 64000 {
		t.Errorf("limits %d, %d", a, b)
	}
	msgs := f.model.reqs[2].Messages
	if len(f.model.reqs[1].Messages) != 1 || len(msgs) != 3 || msgs[2].PlainText() != goOnCut {
		t.Errorf("%+v", msgs)
	}
}

func TestPauseTurnCallsAgainWithTheReply(t *testing.T) {
	f := newFixture(t, nil, nil,
		reply(llm.StopPauseTurn, llm.Text{Text: "searching"}), reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	f.run(t)
	if msgs := f.model.reqs[1].Messages; len(msgs) != 2 || msgs[1].PlainText() != "searching" {
		t.Errorf("%+v", msgs)
	}
}

func TestRefusalAndFullWindowFailWithAHint(t *testing.T) {
	for _, stop := range []llm.StopReason{llm.StopRefusal, llm.StopContextWindow} {
		f := newFixture(t, nil, nil, reply(stop, llm.Text{Text: "no"}))
		_, err := f.Run(t.Context(), llm.UserText("go"))
		if e := llm.AsError(err); e == nil || e.Hint == "" {
			t.Errorf("%s: %v", stop, err)
		}
	}
}

func TestEmptyReplyIsNudgedOnce(t *testing.T) {
	f := newFixture(t, nil, nil, reply(llm.StopEndTurn), reply(llm.StopEndTurn))
	if end := f.run(t); end.Reason != event.EndCompleted || end.Steps != 2 {
		t.Errorf("%+v", end)
	}
}

func TestLyingStopReasons(t *testing.T) {
	f := newFixture(t, []Tool{echo("T", true)}, nil,
		reply(llm.StopEndTurn, call("1", "T", `{"x":"a"}`)), // calls, but "end_turn"
		reply(llm.StopToolUse, llm.Text{Text: "done"}))      // no calls, but "tool_use"
	if end := f.run(t); end.Reason != event.EndCompleted || end.Steps != 2 {
		t.Errorf("%+v", end)
	}
}

func TestGateSendsTheModelBack(t *testing.T) {
	n := 0
	f := newFixture(t, nil, func(c *Config) {
		c.BeforeStop = []BeforeStop{{Name: "gate", Run: func(context.Context, llm.Message) ([]llm.Message, error) {
			if n++; n == 1 {
				return []llm.Message{llm.UserText("tests fail")}, nil
			}
			return nil, nil
		}}}
	}, reply(llm.StopEndTurn, llm.Text{Text: "done"}), reply(llm.StopEndTurn, llm.Text{Text: "really"}))
	if end := f.run(t); end.Steps != 2 {
		t.Errorf("%+v", end)
	}
}

func TestDoomLoopHeadless(t *testing.T) {
	var plays []play
	for i := range 6 {
		plays = append(plays, reply(llm.StopToolUse, call(fmt.Sprint(i), "T", `{"x":"a"}`)))
	}
	var runs atomic.Int32
	tl := tool("T", true, func(context.Context, string) (*Result, error) { runs.Add(1); return TextResult("same"), nil })
	f := newFixture(t, []Tool{tl}, nil, plays...)
	end := f.run(t)
	if end.Reason != event.EndDoomLoop || runs.Load() != 3 || len(f.model.reqs) != 5 {
		t.Errorf("%+v after %d runs and %d requests", end, runs.Load(), len(f.model.reqs))
	}
}

func TestDoomLoopNeedsIdenticalResults(t *testing.T) {
	var plays []play
	for i := range 6 {
		plays = append(plays, reply(llm.StopToolUse, call(fmt.Sprint(i), "T", `{"x":"a"}`)))
	}
	plays = append(plays, reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	var runs atomic.Int32
	tl := tool("T", true, func(context.Context, string) (*Result, error) { return TextResult(fmt.Sprint(runs.Add(1))), nil })
	if end := newFixture(t, []Tool{tl}, nil, plays...).run(t); end.Reason != event.EndCompleted {
		t.Errorf("%+v", end)
	}
}

func TestDoomLoopAsksAPerson(t *testing.T) {
	var plays []play
	for i := range 5 {
		plays = append(plays, reply(llm.StopToolUse, call(fmt.Sprint(i), "T", `{"x":"a"}`)))
	}
	asked := 0
	f := newFixture(t, []Tool{echo("T", true)}, func(c *Config) {
		c.Ask = func(context.Context, event.Question) (event.Answer, error) {
			asked++
			return event.Answer{Choice: event.ChoiceNo}, nil
		}
	}, plays...)
	if end := f.run(t); end.Reason != event.EndDoomLoop || asked != 1 {
		t.Errorf("%+v, asked %d", end, asked)
	}
}

func TestFallbackModel(t *testing.T) {
	second := &script{t: t, info: llm.ModelInfo{ID: "m2", Provider: "p"}, plays: []play{reply(llm.StopEndTurn, llm.Text{Text: "done"})}}
	over := &llm.Error{Kind: llm.KindOverloaded, Status: 529}
	f := newFixture(t, nil, func(c *Config) { c.Fallback = []llm.Model{second} }, broken(over))
	if end := f.run(t); end.Reason != event.EndCompleted || end.Steps != 1 || len(second.reqs) != 1 {
		t.Errorf("%+v", end)
	}
}

func TestInvokeReentersTheChokePointFromInsideACall(t *testing.T) {
	var f *fixture
	batch := tool("Batch", false, func(ctx context.Context, _ string) (*Result, error) {
		rs := f.Invoke(ctx, []llm.ToolCall{call("", "T", `{"x":"1"}`), call("", "Nope", `{}`)})
		return TextResult(rs[0].PlainText() + "|" + rs[1].PlainText()), nil
	})
	var asked atomic.Int32
	f = newFixture(t, []Tool{batch, echo("T", true)}, func(c *Config) {
		c.Authorize = func(context.Context, Approval) (permission.Decision, error) {
			asked.Add(1)
			return permission.Decision{Effect: permission.Allow}, nil
		}
	}, reply(llm.StopToolUse, call("1", "Batch", `{"x":"a"}`)), reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	f.run(t)
	if got := results(f.model.reqs[1].Messages[2])[0]; !strings.HasPrefix(got, "1=T 1|There is no tool") || asked.Load() != 2 {
		t.Errorf("%q, asked %d", got, asked.Load())
	}
}

func TestDuplicateCallIDsGetOneResultEach(t *testing.T) {
	f := newFixture(t, []Tool{echo("T", true)}, nil,
		reply(llm.StopToolUse, call("1", "T", `{"x":"a"}`)),
		reply(llm.StopToolUse, call("1", "T", `{"x":"b"}`)),
		reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	f.run(t)
	if why := refused(f.model.reqs[2].Messages); why != "" {
		t.Error(why)
	}
	if got := results(f.model.reqs[2].Messages[4]); !strings.HasSuffix(got[0], "=T b") {
		t.Errorf("%v", got)
	}
}

func TestThePrefixNeverChanges(t *testing.T) {
	var plays []play
	for i := range 30 {
		plays = append(plays, reply(llm.StopToolUse, llm.Text{Text: "step"}, call(fmt.Sprint(i), "T", fmt.Sprintf(`{"x":"%d"}`, i))))
	}
	plays = append(plays, reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	f := newFixture(t, []Tool{echo("T", true)}, nil, plays...)
	f.run(t)
	for i := 1; i < len(f.model.reqs); i++ {
		prev, now := f.model.reqs[i-1].Messages, f.model.reqs[i].Messages
		for j := range prev {
			if !sameParts(prev[j], now[j]) {
				t.Fatalf("request %d changed message %d", i+1, j)
			}
		}
	}
}

func allowAll(context.Context, Approval) (permission.Decision, error) {
	return permission.Decision{Effect: permission.Allow}, nil
}

func itoa(n int) string { return fmt.Sprint(n) }
