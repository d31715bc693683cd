package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// shown prints bodies with p, one second apart.
func shown(t *testing.T, p printer, bodies ...event.Body) {
	t.Helper()
	for i, b := range bodies {
		at := time.Date(2026, 1, 2, 3, 4, i, 0, time.UTC)
		if err := p.event(event.Event{Seq: uint64(i + 1), Time: at, Session: "s", Body: b}); err != nil {
			t.Fatal(err)
		}
	}
}

func delta(d llm.Delta) event.Body { return event.Delta{MessageID: "m1", Delta: d} }

func done(i int, p llm.Part) event.Body {
	return event.PartDone{MessageID: "m1", Index: i, Part: p, Model: "model"}
}

func response(stop llm.StopReason) event.Body {
	return event.Response{Message: llm.Message{
		ID: "m1", Role: llm.Assistant, Stop: stop,
		Usage: &llm.Usage{Input: 5, Output: 7},
	}}
}

// counted makes readable ids: u1, u2, ...
func counted() func() string {
	n := 0
	return func() string { n++; return fmt.Sprintf("u%d", n) }
}

// streamEvents is a stream of events under --include-partial-messages, short: "start", "0+text",
// "0 hello", "0.", "delta end_turn", "stop".
func streamEvents(t *testing.T, bodies ...event.Body) []string {
	t.Helper()
	var out bytes.Buffer
	p := newStreamPrinter(&lineWriter{w: &out, uuid: counted()}, &Options{OutputFormat: "stream-json", Partial: true}, nil)
	shown(t, p, bodies...)
	var got []string
	for l := range strings.Lines(out.String()) {
		var m struct {
			Type  string
			Event struct {
				Type  string
				Index int
				Block struct{ Type string } `json:"content_block"`
				Delta map[string]any
			}
		}
		if err := json.Unmarshal([]byte(l), &m); err != nil {
			t.Fatal(err)
		}
		if m.Type != "stream_event" {
			continue
		}
		e := m.Event
		switch e.Type {
		case "message_start":
			got = append(got, "start")
		case "content_block_start":
			got = append(got, fmt.Sprintf("%d+%s", e.Index, e.Block.Type))
		case "content_block_delta":
			for _, k := range []string{"text", "thinking", "partial_json", "signature"} {
				if v, ok := e.Delta[k]; ok {
					got = append(got, fmt.Sprintf("%d %s", e.Index, v))
				}
			}
		case "content_block_stop":
			got = append(got, fmt.Sprintf("%d.", e.Index))
		case "message_delta":
			got = append(got, fmt.Sprint("delta ", e.Delta["stop_reason"]))
		case "message_stop":
			got = append(got, "stop")
		}
	}
	return got
}

// What hooks show in the place of a text is for a terminal; machines get the text.
func TestOnlyATerminalGetsWhatIsShownInThePlaceOfAText(t *testing.T) {
	bodies := []event.Body{
		event.Delta{MessageID: "m1", Delta: llm.TextDelta{Text: "one"}, Shown: new("ONE")},
		event.PartDone{MessageID: "m1", Part: llm.Text{Text: "one"}, Model: "model", Shown: new("ONE")},
		event.PartDone{MessageID: "m1", Index: 1, Part: llm.Text{Text: "two"}, Model: "model", Shown: new("TWO")},
		response(llm.StopEndTurn),
	}
	var out bytes.Buffer
	shown(t, newTextPrinter(&streams{out: &out, err: io.Discard, outTTY: true}, time.Now), bodies...)
	if out.String() != "ONE\n\nTWO\n" {
		t.Errorf("a terminal gets %q", out.String())
	}
	if got := strings.Join(streamEvents(t, bodies...),
		"|"); got != "start|0+text|0 one|0.|1+text|1 two|1.|delta end_turn|stop" {
		t.Errorf("a machine gets %s", got)
	}
}

