package anthropic

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest/suite"
)

// fixture is a reply with every kind of block.
func fixture(t testing.TB) string {
	t.Helper()
	b, err := os.ReadFile("testdata/reply.sse")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func serve(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// saying answers the nth request with the nth text, and the last text from then on.
func saying(t testing.TB, texts ...string) string {
	var n atomic.Int32
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		i := min(int(n.Add(1)), len(texts)) - 1
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, texts[i])
	})
}

var once = llm.RetryPolicy{Max: -1}

func config(t testing.TB, url string, retry llm.RetryPolicy) Config {
	t.Helper()
	c, err := llm.HTTPClient(llm.HTTPOptions{Proxy: "none"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return Config{BaseURL: url, APIKey: "sk-test-key", HTTP: c, Retry: retry}
}

type outcome struct {
	deltas []llm.Delta // without Sent
	ready  []llm.ToolCall
	done   *llm.Message
	err    error
	host   string // the owner of signatures
}

func run(t testing.TB, m llm.Model, req *llm.Request) outcome {
	t.Helper()
	o := outcome{host: m.Info().Host}
	for d, err := range m.Stream(t.Context(), req) {
		if err != nil {
			o.err = err
			continue
		}
		switch d := d.(type) {
		case llm.Sent:
			continue
		case llm.ToolReady:
			o.ready = append(o.ready, d.Call)
		case llm.Done:
			o.done = &d.Message
		}
		o.deltas = append(o.deltas, d)
	}
	return o
}

func ask(t testing.TB, c Config) outcome {
	t.Helper()
	return run(t, newModel(t, "claude-sonnet-4-5", c), &llm.Request{Messages: []llm.Message{llm.UserText("hi")}})
}

func events(lines ...string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString("data: " + l + "\n\n")
	}
	return b.String()
}

const (
	msgStart = `{"type":"message_start","message":{"id":"msg_1","model":"m","usage":{"input_tokens":3,"output_tokens":1}}}`
	msgStop  = `{"type":"message_stop"}`
)

func stop(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `"},"usage":{"output_tokens":9}}`
}

// callBlock returns the events of a call without its end.
func callBlock(index int, id, input string) []string {
	q, _ := json.Marshal(input)
	return []string{
		fmt.Sprintf(
			`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":"%s","name":"Read","input":{}}}`,
			index, id),
		fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%s}}`, index,
			q),
	}
}

func end(index int) string { return fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index) }

func textBlock(index int, s string) []string {
	return []string{
		fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"text","text":""}}`, index),
		fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"text_delta","text":%q}}`, index, s),
		end(index),
	}
}

func seq(parts ...any) string {
	var all []string
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			all = append(all, p)
		case []string:
			all = append(all, p...)
		}
	}
	return events(all...)
}

func TestEveryKindOfBlockIsDecoded(t *testing.T) {
	o := ask(t, config(t, saying(t, fixture(t)), once))
	if o.err != nil {
		t.Fatal(o.err)
	}
	read := llm.ToolCall{ID: "toolu_1", Name: "Read", Input: json.RawMessage(`{"file_path":"/tmp/a <1>.go"}`)}
	todo := llm.ToolCall{ID: "toolu_2", Name: "TodoWrite", Input: json.RawMessage(`{}`)}
	want := &llm.Message{
		ID: "msg_fix1", Role: llm.Assistant, Model: "claude-sonnet-4-5", Stop: llm.StopToolUse,
		Usage: &llm.Usage{Input: 12, Output: 77, CacheRead: 500, CacheWrite: 30, CacheWrite1h: 20},
		Parts: []llm.Part{
			llm.Reasoning{Text: "Let me look → first.", Signature: "c2lnbmF0dXJl", Provider: o.host},
			llm.Reasoning{Data: "cmVkYWN0ZWQ=", Provider: o.host},
			llm.Text{Text: `I read "both" <files>.`, Opaque: &llm.Opaque{
				Provider: o.host,
				JSON:     json.RawMessage(`[{"type":"char_location"}]`),
			}},
			llm.Opaque{Provider: o.host, JSON: json.RawMessage(
				`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"a<b"}}`)},
			llm.Opaque{Provider: o.host, JSON: json.RawMessage(
				`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://x.example","title":"T","encrypted_content":"AAAA"}]}`)},
			read, todo,
		},
	}
	if d := cmp.Diff(want, o.done); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]llm.ToolCall{read, todo}, o.ready); d != "" {
		t.Error(d)
	}
}

