package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
)

// golden holds got against a file of testdata/print; -update writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "print", name)
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run with -update", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// busy is a turn with everything that is printed: thinking, text, calls, a refusal, a retry, a subagent,
// a notice, an image, and an answer.
func busy(f *fakeTurn) error {
	read := llm.ToolCall{ID: "toolu_1", Name: "Read", Input: json.RawMessage("{\n \"file_path\": \"/work/a.go\"\n}")}
	bash := llm.ToolCall{ID: "toolu_2", Name: "Bash", Input: json.RawMessage(`{"command":"rm -rf <x> && true"}`)}
	task := llm.ToolCall{ID: "toolu_3", Name: "Task", Input: json.RawMessage(`{"prompt":"look"}`)}
	done := func(i int, p llm.Part) event.Body {
		return event.PartDone{MessageID: "msg_a", Index: i, Part: p, Model: "model-1", Usage: llm.Usage{
			Input: 10, Output: 1,
			CacheWrite: 50,
		}}
	}
	delta := func(d llm.Delta) event.Body { return event.Delta{MessageID: "msg_a", Delta: d} }
	f.publish(
		event.TurnStart{Prompt: llm.UserText("hi")}, event.UserMessage{Message: llm.UserText("hi")},
		event.Notice{Level: "warning", Text: "a rule is odd"},
		event.StepStart{Step: 1, Model: "model-1"},
		event.Retry{Attempt: 1, Max: 3, Delay: 1100 * time.Millisecond, Err: "overloaded", Status: 529},
		event.Retry{Attempt: 2, Max: 3, Delay: 2 * time.Second, Err: "connection reset"},
		delta(llm.Started{ID: "msg_a", Model: "model-1", Usage: llm.Usage{Input: 10, CacheWrite: 50}}),
		delta(llm.ReasoningDelta{Text: "hm"}), delta(llm.ReasoningDelta{Signature: "c2ln"}),
		delta(llm.TextDelta{Index: 1, Text: "Look \u2028 \x1b[31m<b>"}),
		done(0, llm.Reasoning{Text: "hm", Signature: "c2ln"}), done(1, llm.Text{Text: "Look \u2028 \x1b[31m<b>"}),
		delta(llm.ToolDelta{Index: 2, ID: "toolu_1", Name: "Read"}),
		delta(llm.ToolDelta{Index: 2, JSON: `{"file_path":"/work/a.go"}`}),
		done(2, read), done(3, bash), done(4, task), done(5, llm.Reasoning{Data: "b3BhcXVl"}),
		event.ToolStart{Call: read, Title: "a.go"},
		event.Response{Message: llm.Message{
			Role: llm.Assistant, Stop: llm.StopToolUse,
			Usage: &llm.Usage{Input: 10, Output: 20, CacheWrite: 50, CacheWrite1h: 20},
		}},
		event.ToolOutput{CallID: "toolu_1", Text: "..."},
		event.ToolEnd{
			Call: read, Title: "a.go", Meta: map[string]any{"type": "text", "lines": 2},
			Result: llm.ToolResult{CallID: "toolu_1", Name: "Read", Parts: []llm.Part{llm.Text{Text: "1\tpackage a\n"}}},
		},
		event.Denied{Call: bash, Decision: permission.Decision{
			Effect: permission.Deny, Rule: "Bash(rm *)", Source: "user",
			Reason: "refused by a rule",
		}},
		event.ToolEnd{Call: bash, Result: llm.TextResult(bash, "refused by a rule", true), Denied: true},
	)
	f.bus.Publish("sub", []string{"explore/toolu_3"}, event.TurnStart{Prompt: llm.UserText("look")})
	f.bus.Publish("sub", []string{"explore/toolu_3"}, event.StepStart{Step: 1, Model: "small"})
	f.bus.Publish("sub", []string{"explore/toolu_3"}, event.Delta{MessageID: "msg_s", Delta: llm.TextDelta{Text: "found"}})
	f.bus.Publish("sub", []string{"explore/toolu_3"}, event.PartDone{
		MessageID: "msg_s", Part: llm.Text{Text: "found"},
		Model: "small",
	})
	f.bus.Publish("sub", []string{"explore/toolu_3"}, event.StepEnd{
		Step: 1, Usage: llm.Usage{Input: 3, Output: 4},
		CostUSD: 0.125, Stop: llm.StopEndTurn,
	})
	f.bus.Publish("sub", []string{"explore/toolu_3"}, event.TurnEnd{Reason: event.EndCompleted, Steps: 1})
	f.publish(
		event.ToolEnd{Call: task, Result: llm.ToolResult{CallID: "toolu_3", Name: "Task", Parts: []llm.Part{
			llm.Text{Text: "found"}, llm.Media{MIME: "image/png", Data: []byte("png")},
		}}},
		event.StepEnd{
			Step: 1, Usage: llm.Usage{Input: 10, Output: 20, CacheWrite: 50, CacheWrite1h: 20}, CostUSD: 0.5,
			Stop: llm.StopToolUse,
		},
		event.ModeChanged{Mode: permission.AcceptEdits},
		event.UserMessage{Message: llm.UserText("Go on."), Synthetic: true},
		event.StepStart{Step: 2, Model: "model-1"},
		event.PartDone{MessageID: "msg_b", Part: llm.Text{Text: "All <done>."}, Model: "model-1"},
		event.PartDone{MessageID: "msg_b", Index: 1, Part: llm.Opaque{
			Provider: "anthropic@api.anthropic.com",
			JSON:     json.RawMessage(`{"type":"server_tool_use"}`),
		}, Model: "model-1"},
		event.Response{Message: llm.Message{Role: llm.Assistant, Stop: llm.StopEndTurn}},
		event.StepEnd{Step: 2, Usage: llm.Usage{Input: 2, Output: 5, CacheRead: 60}, CostUSD: 0.25, Stop: llm.StopEndTurn},
		event.TurnEnd{Reason: event.EndCompleted, Steps: 2, Duration: 3 * time.Second, APITime: 2 * time.Second},
	)
	return nil
}

