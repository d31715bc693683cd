package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
)

func TestTurnRunsToolsAndAnswersInCallOrder(t *testing.T) {
	release := make(chan struct{})
	slow := tool("Slow", true, func(context.Context, string) (*agent.Result,
		error,
	) {
		<-release
		return agent.TextResult("slow"), nil
	})
	quick := tool("Quick", true, func(context.Context, string) (*agent.Result, error) {
		close(release)
		return agent.TextResult("quick"), nil
	})
	f := newFixture(t, []agent.Tool{slow, quick}, nil,
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
	tl := tool("T", true, func(context.Context, string) (*agent.Result, error) {
		close(started)
		return agent.TextResult("ok"), nil
	})
	f := newFixture(t, []agent.Tool{tl}, nil,
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
		track := func(name string) func(context.Context, string) (*agent.Result, error) {
			return func(_ context.Context, x string) (*agent.Result, error) {
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
				return agent.TextResult(name), nil
			}
		}
		f := newFixture(t, []agent.Tool{tool("R", true, track("R")), tool("W", false, track("W"))}, nil,
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
		tl := tool("R", true, func(context.Context, string) (*agent.Result, error) {
			n := active.Add(1)
			defer active.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(time.Second) // of the test's own clock
			return agent.TextResult("ok"), nil
		})
		var parts []llm.Part
		for i := range 20 {
			parts = append(parts, call(fmt.Sprint(i), "R", fmt.Sprintf(`{"x":"%d"}`, i)))
		}
		f := newFixture(t, []agent.Tool{tl}, nil, reply(llm.StopToolUse, parts...),
			reply(llm.StopEndTurn, llm.Text{Text: "done"}))
		f.run(t)
		if m := most.Load(); m != agent.MaxParallel {
			t.Errorf("%d calls ran together", m)
		}
	})
}

// A call that is not parallel is prepared when the ones before it are done, so that it sees their effects.
func TestCallsArePreparedAfterTheOnesTheyDependOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var read atomic.Bool
		r := tool("Read", true, func(context.Context, string) (*agent.Result, error) {
			time.Sleep(time.Second) // of the test's own clock
			read.Store(true)
			return agent.TextResult("ok"), nil
		})
		e := agent.NewTool(llm.ToolSpec{Name: "Edit", Schema: []byte(`{"type":"object"}`)},
			func(context.Context, llm.ToolCall, in) (*agent.Plan, error) {
				if !read.Load() {
					return nil, errors.New("read it first")
				}
				return &agent.Plan{Run: func(context.Context) (*agent.Result, error) { return agent.TextResult("edited"), nil }},
					nil
			})
		f := newFixture(t, []agent.Tool{r, e}, nil,
			reply(llm.StopToolUse, call("1", "Read", `{"x":"f"}`), call("2", "Edit", `{}`)),
			reply(llm.StopEndTurn, llm.Text{Text: "done"}))
		f.run(t)
		if got := results(f.model.reqs[1].Messages[2]); got[1] != "2=edited" {
			t.Errorf("%v", got)
		}
	})
}

