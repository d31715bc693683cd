package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
)

func says(name string, v agent.Verdict) agent.BeforeTool {
	return agent.BeforeTool{Name: name, Run: func(context.Context, llm.ToolCall) (agent.Verdict, error) { return v, nil }}
}

func TestTheStrictestVerdictWinsAndNamesItsHooks(t *testing.T) {
	allow, ask, deny := agent.Verdict{Effect: permission.Allow}, agent.Verdict{Effect: permission.Ask, Reason: "why?"},
		agent.Verdict{Effect: permission.Deny, Reason: "no"}
	for _, tt := range []struct {
		name   string
		v      []agent.Verdict
		effect permission.Effect
		hooks  string
		reason string
	}{
		{"none", []agent.Verdict{{}, {Context: "x"}}, "", "", ""},
		{"allow", []agent.Verdict{{}, allow}, permission.Allow, "b", ""},
		{"ask over allow", []agent.Verdict{allow, ask, allow}, permission.Ask, "b", "why?"},
		{
			"deny over all",
			[]agent.Verdict{deny, ask, allow, {Effect: permission.Deny, Reason: "never"}},
			permission.Deny,
			"a d", "no; never",
		},
		{"an effect that is none", []agent.Verdict{allow, {Effect: "maybe"}}, permission.Deny, "b", ""},
	} {
		r, err := agent.MergeVerdicts([]string{"a", "b", "c", "d"}, tt.v)
		if err != nil || r.Effect != tt.effect || strings.Join(r.Hooks, " ") != tt.hooks || r.Reason != tt.reason {
			t.Errorf("%s: %+v %v", tt.name, r, err)
		}
	}
}