func TestReplyIsTheSameHoweverItIsSplit(t *testing.T) {
	text := fixture(t)
	var cut atomic.Int32
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		at := int(cut.Load())
		_, _ = io.WriteString(w, text[:at])
		w.(http.Flusher).Flush()
		_, _ = io.WriteString(w, text[at:])
	})
	c := config(t, url, once)
	want := ask(t, c)
	for at := 3; at < len(text); at += 7 { // package llm splits streams at every byte
		cut.Store(int32(at))
		got := ask(t, c)
		if got.err != nil {
			t.Fatalf("split at %d: %v", at, got.err)
		}
		if d := cmp.Diff(want.deltas, got.deltas); d != "" {
			t.Fatalf("split at %d: %s", at, d)
		}
	}
}

// TestCutReplyNeverMakesACallOfAHalf cuts the reply at every byte. In every case a call is ready only if its
// end was received, the error has the complete parts, and the request is retried exactly if no call was
// ready.
func TestCutReplyNeverMakesACallOfAHalf(t *testing.T) {
	text := fixture(t)
	firstReady := strings.Index(text, `{"type":"content_block_stop","index":5}`) +
		len(`{"type":"content_block_stop","index":5}`)
	secondReady := strings.Index(text, `{"type":"content_block_stop","index":6}`) +
		len(`{"type":"content_block_stop","index":6}`)
	complete := strings.Index(text, `{"type":"message_stop"}`) + len(`{"type":"message_stop"}`)
	var at, sent atomic.Int32
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if sent.Add(1) == 1 {
			_, _ = io.WriteString(w, text[:at.Load()])
			return
		}
		_, _ = io.WriteString(w, text)
	})
	c := config(t, url, llm.RetryPolicy{Base: time.Microsecond})
	for i := range len(text) {
		at.Store(int32(i))
		sent.Store(0)
		o := ask(t, c)
		switch {
		case i >= complete || i < firstReady:
			wantSent := map[bool]int32{true: 1, false: 2}[i >= complete]
			if o.err != nil || o.done == nil || len(o.ready) != 2 || sent.Load() != wantSent {
				t.Fatalf("cut at %d: %v, %d calls ready, sent %d times", i, o.err, len(o.ready), sent.Load())
			}
		default:
			e := llm.AsError(o.err)
			calls := 1
			if i >= secondReady {
				calls = 2
			}
			if e == nil || e.Partial == nil || o.done != nil || sent.Load() != 1 {
				t.Fatalf("cut at %d: %v, sent %d times", i, o.err, sent.Load())
			}
			if len(o.ready) != calls || len(e.Partial.Calls()) != calls || len(e.Partial.Parts) != 5+calls ||
				e.Partial.Stop != llm.StopBroken {
				t.Fatalf("cut at %d: %d calls ready, partial %+v", i, len(o.ready), e.Partial)
			}
		}
	}
}

func TestBrokenInputIsAnsweredNotRun(t *testing.T) {
	for _, input := range []string{`{"a": `, `["x"]`, `"text"`, `{"a":1} trailing`, `nonsense`} {
		o := ask(t, config(t, saying(t, seq(msgStart, callBlock(0, "toolu_1", input), end(0), stop("tool_use"), msgStop)),
			once))
		if o.err != nil || len(o.ready) != 0 || o.done == nil {
			t.Fatalf("%q: %v, ready %v", input, o.err, o.ready)
		}
		want := llm.ToolCall{ID: "toolu_1", Name: "Read", Input: json.RawMessage("{}"), Raw: input}
		if d := cmp.Diff([]llm.Part{want}, o.done.Parts); d != "" {
			t.Error(d)
		}
		if d, ok := o.deltas[len(o.deltas)-2].(llm.PartDone); !ok || d.Index != 0 {
			t.Errorf("%q: not yielded: %+v", input, o.deltas)
		}
	}
}

