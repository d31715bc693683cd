package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest/suite"
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

// sse makes a stream of data lines.
func sse(lines ...string) string {
	return "data: " + strings.Join(lines, "\n\ndata: ") + "\n\n"
}

// delta is a chunk with one delta; finish is the finish_reason of a chunk without one.
func delta(s string) string {
	return `{"id":"c1","model":"m-1","choices":[{"index":0,"delta":{` + s + `},"finish_reason":null}]}`
}

func finish(reason string) string {
	return `{"id":"c1","model":"m-1","choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
}

func calls(s string) string { return delta(`"tool_calls":[` + s + `]`) }

const done = "[DONE]"

func run(t testing.TB, body string, history ...llm.Message) (parts []llm.Part, m *llm.Message, ready []llm.ToolCall,
	err error,
) {
	t.Helper()
	return runAPI(t, false, body, history...)
}

func runAPI(t testing.TB, responses bool, body string, history ...llm.Message) (parts []llm.Part, m *llm.Message,
	ready []llm.ToolCall, err error,
) {
	t.Helper()
	p := New(Config{
		BaseURL: "http://wire", HTTP: &http.Client{Transport: wire{[]byte(body)}},
		Retry: llm.RetryPolicy{Max: -1}, Responses: responses,
	})
	mod, err := p.Model(context.Background(), "m")
	if err != nil {
		t.Fatal(err)
	}
	for d, e := range mod.Stream(context.Background(), &llm.Request{Messages: append(history, llm.UserText("x"))}) {
		switch d := d.(type) {
		case llm.ToolReady:
			ready = append(ready, d.Call)
		case llm.Done:
			m, parts = &d.Message, d.Message.Parts
		}
		err = e
	}
	return parts, m, ready, err
}

// names lists calls as "name input", ids left out.
func names(cs []llm.ToolCall) []string {
	out := []string{}
	for _, c := range cs {
		out = append(out, c.Name+" "+string(c.Input))
	}
	return out
}

func TestCallsAreToldApart(t *testing.T) {
	two := []string{`a {"x":1}`, `b {"x":2}`}
	for name, row := range map[string]struct {
		lines []string
		want  []string
	}{
		"one index and no ids, whole calls": {[]string{
			calls(`{"index":0,"function":{"name":"a","arguments":"{\"x\":1}"}}`),
			calls(`{"index":0,"function":{"name":"b","arguments":"{\"x\":2}"}}`),
		}, two},
		"one index and different ids": {[]string{
			calls(`{"index":0,"id":"1","function":{"name":"a","arguments":"{\"x\""}}`),
			calls(`{"index":0,"id":"1","function":{"arguments":":1}"}}`),
			calls(`{"index":0,"id":"2","function":{"name":"b","arguments":"{\"x\":2}"}}`),
		}, two},
		"no index, no ids, pieces": {[]string{
			calls(`{"function":{"name":"a","arguments":"{\"x\""}}`), calls(`{"function":{"arguments":":1}"}}`),
			calls(`{"function":{"name":"b"}}`), calls(`{"function":{"arguments":"{\"x\":2}"}}`),
		}, two},
		"indexes from one, pieces mixed": {[]string{
			calls(`{"index":1,"id":"1","function":{"name":"a","arguments":"{\"x\""}}`),
			calls(`{"index":2,"id":"2","function":{"name":"b","arguments":"{\"x\":"}}`),
			calls(`{"index":1,"function":{"arguments":":1}"}},{"index":2,"function":{"arguments":"2}"}}`),
		}, two},
		"the name in every piece": {[]string{
			calls(`{"index":0,"id":"1","function":{"name":"a","arguments":"{\"x\""}}`),
			calls(`{"index":0,"function":{"name":"a","arguments":":1}"}}`),
			calls(`{"index":1,"id":"2","function":{"name":"b","arguments":"{\"x\":2}"}}`),
		}, two},
		"the name in pieces": {[]string{
			calls(`{"index":0,"id":"1","function":{"arguments":""}}`), calls(`{"index":0,"function":{"name":"long_"}}`),
		}, nil},
		"the same call again at the end": {[]string{
			calls(`{"index":0,"id":"1","function":{"name":"a","arguments":"{\"x\":1}"}}`),
			calls(`{"index":1,"id":"2","function":{"name":"b","arguments":"{\"x\":2}"}}`),
			calls(`{"index":0,"id":"1","function":{"name":"a","arguments":"{\"x\":1}"}}`),
		}, two},
		"an object, twice": {[]string{
			calls(`{"index":0,"id":"1","function":{"name":"a","arguments":{"x":1}}}`),
			calls(`{"index":0,"id":"1","function":{"name":"a","arguments":{"x":1}}}`),
			calls(`{"index":1,"id":"2","function":{"name":"b","arguments":{"x":2}}}`),
		}, two},
		"empty object before the real one": {[]string{
			calls(`{"index":0,"id":"1","function":{"name":"a","arguments":""}}`),
			calls(`{"index":0,"function":{"arguments":null}}`),
			calls(`{"index":0,"function":{"arguments":"{\"x\":1}"}}`),
			calls(`{"index":1,"id":"2","function":{"name":"b","arguments":"{\"x\":2}"}}`),
		}, two},
		"text between": {[]string{
			calls(`{"index":0,"id":"1","function":{"name":"a","arguments":"{\"x\":1}"}}`), delta(`"content":"\n\n"`),
			calls(`{"index":1,"id":"2","function":{"name":"b","arguments":"{\"x\":2}"}}`),
		}, two},
	} {
		t.Run(name, func(t *testing.T) {
			parts, m, ready, err := run(t, sse(append(row.lines, finish("tool_calls"), done)...))
			if err != nil {
				t.Fatal(err)
			}
			if row.want == nil {
				if len(parts) != 1 {
					t.Errorf("parts: %+v", parts)
				}
				return
			}
			if diff := cmp.Diff(row.want, names(m.Calls())); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(row.want, names(ready)); diff != "" {
				t.Errorf("ready: %s", diff)
			}
		})
	}
}

func TestACallThatGoesOnAfterItsEndBreaksTheReply(t *testing.T) {
	_, _, ready, err := run(t, sse(
		calls(`{"index":0,"id":"1","function":{"name":"a","arguments":"{}"}}`),
		calls(`{"index":1,"id":"2","function":{"name":"b","arguments":"{\"x\""}}`),
		calls(`{"index":0,"function":{"arguments":"{\"late\":1}"}}`), finish("stop"), done))
	e := llm.AsError(err)
	if e == nil || e.Kind != llm.KindProtocol || len(ready) != 1 || e.Partial == nil || len(e.Partial.Parts) != 1 {
		t.Errorf("ready %v, error %+v", ready, e)
	}
}

func TestIDsAreUniqueInTheConversation(t *testing.T) {
	old := llm.ToolCall{ID: "call_0", Name: "a", Input: []byte("{}")}
	_, m, _, err := run(t, sse(calls(`{"index":0,"id":"call_0","function":{"name":"a","arguments":"{}"}}`),
		finish("tool_calls"), done),
		llm.Message{Role: llm.Assistant, Parts: []llm.Part{old}},
		llm.Message{Role: llm.User, Parts: []llm.Part{llm.TextResult(old, "x", false)}})
	if err != nil {
		t.Fatal(err)
	}
	if id := m.Calls()[0].ID; id == "call_0" || id == "" || len(id) > 40 {
		t.Errorf("id %q", id)
	}
}

func TestEndsOfReplies(t *testing.T) {
	text, open := delta(`"content":"hi"`), calls(`{"index":0,"id":"1","function":{"name":"a","arguments":"{\"x\""}}`)
	for name, row := range map[string]struct {
		body string
		stop llm.StopReason // "" for an error
		kind llm.ErrorKind
	}{
		"stop":                         {sse(text, finish("stop"), done), llm.StopEndTurn, ""},
		"no [DONE]":                    {sse(text, finish("stop")), llm.StopEndTurn, ""},
		"[DONE] without blank line":    {strings.TrimSpace(sse(text, finish("stop"), done)), llm.StopEndTurn, ""},
		"[DONE] without finish_reason": {sse(text, done), llm.StopEndTurn, ""},
		"neither":                      {sse(text), "", llm.KindNetwork},
		"only [DONE]":                  {sse(done), "", llm.KindNetwork},
		"[DONE] inside a call":         {sse(open, done), "", llm.KindNetwork},
		"empty":                        {sse(finish("stop"), done), llm.StopEndTurn, ""},
		"length":                       {sse(text, finish("length"), done), llm.StopMaxTokens, ""},
		"filter":                       {sse(text, finish("content_filter"), done), llm.StopRefusal, ""},
		"refusal text":                 {sse(delta(`"refusal":"no"`), finish("stop"), done), llm.StopRefusal, ""},
		"tool_calls without":           {sse(text, finish("tool_calls"), done), llm.StopEndTurn, ""},
		"unknown":                      {sse(text, finish("eos_token"), done), llm.StopEndTurn, ""},
		"error as finish_reason":       {sse(text, finish("error")), "", llm.KindServer},
		"no resources (DeepSeek)":      {sse(text, finish("insufficient_system_resource")), "", llm.KindOverloaded},
		"error object":                 {sse(text, `{"error":{"message":"m","code":429}}`), "", llm.KindRateLimit},
		"error in a choice (OpenRouter)": {sse(text,
			`{"choices":[{"index":0,"error":{"code":502,"message":"m"},"delta":{}}]}`), "", llm.KindServer},
		"error event": {"event: error\ndata: " +
			"{\"error\":{\"type\":\"overloaded_error\",\"message\":\"m\"}}\n\n", "", llm.KindOverloaded},
		"error event without object": {"event: error\ndata: {\"message\":\"m\"}\n\n", "", llm.KindServer},
		"invalid request inside 200": {
			sse(`{"error":{"message":"m","type":"invalid_request_error"}}`), "",
			llm.KindInvalid,
		},
		"array":                   {sse(text, `[1,2]`), "", llm.KindProtocol},
		"number":                  {sse(text, `7`), "", llm.KindProtocol},
		"content of another kind": {sse(delta(`"content":{"a":1}`)), "", llm.KindProtocol},
		"arguments of another kind": {
			sse(calls(`{"index":0,"function":{"name":"a","arguments":7}}`)), "",
			llm.KindProtocol,
		},
		"other choices": {
			sse(text,
				`{"choices":[{"index":1,"delta":{"content":"no"},"finish_reason":"length"}]}`, finish("stop"), done),
			llm.StopEndTurn, "",
		},
		"finish_reason twice":            {sse(text, finish("stop"), finish("stop"), done), llm.StopEndTurn, ""},
		"unfinished JSON at the end":     {sse(text, finish("stop")) + `data: {"choi`, llm.StopEndTurn, ""},
		"unfinished JSON before the end": {sse(text) + `data: {"choi`, "", llm.KindNetwork},
		"whole, without choices":         {`{"object":"error","note":"m"}`, "", llm.KindProtocol},
		"whole, an error":                {`{"error":{"message":"m","type":"server_error"}}`, "", llm.KindServer},
		"whole, without finish_reason":   {`{"choices":[{"index":0,"message":{"content":"hi"}}]}`, llm.StopEndTurn, ""},
		"whole, cut":                     {`{"choices":[{"index":0,"message":{"content":"hi`, "", llm.KindNetwork},
		"whole, broken":                  {`{"choices":[{"index":0,"message":{"content":"hi"}}]]}`, "", llm.KindProtocol},
		"a field of the wrong kind":      {sse(`{"choices":"none"}`), "", llm.KindProtocol},
		"reasoning as an object is left out": {sse(delta(`"reasoning":{"effort":"high"},"content":"hi"`), finish("stop"),
			done), llm.StopEndTurn, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, m, _, err := run(t, row.body)
			e := llm.AsError(err)
			switch {
			case row.stop != "" && (err != nil || m.Stop != row.stop):
				t.Errorf("got %+v, %v; want %s", m, err, row.stop)
			case row.stop == "" && (e == nil || e.Kind != row.kind):
				t.Errorf("got %+v, %v; want %s", m, err, row.kind)
			}
		})
	}
}

