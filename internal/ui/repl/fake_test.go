package repl

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// fake is a session that a test plays.
type fake struct {
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

func (f *fake) Prompt(_ context.Context, m llm.Message) error {
	f.mu.Lock()
	f.prompts = append(f.prompts, m.PlainText())
	f.busy = true
	f.mu.Unlock()
	f.publish(event.TurnStart{Prompt: m})
	if f.turn != nil {
		f.turn(f, m.PlainText())
	}
	f.mu.Lock()
	f.busy = false
	f.mu.Unlock()
	f.publish(event.TurnEnd{Reason: event.EndCompleted, Steps: 1})
	return nil
}

func (f *fake) Steer(m llm.Message, _ bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.busy {
		f.steered = append(f.steered, m.PlainText())
	}
	return f.busy
}

func (f *fake) Unqueue() (llm.Message, bool) { return llm.Message{}, false }
func (f *fake) Interrupt()                   { f.interrupt <- struct{}{} }

func (f *fake) Answer(_, id string, a event.Answer) error {
	f.mu.Lock()
	f.answers = append(f.answers, a)
	f.mu.Unlock()
	f.publish(event.Answered{ID: id, Answer: a})
	return nil
}

func (f *fake) Command(_ context.Context, name, args string) (event.Output, error) {
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

func (f *fake) Complete(_ context.Context, q event.Query) []event.Candidate {
	switch q.Kind {
	case event.QueryCommand:
		return []event.Candidate{{Text: "model"}, {Text: "mode"}, {Text: "smallmodel"}}
	case event.QueryFile:
		return []event.Candidate{{Text: "src/main.go"}}
	case event.QueryHistory:
		return []event.Candidate{{Text: "earlier prompt"}, {Text: "another one"}}
	}
	return nil
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
	err := Run(t.Context(), f, Options{
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