func TestCallCutByTheOutputLimitIsLeftOut(t *testing.T) {
	whole := append(callBlock(0, "toolu_1", `{"a":1}`), end(0))
	for name, tail := range map[string][]string{
		"without an end": callBlock(1, "toolu_2", `{"file`), "with an end": append(callBlock(1, "toolu_2", `{"file`), end(1)),
	} {
		o := ask(t, config(t, saying(t, seq(msgStart, whole, tail, stop("max_tokens"), msgStop)), once))
		if o.err != nil || len(o.ready) != 1 || len(o.done.Parts) != 1 || o.done.Stop != llm.StopMaxTokens {
			t.Errorf("%s: %v, %+v", name, o.err, o.done)
		}
	}
}

func TestBrokenCallBeforeOthersKeepsTheOrder(t *testing.T) {
	text := seq(msgStart, callBlock(0, "toolu_1", `{"a`), end(0), callBlock(1, "toolu_2", `{"b":2}`), end(1),
		stop("tool_use"), msgStop)
	o := ask(t, config(t, saying(t, text), once))
	last := -1
	for _, d := range o.deltas {
		i := last
		switch d := d.(type) {
		case llm.ToolDelta:
			i = d.Index
		case llm.PartDone:
			i = d.Index
		case llm.ToolReady:
			i = d.Index
		}
		if i < last {
			t.Fatalf("index goes back: %+v", o.deltas)
		}
		last = i
	}
	if len(o.done.Parts) != 2 || len(o.ready) != 1 || o.ready[0].ID != "toolu_2" {
		t.Errorf("%+v", o.done)
	}
}

func TestUnreadableStreamsAreRetriedThenReported(t *testing.T) {
	good := seq(msgStart, textBlock(0, "fine"), stop("end_turn"), msgStop)
	for name, bad := range map[string]string{
		"line that is not JSON": seq(msgStart, `{"type":"content_bl`, textBlock(0, "x"), stop("end_turn"), msgStop),
		"no terminal event":     seq(msgStart, textBlock(0, "x"), stop("end_turn")),
		"delta without a block": seq(msgStart,
			`{"type":"content_block_delta","index":4,"delta":{"type":"text_delta","text":"x"}}`),
		"end without a block":  seq(msgStart, end(3)),
		"block without a type": seq(msgStart, `{"type":"content_block_start","index":0,"content_block":{}}`),
		"call left open":       seq(msgStart, callBlock(0, "toolu_1", `{"a":1}`), stop("tool_use"), msgStop),
		"web page":             "<html>502</html>",
		"overloaded": seq(msgStart,
			`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`),
		"server error": seq(msgStart, textBlock(0, "x"),
			`{"type":"error","error":{"type":"api_error","message":"oops"}}`),
		"error as a whole reply": `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`,
		"cut whole reply":        `{"type":"message","content":[{"type":"text","te`,
		"whole reply, not ours":  `{"object":"list"}`,
	} {
		t.Run(name, func(t *testing.T) {
			quick := llm.RetryPolicy{Base: time.Microsecond}
			o := ask(t, config(t, saying(t, bad, bad, good), quick))
			if o.err != nil || o.done == nil || o.done.PlainText() != "fine" {
				t.Errorf("two faults in a row: %v %+v", o.err, o.done)
			}
			o = ask(t, config(t, saying(t, bad), quick))
			if e := llm.AsError(o.err); e == nil || e.Attempts != 4 || e.Message == "" || e.Hint == "" {
				t.Errorf("lasting: %v", o.err)
			}
		})
	}
}

