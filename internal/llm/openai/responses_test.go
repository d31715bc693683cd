package openai

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest/suite"
)

// The events of a reply of the Responses API.
func added(i int, item string) string {
	return fmt.Sprintf(`{"type":"response.output_item.added","output_index":%d,"item":{%s}}`, i, item)
}

func itemEnd(i int, item string) string {
	return fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":{%s}}`, i, item)
}

func piece(kind string, i int, text string) string {
	b, _ := json.Marshal(text)
	return fmt.Sprintf(`{"type":"response.%s.delta","output_index":%d,"content_index":0,"delta":%s}`, kind, i, b)
}

func ended(members string) string {
	return `{"type":"response.completed","response":{"id":"r1","model":"m-1","status":"completed"` + members + `}}`
}

const (
	began  = `{"type":"response.created","response":{"id":"r1","model":"m-1","status":"in_progress"}}`
	callA  = `"type":"function_call","id":"fc_1","call_id":"a","name":"Read","arguments":""`
	callA1 = `"type":"function_call","id":"fc_1","call_id":"a","name":"Read","arguments":"{\"x\":1}"`
)

func TestResponsesAreDecoded(t *testing.T) {
	read := llm.ToolCall{ID: "a", Name: "Read", Input: json.RawMessage(`{"x":1}`)}
	text := func(s string) llm.Part { return llm.Text{Text: s} }
	for name, row := range map[string]struct {
		body string
		want []llm.Part
		stop llm.StopReason
	}{
		"text in pieces": {
			sse(began, added(0, `"type":"message"`), piece("output_text", 0, "Hel"), piece("output_text", 0, "lo"),
				itemEnd(0, `"type":"message","content":[{"type":"output_text","text":"Hello"}]`), ended("")),
			[]llm.Part{text("Hello")},
			llm.StopEndTurn,
		},
		"items without their pieces": {
			sse(began, itemEnd(0, `"type":"message","content":[{"type":"output_text","text":"Hi"}]`), itemEnd(1, callA1),
				ended("")),
			[]llm.Part{text("Hi"), read},
			llm.StopToolUse,
		},
		"only the last event": {
			sse(ended(`,"output":[{"type":"message","content":[{"type":"output_text","text":"Hi"}]},{` + callA1 + `}]`)),
			[]llm.Part{text("Hi"), read},
			llm.StopToolUse,
		},
		"an item that goes on in its end": {
			sse(began, added(0, callA), piece("function_call_arguments", 0, `{"x"`), itemEnd(0, callA1), ended("")),
			[]llm.Part{read},
			llm.StopToolUse,
		},
		"a call without an end": {
			sse(began, added(0, callA), piece("function_call_arguments", 0, `{"x":1}`), ended(`,"output":[]`)),
			[]llm.Part{read},
			llm.StopToolUse,
		},
		"pieces of two items in turn": {
			sse(began, added(0, `"type":"message"`), piece("output_text", 0, "Hel"), added(1, callA),
				piece("function_call_arguments", 1, `{"x":1}`), piece("output_text", 0, "lo"),
				itemEnd(1, callA1), itemEnd(0, `"type":"message","content":[{"type":"output_text","text":"Hello"}]`), ended("")),
			[]llm.Part{text("Hello"), read},
			llm.StopToolUse,
		},
		"a tool of the server": {
			sse(began, added(0, `"type":"web_search_call","id":"ws_1"`), itemEnd(0, `"type":"web_search_call","id":"ws_1"`),
				added(1, `"type":"message"`), piece("output_text", 1, "Found."), ended("")),
			[]llm.Part{llm.Opaque{
				Provider: "openai@wire/responses",
				JSON:     json.RawMessage(`{"type":"web_search_call","id":"ws_1"}`),
			}, text("Found.")},
			llm.StopEndTurn,
		},
		"tools of the server in a reply that is no stream": {
			`{"id":"r1","model":"m-1","status":"completed","incomplete_details":null,"output":[{"type":"code_interpreter_call","id":"ci_1","code":"1+1","outputs":null},{"type":"mcp_list_tools","id":"m1","tools":[]},{"type":"message","content":[{"type":"output_text","text":"Two.","annotations":[],"logprobs":[]}]}]}`,
			[]llm.Part{
				llm.Opaque{
					Provider: "openai@wire/responses",
					JSON:     json.RawMessage(`{"type":"code_interpreter_call","id":"ci_1","code":"1+1","outputs":null}`),
				},
				llm.Opaque{
					Provider: "openai@wire/responses",
					JSON:     json.RawMessage(`{"type":"mcp_list_tools","id":"m1","tools":[]}`),
				},
				text("Two."),
			},
			llm.StopEndTurn,
		},
		"a tool of the server that never ended": {
			sse(began, added(0, `"type":"image_generation_call","id":"ig_1"`), added(1, `"type":"message"`),
				piece("output_text", 1, "Sorry."), ended("")),
			[]llm.Part{text("Sorry.")},
			llm.StopEndTurn,
		},
		"a custom tool": {
			sse(began, added(0, `"type":"custom_tool_call","id":"ctc_1","call_id":"a","name":"Patch","input":""`),
				`{"type":"response.custom_tool_call_input.delta","output_index":0,"delta":"*** Begin"}`,
				itemEnd(0, `"type":"custom_tool_call","id":"ctc_1","call_id":"a","name":"Patch","input":"*** Begin\n\"x\""`),
				ended("")),
			[]llm.Part{llm.ToolCall{ID: "a_custom", Name: "Patch", Input: json.RawMessage(`{"input":"*** Begin\n\"x\""}`)}},
			llm.StopToolUse,
		},
		"arguments as an object": {
			sse(began, itemEnd(0, `"type":"function_call","call_id":"a","name":"Read","arguments":{"x":1}`), ended("")),
			[]llm.Part{read},
			llm.StopToolUse,
		},
		"a refusal": {
			sse(began, added(0, `"type":"message"`), piece("refusal", 0, "No."),
				itemEnd(0, `"type":"message","content":[{"type":"refusal","refusal":"No."}]`), ended("")),
			[]llm.Part{text("No.")},
			llm.StopRefusal,
		},
		"the output limit in a call": {
			sse(began, itemEnd(0, callA1), added(1, `"type":"function_call","call_id":"b","name":"Bash"`),
				piece("function_call_arguments", 1, `{"comm`),
				itemEnd(1, `"type":"function_call","status":"incomplete","call_id":"b","name":"Bash","arguments":"{\"comm"`),
				`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}`),
			[]llm.Part{read},
			llm.StopMaxTokens,
		},
		"several pieces of a summary": {
			sse(began, added(0, `"type":"reasoning","id":"rs_1","summary":[]`), piece("reasoning_summary_text", 0, "One."),
				`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"Two."}`,
				itemEnd(0,
					`"type":"reasoning","id":"rs_1","status":null,"summary":[{"type":"summary_text","text":"One."},{"type":"summary_text","text":"Two."}],"encrypted_content":"e"`),
				itemEnd(1, `"type":"message","phase":"commentary","content":[{"type":"output_text","text":"Hm."}]`), ended("")),
			[]llm.Part{
				llm.Reasoning{
					Text: "One.\n\nTwo.", Provider: "openai@wire/responses",
					Opaque: &llm.Opaque{Provider: "openai@wire/responses", JSON: json.RawMessage(
						`{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"One."},{"type":"summary_text","text":"Two."}],"encrypted_content":"e"}`)},
				},
				llm.Text{Text: "Hm.", Opaque: &llm.Opaque{
					Provider: "openai@wire/responses",
					JSON:     json.RawMessage(`{"phase":"commentary"}`),
				}},
			},
			llm.StopEndTurn,
		},
	} {
		parts, m, ready, err := runAPI(t, true, row.body)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(row.want, parts, cmp.Comparer(
			func(a, b json.RawMessage) bool { return string(a) == string(b) })); diff != "" || m.Stop != row.stop {
			t.Errorf("%s: stop %s\n%s", name, m.Stop, diff)
		}
		want := slices.ContainsFunc(row.want, func(p llm.Part) bool { _, ok := p.(llm.ToolCall); return ok })
		if (len(ready) == 1) != want {
			t.Errorf("%s: ready %+v", name, ready)
		}
	}
}