// printed runs a prompt against a turn and returns its stdout.
func printed(t *testing.T, turn func(*fakeTurn) error, flags ...string) (string, error) {
	t.Helper()
	p, out, _ := fakeProgram(t, newFake(turn), strings.NewReader(""))
	err := p.run(context.Background(), append([]string{"-p", "hi"}, flags...))
	return strings.ReplaceAll(out.String(), fmt.Sprintf("%q", first(currentVersion())), `"VERSION"`), err
}

func TestOutputFormats(t *testing.T) {
	for _, tt := range []struct {
		name  string
		flags []string
	}{
		{"busy.txt", nil},
		{"busy.json", []string{"--output-format", "json"}},
		{"busy-verbose.json", []string{"--output-format", "json", "--verbose"}},
		{"busy.jsonl", []string{"--output-format", "stream-json", "--verbose"}},
		{"busy-partial.jsonl", []string{"--output-format", "stream-json", "--verbose", "--include-partial-messages"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := printed(t, busy, tt.flags...)
			if err != nil {
				t.Error(err)
			}
			golden(t, tt.name, got)
			if strings.HasSuffix(tt.name, ".jsonl") {
				everyLine(t, got)
			} else if strings.HasSuffix(tt.name, ".json") && !json.Valid([]byte(got)) {
				t.Errorf("not JSON: %s", got)
			}
		})
	}
}

// everyLine checks the rules for all lines: valid JSON, uuid, session_id.
func everyLine(t *testing.T, text string) {
	t.Helper()
	seen := map[string]bool{}
	for l := range strings.Lines(text) {
		var m struct {
			UUID    string
			Session string `json:"session_id"`
		}
		if err := json.Unmarshal([]byte(l), &m); err != nil {
			t.Errorf("%v: %s", err, l)
		}
		if m.UUID == "" || seen[m.UUID] || m.Session != "0190-session" {
			t.Errorf("uuid %q, session %q: %s", m.UUID, m.Session, l)
		}
		seen[m.UUID] = true
	}
}

// ends is a turn that says a little and ends for a reason.
func ends(reason event.EndReason, text string, err error) func(*fakeTurn) error {
	return func(f *fakeTurn) error {
		f.publish(event.TurnStart{}, event.StepStart{Step: 1, Model: "model-1"},
			event.PartDone{MessageID: "msg_a", Part: llm.Text{Text: "Half an answer"}, Model: "model-1"},
			event.StepEnd{Step: 1, Usage: llm.Usage{Input: 1, Output: 1}, CostUSD: 0.5, Stop: llm.StopToolUse},
			event.TurnEnd{Reason: reason, Err: text, Steps: 1, Duration: time.Second})
		return err
	}
}

