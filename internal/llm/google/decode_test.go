package google

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/llm"
)

// wire answers every request with the same bytes, without a network.
type wire struct{ body []byte }

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	return &http.Response{
		StatusCode: 200, Body: io.NopCloser(bytes.NewReader(w.body)), Header: http.Header{},
		Request: r,
	}, nil
}

func run(t testing.TB, body string) (m *llm.Message, ready []llm.ToolCall, err error) {
	t.Helper()
	p := New(Config{
		BaseURL: "http://wire", HTTP: &http.Client{Transport: wire{[]byte(body)}},
		Retry: llm.RetryPolicy{Max: -1},
	})
	mod, err := p.Model(context.Background(), "gemini-3-flash-preview")
	if err != nil {
		t.Fatal(err)
	}
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

func sse(chunks ...string) string {
	return "data: " + strings.Join(chunks, "\r\n\r\ndata: ") + "\r\n\r\n"
}

func parts(list string) string {
	return `{"candidates":[{"content":{"role":"model","parts":[` + list +
		`]},"index":0}],"modelVersion":"m-1","responseId":"r1"}`
}

func finish(reason string) string {
	return `{"candidates":[{"finishReason":"` + reason +
		`","index":0}],"usageMetadata":{"promptTokenCount":30,"cachedContentTokenCount":10,"candidatesTokenCount":5,"thoughtsTokenCount":7,"toolUsePromptTokenCount":3}}`
}

const host = "google@wire"

func opaque(text string) *llm.Opaque {
	return &llm.Opaque{Provider: host, JSON: json.RawMessage(text)}
}

func TestRepliesAreDecoded(t *testing.T) {
	for name, row := range map[string]struct {
		body string
		want []llm.Part
		stop llm.StopReason
	}{
		"text in pieces": {
			sse(parts(`{"text":"Hel"}`), parts(`{"text":"lo"}`), finish("STOP")),
			[]llm.Part{llm.Text{Text: "Hello"}},
			llm.StopEndTurn,
		},
		"thoughts before text in one chunk": {
			sse(parts(`{"text":"Hm.","thought":true},{"text":"Yes."}`), finish("STOP")),
			[]llm.Part{llm.Reasoning{Text: "Hm.", Provider: host}, llm.Text{Text: "Yes."}},
			llm.StopEndTurn,
		},
		"parallel calls, the first one signed": {
			sse(
				parts(
					`{"functionCall":{"id":"a","name":"Read","args":{"x": 1}},"thoughtSignature":"s1"},{"functionCall":{"id":"b","name":"Bash"}}`), finish("STOP")),
			[]llm.Part{
				llm.ToolCall{
					ID: "a" + idMark(host), Name: "Read", Input: json.RawMessage(`{"x":1}`),
					Opaque: opaque(`{"thoughtSignature":"s1"}`),
				},
				llm.ToolCall{ID: "b" + idMark(host), Name: "Bash", Input: json.RawMessage(`{}`)},
			},
			llm.StopToolUse,
		},
		"a signature on an empty text at the end": {
			sse(parts(`{"text":"Done."}`), parts(`{"text":"","thoughtSignature":"s2"}`), finish("STOP")),
			[]llm.Part{llm.Text{Text: "Done.", Opaque: opaque(`{"thoughtSignature":"s2","apart":true}`)}},
			llm.StopEndTurn,
		},
		"text after a signed text is a part of its own": {
			sse(parts(`{"text":"One.","thoughtSignature":"s"}`), parts(`{"text":"Two."}`), finish("STOP")),
			[]llm.Part{llm.Text{Text: "One.", Opaque: opaque(`{"thoughtSignature":"s"}`)}, llm.Text{Text: "Two."}},
			llm.StopEndTurn,
		},
		"a stop for safety": {
			sse(parts(`{"text":"Well"}`), finish("SAFETY")),
			[]llm.Part{llm.Text{Text: "Well"}},
			llm.StopRefusal,
		},
		"a blocked prompt": {sse(`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}`), nil, llm.StopRefusal},
		"the output limit": {
			sse(parts(`{"text":"Wel"}`), finish("MAX_TOKENS")),
			[]llm.Part{llm.Text{Text: "Wel"}},
			llm.StopMaxTokens,
		},
		"a list instead of events": {
			"[" + parts(`{"text":"Hi"}`) + ",\n" + finish("STOP") + "]",
			[]llm.Part{llm.Text{Text: "Hi"}},
			llm.StopEndTurn,
		},
		"code that the server ran, a picture, and their signatures": {
			sse(parts(`{"text":"Let me compute."}`), parts(
				`{"executableCode":{"language":"PYTHON","code":"print(1)"},"thoughtSignature":"s1"},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1\n"}}`),
				parts(`{"text":"It is 1."},{"inlineData":{"mimeType":"image/png","data":"AQI="}}`), finish("STOP")),
			[]llm.Part{
				llm.Text{Text: "Let me compute."},
				llm.Opaque{Provider: host, JSON: json.RawMessage(
					`{"executableCode":{"language":"PYTHON","code":"print(1)"},"thoughtSignature":"s1"}`)},
				llm.Opaque{Provider: host, JSON: json.RawMessage(
					`{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1\n"}}`)},
				llm.Text{Text: "It is 1."},
				llm.Opaque{Provider: host, JSON: json.RawMessage(`{"inlineData":{"mimeType":"image/png","data":"AQI="}}`)},
			},
			llm.StopEndTurn,
		},
		"another candidate": {
			sse(parts(`{"text":"A"}`), `{"candidates":[{"index":1,"content":{"parts":[{"text":"B"}]}}]}`, finish("STOP")),
			[]llm.Part{llm.Text{Text: "A"}},
			llm.StopEndTurn,
		},
	} {
		m, ready, err := run(t, row.body)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(row.want, m.Parts, cmp.Comparer(
			func(a, b json.RawMessage) bool { return string(a) == string(b) })); diff != "" || m.Stop != row.stop {
			t.Errorf("%s: stop %s\n%s", name, m.Stop, diff)
		}
		if len(ready) != len(m.Calls()) {
			t.Errorf("%s: %d calls were ready", name, len(ready))
		}
	}
}

func TestUsageCountsCachedThoughtAndToolTokens(t *testing.T) {
	m, _, err := run(t, sse(parts(`{"text":"x"}`), finish("STOP")))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&llm.Usage{Input: 23, CacheRead: 10, Output: 12, Reasoning: 7}, m.Usage); diff != "" {
		t.Error(diff)
	}
}

