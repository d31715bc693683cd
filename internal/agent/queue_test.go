package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/store/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestHooksSeeEachCallOnce(t *testing.T) {
	picky := agent.NewTool(llm.ToolSpec{Name: "Picky", Schema: []byte(`{"type":"object"}`)},
		func(context.Context, llm.ToolCall, in) (*agent.Plan, error) {
			return nil, errors.New("not like this")
		})
	var mu sync.Mutex
	seen := map[string]int{}
	f := newFixture(t, []agent.Tool{echo("R", true), echo("W", false), picky}, func(c *agent.Config) {
		c.BeforeTool = []agent.BeforeTool{{Name: "count", Run: func(_ context.Context, call llm.ToolCall) (agent.Verdict,
			error,
		) {
			mu.Lock()
			defer mu.Unlock()
			seen[call.Name+call.ID]++
			return agent.Verdict{}, nil
		}}}
		c.Authorize = func(_ context.Context, a agent.Approval) (permission.Decision, error) {
			d := permission.Decision{Effect: permission.Allow}
			if a.Call.ID == "3" && !a.Revised {
				d.Input = json.RawMessage(`{"x":"other"}`)
			}
			return d, nil
		}
	}, reply(llm.StopToolUse, call("1", "R", `{"x":"a"}`), call("2", "W", `{"x":"a"}`), call("3", "W", `{"x":"b"}`),
		call("4", "Picky", `{}`), call("5", "Nope", `{}`)),
		reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	f.run(t)
	if want := map[string]int{"R1": 1, "W2": 1, "W3": 1, "Picky4": 1}; fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("hooks saw %v, want %v", seen, want)
	}
	if got := results(f.model.reqs[1].Messages[2]); !slices.Contains(got, "3=W other") {
		t.Errorf("%v", got)
	}
}

func TestHookRefusalIsFinal(t *testing.T) {
	n := 0
	f := newFixture(t, []agent.Tool{echo("W", false)}, func(c *agent.Config) {
		c.BeforeTool = []agent.BeforeTool{{Name: "days", Run: func(context.Context, llm.ToolCall) (agent.Verdict, error) {
			n++
			return agent.Verdict{}, errors.New("not on fridays")
		}}}
	}, reply(llm.StopToolUse, call("1", "W", `{"x":"a"}`)), reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	f.run(t)
	if got := results(f.model.reqs[1].Messages[2]); got[0] != "1=the hook days failed, so the call was not run: not on "+
		"fridays" || n != 1 {
		t.Errorf("%v after %d", got, n)
	}
}

// A tool that ignores its cancellation gets a result from lathe; its own, which comes later, is dropped.
func TestToolsThatIgnoreCancellationAreAbandoned(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	release, late := make(chan struct{}), make(chan struct{})
	deaf := tool("Deaf", false, func(ctx context.Context, _ string) (*agent.Result, error) {
		cancel()
		<-release
		agent.Output(ctx, "too late")
		defer close(late)
		return agent.TextResult("late"), nil
	})
	f := newFixture(t, []agent.Tool{deaf}, nil,
		reply(llm.StopToolUse, call("1", "Deaf", `{"x":"a"}`), call("2", "Deaf", `{"x":"b"}`)),
		reply(llm.StopEndTurn, llm.Text{Text: "next"}))
	f.SetPatience(time.Millisecond)
	end, err := f.Run(ctx, llm.UserText("go"))
	if err != nil || end.Reason != event.EndInterrupted {
		t.Fatalf("%+v %v", end, err)
	}
	got := results(f.memory.Messages()[2])
	if want := []string{"1=" + agent.AbandonedText, "2=" + agent.NotStartedText}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	f.run(t) // the next turn does not wait for it
	close(release)
	<-late
	if n := len(ofKind[event.ToolEnd](f)); n != 2 {
		t.Errorf("%d results", n)
	}
	if n := len(ofKind[event.ToolOutput](f)); n != 0 {
		t.Errorf("%d pieces of output after the result", n)
	}
	if why := agent.Refused(f.model.reqs[1].Messages); why != "" {
		t.Error(why)
	}
}

// Prepare may hang too, and the call that it prepares must not run when it comes back at last.
func TestCallsWhosePreparationHangsNeverStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	release, back := make(chan struct{}), make(chan struct{})
	var ran atomic.Bool
	slow := agent.NewTool(llm.ToolSpec{Name: "Slow", Schema: []byte(`{"type":"object"}`)},
		func(context.Context, llm.ToolCall, in) (*agent.Plan, error) {
			cancel()
			<-release
			return &agent.Plan{
				Parallel: true, Accesses: []permission.Access{},
				Run:   func(context.Context) (*agent.Result, error) { ran.Store(true); return agent.TextResult("ran"), nil },
				Close: func() { close(back) },
			}, nil
		})
	f := newFixture(t, []agent.Tool{slow}, nil, reply(llm.StopToolUse, call("1", "Slow", `{}`)))
	f.SetPatience(time.Millisecond)
	if end, err := f.Run(ctx, llm.UserText("go")); err != nil || end.Reason != event.EndInterrupted {
		t.Fatalf("%+v %v", end, err)
	}
	close(release)
	<-back
	if got := results(f.memory.Messages()[2]); got[0] != "1="+agent.NotStartedText || ran.Load() {
		t.Errorf("%v, ran: %v", got, ran.Load())
	}
}