func TestHowATurnEndsIsToldInEveryFormat(t *testing.T) {
	overloaded := &llm.Error{
		Kind: llm.KindOverloaded, Provider: "anthropic", Status: 529, Message: "busy",
		Hint: "try again later", Attempts: 4,
	}
	for _, tt := range []struct {
		name              string
		turn              func(*fakeTurn) error
		flags             []string
		subtype, terminal string
		text              string // in result or errors, and in the line on stderr
	}{
		{
			"max turns", ends(event.EndMaxSteps, "", nil),
			[]string{"--max-turns", "1"},
			"error_max_turns", "max_turns",
			"Reached maximum number of turns (1)",
		},
		{
			"budget", ends(event.EndBudget, "", nil),
			[]string{"--max-budget-usd", "0.5"},
			"error_max_budget_usd",
			"budget_exhausted", "Reached maximum budget ($0.5)",
		},
		{"doom loop", ends(event.EndDoomLoop, "", nil), nil, "error_during_execution", "doom_loop", "same call"},
		{"refused", ends(event.EndRefused, "", nil), nil, "error_during_execution", "aborted_tools", "refused"},
		{
			"interrupted", ends(event.EndInterrupted, "", nil), nil, "error_during_execution", "aborted_streaming",
			"interrupted",
		},
		{"model API", ends(event.EndFailed, overloaded.Error(), overloaded), nil, "success", "api_error", "try again later"},
		{
			"full disk", ends(event.EndFailed, "no space left", errors.New("no space left")), nil, "error_during_execution",
			"model_error", "no space left",
		},
		{
			"not begun", func(*fakeTurn) error { return fmt.Errorf("%w: busy", ErrNotStarted) }, nil, "error_during_execution",
			"turn_setup_failed", "busy",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := printed(t, tt.turn, append(tt.flags, "--output-format", "stream-json")...)
			if exitCode(err) != exitFailed {
				t.Errorf("exit code %d (%v)", exitCode(err), err)
			}
			var stderr bytes.Buffer
			if report(&stderr, err); stderr.Len() > 0 {
				t.Errorf("told twice: %s", stderr.String())
			}
			var r struct {
				Subtype  string
				IsError  bool   `json:"is_error"`
				Terminal string `json:"terminal_reason"`
				Result   string
				Errors   []string
			}
			lines := strings.Split(strings.TrimSpace(got), "\n")
			if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil {
				t.Fatal(err)
			}
			if r.Subtype != tt.subtype || !r.IsError || r.Terminal != tt.terminal || !strings.Contains(r.Result+
				strings.Join(r.Errors, ""), tt.text) {
				t.Errorf("got %+v", r)
			}
			if (r.Subtype == "success") != (r.Result != "") {
				t.Errorf("result %q with subtype %s", r.Result, r.Subtype)
			}

			answer, err := printed(t, tt.turn, tt.flags...)
			report(&stderr, err)
			if answer != "" || !strings.Contains(stderr.String(), tt.text) || strings.Count(stderr.String(), "\n") != 1 {
				t.Errorf("text mode: stdout %q, stderr %q", answer, stderr.String())
			}
		})
	}
}

func TestAFailureOfTheModelIsAlsoAMessage(t *testing.T) {
	e := &llm.Error{Kind: llm.KindRateLimit, Provider: "anthropic", Status: 429, Message: "slow down"}
	got, _ := printed(t, ends(event.EndFailed, e.Error(), e), "--output-format", "stream-json")
	if !strings.Contains(got, `"model":"<synthetic>"`) || !strings.Contains(got, `"error":"rate_limit"`) ||
		!strings.Contains(got, `"api_error_status":429`) {
		t.Error(got)
	}
}

func TestTheStructuredAnswerIsPrinted(t *testing.T) {
	f := newFake()
	f.output = json.RawMessage(`{"n":1}`)
	for _, tt := range []struct{ format, want string }{{"text", "{\"n\":1}\n"}, {"json", `"structured_output":{"n":1}`}} {
		p, out, _ := fakeProgram(t, f, strings.NewReader(""))
		f.bus, f.sub = event.NewBus(), nil
		f.sub = f.bus.Subscribe(context.Background(), event.Options{})
		err := p.run(context.Background(), []string{
			"-p", "hi", "--output-format", tt.format, "--json-schema",
			`{"type":"object"}`,
		})
		if err != nil || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%s: %v: %s", tt.format, err, out.String())
		}
	}
}