func TestBrokenRepliesAreErrors(t *testing.T) {
	for body, want := range map[string]llm.ErrorKind{
		sse(parts(`{"text":"x"}`)):                            llm.KindNetwork,
		sse(parts(`{"functionCall":{"name":"R","args":{}}}`)): llm.KindNetwork,
		sse(
			`{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: print("}]}`): llm.KindProtocol,
		sse(parts(`{"text":"x"}`),
			`{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`): llm.KindOverloaded,
		sse(
			`{"error":{"code":400,"message":"The input token count (2) exceeds the maximum number of tokens allowed (1).","status":"INVALID_ARGUMENT"}}`): llm.KindTooLarge,
		`[{"error":{"code":429,"message":"Resource has been exhausted","status":"RESOURCE_EXHAUSTED"}}]`: llm.KindRateLimit,
		sse(`nonsense`): llm.KindProtocol,
	} {
		m, _, err := run(t, body)
		if e := llm.AsError(err); e == nil || e.Kind != want || m != nil {
			t.Errorf("%s\n\tgot %v %+v, want %s", body, m, err, want)
		}
	}
}

func TestARefusalSaysWhenToTryAgain(t *testing.T) {
	const body = `[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[
		{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}]},
		{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"38.5s"}]}}]`
	p := New(Config{
		BaseURL: "http://wire", Retry: llm.RetryPolicy{Max: -1},
		HTTP: &http.Client{Transport: status{429, body}},
	})
	m, err := p.Model(t.Context(), "gemini-2.5-flash")
	if err != nil {
		t.Fatal(err)
	}
	for _, err = range m.Stream(t.Context(), &llm.Request{Messages: []llm.Message{llm.UserText("x")}}) {
	}
	if e := llm.AsError(err); e == nil || e.Kind != llm.KindRateLimit || e.RetryAfter.Seconds() != 38.5 ||
		strings.Contains(e.Message, "{") {
		t.Errorf("%+v", e)
	}
}

type status struct {
	code int
	body string
}

func (s status) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	return &http.Response{
		StatusCode: s.code, Body: io.NopCloser(strings.NewReader(s.body)), Header: http.Header{},
		Request: r,
	}, nil
}

