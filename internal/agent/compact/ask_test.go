package compact_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent/compact"
	"github.com/lathe-dev/lathe/internal/llm"
)

// breaking is a model whose reply breaks off.
type breaking struct{ err error }

func (breaking) Info() llm.ModelInfo { return llm.ModelInfo{ID: "m"} }

func (b breaking) Stream(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		_ = yield(llm.Started{Usage: llm.Usage{Input: 1_000, Output: 1}}, nil) &&
			yield(llm.TextDelta{Text: "## Goal"}, nil) && yield(nil, b.err)
	}
}

func TestASummaryThatBreaksOffHasTheUsageOfItsStart(t *testing.T) {
	want := errors.New("reset")
	got, err := compact.Ask(t.Context(), breaking{want}, &llm.Request{})
	if !errors.Is(err, want) || got.Usage.Input != 1_000 || got.Text != "" {
		t.Errorf("%+v, %v", got, err)
	}
}
