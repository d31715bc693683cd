package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// Waiting for a server and hunting a test that fails now and then are work.
func TestACommandMayBePolled(t *testing.T) {
	var plays []play
	for i := range 10 {
		plays = append(plays, reply(llm.StopToolUse, call(fmt.Sprint(i), "Bash", `{"x":"a"}`)))
	}
	plays = append(plays, reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	var runs atomic.Int32
	bash := func() agent.Tool {
		return tool("Bash", true, func(context.Context, string) (*agent.Result, error) {
			runs.Add(1)
			return agent.TextResult("pending"), nil
		})
	}
	f := newFixture(t, []agent.Tool{bash()}, nil, plays...)
	f.SetPoll(time.Millisecond)
	if end := f.run(t); end.Reason != event.EndCompleted || runs.Load() != 10 {
		t.Errorf("%+v after %d runs", end, runs.Load())
	}
	last := f.model.reqs[len(f.model.reqs)-1].Messages
	var noted []int
	for _, m := range last {
		for _, p := range m.Parts {
			if r, ok := p.(llm.ToolResult); ok && len(r.Parts) > 1 {
				n, _ := strconv.Atoi(r.CallID)
				noted = append(noted, n+1)
			}
		}
	}
	if !slices.Equal(noted, []int{8, 9, 10}) {
		t.Errorf("notes are at runs %v", noted)
	}

	asked := 0
	f = newFixture(t, []agent.Tool{bash()}, func(c *agent.Config) {
		c.Ask = func(context.Context, event.Question) (event.Answer, error) {
			asked++
			return event.Answer{Choice: event.ChoiceNo}, nil
		}
	}, plays...)
	runs.Store(0)
	if end := f.run(t); end.Reason != event.EndCompleted || asked != 1 || runs.Load() != 7 {
		t.Errorf("%+v, asked %d, ran %d", end, asked, runs.Load())
	}
}

func TestACallThatTheStreamRepeatsRunsOnce(t *testing.T) {
	var runs atomic.Int32
	tl := tool("T", true, func(context.Context, string) (*agent.Result, error) {
		runs.Add(1)
		return agent.TextResult("done"), nil
	})
	f := newFixture(t, []agent.Tool{tl}, nil,
		reply(llm.StopToolUse, call("a", "T", `{"x":"a"}`), call("a", "T", `{"x":"a"}`), call("a", "T", `{"x":"b"}`)),
		reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	if end := f.run(t); end.Reason != event.EndCompleted || runs.Load() != 2 {
		t.Errorf("%+v after %d runs", end, runs.Load())
	}
}