func TestBrokenResponsesAreErrors(t *testing.T) {
	for body, want := range map[string]llm.ErrorKind{
		sse(began, added(0, callA), piece("function_call_arguments", 0, `{"y":`), itemEnd(0, callA1),
			ended("")): llm.KindProtocol,
		sse(began, piece("output_text", 0, "x"), itemEnd(0, callA1), ended("")): llm.KindProtocol,
		sse(began, piece("output_text", -1, "x"), ended("")):                    llm.KindProtocol,
		sse(began, piece("output_text", 1<<40, "x"), ended("")):                 llm.KindProtocol,
		sse(began, itemEnd(0, callA1)):                                          llm.KindNetwork,
		sse(began, itemEnd(0, callA1), "[DONE]"):                                llm.KindNetwork,
		sse(began, `{"type":"response.completed"}`):                             llm.KindProtocol,
		`{"id":"r1"}`: llm.KindProtocol,
		sse(began,
			`{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"slow down"}}}`): llm.KindRateLimit,
		sse(began,
			`{"type":"error","code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}`): llm.KindTooLarge,
		sse(began,
			`{"type":"error","error":{"type":"invalid_request_error","code":"invalid_prompt","message":"flagged"},"sequence_number":2}`): llm.KindInvalid,
	} {
		_, m, ready, err := runAPI(t, true, body)
		if e := llm.AsError(err); e == nil || e.Kind != want || m != nil {
			t.Errorf("%s\n\tgot %v %+v, want %s", body, m, e, want)
		}
		if e := llm.AsError(err); len(ready) > 0 && (e.Partial == nil || len(e.Partial.Calls()) != len(ready)) {
			t.Errorf("%s\n\tthe call that was ready is not in the partial reply", body)
		}
	}
}

