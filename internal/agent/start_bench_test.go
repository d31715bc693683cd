package agent_test

import (
	"context"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/llm"
)

// BenchmarkToolStart reports the time from a call's last byte to the start of its tool, while the reply
// still streams.
func BenchmarkToolStart(b *testing.B) {
	started := make(chan time.Time)
	tl := tool("T", true, func(context.Context, string) (*agent.Result, error) {
		started <- time.Now()
		return agent.TextResult("ok"), nil
	})
	var total time.Duration
	f := &fixture{model: &script{}, memory: &agent.Memory{}}
	for i := range b.N {
		f.model.plays = append(f.model.plays, func(_ context.Context, yield func(llm.Delta, error) bool) {
			c := call(itoa(i), "T", `{"x":"`+itoa(i)+`"}`)
			ready := time.Now()
			yield(llm.ToolReady{Index: 0, Call: c}, nil)
			total += (<-started).Sub(ready)
			yield(llm.Done{Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{c}, Stop: llm.StopToolUse}}, nil)
		})
	}
	f.Agent = agent.New(agent.Config{
		Requests: agent.Requests{Model: f.model}, Limits: agent.Limits{MaxSteps: b.N},
		Calls: agent.Calls{Tools: fixed(tl), Authorize: allowAll}, Journal: agent.Journal{Transcript: f.memory},
	})
	b.ResetTimer()
	if _, err := f.Run(b.Context(), llm.UserText("go")); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(total.Microseconds())/float64(b.N), "µs-to-start")
}
