package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
)

// fake is a conversation whose turns are functions.
type fake struct {
	about  About
	bus    *event.Bus
	sub    *event.Subscription
	output json.RawMessage

	mu      sync.Mutex
	turns   []func(*fakeTurn) error
	prompts []llm.Message
	models  []string
	modes   []permission.Mode
	answers map[string]chan event.Answer
	closed  bool
}

// fakeTurn is one turn of a fake; its methods send events.
type fakeTurn struct {
	*fake
	ctx context.Context
}

func newFake(turns ...func(*fakeTurn) error) *fake {
	f := &fake{
		about: About{
			Models:  func() []llm.ModelInfo { return nil },
			Session: "0190-session", Dir: "/work", Model: "model-1", Mode: permission.Default,
			Parts: func() Parts { return Parts{Tools: []string{"Read", "Bash"}} }, KeySource: "ANTHROPIC_API_KEY",
			Info: func(id string) llm.ModelInfo {
				return llm.ModelInfo{ID: id, Provider: "anthropic", ContextWindow: 200000, MaxOutput: 64000}
			},
		},
		bus: event.NewBus(), turns: turns, answers: map[string]chan event.Answer{},
	}
	f.sub = f.bus.Subscribe(context.Background(), event.Options{})
	return f
}

// bodies is a turn that publishes and ends.
func bodies(bs ...event.Body) func(*fakeTurn) error {
	return func(t *fakeTurn) error { t.publish(bs...); return nil }
}

func (f *fake) publish(bs ...event.Body) {
	for _, b := range bs {
		f.bus.Publish("0190-session", nil, b)
	}
}

func (f *fake) About() About {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.about
}

func (f *fake) Next(ctx context.Context) (event.Event, error) {
	e, ok := f.sub.Next(ctx)
	if !ok {
		return e, io.EOF
	}
	e.Time = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return e, nil
}

func (f *fake) Prompt(ctx context.Context, m llm.Message) error {
	f.mu.Lock()
	f.prompts = append(f.prompts, m)
	var turn func(*fakeTurn) error
	if len(f.turns) > 0 {
		turn, f.turns = f.turns[0], f.turns[1:]
	}
	f.mu.Unlock()
	if turn == nil {
		turn = bodies(hello()...)
	}
	return turn(&fakeTurn{f, ctx})
}

// ask publishes a question and waits for the answer.
func (t *fakeTurn) ask(id string, q event.Question) event.Answer {
	ch := make(chan event.Answer, 1)
	t.mu.Lock()
	t.answers[id] = ch
	t.mu.Unlock()
	t.publish(event.Asked{ID: id, Question: q})
	var a event.Answer
	select {
	case a = <-ch:
	case <-t.ctx.Done():
		a.Canceled = true
	}
	t.publish(event.Answered{ID: id, Answer: a})
	return a
}

func (f *fake) Answer(id string, a event.Answer) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	ch, ok := f.answers[id]
	delete(f.answers, id)
	if !ok {
		return io.EOF
	}
	ch <- a
	return nil
}

func (f *fake) SetModel(_ context.Context, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.models = append(f.models, name)
	return nil
}

func (f *fake) SetMode(_ context.Context, m permission.Mode) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.modes = append(f.modes, m)
	f.about.Mode = m
	f.publish(event.ModeChanged{Mode: m})
	return nil
}

func (f *fake) Output() json.RawMessage { return f.output }

func (f *fake) Close() error {
	f.closed = true
	f.bus.Close()
	return nil
}

// hello is a turn of one step that says hello.
func hello() []event.Body {
	return []event.Body{
		event.TurnStart{Prompt: llm.UserText("hi")},
		event.StepStart{Step: 1, Model: "model-1"},
		delta(llm.Started{ID: "msg_x", Model: "model-1", Usage: llm.Usage{Input: 5, CacheRead: 100}}),
		delta(llm.TextDelta{Text: "Hello"}), delta(llm.TextDelta{Text: " there."}),
		done(0, llm.Text{Text: "Hello there."}),
		event.StepEnd{
			Step: 1, Usage: llm.Usage{Input: 5, Output: 7, CacheRead: 100}, CostUSD: 0.25, Stop: llm.StopEndTurn,
			APITime: 900 * time.Millisecond,
		},
		event.TurnEnd{
			Reason: event.EndCompleted, Steps: 1, Usage: llm.Usage{Input: 5, Output: 7, CacheRead: 100},
			CostUSD: 0.25, Duration: time.Second, APITime: 900 * time.Millisecond,
		},
	}
}

// fakeProgram is a program whose conversation is f, with stdin.
func fakeProgram(t *testing.T, f *fake, stdin io.Reader) (p *program, stdout, stderr *bytes.Buffer) {
	t.Helper()
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	p = &program{streams: newStreams(stdin, stdout, stderr), now: time.Now, uuid: counted(), stdinWait: time.Hour}
	p.open = func(context.Context, *Options) (Conversation, error) { return f, nil }
	return p, stdout, stderr
}
