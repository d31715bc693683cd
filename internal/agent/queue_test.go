package agent

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

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestHooksSeeEachCallOnce(t *testing.T) {
	picky := NewTool(llm.ToolSpec{Name: "Picky", Schema: []byte(`{"type":"object"}`)}, func(context.Context, llm.ToolCall, in) (*Plan, error) {
		return nil, errors.New("not like this")
	})
	var mu sync.Mutex
	seen := map[string]int{}
	f := newFixture(t, []Tool{echo("R", true), echo("W", false), picky}, func(c *Config) {
		c.BeforeTool = []BeforeTool{{Name: "count", Run: func(_ context.Context, call llm.ToolCall) (Verdict, error) {
			mu.Lock()
			defer mu.Unlock()
			seen[call.Name+call.ID]++
			return Verdict{}, nil
		}}}
		c.Authorize = func(_ context.Context, a Approval) (permission.Decision, error) {
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
	f := newFixture(t, []Tool{echo("W", false)}, func(c *Config) {
		c.BeforeTool = []BeforeTool{{Name: "days", Run: func(context.Context, llm.ToolCall) (Verdict, error) {
			n++
			return Verdict{}, errors.New("not on fridays")
		}}}
	}, reply(llm.StopToolUse, call("1", "W", `{"x":"a"}`)), reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	f.run(t)
	if got := results(f.model.reqs[1].Messages[2]); got[0] != "1=the hook days failed, so the call was not run: not on fridays" || n != 1 {
		t.Errorf("%v after %d", got, n)
	}
}

// A tool that ignores its cancellation gets a result from lathe; its own, which comes later, is dropped.
func TestToolsThatIgnoreCancellationAreAbandoned(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	release, late := make(chan struct{}), make(chan struct{})
	deaf := tool("Deaf", false, func(ctx context.Context, _ string) (*Result, error) {
		cancel()
		<-release
		Output(ctx, "too late")
		defer close(late)
		return TextResult("late"), nil
	})
	f := newFixture(t, []Tool{deaf}, nil,
		reply(llm.StopToolUse, call("1", "Deaf", `{"x":"a"}`), call("2", "Deaf", `{"x":"b"}`)),
		reply(llm.StopEndTurn, llm.Text{Text: "next"}))
	f.patience = time.Millisecond
	end, err := f.Run(ctx, llm.UserText("go"))
	if err != nil || end.Reason != event.EndInterrupted {
		t.Fatalf("%+v %v", end, err)
	}
	got := results(f.memory.Messages()[2])
	if want := []string{"1=" + abandonedText, "2=" + notStartedText}; !slices.Equal(got, want) {
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
	if why := refused(f.model.reqs[1].Messages); why != "" {
		t.Error(why)
	}
}

// Prepare may hang too, and the call that it prepares must not run when it comes back at last.
func TestCallsWhosePreparationHangsNeverStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	release, back := make(chan struct{}), make(chan struct{})
	var ran atomic.Bool
	slow := NewTool(llm.ToolSpec{Name: "Slow", Schema: []byte(`{"type":"object"}`)}, func(context.Context, llm.ToolCall, in) (*Plan, error) {
		cancel()
		<-release
		return &Plan{
			Parallel: true, Accesses: []permission.Access{},
			Run:   func(context.Context) (*Result, error) { ran.Store(true); return TextResult("ran"), nil },
			Close: func() { close(back) },
		}, nil
	})
	f := newFixture(t, []Tool{slow}, nil, reply(llm.StopToolUse, call("1", "Slow", `{}`)))
	f.patience = time.Millisecond
	if end, err := f.Run(ctx, llm.UserText("go")); err != nil || end.Reason != event.EndInterrupted {
		t.Fatalf("%+v %v", end, err)
	}
	close(release)
	<-back
	if got := results(f.memory.Messages()[2]); got[0] != "1="+notStartedText || ran.Load() {
		t.Errorf("%v, ran: %v", got, ran.Load())
	}
}

// Wherever the user interrupts before a call starts, the call is answered as not started and does not run.
func TestInterruptBeforeACallStarts(t *testing.T) {
	for name, at := range map[string]func(*Config, context.CancelFunc){
		"hook": func(c *Config, cancel context.CancelFunc) {
			c.BeforeTool = []BeforeTool{{Name: "h", Run: func(ctx context.Context, _ llm.ToolCall) (Verdict, error) {
				cancel()
				return Verdict{}, ctx.Err()
			}}}
		},
		"question": func(c *Config, cancel context.CancelFunc) {
			c.Authorize = func(ctx context.Context, _ Approval) (permission.Decision, error) {
				cancel()
				<-ctx.Done()
				return permission.Decision{Effect: permission.Ask}, ctx.Err()
			}
		},
		"approved at the last moment": func(c *Config, cancel context.CancelFunc) {
			c.Authorize = func(context.Context, Approval) (permission.Decision, error) {
				cancel()
				return permission.Decision{Effect: permission.Allow}, nil
			}
		},
		"snapshot": func(c *Config, cancel context.CancelFunc) {
			c.Snapshot = func(ctx context.Context, _ *Plan) error { cancel(); return ctx.Err() }
		},
		"after the snapshot": func(c *Config, cancel context.CancelFunc) {
			c.Snapshot = func(context.Context, *Plan) error { cancel(); return nil }
		},
		"journal": func(c *Config, cancel context.CancelFunc) {
			c.Transcript = &cancelling{Memory: c.Transcript.(*Memory), cancel: cancel}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ran := false
			tl := tool("T", false, func(context.Context, string) (*Result, error) { ran = true; return TextResult("ran"), nil })
			f := newFixture(t, []Tool{tl}, func(c *Config) { at(c, cancel) }, reply(llm.StopToolUse, call("1", "T", `{"x":"a"}`)))
			end, err := f.Run(ctx, llm.UserText("go"))
			if err != nil || end.Reason != event.EndInterrupted || ran {
				t.Fatalf("%+v %v, ran: %v", end, err, ran)
			}
			if got := results(f.memory.Messages()[2]); len(got) != 1 || got[0] != "1="+notStartedText {
				t.Errorf("%v", got)
			}
		})
	}
}

type cancelling struct {
	*Memory
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
	for name, at := range map[string]func(*Config, *[]play, context.CancelFunc){
		"before the turn": func(_ *Config, _ *[]play, cancel context.CancelFunc) { cancel() },
		"system prompt": func(c *Config, _ *[]play, cancel context.CancelFunc) {
			c.System = func(ctx context.Context) ([]llm.Part, error) { return nil, stop(cancel)(ctx) }
		},
		"before the step": func(c *Config, _ *[]play, cancel context.CancelFunc) {
			c.BeforeStep = []BeforeStep{{Name: "h", Run: func(ctx context.Context) ([]llm.Message, error) { return nil, stop(cancel)(ctx) }}}
		},
		"gate": func(c *Config, p *[]play, cancel context.CancelFunc) {
			*p = []play{reply(llm.StopEndTurn, llm.Text{Text: "done"})}
			c.BeforeStop = []BeforeStop{{Name: "h", Run: func(ctx context.Context, _ llm.Message) ([]llm.Message, error) {
				return nil, stop(cancel)(ctx)
			}}}
		},
		"while a retry waits": func(_ *Config, p *[]play, cancel context.CancelFunc) {
			*p = []play{func(ctx context.Context, yield func(llm.Delta, error) bool) {
				yield(llm.Retrying{Attempt: 1, Err: errors.New("busy")}, nil)
				cancel()
				yield(nil, ctx.Err())
			}}
		},
		"while a broken reply waits": func(c *Config, p *[]play, cancel context.CancelFunc) {
			*p = []play{broken(&llm.Error{Kind: llm.KindNetwork}, call("1", "T", `{"x":"a"}`))}
			c.Sleep = func(ctx context.Context, _ time.Duration) error { cancel(); return ctx.Err() }
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var plays []play
			f := newFixture(t, []Tool{echo("T", true)}, func(c *Config) { at(c, &plays, cancel) })
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
	f := newFixture(t, []Tool{echo("T", true)}, nil)
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
	mk := func(name string, parallel bool) Tool {
		return NewTool(llm.ToolSpec{Name: name, Schema: []byte(`{"type":"object"}`)}, func(context.Context, llm.ToolCall, in) (*Plan, error) {
			opened.Add(1)
			return &Plan{
				Parallel: parallel, Close: func() { closed.Add(1) },
				Run: func(context.Context) (*Result, error) { return nil, errors.New("no") },
			}, nil
		})
	}
	f := newFixture(t, []Tool{mk("P", true), mk("S", false)}, func(c *Config) {
		c.Authorize = func(_ context.Context, a Approval) (permission.Decision, error) {
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
