package endurance

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/app"
	"github.com/lathe-dev/lathe/internal/cost"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
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
	s := p.session(t, nil, app.SessionOptions{})
	say := func() {
		t.Helper()
		if _, err := s.Prompt(t.Context(), llm.UserText("Well?")); err != nil {
			t.Fatal(err)
		}
	}
	say()
	say()
	if err := errors.Join(s.SetModel(t.Context(), "claude-opus-4-5"), s.Log().SetModel(t.Context(), "claude-opus-4-5")); err != nil {
		t.Fatal(err)
	}
	say()
	id := s.ID()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = p.session(t, func(o *app.Options) { o.Disallowed = []string{"Grep"} }, app.SessionOptions{Resume: id})
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
