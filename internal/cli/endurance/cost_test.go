package endurance

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/store/cost"
)

// TestTheLogOfARealSessionNamesTheCauseOfEachMiss: model and tools change between turns, and after a resume; the
// provider reports that nothing came from the cache each time.
func TestTheLogOfARealSessionNamesTheCauseOfEachMiss(t *testing.T) {
	p := newPlace(t, wires[0], 0, 100_000)
	cold := &llm.Usage{Input: 10, CacheWrite: 9_000, Output: 1}
	warm := &llm.Usage{Input: 10, CacheRead: 9_000, CacheWrite: 100, Output: 1}
	script := &llmtest.Script{Order: "arrival"}
	for _, u := range []*llm.Usage{cold, warm, cold, cold} {
		script.Replies = append(script.Replies, llmtest.Reply{Parts: []llmtest.Part{llmtest.Text("Yes.")}, Usage: u})
	}
	p.serve(t, script, wires[0])
	s := p.session(t, nil, conversation.SessionOptions{})
	say := func() {
		t.Helper()
		if _, err := s.Prompt(t.Context(), llm.UserText("Well?")); err != nil {
			t.Fatal(err)
		}
	}
	say()
	say()
	if err := errors.Join(s.SetModel(t.Context(), "claude-opus-4-5"), s.Log().SetModel(t.Context(),
		"claude-opus-4-5")); err != nil {
		t.Fatal(err)
	}
	say()
	id := s.ID()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = p.session(t, func(o *conversation.Options) { o.Disallowed = []string{"Grep"} },
		conversation.SessionOptions{Resume: id})
	say()
	var got [][]string
	for _, step := range cost.Of(s.Log()).Steps {
		if step.Miss == nil {
			got = append(got, nil)
		} else {
			got = append(got, step.Miss.Causes)
		}
	}
	want := [][]string{nil, nil, {"model: claude-sonnet-4-5 to claude-opus-4-5"}, {"tools: -Grep"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A pause that is longer than the cache lives is named, also when lathe was ended meanwhile; after a shorter one it is
// the provider that dropped the cache. With a lifetime of an hour, seven minutes are no such pause.
func TestAPauseThatOutlivesTheCacheIsNamed(t *testing.T) {
	p := newPlace(t, wires[0], 0, 100_000)
	cold := &llm.Usage{Input: 10, CacheWrite: 9_000, Output: 1}
	hour := &llm.Usage{Input: 10, CacheWrite: 9_000, CacheWrite1h: 9_000, Output: 1}
	warm := &llm.Usage{Input: 10, CacheRead: 9_000, CacheWrite: 100, Output: 1}
	script := &llmtest.Script{Order: "arrival"}
	pauses := []time.Duration{0, time.Minute, 7 * time.Minute, 4 * time.Minute, 7 * time.Minute, 2 * time.Hour}
	for _, u := range []*llm.Usage{cold, warm, cold, hour, cold, cold} {
		script.Replies = append(script.Replies, llmtest.Reply{Parts: []llmtest.Part{llmtest.Text("Yes.")}, Usage: u})
	}
	p.serve(t, script, wires[0])
	now := time.Date(2026, 1, 2, 9, 0, 0, 0, time.UTC)
	inst, err := open(p.dir, p.environ, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer inst.Close()
	inst.Store().SetClock(func() time.Time { return now })
	var s *conversation.Session
	for i, pause := range pauses {
		now = now.Add(pause)
		o := conversation.SessionOptions{}
		if s != nil && i%2 == 0 { // every other pause with no lathe running
			o.Resume = s.ID()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if i%2 == 0 {
			if s, err = inst.NewSession(context.WithoutCancel(t.Context()), o); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Prompt(t.Context(), llm.UserText("Well?")); err != nil {
			t.Fatal(err)
		}
	}
	defer s.Close()
	got := cost.Of(s.Log())
	want := [][]string{
		nil, nil,
		{"expired: nothing was sent for 7m0s"},
		{"the provider no longer had it"},
		{"the provider no longer had it"},
		{"expired: nothing was sent for 2h0m0s"},
	}
	for i, step := range got.Steps {
		var causes []string
		if step.Miss != nil {
			causes = step.Miss.Causes
		}
		if diff := cmp.Diff(want[i], causes); diff != "" {
			t.Errorf("request %d: %s", i+1, diff)
		}
	}
	if next, ok := got.Next(now.Add(3 * time.Minute)); !ok || next.Left != 2*time.Minute || next.ColdUSD <= next.WarmUSD {
		t.Errorf("%+v %v", next, ok)
	}
	if len(got.Steps) != len(want) || got.MissUSD <= 0 {
		t.Errorf("%d steps, $%f", len(got.Steps), got.MissUSD)
	}
}
