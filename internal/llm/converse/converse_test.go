package converse

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/llm/llmtest/suite"
)

var update = flag.Bool("update", false, "write the golden files")

// wire answers every request with the same bytes, without a network.
type wire struct {
	kind string
	body []byte
}

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	return &http.Response{
		StatusCode: 200, Body: io.NopCloser(bytes.NewReader(w.body)),
		Header: http.Header{"Content-Type": {w.kind}}, Request: r,
	}, nil
}

const stream = "application/vnd.amazon.eventstream"

func run(t testing.TB, kind string, body []byte) (m *llm.Message, ready []llm.ToolCall, err error) {
	t.Helper()
	mod := newModel(t, "us.amazon.nova-micro-v1:0", Config{
		BaseURL: "http://wire",
		HTTP:    &http.Client{Transport: wire{kind, body}}, Retry: llm.RetryPolicy{Max: -1},
	})
	for d, e := range mod.Stream(context.Background(), &llm.Request{Messages: []llm.Message{llm.UserText("x")}}) {
		switch d := d.(type) {
		case llm.ToolReady:
			ready = append(ready, d.Call)
		case llm.Done:
			m = &d.Message
		}
		err = e
	}
	return m, ready, err
}

// events encodes lines "name payload".
func events(lines ...string) []byte {
	var out []byte
	for _, line := range lines {
		name, payload, _ := strings.Cut(line, " ")
		out = append(out, llmtest.AWSFrame(name, []byte(payload))...)
	}
	return out
}

const (
	begun = `messageStart {"role":"assistant","p":"abc"}`
	meta  = `metadata {"usage":{"inputTokens":10,"outputTokens":5,"cacheReadInputTokens":3,"cacheWriteInputTokens":4,"cacheDetails":[{"ttl":"1h","inputTokens":1},{"ttl":"5m","inputTokens":3}]}}`
	host  = "bedrock@wire"
)

func stopped(why string) string { return `messageStop {"stopReason":"` + why + `"}` }

var rawEqual = cmp.Comparer(func(a, b json.RawMessage) bool { return string(a) == string(b) })

