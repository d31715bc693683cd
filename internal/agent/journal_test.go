package agent

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/session"
)

// A turn leaves the same conversation in a session on disk as in memory, and reopening it gives the same
// messages again.
func TestTurnsReadBackFromDiskAsTheyWereSent(t *testing.T) {
	store := session.NewStore(t.TempDir())
	log, err := store.Create(t.Context(), session.Meta{Dir: t.TempDir(), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, []Tool{echo("R", true), echo("W", false)}, func(c *Config) { c.Transcript = log },
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
	if why := refused(append(want[:len(want):len(want)], llm.UserText("next"))); why != "" {
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
	f := newFixture(t, []Tool{echo("R", true)}, func(c *Config) { c.Transcript = log },
		reply(llm.StopToolUse, call("1", "R", `{"x":"a"}`)),
		reply(llm.StopToolUse, call("1", "R", `{"x":"b"}`)),
		reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	f.run(t)
	msgs := f.model.reqs[2].Messages
	if why := refused(msgs); why != "" {
		t.Fatalf("%s: %+v", why, msgs)
	}
	if got := results(msgs[4]); got[0] != "1_2=R b" {
		t.Errorf("%v", got)
	}
}

var _ Transcript = (*session.Session)(nil)

func BenchmarkStep(b *testing.B) {
	f := &fixture{model: &script{}, memory: &Memory{}}
	for i := range b.N {
		_ = i
		f.model.plays = append(f.model.plays, reply(llm.StopToolUse, call(llm.TextResult(llm.ToolCall{ID: string(rune('a'+i%26)) + itoa(i)}, "", false).CallID, "R", `{"x":"`+itoa(i)+`"}`)))
	}
	f.Agent = New(Config{Model: f.model, Transcript: f.memory, Tools: func() []Tool { return []Tool{echo("R", true)} }, Authorize: allowAll, MaxSteps: b.N})
	b.ResetTimer()
	if _, err := f.Run(context.Background(), llm.UserText("go")); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(len(f.memory.Messages())), "messages")
}