// A refusal that ends the turn stops a call that runs beside the refused one, and no other call of the reply starts.
func TestARefusalThatEndsTheTurnStopsTheOtherCallsOfTheReply(t *testing.T) {
	started := make(chan struct{})
	slow := tool("Slow", true, func(ctx context.Context, _ string) (*agent.Result, error) {
		close(started)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	f := newFixture(t, []agent.Tool{slow, echo("R", true), echo("W", false)}, func(c *agent.Config) {
		c.Authorize = func(_ context.Context, a agent.Approval) (permission.Decision, error) {
			if a.Call.ID != "2" {
				return permission.Decision{Effect: permission.Allow}, nil
			}
			<-started
			return permission.Decision{Effect: permission.Deny, Reason: "the user refused", Interrupt: true}, nil
		}
	}, reply(llm.StopToolUse, call("1", "Slow", `{"x":"a"}`), call("2", "R", `{"x":"b"}`), call("3", "W", `{"x":"c"}`),
		call("4", "R", `{"x":"d"}`)),
		reply(llm.StopEndTurn, llm.Text{Text: "next"}))
	if end := f.run(t); end.Reason != event.EndRefused {
		t.Errorf("%+v", end)
	}
	want := []string{
		"1=" + agent.InterruptedText, "2=Permission denied: the user refused.",
		"3=" + agent.ErrRefused.Error(), "4=" + agent.ErrRefused.Error(),
	}
	if got := results(f.memory.Messages()[2]); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	f.run(t)
	if why := agent.Refused(f.model.reqs[1].Messages); why != "" {
		t.Error(why)
	}
}

// Wherever the user interrupts before a call starts, the call is answered as not started and does not run.
func TestInterruptBeforeACallStarts(t *testing.T) {
	for name, at := range map[string]func(*agent.Config, context.CancelFunc){
		"hook": func(c *agent.Config, cancel context.CancelFunc) {
			c.BeforeTool = []agent.BeforeTool{{Name: "h", Run: func(ctx context.Context, _ llm.ToolCall) (agent.Verdict, error) {
				cancel()
				return agent.Verdict{}, ctx.Err()
			}}}
		},
		"question": func(c *agent.Config, cancel context.CancelFunc) {
			c.Authorize = func(ctx context.Context, _ agent.Approval) (permission.Decision, error) {
				cancel()
				<-ctx.Done()
				return permission.Decision{Effect: permission.Ask}, ctx.Err()
			}
		},
		"approved at the last moment": func(c *agent.Config, cancel context.CancelFunc) {
			c.Authorize = func(context.Context, agent.Approval) (permission.Decision, error) {
				cancel()
				return permission.Decision{Effect: permission.Allow}, nil
			}
		},
		"snapshot": func(c *agent.Config, cancel context.CancelFunc) {
			c.Snapshot = func(ctx context.Context, _ *agent.Plan) (func(), error) { cancel(); return nil, ctx.Err() }
		},
		"after the snapshot": func(c *agent.Config, cancel context.CancelFunc) {
			c.Snapshot = func(context.Context, *agent.Plan) (func(), error) { cancel(); return func() {}, nil }
		},
		"journal": func(c *agent.Config, cancel context.CancelFunc) {
			c.Transcript = &cancelling{Memory: c.Transcript.(*agent.Memory), cancel: cancel}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ran := false
			tl := tool("T", false, func(context.Context, string) (*agent.Result,
				error,
			) {
				ran = true
				return agent.TextResult("ran"), nil
			})
			f := newFixture(t, []agent.Tool{tl}, func(c *agent.Config) { at(c, cancel) },
				reply(llm.StopToolUse, call("1", "T", `{"x":"a"}`)))
			end, err := f.Run(ctx, llm.UserText("go"))
			if err != nil || end.Reason != event.EndInterrupted || ran {
				t.Fatalf("%+v %v, ran: %v", end, err, ran)
			}
			if got := results(f.memory.Messages()[2]); len(got) != 1 || got[0] != "1="+agent.NotStartedText {
				t.Errorf("%v", got)
			}
		})
	}
}

type cancelling struct {
	*agent.Memory
	cancel context.CancelFunc
}

func (c *cancelling) StartCall(context.Context, session.CallStart, bool) error {
	c.cancel()
	return nil
}

// Wherever else the user interrupts, the turn ends as interrupted and without an error.
func TestInterruptElsewhere(t *testing.T) {
	stop := func(cancel context.CancelFunc) func(context.Context) error {
		return func(context.Context) error { cancel(); return errors.New("killed") }
	}
	for name, at := range map[string]func(*agent.Config, *[]play, context.CancelFunc){
		"before the turn": func(_ *agent.Config, _ *[]play, cancel context.CancelFunc) { cancel() },
		"system prompt": func(c *agent.Config, _ *[]play, cancel context.CancelFunc) {
			c.System = func(ctx context.Context) ([]llm.Part, error) { return nil, stop(cancel)(ctx) }
		},
		"before the step": func(c *agent.Config, _ *[]play, cancel context.CancelFunc) {
			c.BeforeStep = []agent.BeforeStep{{Name: "h", Run: func(ctx context.Context) ([]llm.Message,
				error,
			) {
				return nil, stop(cancel)(ctx)
			}}}
		},
		"gate": func(c *agent.Config, p *[]play, cancel context.CancelFunc) {
			*p = []play{reply(llm.StopEndTurn, llm.Text{Text: "done"})}
			c.BeforeStop = []agent.BeforeStop{{Name: "h", Run: func(ctx context.Context, _ llm.Message) ([]llm.Message, error) {
				return nil, stop(cancel)(ctx)
			}}}
		},
		"while a retry waits": func(_ *agent.Config, p *[]play, cancel context.CancelFunc) {
			*p = []play{func(ctx context.Context, yield func(llm.Delta, error) bool) {
				yield(llm.Retrying{Attempt: 1, Err: errors.New("busy")}, nil)
				cancel()
				yield(nil, ctx.Err())
			}}
		},
		"while a broken reply waits": func(c *agent.Config, p *[]play, cancel context.CancelFunc) {
			*p = []play{broken(&llm.Error{Kind: llm.KindNetwork}, call("1", "T", `{"x":"a"}`))}
			c.Sleep = func(ctx context.Context, _ time.Duration) error { cancel(); return ctx.Err() }
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var plays []play
			f := newFixture(t, []agent.Tool{echo("T", true)}, func(c *agent.Config) { at(c, &plays, cancel) })
			f.model.plays = plays
			end, err := f.Run(ctx, llm.UserText("go"))
			if err != nil || end.Reason != event.EndInterrupted || end.Err != "" {
				t.Errorf("%+v %v", end, err)
			}
			if msgs := f.memory.Messages(); len(msgs) == 0 || msgs[0].PlainText() != "go" {
				t.Errorf("the prompt is not kept: %+v", msgs)
			}
		})
	}
}

