package repl

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/llm"
)

// fake is a session that a test plays.
type fake struct {
	port.Session // what no test plays

	bus *event.Bus
	sub *event.Subscription

	mu        sync.Mutex
	prompts   []string
	steered   []string
	answers   []event.Answer
	commands  []string
	busy      bool
	interrupt chan struct{}
	turn      func(f *fake, text string) // plays a turn; the end is published after it
	outputs   map[string]event.Output
}

func newFake(t *testing.T) *fake {
	f := &fake{bus: event.NewBus(), interrupt: make(chan struct{}, 8), outputs: map[string]event.Output{}}
	f.sub = f.bus.Subscribe(t.Context(), event.Options{})
	f.publish(event.Opened{Session: "s1", Dir: "/work"})
	f.publish(event.Status{Session: "s1", Mode: "default"})
	return f
}

func (f *fake) publish(b event.Body) { f.bus.Publish("s1", nil, b) }
func (f *fake) close() error         { f.bus.Close(); return nil }

func (f *fake) Next(ctx context.Context) (event.Event, error) {
	e, ok := f.sub.Next(ctx)
	if !ok {
		return e, io.EOF
	}
	return e, nil
}

func (f *fake) Close() {}

func (f *fake) Prompt(_ context.Context, p port.Prompt) (port.Receipt, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	text := p.Message.PlainText()
	if f.busy {
		f.steered = append(f.steered, text)
		return port.Receipt{ID: "later", State: port.ForStep}, nil
	}
	f.prompts, f.busy = append(f.prompts, text), true
	id := fmt.Sprint("p", len(f.prompts))
	go f.run(id, p.Message)
	return port.Receipt{ID: id, State: port.Begun}, nil
}

func (f *fake) run(id string, m llm.Message) {
	f.publish(event.State{Doing: event.Working, Turn: id})
	f.publish(event.TurnStart{Prompt: m})
	if f.turn != nil {
		f.turn(f, m.PlainText())
	}
	f.mu.Lock()
	f.busy = false
	f.mu.Unlock()
	f.publish(event.TurnEnd{Reason: event.EndCompleted, Steps: 1})
	f.publish(event.State{Doing: event.Idle})
}

func (f *fake) Interrupt(context.Context, string) error {
	f.interrupt <- struct{}{}
	return nil
}

func (f *fake) Answer(_ context.Context, a port.Answer) error {
	f.mu.Lock()
	f.answers = append(f.answers, a.Answer)
	f.mu.Unlock()
	f.publish(event.Answered{ID: a.ID, Answer: a.Answer})
	return nil
}

func (f *fake) Command(_ context.Context, c port.Command) (event.Output, error) {
	name, args := c.Name, c.Args
	f.mu.Lock()
	defer f.mu.Unlock()
	line := strings.TrimSpace(name + " " + args)
	f.commands = append(f.commands, line)
	if name == "!" {
		call := llm.ToolCall{ID: "user_1", Name: "!"}
		f.publish(event.ToolStart{Call: call, Title: args})
		f.publish(event.ToolOutput{CallID: "user_1", Text: "printed\n"})
		f.publish(event.ToolEnd{Call: call, View: event.Command{Command: args, Output: "printed\n", ExitCode: 2}})
	}
	return f.outputs[line], nil
}

func (f *fake) Complete(_ context.Context, q event.Query) ([]event.Candidate, error) {
	switch q.Kind {
	case event.QueryCommand:
		return []event.Candidate{{Text: "model"}, {Text: "mode"}, {Text: "smallmodel"}}, nil
	case event.QueryFile:
		return []event.Candidate{{Text: "src/main.go"}}, nil
	case event.QueryHistory:
		return []event.Candidate{{Text: "earlier prompt"}, {Text: "another one"}}, nil
	}
	return nil, nil
}

func say(f *fake, text string) {
	for i, piece := range strings.SplitAfter(text, " ") {
		_ = i
		f.publish(event.Delta{MessageID: "m" + text, Delta: llm.TextDelta{Text: piece}})
	}
	f.publish(event.PartDone{MessageID: "m" + text, Part: llm.Text{Text: text}})
}

// piped runs the front end over a pipe with these lines.
func piped(t *testing.T, f *fake, lines ...string) string {
	t.Helper()
	var out, errOut strings.Builder
	err := Run(t.Context(), f, f, Options{
		In: strings.NewReader(strings.Join(lines, "\n") + "\n"), Out: &out, Err: &errOut,
		Close: f.close, Version: "1",
	})
	if err != nil {
		t.Fatal(err)
	}
	if errOut.Len() > 0 {
		t.Errorf("on stderr: %q", errOut.String())
	}
	if strings.ContainsRune(out.String(), '\x1b') {
		t.Errorf("an escape sequence in a pipe: %q", out.String())
	}
	return out.String()
}

func wantText(t *testing.T, out string, want ...string) {
	t.Helper()
	at := 0
	for _, w := range want {
		i := strings.Index(out[at:], w)
		if i < 0 {
			t.Errorf("%q is missing (or not after what was before it) in\n%s", w, out)
			return
		}
		at += i + len(w)
	}
}
