package agent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
)

func denyWith(err error) func(context.Context, agent.Approval) (permission.Decision, error) {
	return func(context.Context, agent.Approval) (permission.Decision, error) {
		return permission.Decision{Effect: permission.Deny}, err
	}
}

// raw plays deltas as they are.
func raw(ds ...llm.Delta) play {
	return func(_ context.Context, yield func(llm.Delta, error) bool) {
		for _, d := range ds {
			if !yield(d, nil) {
				return
			}
		}
	}
}

func done(parts ...llm.Part) llm.Done {
	return llm.Done{Message: llm.Message{ID: "r", Role: llm.Assistant, Parts: parts, Stop: llm.StopToolUse}}
}

// Whatever a provider makes of its promises, each call runs once, has one result, and the log and the
// request agree.
func TestOddStreams(t *testing.T) {
	a, b := call("1", "T", `{"x":"a"}`), call("1", "T", `{"x":"b"}`)
	noID := call("", "T", `{"x":"c"}`)
	for name, tc := range map[string]struct {
		play play
		want string
	}{
		"ready twice":              {raw(llm.ToolReady{Call: a}, llm.ToolReady{Call: a}, done(a)), "[1=T a]"},
		"ready twice, other input": {raw(llm.ToolReady{Call: a}, llm.ToolReady{Call: b}, done(b)), "[1=T a]"},
		"never ready":              {raw(done(a)), "[1=T a]"},
		"other index in the whole": {raw(llm.PartDone{Index: 0, Part: llm.Text{Text: "t"}}, llm.ToolReady{Index: 1, Call: a},
			done(a)), "[1=T a]"},
		"same id for two calls": {
			raw(llm.ToolReady{Index: 0, Call: a}, llm.ToolReady{Index: 1, Call: b}, done(a, b)),
			"[1=T a 1_2=T b]",
		},
		"same id, none announced": {raw(done(a, b)), "[1=T a 1_2=T b]"},
		"no ids": {raw(llm.ToolReady{Index: 0, Call: noID}, llm.ToolReady{Index: 1, Call: noID},
			done(noID, noID)), "[call=T c call_2=T c]"},
		"a gap": {raw(llm.TextDelta{Index: 0, Text: "t"}, llm.ToolReady{Index: 1, Call: a},
			done(llm.Text{Text: "t"}, a)), "[1=T a]"},
		"a gap and a cut":          {raw(llm.TextDelta{Index: 0, Text: "t"}, llm.ToolReady{Index: 1, Call: a}), "[1=T a]"},
		"the whole lacks the call": {raw(llm.ToolReady{Index: 0, Call: a}, done(llm.Text{Text: "t"})), "[1=T a]"},
		"sent again after a call": {raw(llm.Sent{Attempt: 1}, llm.ToolReady{Call: a}, llm.Sent{Attempt: 2},
			llm.ToolReady{Call: b}, done(b)), "[1=T a]"},
	} {
		t.Run(name, func(t *testing.T) {
			log := newLog(t)
			f := newFixture(t, []agent.Tool{echo("T", true)}, func(c *agent.Config) { c.Transcript = log },
				tc.play, reply(llm.StopEndTurn, llm.Text{Text: "done"}))
			f.run(t)
			msgs := f.model.reqs[1].Messages
			if why := agent.Refused(msgs); why != "" {
				t.Fatalf("%s: %+v", why, msgs)
			}
			if got := fmt.Sprint(results(msgs[2])); got != tc.want || len(msgs) != 3 {
				t.Errorf("got %s, want %s in %+v", got, tc.want, msgs)
			}
			for i, m := range msgs {
				if !agent.SameParts(m, log.Messages()[i]) {
					t.Errorf("message %d had to be repaired: %+v, the log has %+v", i, m, log.Messages()[i])
				}
			}
			if n := len(ofKind[event.ToolEnd](f)); n != len(results(msgs[2])) {
				t.Errorf("%d results were shown", n)
			}
		})
	}
}

func TestWholeReplyReplacesWhatWasOnlyAnnounced(t *testing.T) {
	f := newFixture(t, nil, nil, raw(
		llm.PartDone{Index: 0, Part: llm.Text{Text: "a"}}, llm.PartDone{Index: 1, Part: llm.Text{Text: "void"}},
		llm.Done{Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{llm.Text{Text: "b"}}, Stop: llm.StopEndTurn}}))
	f.run(t)
	if got := f.memory.Messages()[1].PlainText(); got != "b" {
		t.Errorf("%q", got)
	}
}