func TestInvokeAnswersEachCallInOrder(t *testing.T) {
	f := newFixture(t, []agent.Tool{echo("T", true)}, nil)
	calls := []llm.ToolCall{call("x", "T", `{"x":"1"}`), call("x", "T", `{"x":"2"}`), call("", "T", `{"x":"3"}`)}
	var got []string
	for _, r := range f.Invoke(t.Context(), calls) {
		got = append(got, r.CallID+"="+r.PlainText())
	}
	if fmt.Sprint(got) != "[x=T 1 x=T 2 call_3=T 3]" || calls[2].ID != "" {
		t.Errorf("%v %v", got, calls)
	}
}

func TestPlansAreClosedExactlyOnce(t *testing.T) {
	var opened, closed atomic.Int32
	mk := func(name string, parallel bool) agent.Tool {
		return agent.NewTool(llm.ToolSpec{Name: name, Schema: []byte(`{"type":"object"}`)},
			func(context.Context, llm.ToolCall, in) (*agent.Plan, error) {
				opened.Add(1)
				return &agent.Plan{
					Parallel: parallel, Close: func() { closed.Add(1) },
					Run: func(context.Context) (*agent.Result, error) { return nil, errors.New("no") },
				}, nil
			})
	}
	f := newFixture(t, []agent.Tool{mk("P", true), mk("S", false)}, func(c *agent.Config) {
		c.Authorize = func(_ context.Context, a agent.Approval) (permission.Decision, error) {
			d := permission.Decision{Effect: permission.Allow, Input: json.RawMessage(`{}`)}
			if a.Call.ID == "3" {
				d = permission.Decision{Effect: permission.Deny}
			}
			return d, nil
		}
	}, reply(llm.StopToolUse, call("1", "P", `{}`), call("2", "S", `{}`), call("3", "S", `{}`)),
		reply(llm.StopEndTurn, llm.Text{Text: strings.Repeat("x", 3)}))
	f.run(t)
	if opened.Load() != closed.Load() || opened.Load() < 5 {
		t.Errorf("%d plans, %d closed", opened.Load(), closed.Load())
	}
}
