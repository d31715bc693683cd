package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// Calls that a call makes have ids of their own, and a start and an end in the log and among the events. The
// log while one of them runs is the one that kill -9 leaves: the next open answers for it.
func TestCallsMadeByACallAreJournalledAndSurviveAKill(t *testing.T) {
	home, copied := t.TempDir(), t.TempDir()
	store := session.NewStore(home)
	log, err := store.Create(t.Context(), session.Meta{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	var f *fixture
	batch := tool("Batch", false, func(ctx context.Context, x string) (*agent.Result, error) {
		if agent.CallID(ctx) != "1" {
			t.Errorf("the call is %q", agent.CallID(ctx))
		}
		var out []string
		for _, r := range f.Invoke(ctx, []llm.ToolCall{
			call("same", "R", `{"x":"1"}`), call("same", "Kill", `{"x":"2"}`),
			call("same", "Nope", `{}`),
		}) {
			out = append(out, r.CallID)
		}
		return agent.TextResult(strings.Join(out, " ")), nil
	})
	kill := tool("Kill", false, func(context.Context, string) (*agent.Result, error) {
		rel, _ := filepath.Rel(home, log.Path())
		b, err := os.ReadFile(log.Path())
		to := filepath.Join(copied, rel)
		if err != nil || os.MkdirAll(filepath.Dir(to), 0o700) != nil || os.WriteFile(to, b, 0o600) != nil {
			t.Error("the log could not be copied")
		}
		return agent.TextResult("killed"), nil
	})
	f = newFixture(t, []agent.Tool{batch, echo("R", true), kill}, func(c *agent.Config) { c.Transcript = log },
		reply(llm.StopToolUse, call("1", "Batch", `{"x":"a"}`)), reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	f.run(t)
	if got := results(f.model.reqs[1].Messages[2]); !slices.Equal(got, []string{"1=1.1 1.2 1.3"}) {
		t.Errorf("%q", got)
	}
	want := []string{"start 1.1<1 R", "end 1.1<1 ", "start 1.2<1 Kill", "end 1.2<1 ", "end 1.3<1 Nope"}
	if got := invoked(log); !slices.Equal(got, want) {
		t.Errorf("the log has %q", got)
	}
	parents := map[string]string{}
	for _, e := range ofKind[event.ToolEnd](f) {
		parents[e.Call.ID] = e.Parent
	}
	for _, e := range ofKind[event.ToolStart](f) {
		if e.Parent != parents[e.Call.ID] {
			t.Errorf("%s starts below %q and ends below %q", e.Call.ID, e.Parent, parents[e.Call.ID])
		}
	}
	if parents["1"] != "" || parents["1.1"] != "1" || parents["1.3"] != "1" {
		t.Errorf("%v", parents)
	}

	killed, err := session.NewStore(copied).Open(t.Context(), log.ID())
	if err != nil {
		t.Fatal(err)
	}
	defer killed.Close()
	if got := invoked(killed); !slices.Equal(got, []string{
		"start 1.1<1 R", "end 1.1<1 ", "start 1.2<1 Kill",
		"end 1.2<1 synthetic",
	}) {
		t.Errorf("after the kill the log has %q", got)
	}
	if why := agent.Refused(append(slices.Clip(killed.Messages()), llm.UserText("next"))); why != "" {
		t.Error(why)
	}
}

// The log records the call that ran or was refused where a hook, the user or another spelling made it differ
// from the reply, and the model's own call is sent unchanged.
func TestTheLogTellsTheCallThatRan(t *testing.T) {
	store := session.NewStore(t.TempDir())
	log, err := store.Create(t.Context(), session.Meta{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, []agent.Tool{echo("T", false)}, func(c *agent.Config) {
		c.Transcript = log
		c.Canonical = func(name string, _ []byte) (string, []byte) { return strings.ToUpper(name), nil }
		c.BeforeTool = []agent.BeforeTool{{Name: "h", Run: func(_ context.Context, c llm.ToolCall) (agent.Verdict, error) {
			if strings.Contains(string(c.Input), "hook") {
				return agent.Verdict{Input: json.RawMessage(`{"x":"hooked"}`)}, nil
			}
			return agent.Verdict{}, nil
		}}}
		c.Authorize = func(_ context.Context, a agent.Approval) (permission.Decision, error) {
			d := permission.Decision{Effect: permission.Allow}
			switch a.Call.ID {
			case "user":
				d.Input = json.RawMessage(`{"x":"typed"}`)
			case "denied":
				d = permission.Decision{Effect: permission.Deny, Reason: "no"}
			}
			return d, nil
		}
	}, reply(llm.StopToolUse, call("same", "T", `{"x":"a"}`), call("alias", "t", `{"x":"b"}`),
		call("hook", "T", `{"x":"hook"}`),
		call("user", "T", `{"x":"c"}`), call("denied", "t", `{"x":"hook"}`)), reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	f.run(t)
	sent, _ := json.Marshal(log.Messages())
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := store.Open(t.Context(), log.ID())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	var got []string
	tell := func(what, id string, c *llm.ToolCall) {
		if c != nil {
			what += " " + c.Name + string(c.Input)
		}
		got = append(got, what+" "+id)
	}
	for e := range again.Entries() {
		switch b := e.Body.(type) {
		case session.CallStart:
			tell(e.Body.Kind(), b.CallID, b.Call)
		case session.CallEnd:
			tell(e.Body.Kind(), b.Result.CallID, b.Call)
		}
	}
	want := []string{
		"call_start same", "call_end same", `call_start T{"x":"b"} alias`, "call_end alias",
		`call_start T{"x":"hooked"} hook`, "call_end hook",
		`call_start T{"x":"typed"} user`, "call_end user", `call_end T{"x":"hooked"} denied`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("the log has %q", got)
	}
	if read, _ := json.Marshal(again.Messages()); string(read) != string(sent) || !strings.Contains(string(sent),
		`"name":"t"`) {
		t.Errorf("sent: %s\nread: %s", sent, read)
	}
}

// batch is a tool that makes the calls R, R, T, T twice, one Invoke after the other.
func batch(f **fixture, got *[]string) agent.Tool {
	return tool("Batch", false, func(ctx context.Context, _ string) (*agent.Result, error) {
		for range 2 {
			for _, r := range (*f).Invoke(ctx, []llm.ToolCall{
				call("", "R", `{"x":"1"}`), call("", "R", `{"x":"2"}`),
				call("", "T", `{"x":"3"}`), call("", "T", `{"x":"4"}`),
			}) {
				*got = append(*got, r.Parts[0].(llm.Text).Text)
			}
		}
		return agent.TextResult("batched"), nil
	})
}

// A refusal that ends the turn does so from inside a call too, and nothing else of the group is asked or run.
func TestARefusalInsideACallEndsTheTurnAndTheGroup(t *testing.T) {
	var f *fixture
	var got []string
	var asked atomic.Int32
	dialog := make(chan struct{}, 1) // one at a time, as in the app
	f = newFixture(t, []agent.Tool{batch(&f, &got), echo("R", true), echo("T", false)}, func(c *agent.Config) {
		c.Authorize = func(ctx context.Context, a agent.Approval) (permission.Decision, error) {
			if a.Tool == "Batch" {
				return permission.Decision{Effect: permission.Allow}, nil
			}
			dialog <- struct{}{}
			defer func() { <-dialog }()
			if err := ctx.Err(); err != nil {
				return permission.Decision{}, err
			}
			asked.Add(1)
			return permission.Decision{Effect: permission.Deny, Reason: "the user refused", Interrupt: true}, nil
		}
	}, reply(llm.StopToolUse, call("1", "Batch", `{"x":"a"}`)))
	if end := f.run(t); end.Reason != event.EndRefused {
		t.Errorf("%+v", end)
	}
	refused := 0
	for _, text := range got {
		if strings.HasPrefix(text, "Permission denied") {
			refused++
		} else if text != agent.ErrRefused.Error() {
			t.Errorf("%q", text)
		}
	}
	if asked.Load() != 1 || refused != 1 || len(got) != 8 {
		t.Errorf("asked %d times, %d refused: %q", asked.Load(), refused, got)
	}
}

func TestTheEndOfTheTurnInsideACallCounts(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*agent.Config)
		ends   bool
		want   event.EndReason
	}{
		"a hook after a call": {want: event.EndStopped, change: func(c *agent.Config) {
			c.AfterTool = []agent.AfterTool{{Name: "budget", Run: func(_ context.Context, c llm.ToolCall, _ *agent.Result) (
				agent.Verdict, error,
			) {
				if c.Name == "R" {
					return agent.Verdict{Stop: "enough"}, nil
				}
				return agent.Verdict{}, nil
			}}}
		}},
		"a tool": {want: event.EndCompleted, ends: true},
	} {
		var f *fixture
		var got []string
		r := tool("R", true, func(_ context.Context, x string) (*agent.Result, error) {
			res := agent.TextResult("R " + x)
			res.EndTurn = tt.ends
			return res, nil
		})
		f = newFixture(t, []agent.Tool{batch(&f, &got), r, echo("T", false)}, tt.change,
			reply(llm.StopToolUse, call("1", "Batch", `{"x":"a"}`)))
		if end := f.run(t); end.Reason != tt.want {
			t.Errorf("%s: %+v", name, end)
		}
		if len(got) != 8 || got[3] != "T 4" || got[7] != "T 4" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// unwritable is a transcript that cannot take the end of the calls of one tool.
type unwritable struct{ *agent.Memory }

func (u unwritable) EndCall(ctx context.Context, end session.CallEnd) error {
	if end.Result.Name == "R" {
		return errors.New("no room")
	}
	return u.Memory.EndCall(ctx, end)
}

func TestAFailureToWriteInsideACallEndsTheTurn(t *testing.T) {
	var f *fixture
	var got []string
	f = newFixture(t, []agent.Tool{batch(&f, &got), echo("R", true), echo("T", false)},
		func(c *agent.Config) { c.Transcript = unwritable{&agent.Memory{}} },
		reply(llm.StopToolUse, call("1", "Batch", `{"x":"a"}`)))
	if end, err := f.Run(t.Context(), llm.UserText("go")); err == nil || end.Reason != event.EndFailed {
		t.Errorf("%+v %v", end, err)
	}
}

func invoked(s *session.Session) []string {
	var out []string
	for e := range s.Entries() {
		switch b := e.Body.(type) {
		case session.CallStart:
			if b.Invoked {
				out = append(out, "start "+b.CallID+"<"+b.Parent+" "+b.Call.Name)
			}
		case session.CallEnd:
			if !b.Invoked {
				continue
			}
			line := "end " + b.Result.CallID + "<" + b.Parent + " "
			switch {
			case b.Synthetic:
				line += "synthetic"
			case b.Call != nil:
				line += b.Call.Name
			}
			out = append(out, line)
		}
	}
	return out
}
