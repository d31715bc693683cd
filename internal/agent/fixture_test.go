package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
)

// script is a model that plays one sequence of deltas per request.
type script struct {
	t     *testing.T
	info  llm.ModelInfo
	mu    sync.Mutex
	plays []func(ctx context.Context, yield func(llm.Delta, error) bool)
	reqs  []*llm.Request
}

func (s *script) Info() llm.ModelInfo {
	if s.info.ID == "" {
		s.info = llm.ModelInfo{ID: "m", Provider: "p", Known: true, MaxOutput: 64000, Price: llm.Price{Input: 1, Output: 1}}
	}
	return s.info
}

func (s *script) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	copied := *req
	copied.Messages = req.Messages[:len(req.Messages):len(req.Messages)]
	s.reqs = append(s.reqs, &copied)
	n := len(s.reqs) - 1
	return func(yield func(llm.Delta, error) bool) {
		if n >= len(s.plays) {
			s.t.Errorf("request %d was not expected", n+1)
			yield(nil, errors.New("script is over"))
			return
		}
		s.plays[n](ctx, yield)
	}
}

type play = func(context.Context, func(llm.Delta, error) bool)

// reply plays a whole reply.
func reply(stop llm.StopReason, parts ...llm.Part) play {
	return func(_ context.Context, yield func(llm.Delta, error) bool) {
		yield(llm.Sent{Attempt: 1}, nil)
		yield(llm.Started{ID: "r"}, nil)
		for i, p := range parts {
			if !emit(yield, i, p) {
				return
			}
		}
		yield(llm.Done{Message: llm.Message{
			ID: "r", Role: llm.Assistant, Parts: parts, Stop: stop,
			Usage: &llm.Usage{Input: 10, Output: 5},
		}}, nil)
	}
}

func emit(yield func(llm.Delta, error) bool, i int, p llm.Part) bool {
	switch p := p.(type) {
	case llm.ToolCall:
		if p.Raw != "" {
			return yield(llm.PartDone{Index: i, Part: p}, nil)
		}
		return yield(llm.ToolReady{Index: i, Call: p}, nil)
	case llm.Text:
		return yield(llm.TextDelta{Index: i, Text: p.Text}, nil) && yield(llm.PartDone{Index: i, Part: p}, nil)
	}
	return yield(llm.PartDone{Index: i, Part: p}, nil)
}

// broken plays parts and then an error.
func broken(err error, parts ...llm.Part) play {
	return func(_ context.Context, yield func(llm.Delta, error) bool) {
		for i, p := range parts {
			if !emit(yield, i, p) {
				return
			}
		}
		yield(nil, err)
	}
}

func call(id, name, input string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: name, Input: json.RawMessage(input)}
}

type fixture struct {
	*agent.Agent
	model  *script
	memory *agent.Memory
	mu     sync.Mutex
	events []event.Body
}

func (f *fixture) publish(b event.Body) { f.mu.Lock(); f.events = append(f.events, b); f.mu.Unlock() }

func ofKind[T event.Body](f *fixture) (out []T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range f.events {
		if v, ok := b.(T); ok {
			out = append(out, v)
		}
	}
	return out
}

// fixed is a set of tools that never changes.
func fixed(tools ...agent.Tool) func(context.Context) (agent.ToolSet, error) {
	return func(context.Context) (agent.ToolSet, error) { return agent.ToolSet{Tools: tools}, nil }
}

func newFixture(t *testing.T, tools []agent.Tool, change func(*agent.Config), plays ...play) *fixture {
	f := &fixture{model: &script{t: t, plays: plays}, memory: &agent.Memory{}}
	cfg := agent.Config{
		Requests: agent.Requests{Model: f.model},
		Calls: agent.Calls{
			Tools: fixed(tools...), Authorize: func(context.Context, agent.Approval) (permission.Decision, error) {
				return permission.Decision{Effect: permission.Allow}, nil
			},
		},
		Journal: agent.Journal{Transcript: f.memory, Publish: f.publish},
		Timing:  agent.Timing{Sleep: func(context.Context, time.Duration) error { return nil }},
	}
	if change != nil {
		change(&cfg)
	}
	f.Agent = agent.New(cfg)
	return f
}

type in struct {
	X string `json:"x"`
}

// tool makes a tool from a function; read-only and parallel when parallel is set.
func tool(name string, parallel bool, run func(ctx context.Context, x string) (*agent.Result, error)) agent.Tool {
	schema := `{"type":"object","properties":{"x":{"type":"string"}},"required":["x"],"additionalProperties":false}`
	return agent.NewTool(llm.ToolSpec{Name: name, Schema: json.RawMessage(schema)},
		func(_ context.Context, _ llm.ToolCall, v in) (*agent.Plan, error) {
			p := &agent.Plan{Parallel: parallel, Run: func(ctx context.Context) (*agent.Result, error) { return run(ctx, v.X) }}
			if parallel {
				p.Accesses = []permission.Access{{Kind: permission.Read, Target: v.X}}
			}
			return p, nil
		})
}

func echo(name string, parallel bool) agent.Tool {
	return tool(name, parallel, func(_ context.Context, x string) (*agent.Result,
		error,
	) {
		return agent.TextResult(name + " " + x), nil
	})
}

func (f *fixture) run(t *testing.T) event.TurnEnd {
	t.Helper()
	end, err := f.Run(t.Context(), llm.UserText("go"))
	if err != nil {
		t.Fatal(err)
	}
	return end
}

// results are the texts of the results in a message.
func results(m llm.Message) (out []string) {
	for _, p := range m.Parts {
		if r, ok := p.(llm.ToolResult); ok {
			out = append(out, r.CallID+"="+r.PlainText())
		}
	}
	return out
}