// checkSound tests what holds for any reply: a ready call has an object, and is in the message or the partial reply.
func checkSound(t *testing.T, m *llm.Message, ready []llm.ToolCall, err error) {
	t.Helper()
	if (m == nil) == (err == nil) {
		t.Fatalf("want either a message or an error: %+v, %v", m, err)
	}
	for _, c := range ready {
		if !llm.IsObject(c.Input) || c.Name == "" || c.ID == "" || c.Raw != "" {
			t.Errorf("a call was ready that cannot run: %+v", c)
		}
	}
	if m == nil {
		if e := llm.AsError(err); e != nil {
			m = e.Partial
		}
	}
	if len(ready) > 0 && (m == nil || len(m.Calls()) < len(ready)) {
		t.Errorf("%d calls were ready, and the reply is %+v", len(ready), m)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(sse(parts(`{"text":"Hm.","thought":true},{"text":"x","thoughtSignature":"s"}`), finish("STOP")))
	f.Add(sse(parts(`{"functionCall":{"name":"R","args":{"a":[1]}}},{"functionCall":{"name":"R","args":"{"}}`),
		finish("MAX_TOKENS")))
	f.Add("[" + parts(`{"text":"Hi"}`) + "," + finish("STOP") + "]")
	f.Add(sse(`{"promptFeedback":{"blockReason":"SAFETY"},"candidates":null}`))
	f.Fuzz(func(t *testing.T, body string) {
		m, ready, err := run(t, body)
		checkSound(t, m, ready, err)
	})
}

// TestRecordedReplies decodes recorded replies of real hosts, from a folder of JSON files that LATHE_RECORDINGS names,
// compares them with their own parts, and cuts them after each event.
func TestRecordedReplies(t *testing.T) {
	dir := os.Getenv("LATHE_RECORDINGS")
	if dir == "" {
		t.Skip("LATHE_RECORDINGS names no folder of recordings; the tables above have the forms that occur in them")
	}
	n := 0
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".json" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var r struct {
			Interactions []struct {
				Request  struct{ URL string }
				Response struct {
					Status int
					Body   string
				}
			}
		}
		if json.Unmarshal(b, &r) != nil {
			return nil // of another form
		}
		for _, i := range r.Interactions {
			if strings.Contains(i.Request.URL, "enerateContent") && i.Response.Status == 200 && i.Response.Body != "" {
				n++
				checkRecorded(t, path, i.Response.Body)
			}
		}
		return nil
	})
	if err != nil || n == 0 {
		t.Fatalf("%d replies in %s: %v", n, dir, err)
	}
	t.Logf("%d replies", n)
}

func checkRecorded(t *testing.T, path, body string) {
	t.Helper()
	text, thoughts, calls := "", "", []string{}
	for line := range strings.Lines(body) {
		var c chunk
		if data, ok := strings.CutPrefix(line, "data: "); ok && json.Unmarshal([]byte(data), &c) == nil {
			for _, raw := range c.Candidates[0].Content.Parts {
				var p wirePart
				if err := json.Unmarshal(raw, &p); err != nil {
					t.Fatal(err)
				}
				switch {
				case p.Call != nil:
					calls = append(calls, p.Call.Name+" "+string(llm.AppendCanonical(nil, p.Call.Args)))
				case p.Thought:
					thoughts += *p.Text
				case p.Text != nil:
					text += *p.Text
				}
			}
		}
	}
	m, ready, err := run(t, body)
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return
	}
	gotText, gotThoughts, gotCalls := "", "", []string{}
	for _, p := range m.Parts {
		switch p := p.(type) {
		case llm.Text:
			gotText += p.Text
		case llm.Reasoning:
			gotThoughts += p.Text
		case llm.ToolCall:
			gotCalls = append(gotCalls, p.Name+" "+string(p.Input))
		}
	}
	if diff := cmp.Diff([]any{text, thoughts, calls}, []any{gotText, gotThoughts, gotCalls}); diff != "" ||
		len(ready) != len(calls) || m.Usage.Estimated {
		t.Errorf("%s: %s", path, diff)
	}
	events := strings.SplitAfter(body, "\r\n\r\n")
	for i := range events[:len(events)-2] {
		m, ready, err := run(t, strings.Join(events[:i], ""))
		checkSound(t, m, ready, err)
		if err == nil {
			t.Errorf("%s: complete after %d of %d events", path, i, len(events))
		}
	}
}

func TestCountsThatOnlyAnEarlierChunkHasAreKept(t *testing.T) {
	m, _,
		err := run(t,
		sse(
			`{"candidates":[{"content":{"parts":[{"text":"x"}]}}],"usageMetadata":{"promptTokenCount":30,"thoughtsTokenCount":7,"totalTokenCount":37}}`,
			`{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"candidatesTokenCount":5,"promptTokenCount":30}}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&llm.Usage{Input: 30, Output: 12, Reasoning: 7}, m.Usage); diff != "" {
		t.Error(diff)
	}
}

func TestPartsThatLatheDoesNotInterpretGoBack(t *testing.T) {
	m := newModel(t, "gemini-2.5-pro", Config{BaseURL: "http://wire"})
	part := json.RawMessage(`{"executableCode":{"code":"1"},"thoughtSignature":"s"}`)
	body := string(m.body(&llm.Request{Messages: []llm.Message{llm.UserText("x"), {Role: llm.Assistant, Parts: []llm.Part{
		llm.Opaque{Provider: host, JSON: part},
		llm.Opaque{Provider: "other", JSON: json.RawMessage(`{"leak":{}}`)},
		llm.Text{Text: "y"},
	}}, llm.UserText("z")}}).Bytes())
	if !strings.Contains(body, `"parts":[`+string(part)+`,{"text":"y"}]`) || strings.Contains(body, "leak") {
		t.Error(body)
	}
}