func TestCutReplyIsOneStep(t *testing.T) {
	f := newFixture(t, nil, nil,
		reply(llm.StopMaxTokens, llm.Text{Text: "half"}), reply(llm.StopEndTurn, llm.Text{Text: "whole"}))
	end := f.run(t)
	starts, ends := ofKind[event.StepStart](f), ofKind[event.StepEnd](f)
	if len(starts) != 1 || len(ends) != 1 || end.Steps != 1 {
		t.Errorf("%d starts, %d ends, %+v", len(starts), len(ends), end)
	}
	if ends[0].Usage.Input != 20 || end.Usage.Input != 20 {
		t.Errorf("both replies cost: %+v", ends)
	}
	if len(ofKind[event.Retry](f)) != 1 {
		t.Error("nothing said that the first reply is void")
	}
}

func TestCutReplyWithCallsRaisesTheLimit(t *testing.T) {
	f := newFixture(t, []agent.Tool{echo("T", true)}, nil,
		reply(llm.StopMaxTokens, call("1", "T", `{"x":"a"}`)), reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	f.run(t)
	if f.model.reqs[1].MaxTokens != 64000 || results(f.model.reqs[1].Messages[2])[0] != "1=T a" {
		t.Errorf("%+v", f.model.reqs[1])
	}
}

func TestFallbackLastsForTheTurn(t *testing.T) {
	over := &llm.Error{Kind: llm.KindOverloaded, Status: 529}
	second := &script{t: t, info: llm.ModelInfo{ID: "m2", Provider: "p", MaxOutput: 20000}, plays: []play{
		reply(llm.StopEndTurn, llm.Text{Text: "two"}), reply(llm.StopEndTurn, llm.Text{Text: "chosen"}),
	}}
	f := newFixture(t, nil, func(c *agent.Config) { c.Fallback = []llm.Model{second} },
		reply(llm.StopMaxTokens, llm.Reasoning{Text: "hm", Signature: "s"}, llm.Text{Text: "one"}),
		reply(llm.StopMaxTokens, llm.Reasoning{Text: "hm", Signature: "s"}, llm.Text{Text: "one"}), // the limit is raised
		broken(over),
		reply(llm.StopEndTurn, llm.Text{Text: "back"}), broken(over))
	f.run(t)
	if got := second.reqs[0]; got.MaxTokens != 20000 || len(got.Messages[1].Parts) != 1 {
		t.Errorf("the request was not made for the other model: %+v", got)
	}
	f.run(t)
	if n := len(f.model.reqs); n != 4 {
		t.Errorf("the next turn did not try the first model again: %d requests", n)
	}
	f.SetModel(second, "")
	f.run(t)
	if m, _ := f.Model(); m.Info().ID != "m2" {
		t.Error("the user's choice was taken back")
	}
}

func TestAskingAgainInAnotherTurnIsNoDoomLoop(t *testing.T) {
	var plays []play
	for i := range 4 {
		plays = append(plays, reply(llm.StopToolUse, call(fmt.Sprint(i), "T", `{"x":"a"}`)),
			reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	}
	f := newFixture(t, []agent.Tool{echo("T", true)}, nil, plays...)
	for range 4 {
		f.run(t)
	}
	if n := len(ofKind[event.ToolStart](f)); n != 4 {
		t.Errorf("%d of 4 calls ran", n)
	}
}

func TestSystemPromptIsTriedAgain(t *testing.T) {
	n := 0
	f := newFixture(t, []agent.Tool{echo("T", true)}, func(c *agent.Config) {
		c.System = func(context.Context) ([]llm.Part, error) {
			if n++; n == 1 {
				return nil, errors.New("unreadable")
			}
			return []llm.Part{llm.Text{Text: "be good"}}, nil
		}
	}, reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	if _, err := f.Run(t.Context(), llm.UserText("go")); err == nil {
		t.Error("no error")
	}
	f.run(t)
	if req := f.model.reqs[0]; len(req.System) != 1 || len(req.Tools) != 1 {
		t.Errorf("%+v", req)
	}
}

func TestSteersThatNoStepFollowsAreKept(t *testing.T) {
	var f *fixture
	tl := tool("T", true, func(context.Context, string) (*agent.Result, error) {
		f.Steer(llm.UserText("also this"))
		return agent.TextResult("ok"), nil
	})
	f = newFixture(t, []agent.Tool{tl}, func(c *agent.Config) { c.MaxSteps = 1 },
		reply(llm.StopToolUse, call("1", "T", `{"x":"a"}`)))
	if end := f.run(t); end.Reason != event.EndMaxSteps || len(f.TakeSteers()) != 1 {
		t.Errorf("%+v", end)
	}
}