func TestErrorEventsThatARetryCannotMendAreNotRetried(t *testing.T) {
	bad := seq(msgStart, textBlock(0, "kept"),
		`{"type":"error","error":{"type":"invalid_request_error","message":"bad \u001b[31m thing"}}`)
	o := ask(t, config(t, saying(t, bad), llm.RetryPolicy{}))
	e := llm.AsError(o.err)
	if e == nil || e.Kind != llm.KindInvalid || e.Attempts != 1 || e.Partial == nil || e.Partial.PlainText() != "kept" {
		t.Fatalf("%v", o.err)
	}
	if strings.Contains(e.Error(), "\x1b") {
		t.Errorf("%q", e.Error())
	}
}

func TestStopReasonsAreMapped(t *testing.T) {
	for wire, want := range map[string]llm.StopReason{
		"end_turn": llm.StopEndTurn, "max_tokens": llm.StopMaxTokens, "stop_sequence": llm.StopSequence,
		"pause_turn": llm.StopPauseTurn, "refusal": llm.StopRefusal, "model_context_window_exceeded": llm.StopContextWindow,
		"brand_new": llm.StopEndTurn,
	} {
		o := ask(t, config(t, saying(t, seq(msgStart, textBlock(0, "x"), stop(wire), msgStop)), once))
		if o.err != nil || o.done.Stop != want {
			t.Errorf("%s: %v %+v", wire, o.err, o.done)
		}
	}
	for _, wire := range []string{"tool_use", "end_turn", "brand_new"} {
		o := ask(t, config(t, saying(t, seq(msgStart, callBlock(0, "t", "{}"), end(0), stop(wire), msgStop)), once))
		if o.err != nil || o.done.Stop != llm.StopToolUse {
			t.Errorf("%s with a call: %v %+v", wire, o.err, o.done)
		}
	}
}

func TestUsageIsEstimatedWhenTheServerTellsNone(t *testing.T) {
	o := ask(t, config(t, saying(t, seq(textBlock(0, "some words"), msgStop)), once))
	if o.err != nil || !o.done.Usage.Estimated || o.done.Usage.Output == 0 || o.done.Usage.Input == 0 {
		t.Fatalf("%v %+v", o.err, o.done)
	}
}

func TestCompactionBlocksAreAssembled(t *testing.T) {
	o := ask(t, config(t, saying(t, seq(msgStart,
		`{"type":"content_block_start","index":0,"content_block":{"type":"compaction","content":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"compaction_delta","content":"All that was said."}}`,
		end(0), stop("end_turn"), msgStop)), once))
	want := []llm.Part{llm.Opaque{
		Provider: o.host,
		JSON:     json.RawMessage(`{"type":"compaction","content":"All that was said."}`),
	}}
	if o.err != nil || cmp.Diff(want, o.done.Parts) != "" {
		t.Fatalf("%v %+v", o.err, o.done)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(fixture(f))
	f.Add(seq(msgStart, callBlock(0, "t", `{"a`), end(0), stop("max_tokens"), msgStop))
	f.Add(`{"type":"message","content":[{"type":"tool_use","id":"a","name":"b","input":[1]}]}`)
	var text atomic.Pointer[string]
	url := serve(f, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, *text.Load())
	})
	c := config(f, url, once)
	f.Fuzz(func(t *testing.T, s string) {
		text.Store(&s)
		o := ask(t, c)
		if (o.done == nil) == (o.err == nil) {
			t.Fatalf("done %v, error %v", o.done, o.err)
		}
		if o.err != nil && llm.AsError(o.err) == nil {
			t.Fatalf("%T %v", o.err, o.err)
		}
		for _, call := range o.ready {
			if !isObject(call.Input) || call.Raw != "" {
				t.Fatalf("ready: %+v", call)
			}
		}
		if o.done == nil {
			return
		}
		m := newModel(t, "claude-sonnet-4-5", c).(*model)
		if e := m.encode(o.done); len(e.json) > 0 && !json.Valid(e.json[1:]) {
			t.Fatalf("%s", e.json)
		}
	})
}