var readCall = llm.ToolCall{ID: "c1", Name: "Read", Input: json.RawMessage(`{"a":1}`)}

func TestPartialMessagesShowEachPartOnce(t *testing.T) {
	start := delta(llm.Started{ID: "m1", Model: "model"})
	for _, tt := range []struct {
		name   string
		bodies []event.Body
		want   string
	}{
		{
			"a text that is complete only when the call after it is",
			[]event.Body{
				start, delta(llm.TextDelta{Text: "Look"}), delta(llm.TextDelta{Text: "ing"}),
				delta(llm.ToolDelta{Index: 1, ID: "c1", Name: "Read"}), delta(llm.ToolDelta{Index: 1, JSON: `{"a":1}`}),
				done(0, llm.Text{Text: "Looking"}), done(1, readCall), response(llm.StopToolUse),
				event.ToolEnd{Call: readCall},
				event.StepEnd{Stop: llm.StopToolUse},
			},
			`start|0+text|0 Look|0 ing|0.|1+tool_use|1 {"a":1}|1.|delta tool_use|stop`,
		},
		{
			"thinking, text and text, complete at the end",
			[]event.Body{
				start, delta(llm.ReasoningDelta{Text: "hm"}), delta(llm.ReasoningDelta{Signature: "sig"}),
				delta(llm.TextDelta{Index: 1, Text: "a"}), delta(llm.TextDelta{Index: 2, Text: "b"}),
				done(0, llm.Reasoning{Text: "hm", Signature: "sig"}), done(1, llm.Text{Text: "a"}), done(2, llm.Text{Text: "b"}),
				response(llm.StopEndTurn),
			},
			`start|0+thinking|0 hm|0 sig|0.|1+text|1 a|1.|2+text|2 b|2.|delta end_turn|stop`,
		},
		{
			"parts that never streamed",
			[]event.Body{
				start, done(0, llm.Text{Text: "whole"}), done(1, llm.Reasoning{Data: "xx"}), done(2, readCall),
				response(llm.StopToolUse),
			},
			`start|0+text|0 whole|0.|1+redacted_thinking|1.|2+tool_use|2 {"a":1}|2.|delta tool_use|stop`,
		},
		{
			"a reply that broke off and came again",
			[]event.Body{
				start, delta(llm.TextDelta{Text: "Loo"}),
				event.Retry{Attempt: 1},
				start, delta(llm.TextDelta{Text: "Look"}),
				done(0, llm.Text{Text: "Look"}), response(llm.StopEndTurn),
			},
			`start|0+text|0 Loo|0.|start|0+text|0 Look|0.|delta end_turn|stop`,
		},
		{
			"an interrupted reply has no end",
			[]event.Body{
				start, delta(llm.TextDelta{Text: "Loo"}), done(0, llm.Text{Text: "Loo"}),
				response(llm.StopInterrupted),
				event.StepEnd{Stop: llm.StopInterrupted},
			},
			`start|0+text|0 Loo|0.`,
		},
		{
			"an empty reply",
			[]event.Body{start, event.StepEnd{Stop: llm.StopEndTurn}},
			`start|delta end_turn|stop`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(strings.Split(tt.want, "|"), streamEvents(t, tt.bodies...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestATerminalShowsEachTextOnce(t *testing.T) {
	for _, tt := range []struct {
		name   string
		bodies []event.Body
		want   string
	}{
		{
			"a text before a call",
			[]event.Body{
				delta(llm.TextDelta{Text: "Look"}), delta(llm.TextDelta{Text: "ing"}),
				delta(llm.ToolDelta{Index: 1, ID: "c1", Name: "Read"}),
				done(0, llm.Text{Text: "Looking"}), done(1, readCall), response(llm.StopToolUse),
			},
			"Looking\n",
		},
		{
			"two texts, complete at the end",
			[]event.Body{
				delta(llm.TextDelta{Text: "a"}), delta(llm.TextDelta{Index: 1, Text: "b"}),
				done(0, llm.Text{Text: "a"}), done(1, llm.Text{Text: "b"}), response(llm.StopEndTurn),
			},
			"a\n\nb\n",
		},
		{
			"a text without deltas",
			[]event.Body{done(0, llm.Text{Text: "whole\n"}), response(llm.StopEndTurn)},
			"whole\n",
		},
		{
			"what a retry voids comes again",
			[]event.Body{
				delta(llm.TextDelta{Text: "Loo"}),
				event.Retry{Attempt: 1},
				delta(llm.TextDelta{Text: "Look"}),
				done(0, llm.Text{Text: "Look"}), response(llm.StopEndTurn),
			},
			"Loo\n\nLook\n",
		},
		{
			"an escape sequence cut in two",
			[]event.Body{delta(llm.TextDelta{Text: "a\x1b"}), delta(llm.TextDelta{Text: "[2Jb"}), response(llm.StopEndTurn)},
			"a␛[2Jb\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			p := newTextPrinter(&streams{out: &out, outTTY: true}, time.Now)
			shown(t, p, tt.bodies...)
			if err := p.finish(nil, &outcome{}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A tool that ends while a text is being written must not tear its line.
func TestLinesWaitWhileATextIsWritten(t *testing.T) {
	var screen bytes.Buffer
	p := newTextPrinter(&streams{out: &screen, outTTY: true, err: &screen, eTTY: true}, time.Now)
	end := event.ToolEnd{Call: readCall, Title: "x.go"}
	shown(t, p, delta(llm.TextDelta{Text: "half "}), event.ToolStart{Call: readCall}, end,
		delta(llm.TextDelta{Text: "line"}), done(0, llm.Text{Text: "half line"}), end)
	if diff := cmp.Diff("half line\n✓ Read x.go\n✓ Read x.go\n", screen.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The spinner is taken away before anything else moves the cursor.
func TestTheSpinnerLeavesNothingBehind(t *testing.T) {
	var screen bytes.Buffer
	p := newTextPrinter(&streams{out: &screen, outTTY: true, err: &screen, eTTY: true}, time.Now)
	shown(t, p, delta(llm.TextDelta{Text: "one"}), done(0, llm.Text{Text: "one"}))
	p.progress.status("Thinking")
	p.progress.quit = make(chan struct{})
	p.progress.draw()
	shown(t, p, delta(llm.TextDelta{Index: 1, Text: "two"}))
	p.progress.draw() // not while a text is being written
	shown(t, p, done(1, llm.Text{Text: "two"}))
	if diff := cmp.Diff("one\n\r\x1b[2K⠙ Thinking\r\x1b[2K\ntwo\n", screen.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestACallThatFailedSaysWhatAndWhy(t *testing.T) {
	var screen bytes.Buffer
	p := newTextPrinter(&streams{out: &bytes.Buffer{}, err: &screen, eTTY: true}, time.Now)
	c := llm.ToolCall{Name: "Read", Input: json.RawMessage(`{"limit":3,"file_path":"a\u001b[2J.go"}`)}
	shown(t, p, event.ToolEnd{Call: c, Result: llm.ToolResult{
		IsError: true,
		Parts:   []llm.Part{llm.Text{Text: "no such file\nmore"}},
	}})
	if diff := cmp.Diff("✗ Read a␛[2J.go: no such file\n", screen.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPipedTextIsEscapedUnlessItIsWantedRaw(t *testing.T) {
	for raw, want := range map[bool]string{false: escape("a\x1b[1mb") + "\n", true: "a\x1b[1mb\n"} {
		var out bytes.Buffer
		p := newTextPrinter(&streams{out: &out}, time.Now)
		p.raw = raw
		if err := p.finish(nil, &outcome{
			answer: "a\x1b[1mb\n\n",
			end:    event.TurnEnd{Reason: event.EndCompleted},
		}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("raw %v (-want +got):\n%s", raw, diff)
		}
	}
}