func TestNoStructuredAnswerIsAFailure(t *testing.T) {
	got, err := printed(t, ends(event.EndFailed, "no answer", ErrNoAnswer), "--output-format", "json", "--json-schema",
		`{"type":"object"}`)
	if exitCode(err) != exitFailed || !strings.Contains(got, `"subtype":"error_max_structured_output_retries"`) ||
		!strings.Contains(got, `"terminal_reason":"structured_output_retry_exhausted"`) {
		t.Errorf("%v: %s", err, got)
	}
}

func TestABrokenSchemaIsRefusedBeforeAnythingStarts(t *testing.T) {
	for _, s := range []string{`{"type":`, `{"type":12}`, `[]`} {
		got, err := printed(t, func(*fakeTurn) error { t.Error("a turn ran"); return nil }, "--json-schema", s)
		if exitCode(err) != exitUsage || got != "" || !strings.Contains(err.Error(),
			"--json-schema is not a valid JSON Schema") {
			t.Errorf("%s: %v, %s", s, err, got)
		}
	}
}

// closing is stdout whose reader goes away after n writes.
type closing struct{ n int }

func (c *closing) Write(b []byte) (int, error) {
	if c.n--; c.n < 0 {
		return 0, &os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}
	}
	return len(b), nil
}

func TestAReaderThatLeavesEndsTheTurnQuietly(t *testing.T) {
	for _, format := range []string{"stream-json", "text", "json"} {
		interrupted := false
		f := newFake(func(f *fakeTurn) error {
			f.publish(hello()[:6]...)
			if format == "stream-json" {
				<-f.ctx.Done() // the turn is ended, not abandoned
				interrupted = true
			}
			f.publish(hello()[6:]...)
			return nil
		})
		p, _, stderr := fakeProgram(t, f, strings.NewReader(""))
		p.out = &closing{n: map[string]int{"stream-json": 1}[format]}
		err := p.run(context.Background(), []string{"-p", "hi", "--output-format", format})
		if code := report(stderr, err); code != exitPipe || stderr.Len() > 0 {
			t.Errorf("%s: exit code %d, stderr %q", format, code, stderr.String())
		}
		if interrupted != (format == "stream-json") || !f.closed {
			t.Errorf("%s: interrupted %v, closed %v", format, interrupted, f.closed)
		}
	}
}

func TestAFullDiskUnderStdoutIsToldOnce(t *testing.T) {
	p, _, stderr := fakeProgram(t, newFake(), strings.NewReader(""))
	p.out = writerFunc(func([]byte) (int, error) { return 0, syscall.ENOSPC })
	err := p.run(context.Background(), []string{"-p", "hi"})
	if code := report(stderr, err); code != exitFailed || strings.Count(stderr.String(), "\n") != 1 ||
		!strings.Contains(stderr.String(), "stdout") {
		t.Errorf("exit code %d, stderr %q", code, stderr.String())
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestTenThousandLinesArriveWholeAtASlowReader(t *testing.T) {
	const n = 10_000
	f := newFake(func(f *fakeTurn) error {
		f.publish(event.TurnStart{}, event.StepStart{Step: 1, Model: "model-1"})
		for i := range n {
			c := llm.ToolCall{ID: fmt.Sprint("c", i), Name: "Read"}
			f.publish(event.ToolEnd{Call: c, Result: llm.TextResult(c, strings.Repeat("x", 100), false)})
		}
		f.publish(event.TurnEnd{Reason: event.EndCompleted, Steps: 1})
		return nil
	})
	p, _, _ := fakeProgram(t, f, strings.NewReader(""))
	out, w := io.Pipe()
	p.out = w
	failed := make(chan error, 1)
	go func() {
		failed <- p.run(context.Background(), []string{"-p", "hi", "--output-format", "stream-json"})
		_ = w.Close()
	}()
	text, err := io.ReadAll(iotest{out})
	if err != nil || <-failed != nil {
		t.Fatal(err)
	}
	if got := strings.Count(string(text), "\n"); got != n+2 {
		t.Errorf("%d lines, want %d", got, n+2)
	}
	everyLine(t, string(text))
}

// iotest reads a few bytes at a time, so that lines come in pieces.
type iotest struct{ r io.Reader }

func (s iotest) Read(b []byte) (int, error) { return s.r.Read(b[:min(len(b), 97)]) }