func FuzzResponses(f *testing.F) {
	f.Add(sse(began, added(0, callA), piece("function_call_arguments", 0, `{"x":1}`), itemEnd(0, callA1), ended("")))
	f.Add(sse(began, itemEnd(1, callA1), itemEnd(0, callA1), added(2, `"type":"reasoning"`),
		piece("reasoning_text", 2, "x"), ended(`,"usage":{"input_tokens":1}`)))
	f.Add(sse(began, piece("output_text", 3, "x"), added(0, callA), piece("function_call_arguments", 0, `{"x`),
		`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}`))
	f.Add(`{"status":"completed","output":[{` + callA1 + `}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		parts, m, ready, err := runAPI(t, true, body)
		checkSound(t, parts, m, ready, err)
	})
}

// recording is a recorded conversation, see TestRecordedReplies.
type recording struct {
	Interactions []struct {
		Request  struct{ URL, Body string }
		Response struct{ Body string }
	}
}

// TestRecordedReplies decodes recorded replies of real hosts, from a folder of JSON files that LATHE_RECORDINGS names,
// and compares them with the reply as their last event repeats it. They are also cut after each event.
func TestRecordedReplies(t *testing.T) {
	dir := os.Getenv("LATHE_RECORDINGS")
	if dir == "" {
		t.Skip("LATHE_RECORDINGS names no folder of recordings; the tables above have the forms that occur in them")
	}
	n := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".json" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var r recording
		if json.Unmarshal(b, &r) != nil {
			return nil // of another form
		}
		for _, i := range r.Interactions {
			if strings.Contains(i.Request.URL, "/responses") && strings.Contains(i.Response.Body, "response.completed") {
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
	_, m, ready, err := runAPI(t, true, body)
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return
	}
	var last struct{ Response response }
	for line := range strings.SplitSeq(body, "\n") {
		if data, ok := strings.CutPrefix(line, "data: "); ok && strings.Contains(data, `"type":"response.completed"`) {
			if err := json.Unmarshal([]byte(data), &last); err != nil {
				t.Fatal(err)
			}
		}
	}
	text, calls := "", 0
	for _, raw := range last.Response.Output {
		var it responseItem
		if err := json.Unmarshal(raw, &it); err != nil {
			t.Fatal(err)
		}
		for _, c := range it.Content {
			text += c.Text
		}
		if it.Type == "function_call" {
			args, _, err := argumentsOf(it.Arguments)
			if err != nil {
				t.Fatal(err)
			}
			if calls++; calls > len(ready) || string(ready[calls-1].Input) != string(llm.AppendCanonical(nil, []byte(args))) ||
				ready[calls-1].ID != it.CallID {
				t.Errorf("%s: call %s is not among %+v", path, raw, ready)
			}
		}
	}
	if got := strings.ReplaceAll(m.PlainText(), "\n\n", ""); len(last.Response.Output) > 0 &&
		(got != strings.ReplaceAll(text, "\n\n", "") || calls != len(ready)) {
		t.Errorf("%s: text %q, want %q; %d calls, want %d", path, m.PlainText(), text, len(ready), calls)
	}
	events := strings.SplitAfter(body, "\n\n")
	for i := range events[:len(events)-2] {
		parts, m, ready, err := runAPI(t, true, strings.Join(events[:i], ""))
		checkSound(t, parts, m, ready, err)
		if err == nil {
			t.Errorf("%s: complete after %d of %d events", path, i, len(events))
		}
	}
}

func TestItemsOfTheServersToolsAndCustomCallsGoBack(t *testing.T) {
	m := newModel(t, Config{BaseURL: "http://wire", Responses: true}, "gpt-5.1")
	item := json.RawMessage(`{"type":"web_search_call","id":"ws_1","status":"completed"}`)
	thought := llm.Reasoning{Provider: m.Info().Host, Opaque: &llm.Opaque{
		Provider: m.Info().Host,
		JSON:     json.RawMessage(`{"type":"reasoning","id":"rs_1","summary":[]}`),
	}}
	call := llm.ToolCall{ID: "a_custom", Name: "Patch", Input: json.RawMessage(`{"input":"x \"y\""}`)}
	body := string(m.responsesBody(&llm.Request{Messages: []llm.Message{
		llm.UserText("x"),
		{Role: llm.Assistant, Parts: []llm.Part{
			thought,
			llm.Opaque{Provider: m.Info().Host, JSON: item},
			llm.Opaque{Provider: "other", JSON: json.RawMessage(`{"type":"leak"}`)},
			call,
		}},
		{Role: llm.User, Parts: []llm.Part{llm.TextResult(call, "done", false)}},
	}}).Bytes())
	want := `{"type":"reasoning","id":"rs_1","summary":[]},` + string(item) +
		`,{"type":"custom_tool_call","call_id":"a_custom","name":"Patch","input":"x \"y\""},{"type":"custom_tool_call_output","call_id":"a_custom","output":"done"}`
	if !strings.Contains(body, want) || strings.Contains(body, "leak") {
		t.Error(body)
	}
}

// The server refuses reasoning that nothing of the model follows, as in a reply that broke off.
func TestReasoningThatNothingFollowsIsLeftOut(t *testing.T) {
	m := newModel(t, Config{BaseURL: "http://wire", Responses: true}, "gpt-5.1")
	thought := func(id string) llm.Reasoning {
		return llm.Reasoning{Provider: m.Info().Host, Opaque: &llm.Opaque{
			Provider: m.Info().Host,
			JSON:     json.RawMessage(`{"type":"reasoning","id":"` + id + `","summary":[]}`),
		}}
	}
	body := string(m.responsesBody(&llm.Request{Messages: []llm.Message{
		llm.UserText("x"),
		{Role: llm.Assistant, Parts: []llm.Part{
			thought("rs_first"),
			llm.Text{Text: "so far"},
			thought("rs_last"),
			llm.Text{},
		}},
		llm.UserText("go on"),
		{Role: llm.Assistant, Parts: []llm.Part{thought("rs_alone")}},
		llm.UserText("go on"),
	}}).Bytes())
	if !strings.Contains(body, "rs_first") || strings.Contains(body, "rs_last") || strings.Contains(body, "rs_alone") {
		t.Error(body)
	}
}

// BenchmarkDecodeResponses reads a reply of 4,000 pieces of text in events as OpenAI sends them, three of which have 20
// kB of the request's tools.
func BenchmarkDecodeResponses(b *testing.B) {
	tools := strings.Repeat(
		`{"type":"function","name":"Read","description":"Reads a file.","parameters":{"type":"object","properties":{"file_path":{"type":"string"}}},"strict":false},`, 120)
	state := func(event, status, output string) string {
		return fmt.Sprintf(
			`{"type":"response.%s","response":{"id":"resp_0123456789abcdef0123456789abcdef","object":"response","created_at":1778027168,"status":"%s","error":null,`+
				`"incomplete_details":null,"model":"gpt-5.5","output":[%s],"temperature":1.0,"tools":[%s],"top_p":0.98,"usage":{"input_tokens":7,"output_tokens":8}},"sequence_number":0}`, event, status, output, strings.TrimSuffix(tools, ","))
	}
	var body, text strings.Builder
	events := 0
	add := func(data string) {
		name, _, _ := strings.Cut(strings.TrimPrefix(data, `{"type":"`), `"`)
		fmt.Fprintf(&body, "event: %s\ndata: %s\n\n", name, data)
		events++
	}
	add(state("created", "in_progress", ""))
	add(state("in_progress", "in_progress", ""))
	add(
		`{"type":"response.output_item.added","item":{"id":"msg_1","type":"message","status":"in_progress","content":[],"role":"assistant"},"output_index":0,"sequence_number":2}`)
	for i := range 4000 {
		piece := fmt.Sprintf("word%d é more ", i)
		text.WriteString(piece)
		add(
			fmt.Sprintf(
				`{"type":"response.output_text.delta","content_index":0,"delta":"%s","item_id":"msg_0123456789abcdef0123456789abcdef0123456789abcdef","logprobs":[],"obfuscation":"%s","output_index":0,"sequence_number":%d}`,
				piece, "aBcDeFgHiJkLm"[:i%13], i+4))
	}
	item := fmt.Sprintf(
		`{"id":"msg_1","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"%s"}],"role":"assistant"}`, &text)
	add(
		fmt.Sprintf(
			`{"type":"response.output_text.done","content_index":0,"item_id":"msg_1","logprobs":[],"output_index":0,"sequence_number":1,"text":"%s"}`, &text))
	add(fmt.Sprintf(`{"type":"response.output_item.done","item":%s,"output_index":0,"sequence_number":1}`, item))
	add(state("completed", "completed", item))
	suite.Bench(b, body.Len(), events, func() {
		if _, m, _, err := runAPI(b, true, body.String()); err != nil || m.PlainText() != text.String() {
			b.Fatal(err)
		}
	})
}