func TestTextAndReasoningComeInTheirOrder(t *testing.T) {
	parts, _, _, err := run(t, sse(
		delta(`"content":"\n"`), delta(`"reasoning_content":"a","reasoning":"a"`), delta(`"reasoning":"b"`),
		delta(`"reasoning_details":[{"type":"reasoning.text","text":"c"},{"type":"reasoning.summary","summary":"d"}]`),
		delta(`"content":""`), delta(`"content":"\n\n"`), delta(`"content":"text"`), delta(`"content":" "`),
		delta(`"reasoning_content":"more"`),
		delta(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"x"}]},{"type":"text","text":"y"}]`),
		finish("stop"), done))
	if err != nil {
		t.Fatal(err)
	}
	const host = "openai@wire"
	details := &llm.Opaque{Provider: host, JSON: []byte(
		`{"reasoning_details":[{"type":"reasoning.text","text":"c"},{"type":"reasoning.summary","summary":"d"}]}`)}
	want := []llm.Part{
		llm.Reasoning{Text: "abcd", Provider: host, Opaque: details},
		llm.Text{Text: "\n\n\ntext "},
		llm.Reasoning{Text: "morex", Provider: host},
		llm.Text{Text: "y"},
	}
	if diff := cmp.Diff(want, parts); diff != "" {
		t.Error(diff)
	}
}

func TestUsageOfDifferentServers(t *testing.T) {
	dollars := func(f float64) *float64 { return &f }
	for in, want := range map[string]llm.Usage{
		`"usage":{"prompt_tokens":100,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":60},"completion_tokens_details":{"reasoning_tokens":2}}`: {Input: 40, CacheRead: 60, Output: 5, Reasoning: 2},
		`"usage":{"prompt_tokens":100,"completion_tokens":5,"prompt_cache_hit_tokens":30,"prompt_cache_miss_tokens":70}`:                                      {Input: 70, CacheRead: 30, Output: 5},
		`"usage":{"prompt_tokens":100,"completion_tokens":5,"cached_tokens":10}`:                                                                              {Input: 90, CacheRead: 10, Output: 5},
		`"usage":{"prompt_tokens":100,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":10,"cache_write_tokens":20}}`:                            {Input: 70, CacheRead: 10, CacheWrite: 20, Output: 5},
		`"usage":{"prompt_tokens":100,"completion_tokens":5,"total_tokens":125,"completion_tokens_details":{"reasoning_tokens":20}}`:                          {Input: 100, Output: 25, Reasoning: 20},
		`"usage":{"prompt_tokens":1,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":10}}`:                                                      {CacheRead: 1, Output: 5},
		`"usage":{"prompt_tokens":9,"completion_tokens":5,"cost":0.0009,"is_byok":false,"cost_details":{"upstream_inference_cost":0.0008}}`:                   {Input: 9, Output: 5, CostUSD: dollars(0.0009)},
		`"usage":{"prompt_tokens":9,"completion_tokens":5,"cost":0.25,"is_byok":true,"cost_details":{"upstream_inference_cost":0.5}}`:                         {Input: 9, Output: 5, CostUSD: dollars(0.75)},
		`"usage":{"prompt_tokens":9,"completion_tokens":5,"cost":0.25,"is_byok":true}`:                                                                        {Input: 9, Output: 5},
		`"usage":{"prompt_tokens":9,"completion_tokens":5,"cost":{"usd":1},"is_byok":"no"}`:                                                                   {Input: 9, Output: 5},
		`"usage":{"prompt_tokens":9,"completion_tokens":5,"cost":null}`:                                                                                       {Input: 9, Output: 5},
		`"x_groq":{"usage":{"prompt_tokens":9,"completion_tokens":5}}`:                                                                                        {Input: 9, Output: 5},
	} {
		_, m, _, err := run(t, sse(delta(`"content":"hi"`), finish("stop"), `{"choices":[],`+in+`}`, done))
		if err != nil || cmp.Diff(want, *m.Usage) != "" {
			t.Errorf("%s\n\tgot %+v, %v", in, m.Usage, err)
		}
	}
	for _, in := range []string{`"usage":null`, `"usage":{"prompt_tokens":0,"completion_tokens":0}`} {
		if _, m, _, err := run(t, sse(delta(`"content":"hi"`), finish("stop"), `{"choices":[],`+in+`}`, done)); err != nil ||
			!m.Usage.Estimated {
			t.Errorf("%s: %+v, %v", in, m, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(sse(delta(`"content":"hi"`), calls(`{"index":0,"id":"1","function":{"name":"a","arguments":"{}"}}`),
		finish("tool_calls"), done))
	f.Add(sse(calls(`{"function":{"name":"a","arguments":{"x":1}}}`), calls(`{"index":3,"function":{"arguments":"{"}}`),
		finish("length")))
	f.Add(sse(delta(`"reasoning":"x","content":[{"type":"text","text":"y"}]`), `{"error":"x"}`))
	f.Add(`{"choices":[{"message":{"content":"x","tool_calls":[{"function":{}}]},"finish_reason":"stop"}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		parts, m, ready, err := run(t, body)
		checkSound(t, parts, m, ready, err)
	})
}

// checkSound: a reply ends with a message or an error, and no call is ready that is not whole.
func checkSound(t *testing.T, parts []llm.Part, m *llm.Message, ready []llm.ToolCall, err error) {
	t.Helper()
	if (m == nil) == (err == nil) {
		t.Fatalf("message %v, error %v", m, err)
	}
	sound := map[string]bool{}
	for _, p := range parts {
		if c, ok := p.(llm.ToolCall); ok {
			if c.ID == "" || sound[c.ID] || c.Raw == "" && !llm.IsObject(c.Input) {
				t.Fatalf("bad call %+v", c)
			}
			sound[c.ID] = true
		}
	}
	for _, c := range ready {
		if !llm.IsObject(c.Input) || c.Name == "" || err == nil && !sound[c.ID] {
			t.Fatalf("ready: %+v", c)
		}
	}
}

// BenchmarkDecode reads a reply of 2,000 pieces of text and 20 calls of 100 pieces each, in events as OpenAI sends
// them.
func BenchmarkDecode(b *testing.B) {
	var lines []string
	add := func(delta string) {
		lines = append(lines,
			fmt.Sprintf(
				`{"id":"chatcmpl-AbCdEfGhIjKlMnOpQrStUvWxYz012","object":"chat.completion.chunk","created":1780429944,"model":"gpt-4o-mini-2024-07-18",`+
					`"service_tier":"default","system_fingerprint":"fp_0123456789","choices":[{"index":0,"delta":{%s},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"%s"}`,
				delta, "aBcDeFgHiJkLm"[:len(lines)%13]))
	}
	for i := range 2000 {
		add(fmt.Sprintf(`"content":"word%d \u00e9 more "`, i))
	}
	for c := range 20 {
		add(
			fmt.Sprintf(
				`"tool_calls":[{"index":%d,"id":"call_%d","type":"function","function":{"name":"Bash","arguments":"{\"command\":\""}}]`, c, c))
		for range 98 {
			add(fmt.Sprintf(`"tool_calls":[{"index":%d,"function":{"arguments":"echo 1; "}}]`, c))
		}
		add(fmt.Sprintf(`"tool_calls":[{"index":%d,"function":{"arguments":"\"}"}}]`, c))
	}
	body := sse(append(lines, finish("tool_calls"), done)...)
	suite.Bench(b, len(body), len(lines), func() {
		if _, m, ready, err := run(b, body); err != nil || len(ready) != 20 || len(m.Parts) != 21 {
			b.Fatal(err)
		}
	})
}

// Some servers repeat finish_reason after each call, and the stream may be cut after the first.
func TestAFinishReasonIsNoEndWhileCallsFollow(t *testing.T) {
	first := delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"Read","arguments":"{}"}}]`)
	second := delta(`"tool_calls":[{"index":1,"id":"b","function":{"name":"Bash","arguments":"{}"}}]`)
	p, m, ready, err := run(t, sse(first, finish("tool_calls"), second, finish("tool_calls"), done))
	if err != nil || len(p) != 2 || len(ready) != 2 || m.Stop != llm.StopToolUse {
		t.Errorf("%+v %v %v", p, ready, err)
	}
	if _, m, _, err := run(t, sse(first, finish("tool_calls"), second)); err == nil {
		t.Errorf("complete although a call came after the last finish_reason: %+v", m)
	}
	for base, whole := range map[string]bool{
		"https://openrouter.ai/api/v1": false, "https://api.z.ai/api/paas/v4": false,
		"http://wire": true,
	} {
		p := New(Config{
			BaseURL: base, HTTP: &http.Client{Transport: wire{[]byte(sse(first, finish("tool_calls")))}},
			Retry: llm.RetryPolicy{Max: -1},
		})
		mod, err := p.Model(t.Context(), "m")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range mod.Stream(t.Context(), &llm.Request{Messages: []llm.Message{llm.UserText("x")}}) {
			err = e
		}
		if (err == nil) != whole {
			t.Errorf("%s without [DONE]: %v", base, err)
		}
	}
}

func TestIDAndModelMayComeLate(t *testing.T) {
	_, m, _, err := run(t, sse(`{"choices":[{"index":0,"delta":{"content":"x"}}]}`, delta(`"content":"y"`),
		finish("stop"), done))
	if err != nil || m.ID != "c1" || m.Model != "m-1" {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestACallWithoutANameIsKeptAndNeverReady(t *testing.T) {
	p, _, ready, err := run(t, sse(delta(`"tool_calls":[{"index":0,"id":"a","function":{"arguments":""}}]`),
		finish("tool_calls"), done))
	if err != nil || len(ready) != 0 || len(p) != 1 {
		t.Fatalf("%+v %v %v", p, ready, err)
	}
	if c := p[0].(llm.ToolCall); c.Raw == "" || c.Name == "" {
		t.Errorf("%+v", c)
	}
}

func TestTheReportedCostIsReadInEveryForm(t *testing.T) {
	for usage, want := range map[string]string{
		`"cost":0.5`:                   "0.5",
		`"cost":"0.25"`:                "0.25",
		`"cost_in_usd_ticks":12500000`: "0.00125",
		`"cost":null`:                  "none",
		`"cost":{"total":1}`:           "none",
		`"x":1`:                        "none",
	} {
		_, m, _, err := run(t, sse(delta(`"content":"x"`), finish("stop"),
			`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,`+usage+`}}`, done))
		if err != nil {
			t.Fatal(err)
		}
		got := "none"
		if m.Usage.CostUSD != nil {
			got = fmt.Sprint(*m.Usage.CostUSD)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", usage, got, want)
		}
	}
}

func TestReasoningBesideTheCompletionIsCounted(t *testing.T) {
	for usage, want := range map[string]int{
		`"completion_tokens":10,"total_tokens":110,"completion_tokens_details":{"reasoning_tokens":4}`:  10,
		`"completion_tokens":10,"total_tokens":160,"completion_tokens_details":{"reasoning_tokens":50}`: 60,
		`"completion_tokens":60,"total_tokens":210,"completion_tokens_details":{"reasoning_tokens":50}`: 110,
		`"completion_tokens":60,"total_tokens":160,"completion_tokens_details":{"reasoning_tokens":50}`: 60,
		`"completion_tokens":10,"total_tokens":110,"completion_tokens_details":{"reasoning_tokens":50}`: 60,
	} {
		_, m, _, err := run(t, sse(delta(`"content":"x"`), finish("stop"), `{"choices":[],"usage":{"prompt_tokens":100,`+
			usage+`}}`, done))
		if err != nil || m.Usage.Output != want {
			t.Errorf("%s: %+v, %v", usage, m, err)
		}
	}
}

func TestOlderAndRarerFormsAreRead(t *testing.T) {
	for name, row := range map[string]struct {
		body string
		want []llm.Part
	}{
		"a function_call in pieces": {
			sse(`{"choices":[{"delta":{"role":"assistant","content":null,"function_call":{"name":"Read","arguments":""}}}]}`,
				`{"choices":[{"delta":{"function_call":{"arguments":"{\"x\""}}}]}`,
				`{"choices":[{"delta":{"function_call":{"arguments":":1}"}}}]}`,
				`{"choices":[{"delta":{},"finish_reason":"function_call"}]}`, "[DONE]"),
			[]llm.Part{llm.ToolCall{Name: "Read", Input: json.RawMessage(`{"x":1}`)}},
		},
		"a function_call of a whole reply": {
			`{"choices":[{"index":0,"message":{"role":"assistant","content":null,"function_call":{"name":"Read","arguments":"{}"}},"finish_reason":"function_call"}]}`,
			[]llm.Part{llm.ToolCall{Name: "Read", Input: json.RawMessage(`{}`)}},
		},
		"the transcript of a voice": {
			`{"choices":[{"index":0,"message":{"role":"assistant","content":null,"refusal":null,"audio":{"id":"a","data":"UklG","transcript":"Hello."}},"finish_reason":"stop","logprobs":{"content":[]}}]}`,
			[]llm.Part{llm.Text{Text: "Hello."}},
		},
	} {
		parts, _, ready, err := runAPI(t, false, row.body)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i, p := range parts {
			if c, ok := p.(llm.ToolCall); ok { // such a call has no id
				c.ID = ""
				parts[i] = c
			}
		}
		if diff := cmp.Diff(row.want, parts, cmp.Comparer(
			func(a, b json.RawMessage) bool { return string(a) == string(b) })); diff != "" || len(ready) > 1 {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestACallOutsideOfAListAndCountsWithDecimalsAreRead(t *testing.T) {
	_, m, ready, err := run(t, sse(
		delta(`"tool_calls":{"index":0,"id":"a","function":{"name":"Read","arguments":"{}"}}`), finish("tool_calls"),
		`{"choices":[],"usage":{"prompt_tokens":12.0,"completion_tokens":2.6,"prompt_tokens_details":{"cached_tokens":4e0}}}`, done,
	))
	if err != nil || len(ready) != 1 || ready[0].Name != "Read" {
		t.Fatalf("%v, %v", ready, err)
	}
	if u := m.Usage; u.Input != 8 || u.CacheRead != 4 || u.Output != 3 {
		t.Errorf("%+v", u)
	}
}

// Gemini signs a call and a text in extra_content, and refuses the next request without a call's signature.
func TestGeminisSignaturesComeBackWithTheirParts(t *testing.T) {
	const text, first, late = `{"google":{"thought_signature":"dGV4dA=="}}`,
		`{"google":{"thought_signature":"Y2FsbA=="}}`, `{"google":{"thought_signature":"bGF0ZQ=="}}`
	parts, m, ready, err := run(t, sse(
		delta(`"role":"assistant","content":"Hi"`), delta(`"content":" there","extra_content":`+text),
		delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"Read","arguments":"{}"},"extra_content":`+first+`}]`),
		delta(
			`"tool_calls":[{"index":1,"id":"b","function":{"name":"Read","arguments":"{"}},{"index":2,"id":"c","function":{"name":"Read","arguments":"{}"}}]`),
		delta(`"tool_calls":[{"index":1,"function":{"arguments":"}"},"extra_content":`+late+`}]`), finish("tool_calls"),
		done))
	if err != nil || len(ready) != 3 || len(parts) != 4 {
		t.Fatalf("%v %+v", err, parts)
	}
	signed := func(extra string) *llm.Opaque {
		return &llm.Opaque{Provider: "openai@wire", JSON: []byte(`{"extra_content":` + extra + `}`)}
	}
	for i, want := range []*llm.Opaque{signed(text), signed(first), signed(late), nil} {
		var got *llm.Opaque
		switch p := parts[i].(type) {
		case llm.Text:
			got = p.Opaque
		case llm.ToolCall:
			got = p.Opaque
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("part %d: %s", i, diff)
		}
	}
	p := New(Config{BaseURL: "http://wire"})
	mod, err := p.Model(t.Context(), "gemini-3-flash")
	if err != nil {
		t.Fatal(err)
	}
	body := string(mod.(*model).body(&llm.Request{Messages: []llm.Message{llm.UserText("x"), *m}}).Bytes())
	for _, extra := range []string{text, first, late} {
		if strings.Count(body, `"extra_content":`+extra) != 1 {
			t.Errorf("%s is not sent back: %s", extra, body)
		}
	}
}