func TestRepliesAreDecoded(t *testing.T) {
	for name, row := range map[string]struct {
		body []byte
		want []llm.Part
		stop llm.StopReason
	}{
		"text, its members in any order": {
			events(begun, `contentBlockDelta {"contentBlockIndex":0,"delta":{"text":"Hel"},"p":"abcd"}`,
				`contentBlockDelta {"delta":{"text":"lo\n"},"contentBlockIndex":0}`, `contentBlockStop {"contentBlockIndex":0}`,
				stopped("end_turn"), meta),
			[]llm.Part{llm.Text{Text: "Hello\n"}},
			llm.StopEndTurn,
		},
		"calls beside an empty text": {
			events(begun, `contentBlockDelta {"contentBlockIndex":0,"delta":{"text":""}}`,
				`contentBlockStop {"contentBlockIndex":0}`,
				`contentBlockStart {"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"t1","name":"Read"}}}`,
				`contentBlockDelta {"contentBlockIndex":1,"delta":{"toolUse":{"input":"{\"a\":"}}}`,
				`contentBlockDelta {"contentBlockIndex":1,"delta":{"toolUse":{"input":"1}"}}}`,
				`contentBlockStop {"contentBlockIndex":1}`,
				`contentBlockStart {"contentBlockIndex":2,"start":{"toolUse":{"toolUseId":"t2","name":"Bash"}}}`,
				`contentBlockStop {"contentBlockIndex":2}`, stopped("tool_use"), meta),
			[]llm.Part{
				llm.ToolCall{ID: "t1", Name: "Read", Input: json.RawMessage(`{"a":1}`)},
				llm.ToolCall{ID: "t2", Name: "Bash", Input: json.RawMessage(`{}`)},
			},
			llm.StopToolUse,
		},
		"reasoning without a signature": {
			events(begun, `contentBlockDelta {"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"Hm."}}}`,
				`contentBlockStop {"contentBlockIndex":0}`, `contentBlockDelta {"contentBlockIndex":1,"delta":{"text":"Yes."}}`,
				stopped("end_turn"), meta),
			[]llm.Part{llm.Reasoning{Text: "Hm.", Provider: host}, llm.Text{Text: "Yes."}},
			llm.StopEndTurn,
		},
		"a tool of the server's, and citations": {
			events(begun,
				`contentBlockStart {"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"s1","name":"nova_grounding","type":"server_tool_use"}}}`, `contentBlockDelta {"contentBlockIndex":0,"delta":{"toolUse":{"input":"{\"q\":\"x\"}"}}}`, `contentBlockStop {"contentBlockIndex":0}`,
				`contentBlockStart {"contentBlockIndex":1,"start":{"toolResult":{"toolUseId":"s1","type":"nova_grounding_result"}}}`, `contentBlockDelta {"contentBlockIndex":1,"delta":{"toolResult":[{"json":{"n":1}}]}}`, `contentBlockStop {"contentBlockIndex":1}`,
				`contentBlockDelta {"contentBlockIndex":2,"delta":{"text":"Found."}}`,
				`contentBlockDelta {"contentBlockIndex":2,"delta":{"citation":{"title":"T"}}}`,
				`contentBlockStop {"contentBlockIndex":2}`, stopped("end_turn"), meta),
			[]llm.Part{
				llm.Opaque{Provider: host, JSON: json.RawMessage(
					`{"toolUse":{"toolUseId":"s1","name":"nova_grounding","type":"server_tool_use","input":{"q":"x"}}}`)},
				llm.Opaque{Provider: host, JSON: json.RawMessage(
					`{"toolResult":{"toolUseId":"s1","type":"nova_grounding_result","content":[{"json":{"n":1}}]}}`)},
				llm.Text{Text: "Found."},
			},
			llm.StopEndTurn,
		},
		"a guardrail": {
			events(begun,
				`contentBlockDelta {"contentBlockIndex":0,"delta":{"text":"No."}}`, stopped("guardrail_intervened"), meta),
			[]llm.Part{llm.Text{Text: "No."}},
			llm.StopRefusal,
		},
		"a call that the output limit cut": {
			events(begun,
				`contentBlockStart {"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"t1","name":"Read"}}}`,
				`contentBlockDelta {"contentBlockIndex":0,"delta":{"toolUse":{"input":"{\"a\":"}}}`, stopped("max_tokens"), meta),
			nil, llm.StopMaxTokens,
		},
	} {
		m, ready, err := run(t, stream, row.body)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(row.want, m.Parts, rawEqual); diff != "" || m.Stop != row.stop || len(ready) != len(m.Calls()) {
			t.Errorf("%s: stop %s, %d ready\n%s", name, m.Stop, len(ready), diff)
		}
		if diff := cmp.Diff(&llm.Usage{Input: 10, Output: 5, CacheRead: 3, CacheWrite: 4, CacheWrite1h: 1},
			m.Usage); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestWholeRepliesAreDecoded(t *testing.T) {
	m, ready, err := run(t, "application/json", []byte(`{"output":{"message":{"role":"assistant","content":[
		{"reasoningContent":{"reasoningText":{"text":"Hm.","signature":"s"}}},{"citationsContent":{"content":[{"text":"Cited"}],"citations":[]}},
		{"text":"Look"},{"toolUse":{"toolUseId":"t1","name":"Read","input":{"a": 1}}},{"searchResult":{"x":1}}]}},"stopReason":"tool_use","usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3}}`))
	want := []llm.Part{
		llm.Reasoning{Text: "Hm.", Signature: "s", Provider: host},
		llm.Text{Text: "Cited"},
		llm.Text{Text: "Look"},
		llm.ToolCall{ID: "t1", Name: "Read", Input: json.RawMessage(`{"a":1}`)},
		llm.Opaque{Provider: host, JSON: json.RawMessage(`{"searchResult":{"x":1}}`)},
	}
	if err != nil || len(ready) != 1 || m.Stop != llm.StopToolUse {
		t.Fatalf("%+v %v", m, err)
	}
	if diff := cmp.Diff(want, m.Parts, rawEqual); diff != "" {
		t.Error(diff)
	}
}

func TestBrokenStreamsAreErrors(t *testing.T) {
	text := `contentBlockDelta {"contentBlockIndex":0,"delta":{"text":"x"}}`
	for name, row := range map[string]struct {
		body []byte
		want llm.ErrorKind
	}{
		"no end":            {events(begun, text), llm.KindNetwork},
		"a damaged message": {append(events(begun, text), "nonsense, for many bytes"...), llm.KindProtocol},
		"throttled": {events(begun, text,
			`!throttlingException {"message":"Too many tokens, please wait"}`), llm.KindRateLimit},
		"overloaded": {
			events(begun, text, `!serviceUnavailableException {"message":"busy"}`),
			llm.KindOverloaded,
		},
		"a block goes on": {events(begun, text, `contentBlockStop {"contentBlockIndex":0}`, text,
			stopped("end_turn"), meta), llm.KindProtocol},
		"a call without beginning": {
			events(begun,
				`contentBlockDelta {"contentBlockIndex":0,"delta":{"toolUse":{"input":"{}"}}}`, stopped("tool_use"), meta),
			llm.KindProtocol,
		},
		"a call that the model lost": {events(begun, stopped("malformed_tool_use"), meta), llm.KindProtocol},
	} {
		m, ready, err := run(t, stream, row.body)
		if e := llm.AsError(err); e == nil || e.Kind != row.want || m != nil || len(ready) > 0 {
			t.Errorf("%s: %v, %+v", name, err, m)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(stream,
		events(begun, `contentBlockStart {"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"t1","name":"Read"}}}`,
			`contentBlockDelta {"contentBlockIndex":0,"delta":{"toolUse":{"input":"{}"}}}`, stopped("tool_use"), meta))
	f.Add("application/json",
		[]byte(
			`{"output":{"message":{"content":[{"text":"x"},{"toolUse":{"toolUseId":"a","name":"b","input":{}}}]}},"stopReason":"end_turn"}`))
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		m, ready, err := run(t, kind, body)
		if (m == nil) == (err == nil) {
			t.Fatalf("want either a message or an error: %+v, %v", m, err)
		}
		for _, c := range ready {
			if !llm.IsObject(c.Input) || c.Name == "" || c.ID == "" || c.Raw != "" {
				t.Errorf("a call was ready that cannot run: %+v", c)
			}
		}
	})
}

// conversation has everything that a request may have.
func conversation() *llm.Request {
	a := llm.ToolCall{ID: "t1", Name: "Read", Input: json.RawMessage(`{"file_path":"/a"}`)}
	b := llm.ToolCall{ID: "call|odd id", Name: "Bash", Input: json.RawMessage(`{"command":"false"}`)}
	pdf := llm.Media{MIME: "application/pdf", Data: []byte("%PDF"), Name: "dir/my report_v1.0.pdf"}
	return &llm.Request{
		System: []llm.Part{llm.Text{Text: "Be brief."}},
		Tools: []llm.ToolSpec{{
			Name: "Read", Description: "Reads.",
			Schema: json.RawMessage(`{"type":"object","properties":{"file_path":{"type":"string"}}}`),
		}},
		Messages: []llm.Message{
			{Role: llm.User, Parts: []llm.Part{
				llm.Text{Text: "look"},
				llm.Media{MIME: "image/png", Data: []byte{1, 2}},
				pdf,
				llm.Text{Text: "  "},
			}},
			{Role: llm.Assistant, Parts: []llm.Part{
				llm.Reasoning{Text: "Hm.", Signature: "sig", Provider: host},
				llm.Reasoning{Text: "of another", Signature: "x", Provider: "other"},
				llm.Reasoning{Data: "cmVk", Provider: host},
				llm.Text{Text: "Both."},
				a, b,
			}},
			{Role: llm.User, Parts: []llm.Part{
				llm.TextResult(a, "package a", false), llm.TextResult(b, "", true),
				llm.Text{Text: "also b"},
			}},
			{Role: llm.User, Parts: []llm.Part{llm.Text{Text: "and c"}}},
		},
		Stop: []string{"END"},
	}
}

func TestRequestsAreAsTheGoldenFiles(t *testing.T) {
	for name, row := range map[string]struct{ model, effort, choice string }{
		"claude": {"us.anthropic.claude-opus-4-6-v1", "high", ""},
		"nova":   {"amazon.nova-pro-v1:0", "", "any"},
		"llama":  {"us.meta.llama4-scout-17b-instruct-v1:0", "", "Read"},
		"gptoss": {"openai.gpt-oss-120b-1:0", "high", ""},
	} {
		m := newModel(t, row.model, Config{BaseURL: "http://wire"})
		req := conversation()
		req.Effort, req.ToolChoice = llm.Effort(row.effort), row.choice
		var out bytes.Buffer
		if err := json.Indent(&out, m.body(req).Bytes(), "", " "); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name+".json")
		if *update {
			if err := os.WriteFile(path, append(out.Bytes(), '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || string(want) != out.String()+"\n" {
			t.Errorf("%s (%v): got\n%s", path, err, out.String())
		}
	}
}

func TestModelsThatCannotStreamWithToolsAnswerAtOnce(t *testing.T) {
	for id, want := range map[string]string{
		"us.meta.llama3-3-70b-instruct-v1:0": "http://wire/model/us.meta.llama3-3-70b-instruct-v1%3A0/converse",
		"amazon.nova-micro-v1:0":             "http://wire/model/amazon.nova-micro-v1%3A0/converse-stream",
	} {
		if got := newModel(t, id, Config{BaseURL: "http://wire/"}).url(conversation()); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}

func TestAConversationWithCallsDeclaresTheirTools(t *testing.T) {
	req := conversation()
	req.Tools = nil
	if body := string(newModel(t, "amazon.nova-micro-v1:0", Config{}).body(req).Bytes()); !strings.Contains(body,
		`"toolConfig":{"tools":[{"toolSpec":{"name":"Read"`) {
		t.Error(body)
	}
}

func TestModelsAreFoundInTheCatalogue(t *testing.T) {
	for _, id := range []string{
		"us.amazon.nova-pro-v1:0", "amazon.nova-pro-v1:0",
		"arn:aws:bedrock:us-east-1:1:inference-profile/us.amazon.nova-pro-v1:0",
		"eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
	} {
		if info := newModel(t, id, Config{}).Info(); !info.Known || info.Price.Input == 0 || info.ID != id {
			t.Errorf("%+v", info)
		}
	}
}

// BenchmarkDecode measures the decoder with its framing.
func BenchmarkDecode(b *testing.B) {
	lines := []string{begun}
	for i := range 2000 {
		lines = append(lines, `contentBlockDelta {"contentBlockIndex":0,"delta":{"text":" some more words of text"},"p":"`+
			"abcdefghijklmnopqrstuvwxyzABCDEFG"[:i%33]+`"}`)
	}
	body := events(append(lines, `contentBlockStop {"contentBlockIndex":0}`, stopped("end_turn"), meta)...)
	suite.Bench(b, len(body), len(lines), func() {
		if _, _, err := run(b, stream, body); err != nil {
			b.Fatal(err)
		}
	})
}

func TestATemperatureIsSentToModelsThatTakeOne(t *testing.T) {
	cold := 0.25
	req := &llm.Request{Messages: []llm.Message{llm.UserText("x")}, Temperature: &cold, MaxTokens: 100}
	if body := string(newModel(t, "amazon.nova-micro-v1:0", Config{}).body(req).Bytes()); !strings.Contains(body,
		`"inferenceConfig":{"maxTokens":100,"temperature":0.25}`) {
		t.Error(body)
	}
	if body := string(newModel(t, "anthropic.claude-opus-4-8", Config{}).body(req).Bytes()); strings.Contains(body,
		"temperature") {
		t.Errorf("a model that thinks gets a temperature: %s", body)
	}
}

func TestNumbersInOtherFormsAreRead(t *testing.T) {
	m, ready, err := run(t, stream, events(begun,
		`contentBlockStart {"contentBlockIndex":0.0,"start":{"toolUse":{"toolUseId":7,"name":"Bash"}}}`,
		`contentBlockDelta {"contentBlockIndex":"0","delta":{"toolUse":{"input":"{}"}}}`,
		`contentBlockStop {"contentBlockIndex":0}`, stopped("tool_use"),
		`metadata {"usage":{"inputTokens":9.0,"outputTokens":"2"}}`))
	if err != nil || len(ready) != 1 || ready[0].ID != "7" || m.Usage.Input != 9 || m.Usage.Output != 2 ||
		m.Usage.Estimated {
		t.Errorf("%v %+v %+v", err, m, ready)
	}
}
