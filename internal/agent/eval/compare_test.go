package eval_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent/eval"
	"github.com/lathe-dev/lathe/internal/llm"
)

func TestJudgesSeeAttemptsInAnOrderByChance(t *testing.T) {
	var judges []eval.Judge
	for i := range 64 {
		judges = append(judges, eval.Judge{Name: fmt.Sprint("judge ", i), Weight: 1})
	}
	m := eval.Models{Get: func(context.Context, string) (llm.Model, error) { return nil, errors.New("no model") }}
	ballots := m.Compare(t.Context(), judges, "do it", []eval.Candidate{{Diff: "a"}, {Diff: "b"}, {Diff: "c"}},
		[]int{0, 2})
	orders := map[[2]int]int{}
	for _, b := range ballots {
		orders[[2]int{b.First, b.Second}]++
	}
	// fails by chance once in 2^63 runs
	if len(ballots) != 64 || len(orders) != 2 || orders[[2]int{0, 2}] == 0 || orders[[2]int{2, 0}] == 0 {
		t.Errorf("%d ballots in the orders %v", len(ballots), orders)
	}
}