func TestEveryFailureIsTextForTheModel(t *testing.T) {
	boom := tool("Boom", true, func(context.Context, string) (*agent.Result, error) { panic("boom") })
	fails := tool("Fails", false, func(context.Context, string) (*agent.Result,
		error,
	) {
		return nil, errors.New("no such thing")
	})
	empty := tool("Empty", true, func(context.Context, string) (*agent.Result, error) { return nil, nil })
	crash := agent.NewTool(llm.ToolSpec{Name: "Crash", Schema: []byte(`{"type":"object"}`)},
		func(context.Context, llm.ToolCall, in) (*agent.Plan, error) { panic("early") })
	f := newFixture(t, []agent.Tool{boom, fails, empty, crash, echo("Grep", true)}, nil,
		reply(llm.StopToolUse, call("1", "Boom", `{"x":"a"}`), call("2", "Fails", `{"x":"a"}`),
			call("3", "Empty", `{"x":"a"}`),
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

func TestAClosedSchemaRefusesUnknownPropertiesWithoutSayingSo(t *testing.T) {
	spec := llm.ToolSpec{
		Name: "Closed", Closed: true,
		Schema: []byte(`{"type":"object","properties":{"x":{"type":"string"}}}`),
	}
	closed := agent.NewTool(spec, func(context.Context, llm.ToolCall, in) (*agent.Plan, error) {
		return &agent.Plan{Run: func(context.Context) (*agent.Result, error) { return agent.TextResult("ran"), nil }}, nil
	})
	f := newFixture(t, []agent.Tool{closed}, nil,
		reply(llm.StopToolUse, call("1", "Closed", `{"x":"a"}`), call("2", "Closed", `{"x":"a","odd":1}`)),
		reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	f.run(t)
	got := results(f.model.reqs[1].Messages[2])
	if got[0] != "1=ran" || !strings.Contains(got[1], "does not fit Closed") || !strings.Contains(got[1], "odd") {
		t.Errorf("%q", got)
	}
}

func TestBrokenStreamKeepsWhatStarted(t *testing.T) {
	var runs atomic.Int32
	tl := tool("T", false, func(context.Context, string) (*agent.Result,
		error,
	) {
		runs.Add(1)
		return agent.TextResult("ran"), nil
	})
	reset := &llm.Error{Kind: llm.KindNetwork, Message: "reset", Retryable: true}
	f := newFixture(t, []agent.Tool{tl}, nil,
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
	f := newFixture(t, []agent.Tool{echo("T", true)}, nil, plays...)
	end, err := f.Run(t.Context(), llm.UserText("go"))
	if err == nil || end.Reason != event.EndFailed || !strings.Contains(err.Error(), "broke off") {
		t.Errorf("%+v %v", end, err)
	}
	if n := len(f.model.reqs); n != agent.MaxBroken {
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
	hang := tool("Hang", false, func(ctx context.Context, _ string) (*agent.Result, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	})
	f := newFixture(t, []agent.Tool{hang}, nil,
		reply(llm.StopToolUse, call("1", "Hang", `{"x":"a"}`), call("2", "Hang", `{"x":"b"}`)))
	end, err := f.Run(ctx, llm.UserText("go"))
	if err != nil || end.Reason != event.EndInterrupted {
		t.Errorf("%+v %v", end, err)
	}
	got := results(f.memory.Messages()[2])
	if len(got) != 2 || got[0] != "1="+agent.InterruptedText || got[1] != "2="+agent.NotStartedText {
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
	f := newFixture(t, []agent.Tool{echo("T", false)}, func(c *agent.Config) {
		c.Authorize = func(context.Context, agent.Approval) (permission.Decision, error) {
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

func TestTheTimeOfACallLeavesOutTheWaitForAnAnswer(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	slow := tool("T", false, func(context.Context, string) (*agent.Result, error) {
		now = now.Add(2 * time.Second)
		return agent.TextResult("done"), nil
	})
	f := newFixture(t, []agent.Tool{slow}, func(c *agent.Config) {
		c.Clock = func() time.Time { return now }
		c.Authorize = func(context.Context, agent.Approval) (permission.Decision, error) {
			now = now.Add(time.Hour)
			return permission.Decision{Effect: permission.Allow}, nil
		}
	}, reply(llm.StopToolUse, call("1", "T", `{"x":"a"}`)), reply(llm.StopEndTurn, llm.Text{Text: "ok"}))
	f.run(t)
	if ends := ofKind[event.ToolEnd](f); len(ends) != 1 || ends[0].Duration != 2*time.Second {
		t.Errorf("%+v", ends)
	}
}

func TestApprovedInputReplacesTheModels(t *testing.T) {
	asked := 0
	f := newFixture(t, []agent.Tool{echo("T", false)}, func(c *agent.Config) {
		c.Authorize = func(_ context.Context, a agent.Approval) (permission.Decision, error) {
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
	f := newFixture(t, []agent.Tool{echo("T", true)}, func(c *agent.Config) { c.MaxSteps = 2 },
		reply(llm.StopToolUse, call("1", "T", `{"x":"a"}`)), reply(llm.StopToolUse, call("2", "T", `{"x":"b"}`)))
	if end := f.run(t); end.Reason != event.EndMaxSteps || end.Steps != 2 {
		t.Errorf("%+v", end)
	}
}

func TestBudget(t *testing.T) {
	f := newFixture(t, []agent.Tool{echo("T", true)}, func(c *agent.Config) { c.BudgetUSD = 10e-6 },
		reply(llm.StopToolUse, call("1", "T", `{"x":"a"}`)))
	if end := f.run(t); end.Reason != event.EndBudget {
		t.Errorf("%+v", end)
	}
}

// A spending limit that cannot be held is refused before anything is spent; without one the model works.
func TestABudgetNeedsAPrice(t *testing.T) {
	unpriced := llm.ModelInfo{ID: "mystery-1", Host: "corp@llm.corp.example", Unpriced: true}
	for budget, refused := range map[float64]bool{0: false, 5: true} {
		f := newFixture(t, nil, func(c *agent.Config) { c.BudgetUSD = budget },
			reply(llm.StopEndTurn, llm.Text{Text: "done"}))
		f.model.info = unpriced
		_, err := f.Run(t.Context(), llm.UserText("go"))
		if (err != nil) != refused || (len(f.model.reqs) == 0) != refused {
			t.Errorf("with a limit of $%g: %v after %d requests", budget, err, len(f.model.reqs))
		}
		if refused && !strings.Contains(err.Error(), "mystery-1") {
			t.Errorf("%v", err)
		}
	}
}

func TestSteeringIsDeliveredBetweenSteps(t *testing.T) {
	var f *fixture
	tl := tool("T", true, func(context.Context, string) (*agent.Result, error) {
		f.Steer(llm.UserText("also this"))
		return agent.TextResult("ok"), nil
	})
	f = newFixture(t, []agent.Tool{tl}, nil,
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
	if a, b := f.model.reqs[0].MaxTokens, f.model.reqs[1].MaxTokens; a != 32000 || b != 64000 {
		t.Errorf("limits %d, %d", a, b)
	}
	msgs := f.model.reqs[2].Messages
	if len(f.model.reqs[1].Messages) != 1 || len(msgs) != 3 || msgs[2].PlainText() != agent.GoOnCut {
		t.Errorf("%+v", msgs)
	}
}

// A local server refuses a limit that exceeds its window, which is not known.
func TestAModelOfUnknownLimitsIsSentNone(t *testing.T) {
	for _, info := range []llm.ModelInfo{
		{ID: "local", Provider: "p", MaxOutput: 64000}, // a guess
		{ID: "local", Provider: "p", Known: true},      // described by the user, without limits
	} {
		f := newFixture(t, nil, nil, reply(llm.StopMaxTokens, llm.Text{Text: "half"}),
			reply(llm.StopEndTurn, llm.Text{Text: "rest"}))
		f.model.info = info
		f.run(t)
		for i, r := range f.model.reqs {
			if r.MaxTokens != 0 {
				t.Errorf("%+v: request %d has the limit %d", info, i, r.MaxTokens)
			}
		}
		if msgs := f.model.reqs[1].Messages; len(msgs) != 3 {
			t.Errorf("the reply was not continued: %+v", msgs)
		}
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
	f := newFixture(t, []agent.Tool{echo("T", true)}, nil,
		reply(llm.StopEndTurn, call("1", "T", `{"x":"a"}`)), // calls, but "end_turn"
		reply(llm.StopToolUse, llm.Text{Text: "done"}))      // no calls, but "tool_use"
	if end := f.run(t); end.Reason != event.EndCompleted || end.Steps != 2 {
		t.Errorf("%+v", end)
	}
}

func TestGateSendsTheModelBack(t *testing.T) {
	n := 0
	f := newFixture(t, nil, func(c *agent.Config) {
		c.BeforeStop = []agent.BeforeStop{{Name: "gate", Run: func(context.Context, llm.Message) ([]llm.Message, error) {
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
	tl := tool("T", true, func(context.Context, string) (*agent.Result, error) {
		runs.Add(1)
		return agent.TextResult("same"), nil
	})
	f := newFixture(t, []agent.Tool{tl}, nil, plays...)
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
	tl := tool("T", true, func(context.Context, string) (*agent.Result, error) {
		return agent.TextResult(fmt.Sprint(runs.Add(1))), nil
	})
	if end := newFixture(t, []agent.Tool{tl}, nil, plays...).run(t); end.Reason != event.EndCompleted {
		t.Errorf("%+v", end)
	}
}

func TestDoomLoopAsksAPerson(t *testing.T) {
	var plays []play
	for i := range 5 {
		plays = append(plays, reply(llm.StopToolUse, call(fmt.Sprint(i), "T", `{"x":"a"}`)))
	}
	asked := 0
	f := newFixture(t, []agent.Tool{echo("T", true)}, func(c *agent.Config) {
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
	second := &script{
		t: t, info: llm.ModelInfo{ID: "m2", Provider: "p"},
		plays: []play{reply(llm.StopEndTurn, llm.Text{Text: "done"})},
	}
	over := &llm.Error{Kind: llm.KindOverloaded, Status: 529}
	f := newFixture(t, nil, func(c *agent.Config) { c.Fallback = []llm.Model{second} }, broken(over))
	if end := f.run(t); end.Reason != event.EndCompleted || end.Steps != 1 || len(second.reqs) != 1 {
		t.Errorf("%+v", end)
	}
}

func TestInvokeReentersTheChokePointFromInsideACall(t *testing.T) {
	var f *fixture
	batch := tool("Batch", false, func(ctx context.Context, _ string) (*agent.Result, error) {
		rs := f.Invoke(ctx, []llm.ToolCall{call("", "T", `{"x":"1"}`), call("", "Nope", `{}`)})
		return agent.TextResult(rs[0].PlainText() + "|" + rs[1].PlainText()), nil
	})
	var asked atomic.Int32
	f = newFixture(t, []agent.Tool{batch, echo("T", true)}, func(c *agent.Config) {
		c.Authorize = func(context.Context, agent.Approval) (permission.Decision, error) {
			asked.Add(1)
			return permission.Decision{Effect: permission.Allow}, nil
		}
	}, reply(llm.StopToolUse, call("1", "Batch", `{"x":"a"}`)), reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	f.run(t)
	if got := results(f.model.reqs[1].Messages[2])[0]; !strings.HasPrefix(got, "1=T 1|There is no tool") ||
		asked.Load() != 2 {
		t.Errorf("%q, asked %d", got, asked.Load())
	}
}

func TestDuplicateCallIDsGetOneResultEach(t *testing.T) {
	f := newFixture(t, []agent.Tool{echo("T", true)}, nil,
		reply(llm.StopToolUse, call("1", "T", `{"x":"a"}`)),
		reply(llm.StopToolUse, call("1", "T", `{"x":"b"}`)),
		reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	f.run(t)
	if why := agent.Refused(f.model.reqs[2].Messages); why != "" {
		t.Error(why)
	}
	if got := results(f.model.reqs[2].Messages[4]); !strings.HasSuffix(got[0], "=T b") {
		t.Errorf("%v", got)
	}
}

func TestThePrefixNeverChanges(t *testing.T) {
	var plays []play
	for i := range 30 {
		plays = append(plays, reply(llm.StopToolUse, llm.Text{Text: "step"},
			call(fmt.Sprint(i), "T", fmt.Sprintf(`{"x":"%d"}`, i))))
	}
	plays = append(plays, reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	f := newFixture(t, []agent.Tool{echo("T", true)}, nil, plays...)
	f.run(t)
	for i := 1; i < len(f.model.reqs); i++ {
		prev, now := f.model.reqs[i-1].Messages, f.model.reqs[i].Messages
		for j := range prev {
			if !agent.SameParts(prev[j], now[j]) {
				t.Fatalf("request %d changed message %d", i+1, j)
			}
		}
	}
}

func allowAll(context.Context, agent.Approval) (permission.Decision, error) {
	return permission.Decision{Effect: permission.Allow}, nil
}

func itoa(n int) string { return fmt.Sprint(n) }

func TestACircleOfTwoEndsTheTurnHeadless(t *testing.T) {
	var plays []play
	for i := range 10 {
		plays = append(plays, reply(llm.StopToolUse, call(fmt.Sprint(i), "T", fmt.Sprintf(`{"x":"%d"}`, i%2))))
	}
	f := newFixture(t, []agent.Tool{echo("T", true)}, nil, plays...)
	if end := f.run(t); end.Reason != event.EndDoomLoop || end.Steps != 8 {
		t.Errorf("%+v", end)
	}
}
