package subagent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// bench is a session whose agents work until they are let go.
type bench struct {
	*subagent.Agents
	log     []subagent.Record
	opened  chan *conversation
	proceed chan event.EndReason
}

func newBench(t *testing.T) *bench {
	b := &bench{opened: make(chan *conversation, 300), proceed: make(chan event.EndReason)}
	n := 0
	b.Agents = subagent.New(subagent.Host{
		Catalog: func() *subagent.Catalog { return subagent.Find(nil, nil, nil, nil) }, Slots: subagent.NewSlots(100),
		NewID: func() string { n++; return string(rune('a' + n - 1)) },
		Note:  func(r subagent.Record) { b.log = append(b.log, r) },
		Open: func(_ context.Context, _ *subagent.Kind, r subagent.Request) (subagent.Conversation, error) {
			c := &conversation{id: r.ID, steered: make(chan string, 1)}
			c.run = func(ctx context.Context) (event.TurnEnd, error) {
				b.opened <- c
				select {
				case reason := <-b.proceed:
					return event.TurnEnd{Reason: reason, Steps: 3}, nil
				case <-ctx.Done():
					return event.TurnEnd{Reason: event.EndInterrupted}, nil
				}
			}
			return c, nil
		},
		KindOf: func(string) (string, error) { return "Plan", nil },
	})
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func (b *bench) launch(t *testing.T) string {
	t.Helper()
	out, err := b.Run(t.Context(), subagent.Request{
		Prompt: "go", Title: "work", Call: "c", Kind: "Plan",
		Background: true,
	})
	if err != nil || !out.Background || out.Answer != "" {
		t.Fatalf("%+v %v", out, err)
	}
	return out.ID
}

func TestAnAgentInTheBackgroundIsNewsOnceWhenItHasEnded(t *testing.T) {
	b := newBench(t)
	id := b.launch(t)
	if c := <-b.opened; c.id != id {
		t.Errorf("the session has the id %q, not %q", c.id, id)
	}
	if news := b.News(); len(news) != 0 || b.Tasks.Running() != 1 {
		t.Errorf("%+v", news)
	}
	if now, err := b.Tasks.Get(id); err != nil || now.Status != subagent.Running || now.Steps != 2 || now.CostUSD != 0.5 {
		t.Errorf("%+v %v", now, err)
	}
	b.proceed <- event.EndCompleted
	b.Await(t.Context())
	news := b.News()
	if len(news) != 1 || news[0].ID != id || news[0].Status != subagent.Completed || news[0].Answer != "Half." ||
		news[0].Steps != 3 {
		t.Errorf("%+v", news)
	}
	none := func(string) bool { return true }
	if left := subagent.Unfinished(b.log, none); len(left) != 1 {
		t.Errorf("the log has it as known before the conversation has it: %+v", left)
	}
	if again := b.News(); len(again) != 0 || len(subagent.Unfinished(b.log, none)) != 0 {
		t.Errorf("%+v %+v", again, b.log)
	}
	b.Await(t.Context()) // nothing works: it returns
}

func TestAMessageReachesAnAgentAtWorkAndResumesOneThatHasEnded(t *testing.T) {
	b := newBench(t)
	id := b.launch(t)
	c := <-b.opened
	out, err := b.Run(t.Context(), subagent.Request{Resume: id, Prompt: "faster"})
	if err != nil || !out.Delivered || <-c.steered != "faster" {
		t.Fatalf("%+v %v", out, err)
	}
	b.proceed <- event.EndCompleted
	b.Await(t.Context())
	go func() { <-b.opened; b.proceed <- event.EndCompleted }()
	if out, err := b.Run(t.Context(), subagent.Request{Resume: id, Prompt: "again"}); err != nil || out.Delivered ||
		out.Answer != "Half." {
		t.Errorf("%+v %v", out, err)
	}
	if err := b.Tasks.Steer(t.Context(), id, llm.UserText("too late")); err == nil || !strings.Contains(err.Error(),
		"has ended") {
		t.Error(err)
	}
	if err := b.Tasks.Steer(t.Context(), "nobody", llm.UserText("x")); !errors.Is(err, subagent.ErrNoTask) {
		t.Error(err)
	}
}

func TestAStoppedAgentEndsAndTheOthersGoOn(t *testing.T) {
	b := newBench(t)
	one, two := b.launch(t), b.launch(t)
	<-b.opened
	<-b.opened
	if now, err := b.Tasks.Stop(t.Context(), one); err != nil || now.Status != subagent.Stopped {
		t.Errorf("%+v %v", now, err)
	}
	if now, _ := b.Tasks.Get(two); !now.Working() {
		t.Errorf("%+v", now)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if _, err := b.Run(t.Context(), subagent.Request{Prompt: "late", Background: true}); err == nil {
		t.Error("an agent starts in a closed session")
	}
	if left := subagent.Unfinished(b.log, func(string) bool { return true }); len(left) != 2 {
		t.Errorf("%+v", left)
	}
}

func TestAnAgentThatIsWaitedForGoesToTheBackground(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan subagent.Outcome)
	go func() {
		out, err := b.Run(ctx, subagent.Request{Prompt: "go", Call: "c1"})
		if err != nil {
			t.Error(err)
		}
		done <- out
	}()
	<-b.opened
	if calls := b.Tasks.InFront(); !slices.Equal(calls, []string{"c1"}) {
		t.Errorf("%q", calls)
	}
	if b.Tasks.Detach("c2") || !b.Tasks.Detach("c1") || b.Tasks.Detach("c1") {
		t.Error("the wrong call was sent to the background")
	}
	out := <-done
	cancel() // the turn's end does not end it any more
	if now, _ := b.Tasks.Get(out.ID); !out.Background || !now.Working() {
		t.Errorf("%+v %+v", out, now)
	}
	b.proceed <- event.EndMaxSteps
	b.Await(t.Context())
	if news := b.News(); len(news) != 1 || news[0].Status != subagent.Failed || !strings.Contains(news[0].String(),
		"limit of steps") {
		t.Errorf("%+v", news)
	}
}

func TestAgentsThatLathesEndStoppedAreNewsAfterARestart(t *testing.T) {
	log := []subagent.Record{
		{ID: "told", Background: true},
		{ID: "front", Call: "answered"},
		{ID: "cut", Call: "open"},
		{ID: "lost", Kind: "Plan", Title: "x", Background: true},
		{ID: "told", Background: true, Told: true},
	}
	left := subagent.Unfinished(log, func(call string) bool { return call == "answered" })
	b := newBench(t)
	if note := b.Restore(left); !strings.Contains(note, "Plan (x, lost)") || strings.Contains(note, "told") {
		t.Errorf("%q", note)
	}
	var ids []string
	for _, n := range b.News() {
		ids = append(ids, n.ID+" "+string(n.Status))
	}
	if !slices.Equal(ids, []string{"cut lost", "lost lost"}) || len(b.News()) != 0 {
		t.Errorf("%q", ids)
	}
	if note := b.Restore(nil); note != "" {
		t.Errorf("%q", note)
	}
}