// BenchmarkDecode reads a reply of 4,000 pieces of text, in events as Anthropic sends them.
func BenchmarkDecode(b *testing.B) {
	text := benchStream()
	m := newModel(b, "claude-sonnet-4-5", Config{
		BaseURL: "http://wire", APIKey: "k",
		HTTP: &http.Client{Transport: said(text)}, Retry: llm.RetryPolicy{Max: -1},
	})
	benchDecode(b, m, text)
}

// BenchmarkDecodeHTTP reads it from a server over loopback, whose work counts too.
func BenchmarkDecodeHTTP(b *testing.B) {
	text := benchStream()
	benchDecode(b, newModel(b, "claude-sonnet-4-5", config(b, saying(b, text), once)), text)
}

func benchStream() string {
	lines := []string{msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`}
	for i := range 4000 {
		lines = append(lines,
			fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a few words %d "}%s}`, i,
				strings.Repeat(" ", i%16)))
	}
	lines = append(lines, end(0))
	return seq(lines, callBlock(1, "t", `{"a":1}`), end(1), stop("tool_use"), msgStop)
}

func benchDecode(b *testing.B, m llm.Model, text string) {
	b.Helper()
	req := &llm.Request{Messages: []llm.Message{llm.UserText("hi")}}
	suite.Bench(b, len(text), 4006, func() {
		if o := run(b, m, req); o.err != nil || len(o.done.Parts) != 2 {
			b.Fatal(o.err)
		}
	})
}

// said answers every request with a stream, without a network.
type said string

func (s said) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(s))),
		Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r,
	}, nil
}

func TestStreamsOfGatewaysAreRead(t *testing.T) {
	start := `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	for name, row := range map[string]struct {
		body string
		want []llm.Part
	}{
		"a block that begins twice": {
			seq(msgStart, start, start, textBlock(0, "Hi")[1:], stop("end_turn"), msgStop),
			[]llm.Part{llm.Text{Text: "Hi"}},
		},
		"a lost content_block_stop": {
			seq(msgStart, textBlock(0, "Hi")[:2], textBlock(1, "Ho"), stop("end_turn"), msgStop),
			[]llm.Part{llm.Text{Text: "Hi"}, llm.Text{Text: "Ho"}},
		},
		"a signature that is not streamed": {
			seq(msgStart,
				`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"Hm.","signature":"s"}}`,
				end(0), stop("end_turn"), msgStop),
			[]llm.Part{llm.Reasoning{Text: "Hm.", Signature: "s"}},
		},
		"a call without a name": {
			seq(msgStart, callBlock(0, "a", ""), end(0), stop("tool_use"), msgStop),
			nil,
		},
	} {
		body := row.body
		if row.want == nil {
			body = strings.ReplaceAll(body, `"name":"Read"`, `"name":""`)
		}
		o := ask(t, config(t, saying(t, body), once))
		if o.err != nil {
			t.Errorf("%s: %v", name, o.err)
			continue
		}
		last := 0
		text, sig := "", ""
		for _, d := range o.deltas {
			index := last
			switch d := d.(type) {
			case llm.TextDelta:
				index, text = d.Index, text+d.Text
			case llm.ReasoningDelta:
				index, sig = d.Index, sig+d.Signature
			case llm.PartDone:
				index = d.Index
			case llm.ToolDelta:
				if index = d.Index; d.Name == "" {
					t.Errorf("%s: a delta of a call without a name", name)
				}
			}
			if index < last {
				t.Errorf("%s: the index of a delta went back from %d to %d", name, last, index)
			}
			last = index
		}
		for i, p := range row.want {
			if r, ok := p.(llm.Reasoning); ok {
				if r.Provider = o.host; sig != r.Signature {
					t.Errorf("%s: the deltas have the signature %q", name, sig)
				}
				row.want[i] = r
			}
		}
		if row.want == nil {
			if c := o.done.Calls(); len(c) != 1 || c[0].Raw == "" || len(o.ready) != 0 {
				t.Errorf("%s: %+v", name, c)
			}
		} else if diff := cmp.Diff(row.want, o.done.Parts); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