func TestConflictingChangesOfTheInputAreRefusedWithBothHooksNamed(t *testing.T) {
	one, same, other := agent.Verdict{Input: json.RawMessage(`{"x":"1","y":2}`)},
		agent.Verdict{Input: json.RawMessage(`{ "y":2, "x":"1" }`)}, agent.Verdict{Input: json.RawMessage(`{"x":"2"}`)}
	if r, err := agent.MergeVerdicts([]string{"a", "b"}, []agent.Verdict{one, same}); err != nil || r.Changed != "a" {
		t.Errorf("the same change twice: %+v %v", r, err)
	}
	var ran atomic.Bool
	tl := tool("T", false, func(context.Context, string) (*agent.Result, error) {
		ran.Store(true)
		return agent.TextResult("ran"), nil
	})
	f := newFixture(t, []agent.Tool{tl}, func(c *agent.Config) {
		c.BeforeTool = []agent.BeforeTool{says("fmt", one), says("lint", other)}
	},
		reply(llm.StopToolUse, call("1", "T", `{"x":"a"}`)), reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	f.run(t)
	if got := results(f.model.reqs[1].Messages[2])[0]; !strings.Contains(got, "fmt and lint") || ran.Load() {
		t.Errorf("%q, ran: %v", got, ran.Load())
	}
}

// Hooks and policy combine: a hook narrows, and answers a question, and lifts no refusal.
func TestARulingNarrowsPolicyAndAnswersItsQuestions(t *testing.T) {
	policy := []permission.Decision{
		{Effect: permission.Allow},
		{Effect: permission.Ask, Layer: permission.LayerAnalysis},
		{Effect: permission.Deny},
		{Effect: permission.Deny, Confirm: true},
	}
	for effect, want := range map[permission.Effect][]permission.Effect{
		"":               {permission.Allow, permission.Ask, permission.Deny, permission.Deny},
		permission.Allow: {permission.Allow, permission.Allow, permission.Deny, permission.Deny},
		permission.Ask:   {permission.Ask, permission.Ask, permission.Deny, permission.Deny},
		permission.Deny:  {permission.Deny, permission.Deny, permission.Deny, permission.Deny},
	} {
		for i, d := range policy {
			got := agent.Ruling{Effect: effect, Hooks: []string{"h"}}.Apply(d)
			if got.Effect != want[i] {
				t.Errorf("%s over %+v: %+v", effect, d, got)
			}
			if got.Confirm != (d.Confirm && effect != permission.Deny) {
				t.Errorf("%s over %+v: a person may be asked: %v", effect, d, got.Confirm)
			}
		}
	}
}

// A hook's allow stands for the user only where policy asks because it knows nothing of the call.
func TestAHooksAllowDoesNotAnswerAQuestionThatProtects(t *testing.T) {
	for _, d := range []permission.Decision{
		{Layer: permission.LayerDeny, Rule: "Bash(rm *)"},
		{Layer: permission.LayerGuards},
		{Layer: permission.LayerAsk, Rule: "Bash(git push *)"},
		{Layer: permission.LayerMode},
		{Layer: permission.LayerAnalysis, Rule: "Bash(x)"},
		{},
	} {
		d.Effect, d.Reason = permission.Ask, "because"
		if got := (agent.Ruling{Effect: permission.Allow, Hooks: []string{"h"}}).Apply(d); got.Effect != permission.Ask ||
			got.Reason != "because" {
			t.Errorf("%+v: %+v", d, got)
		}
	}
}

func TestTheRulingReachesAuthorizeAndADenialHoldsWhateverItSays(t *testing.T) {
	var approvals []agent.Approval
	tl := tool("T", false, func(_ context.Context, x string) (*agent.Result,
		error,
	) {
		return agent.TextResult("ran " + x), nil
	})
	denies := agent.BeforeTool{Name: "guard", Run: func(_ context.Context, c llm.ToolCall) (agent.Verdict, error) {
		if strings.Contains(string(c.Input), "bad") {
			return agent.Verdict{Effect: permission.Deny, Reason: "it is bad", Context: "ask for something else"}, nil
		}
		return agent.Verdict{Input: json.RawMessage(`{"x":"mended"}`), Context: "mended it"}, nil
	}}
	f := newFixture(t, []agent.Tool{tl}, func(c *agent.Config) {
		c.BeforeTool = []agent.BeforeTool{denies}
		c.Chain = []string{"explore/toolu_1"}
		c.Authorize = func(_ context.Context, a agent.Approval) (permission.Decision, error) {
			approvals = append(approvals, a)
			return permission.Decision{Effect: permission.Allow}, nil
		}
	}, reply(llm.StopToolUse, call("1", "T", `{"x":"a"}`), call("2", "T", `{"x":"bad"}`)),
		reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	f.run(t)
	got := results(f.model.reqs[1].Messages[2])
	if got[0] != "1=ran mended\n\nHook guard: mended it" ||
		got[1] != "2=Permission denied: it is bad.\n\nHook guard: ask for something else" {
		t.Errorf("%q", got)
	}
	if approvals[0].Hooks.Changed != "guard" || string(approvals[0].Input) != `{"x":"mended"}` ||
		approvals[1].Hooks.Effect != permission.Deny {
		t.Errorf("%+v", approvals)
	}
	if !slices.Equal(approvals[0].Agent, []string{"explore/toolu_1"}) {
		t.Errorf("the agent is %q", approvals[0].Agent)
	}
	res := f.model.reqs[1].Messages[2].Parts[0].(llm.ToolResult)
	if text := res.Parts[1].(llm.Text); text.Origin != llm.OriginHook {
		t.Errorf("%+v", text)
	}
	if d := ofKind[event.Denied](f); len(d) != 1 || d[0].Decision.Source != "hook guard" {
		t.Errorf("%+v", d)
	}
}

func TestAHookMayEndTheTurnAfterTheStep(t *testing.T) {
	for name, change := range map[string]func(*agent.Config){
		"before": func(c *agent.Config) {
			c.BeforeTool = []agent.BeforeTool{says("budget", agent.Verdict{Stop: "enough"})}
		},
		"after": func(c *agent.Config) {
			c.AfterTool = []agent.AfterTool{{Name: "budget", Run: func(context.Context, llm.ToolCall, *agent.Result) (
				agent.Verdict, error,
			) {
				return agent.Verdict{Stop: "enough"}, nil
			}}}
		},
	} {
		f := newFixture(t, []agent.Tool{echo("T", true)}, change, reply(llm.StopToolUse, call("1", "T", `{"x":"a"}`),
			call("2", "T", `{"x":"b"}`)))
		end := f.run(t)
		if n := ofKind[event.Notice](f); end.Reason != event.EndStopped || len(n) != 1 || !strings.Contains(n[0].Text,
			"budget ended the turn: enough") {
			t.Errorf("%s: %+v %+v", name, end, n)
		}
		if got := results(f.memory.Messages()[2]); !slices.Equal(got, []string{"1=T a", "2=T b"}) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestHooksAfterACallRunInOrderAndNeverReplaceItsResultByFailing(t *testing.T) {
	after := func(name string, run func(*agent.Result) error) agent.AfterTool {
		return agent.AfterTool{Name: name, Run: func(_ context.Context, _ llm.ToolCall, r *agent.Result) (agent.Verdict,
			error,
		) {
			return agent.Verdict{}, run(r)
		}}
	}
	add := func(text string) func(*agent.Result) error {
		return func(r *agent.Result) error { r.Parts = append(r.Parts, llm.Text{Text: text}); return nil }
	}
	f := newFixture(t, []agent.Tool{echo("T", true)}, func(c *agent.Config) {
		c.AfterTool = []agent.AfterTool{
			after("one", add("first")),
			after("bad", func(r *agent.Result) error { r.Parts = nil; return errors.New("out of order") }),
			after("crash", func(r *agent.Result) error { r.Parts[0] = llm.Text{Text: "spoilt"}; panic("oh") }),
			after("two", add("second")),
		}
	}, reply(llm.StopToolUse, call("1", "T", `{"x":"a"}`)), reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	f.run(t)
	want := "1=T a\n\nfirst\n\nHook bad: failed after the call had run: out of order\n\nHook crash: failed after the " +
		"call had run: the hook crash crashed: oh\n\nsecond"
	if got := results(f.model.reqs[1].Messages[2])[0]; got != want {
		t.Errorf("%q", got)
	}
}

// Every result passes the limit last: with the texts of hooks, refused, and left alone by its hooks.
func TestTheLimitOfResultsIsLast(t *testing.T) {
	after := []agent.AfterTool{{Name: "talks", Run: func(_ context.Context, c llm.ToolCall, r *agent.Result) (
		agent.Verdict, error,
	) {
		if c.ID == "3" {
			return agent.Verdict{}, errors.New("failed")
		}
		r.Parts = append(r.Parts, llm.Text{Text: "changed"})
		return agent.Verdict{Context: "context"}, nil
	}}}
	before := []agent.BeforeTool{{Name: "adds", Run: func(_ context.Context, c llm.ToolCall) (agent.Verdict, error) {
		return agent.Verdict{Context: "before"}, nil
	}}}
	f := newFixture(t, []agent.Tool{echo("T", true)}, func(c *agent.Config) {
		c.LimitResult = func(_ context.Context, _ llm.ToolCall, r *agent.Result) {
			r.Parts = []llm.Part{llm.Text{Text: fmt.Sprintf("%d parts", len(r.Parts))}}
		}
		c.BeforeTool, c.AfterTool = before, after
		c.Authorize = func(_ context.Context, a agent.Approval) (permission.Decision, error) {
			return permission.Decision{Effect: map[bool]permission.Effect{
				true:  permission.Deny,
				false: permission.Allow,
			}[a.CallID == "2"]}, nil
		}
	}, reply(llm.StopToolUse, call("1", "T", `{"x":"a"}`), call("2", "T", `{"x":"b"}`), call("3", "T", `{"x":"c"}`),
		call("4", "None", `{}`)),
		reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	f.run(t)
	got := results(f.model.reqs[1].Messages[2])
	if want := []string{"1=4 parts", "2=2 parts", "3=3 parts", "4=1 parts"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestALimitThatCrashesKeepsTheResult(t *testing.T) {
	f := newFixture(t, []agent.Tool{echo("T", true)}, func(c *agent.Config) {
		c.LimitResult = func(_ context.Context, _ llm.ToolCall, r *agent.Result) { r.Parts = nil; panic("oh") }
	}, reply(llm.StopToolUse, call("1", "T", `{"x":"a"}`)), reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	f.run(t)
	if got := results(f.model.reqs[1].Messages[2])[0]; got != "1=T a\n\nthe limit of results crashed: oh" {
		t.Errorf("%q", got)
	}
}

// Esc ends the wait for a hook, whether it obeys or not, and the result of the call that has acted is kept.
func TestAnInterruptWhileAHookWaitsKeepsTheResultOfTheCall(t *testing.T) {
	for name, obeys := range map[string]bool{"obeys": true, "deaf": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				release := make(chan struct{})
				f := newFixture(t, []agent.Tool{echo("T", true)}, func(c *agent.Config) {
					c.AfterTool = []agent.AfterTool{{Name: "slow", Run: func(ctx context.Context, _ llm.ToolCall, r *agent.Result) (
						agent.Verdict, error,
					) {
						cancel()
						if obeys {
							<-ctx.Done()
							return agent.Verdict{}, ctx.Err()
						}
						<-release
						r.Parts[0] = llm.Text{Text: "too late"}
						return agent.Verdict{}, nil
					}}}
				}, reply(llm.StopToolUse, call("1", "T", `{"x":"a"}`)))
				began := time.Now()
				end, err := f.Run(ctx, llm.UserText("go"))
				if err != nil || end.Reason != event.EndInterrupted || time.Since(began) > agent.AbandonAfter {
					t.Errorf("%+v %v after %v", end, err, time.Since(began))
				}
				close(release)
				synctest.Wait()
				got := results(f.memory.Messages()[2])[0]
				if !strings.HasPrefix(got, "1=T a\n\n") || !strings.Contains(got, "interrupted") {
					t.Errorf("%q", got)
				}
			})
		})
	}
}

func TestBeforeHooksRunSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(name string) agent.BeforeTool {
			return agent.BeforeTool{Name: name, Run: func(context.Context, llm.ToolCall) (agent.Verdict, error) {
				time.Sleep(time.Second)
				return agent.Verdict{Context: name}, nil
			}}
		}
		f := newFixture(t, []agent.Tool{echo("T", true)},
			func(c *agent.Config) { c.BeforeTool = []agent.BeforeTool{slow("a"), slow("b"), slow("c")} },
			reply(llm.StopToolUse, call("1", "T", `{"x":"a"}`)), reply(llm.StopEndTurn, llm.Text{Text: "done"}))
		began := time.Now()
		f.run(t)
		if took := time.Since(began); took != time.Second {
			t.Errorf("they took %v", took)
		}
		if got := results(f.model.reqs[1].Messages[2])[0]; got != "1=T a\n\nHook a: a\n\nHook b: b\n\nHook c: c" {
			t.Errorf("%q", got)
		}
	})
}

// The calls of a reply do not wait for each other's hooks, whether they run together or one by one.
func TestTheHooksOfSeveralCallsRunSideBySide(t *testing.T) {
	for name, parallel := range map[string]bool{"together": true, "one by one": false} {
		synctest.Test(t, func(t *testing.T) {
			var calls []llm.Part
			for i := range agent.MaxParallel {
				calls = append(calls, call(string(rune('a'+i)), "T", `{"x":"a"}`))
			}
			f := newFixture(t, []agent.Tool{echo("T", parallel)}, func(c *agent.Config) {
				c.BeforeTool = []agent.BeforeTool{{Name: "slow", Run: func(_ context.Context, c llm.ToolCall) (agent.Verdict,
					error,
				) {
					time.Sleep(time.Second)
					return agent.Verdict{Context: c.ID}, nil
				}}}
			}, reply(llm.StopToolUse, calls...), reply(llm.StopEndTurn, llm.Text{Text: "done"}))
			began := time.Now()
			f.run(t)
			if took := time.Since(began); took != time.Second {
				t.Errorf("%s: they took %v", name, took)
			}
			if got := results(f.model.reqs[1].Messages[2]); len(got) != agent.MaxParallel || got[1] != "b=T a\n\nHook slow: b" {
				t.Errorf("%s: %q", name, got)
			}
		})
	}
}

func TestHooksOfStepsAndOfTheEndRunInOrderAndAllAreHeard(t *testing.T) {
	step := 0
	tell := func(name, text string) agent.BeforeStep {
		return agent.BeforeStep{Name: name, Run: func(context.Context) ([]llm.Message, error) {
			if step++; step > 2 {
				return nil, nil
			}
			return []llm.Message{llm.UserText(text)}, nil
		}}
	}
	stops := 0
	stop := func(name, text string) agent.BeforeStop {
		return agent.BeforeStop{Name: name, Run: func(context.Context, llm.Message) ([]llm.Message, error) {
			if stops++; stops > 2 {
				return nil, nil
			}
			return []llm.Message{llm.UserText(text)}, nil
		}}
	}
	f := newFixture(t, nil, func(c *agent.Config) {
		c.BeforeStep = []agent.BeforeStep{tell("a", "one"), tell("b", "two")}
		c.BeforeStop = []agent.BeforeStop{stop("c", "three"), stop("d", "four")}
	}, reply(llm.StopEndTurn, llm.Text{Text: "done"}), reply(llm.StopEndTurn, llm.Text{Text: "really"}))
	if end := f.run(t); end.Reason != event.EndCompleted || end.Steps != 2 {
		t.Errorf("%+v", end)
	}
	var got []string
	for _, m := range f.memory.Messages() {
		got = append(got, m.PlainText())
	}
	if s := strings.Join(got, " "); s != "go one two done three four really" {
		t.Errorf("%q", s)
	}
}

// A step that is sent again, to another model or in a shorter conversation, is the same step.
func TestHooksOfAStepRunOnceHoweverOftenItIsSent(t *testing.T) {
	ran := 0
	f := newFixture(t, nil, func(c *agent.Config) {
		c.Fallback = []llm.Model{c.Model}
		c.OnWindow = func(context.Context, agent.Window) (bool, error) { return true, nil }
		c.BeforeStep = []agent.BeforeStep{{Name: "a", Run: func(context.Context) ([]llm.Message, error) {
			ran++
			return []llm.Message{llm.UserText("hook")}, nil
		}}}
	}, broken(&llm.Error{Kind: llm.KindOverloaded}), broken(&llm.Error{Kind: llm.KindTooLarge}),
		reply(llm.StopToolUse, call("1", "Nope", `{}`)),
		reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	if end := f.run(t); ran != 2 || end.Steps != 2 {
		t.Errorf("ran %d times in %d steps", ran, end.Steps)
	}
}

func TestAPanicOfAHookIsAnErrorThatNamesIt(t *testing.T) {
	for want, change := range map[string]func(*agent.Config){
		"the hook memory crashed: oh": func(c *agent.Config) {
			c.BeforeStep = []agent.BeforeStep{{Name: "memory", Run: func(context.Context) ([]llm.Message,
				error,
			) {
				panic("oh")
			}}}
		},
		"the hook gate crashed: oh": func(c *agent.Config) {
			c.BeforeStop = []agent.BeforeStop{{Name: "gate", Run: func(context.Context, llm.Message) ([]llm.Message,
				error,
			) {
				panic("oh")
			}}}
		},
		"making room in the context window crashed: oh": func(c *agent.Config) {
			c.WindowMark = func(llm.ModelInfo) int { return 1 }
			c.OnWindow = func(context.Context, agent.Window) (bool, error) { panic("oh") }
		},
		"the tools cannot be listed: the list of tools crashed: oh": func(c *agent.Config) {
			c.Tools = func(context.Context) (agent.ToolSet, error) { panic("oh") }
		},
	} {
		f := newFixture(t, nil, change)
		f.model.plays = []play{reply(llm.StopEndTurn, llm.Text{Text: "done"})}
		end, err := f.Run(t.Context(), llm.UserText("go"))
		if err == nil || err.Error() != want || end.Reason != event.EndFailed {
			t.Errorf("%+v %v", end, err)
		}
	}
}

func TestASnapshotKnowsItsCallAndItsCrashIsTheCallsFailure(t *testing.T) {
	var ids []string
	ended := 0
	f := newFixture(t, []agent.Tool{echo("T", false)}, func(c *agent.Config) {
		c.Snapshot = func(ctx context.Context, _ *agent.Plan) (func(), error) {
			if ids = append(ids, agent.CallID(ctx)); len(ids) == 2 {
				panic("oh")
			}
			return func() { ended++ }, nil
		}
	}, reply(llm.StopToolUse, call("1", "T", `{"x":"a"}`), call("2", "T", `{"x":"b"}`)),
		reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	f.run(t)
	got := results(f.model.reqs[1].Messages[2])
	if ended != 1 {
		t.Errorf("%d snapshots ended", ended)
	}
	if !slices.Equal(ids, []string{"1", "2"}) || got[0] != "1=T a" || !strings.Contains(got[1],
		"the snapshot crashed: oh") {
		t.Errorf("%q %q", ids, got)
	}
}

func TestAnErrorOfAStepHookEndsTheTurnUnderItsName(t *testing.T) {
	f := newFixture(t, nil, func(c *agent.Config) {
		c.BeforeStep = []agent.BeforeStep{{Name: "memory", Run: func(context.Context) ([]llm.Message,
			error,
		) {
			return nil, errors.New("gone")
		}}}
	})
	if _, err := f.Run(t.Context(), llm.UserText("go")); err == nil || err.Error() != "memory: gone" {
		t.Errorf("%v", err)
	}
}
