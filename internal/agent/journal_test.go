package agent_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// A turn leaves the same conversation in a session on disk as in memory, and reopening it gives the same
// messages again.
func TestTurnsReadBackFromDiskAsTheyWereSent(t *testing.T) {
	store := session.NewStore(t.TempDir())
	log, err := store.Create(t.Context(), session.Meta{Dir: t.TempDir(), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, []agent.Tool{echo("R", true), echo("W", false)}, func(c *agent.Config) { c.Transcript = log },
		reply(llm.StopToolUse, llm.Reasoning{Text: "hm", Signature: "s"}, llm.Text{Text: "look"},
			call("1", "R", `{"x":"a"}`), call("2", "W", `{"x":"b"}`), call("3", "R", `{"x":"c"}`)),
		broken(&llm.Error{Kind: llm.KindNetwork}, llm.Text{Text: "half"}, call("4", "W", `{"x":"d"}`)),
		reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	f.run(t)
	sent := f.model.reqs[2].Messages
	if got := log.Messages()[:len(sent)]; !cmp.Equal(got, sent) {
		t.Errorf("the log has other messages than were sent:\n%s", cmp.Diff(sent, got))
	}
	want := log.Messages()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := store.Open(t.Context(), log.ID())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got := again.Messages(); !cmp.Equal(got, want) {
		t.Errorf("reopened:\n%s", cmp.Diff(want, got))
	}
	if why := agent.Refused(append(want[:len(want):len(want)], llm.UserText("next"))); why != "" {
		t.Error(why)
	}
}

// Reused call ids (some servers give the same ids again in each reply) still get a result each.
func TestReusedCallIDsOnDisk(t *testing.T) {
	store := session.NewStore(t.TempDir())
	log, err := store.Create(t.Context(), session.Meta{Dir: t.TempDir(), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	f := newFixture(t, []agent.Tool{echo("R", true)}, func(c *agent.Config) { c.Transcript = log },
		reply(llm.StopToolUse, call("1", "R", `{"x":"a"}`)),
		reply(llm.StopToolUse, call("1", "R", `{"x":"b"}`)),
		reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	f.run(t)
	msgs := f.model.reqs[2].Messages
	if why := agent.Refused(msgs); why != "" {
		t.Fatalf("%s: %+v", why, msgs)
	}
	if got := results(msgs[4]); got[0] != "1_2=R b" {
		t.Errorf("%v", got)
	}
}

var _ agent.Transcript = (*session.Session)(nil)

// BenchmarkStep times one step of the loop, everything but the model and the tool, in a session on disk
// that already holds 10 or 1,000 steps.
func BenchmarkStep(b *testing.B) {
	for _, before := range []int{10, 1000} {
		b.Run(fmt.Sprintf("after=%d", before), func(b *testing.B) {
			const round = 50 // timed steps per session, so that the length stays near the number in the name
			steps := 0
			for b.Loop() {
				if steps%round == 0 {
					b.StopTimer()
					benched = longSession(b, before, round)
					b.StartTimer()
				}
				steps++
				if _, err := benched.Run(b.Context(), llm.UserText("go")); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(benched.Live().Transcript.Messages())), "messages")
		})
	}
}

var benched *agent.Agent

// longSession is an agent that has done steps, and will do one more per turn.
func longSession(b *testing.B, before, more int) *agent.Agent {
	log, err := session.NewStore(b.TempDir()).Create(b.Context(), session.Meta{Dir: b.TempDir(), Version: "test"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = log.Close() })
	s := &script{}
	for i := range before + more {
		s.plays = append(s.plays, reply(llm.StopToolUse, call("c"+itoa(i), "R", `{"x":"`+itoa(i)+`"}`)))
	}
	a := agent.New(agent.Config{
		Requests: agent.Requests{Model: s}, Limits: agent.Limits{MaxSteps: before},
		Calls:   agent.Calls{Tools: fixed(echo("R", true)), Authorize: allowAll},
		Journal: agent.Journal{Transcript: log},
	})
	if _, err := a.Run(b.Context(), llm.UserText("go")); err != nil {
		b.Fatal(err)
	}
	a.Live().MaxSteps = 1
	return a
}
