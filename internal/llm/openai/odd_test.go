package openai

import (
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm"
)

// TestOddChunksOfHostsAreRead has forms that the definition of Chat Completions does not have, and hosts send.
func TestOddChunksOfHostsAreRead(t *testing.T) {
	text, stop := delta(`"content":"Hi"`), finish("stop")
	for name, body := range map[string]string{
		"a keep-alive without data": "data: \n\n" + sse(text) + "data:\n\n" + sse(stop, done),
		"an event that is a ping":   "event: ping\ndata: ping\n\n" + sse(text, stop, done),
		"comments, ids and waits": ": PROCESSING\n\nid: 1\nretry: 10\n" + sse(text) + ": PROCESSING\n\n" +
			sse(stop, done),
		"a mark of byte order":     "\xef\xbb\xbf" + sse(text, stop, done),
		"lines that end in CR LF":  strings.ReplaceAll(sse(text, stop, done), "\n", "\r\n"),
		"no space after the colon": strings.ReplaceAll(sse(text, stop, done), "data: ", "data:"),
		"a very long line":         sse(`{"pad":"`+strings.Repeat("x", 1<<20)+`","choices":[]}`, text, stop, done),
		"a chunk that is null":     sse("null", text, stop, done),
		"null in every place": sse(
			`{"id":null,"model":null,"choices":[{"index":null,"delta":{"role":null,"content":"Hi","refusal":null,"reasoning_content":null,"reasoning":null,"reasoning_details":null,"tool_calls":null,"function_call":null,"audio":null,"extra_content":null},"finish_reason":null,"error":null}],"usage":null,"error":null,"x_groq":null}`, stop, done),
		"an empty error":        sse(`{"error":"","choices":[{"delta":{"content":"Hi"},"error":{}}]}`, stop, done),
		"choices that are null": sse(`{"choices":null,"prompt_filter_results":[]}`, text, stop, done),
		"usage before the end": sse(`{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":0}}`, text,
			`{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":1}}`, stop, done),
		"counts that are null": sse(text, stop,
			`{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":null,"prompt_tokens_details":null,"completion_tokens_details":{"reasoning_tokens":null}}}`, done),
		"an empty delta after the end": sse(text, stop, delta(`"content":""`), done),
		"an empty list of calls":       sse(delta(`"content":"Hi","tool_calls":[]`), stop, done),
		"a call that is null":          sse(delta(`"content":"Hi","tool_calls":[null]`), stop, done),
		"a delta that is a whole answer": sse(
			`{"choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}`, done),
	} {
		t.Run(name, func(t *testing.T) {
			_, m, ready, err := run(t, body)
			if err != nil || m.PlainText() != "Hi" || len(m.Parts) != 1 || len(ready) != 0 {
				t.Errorf("%v %+v", err, m)
			}
		})
	}
}

// TestOddEventsOfResponsesAreRead has the same for the Responses API.
func TestOddEventsOfResponsesAreRead(t *testing.T) {
	text := piece("output_text", 0, "Hi")
	item := itemEnd(0, `"type":"message","content":[{"type":"output_text","text":"Hi","annotations":null}]`)
	for name, body := range map[string]string{
		"a keep-alive without data": "data: \n\n" + sse(began, text) + "data:\n\n" + sse(item, ended("")),
		"an event that is a ping":   "event: ping\ndata: ping\n\n" + sse(began, text, ended("")),
		"a kind in the event's name alone": sse(began) +
			"event: response.output_text.delta\ndata: {\"output_index\":0,\"content_index\":0,\"delta\":\"Hi\"}\n\n" +
			sse(ended("")),
		"lines that end in CR LF": strings.ReplaceAll(sse(began, text, ended("")), "\n", "\r\n"),
		"null in every place": sse(began,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":null,"content":[{"type":"output_text","text":"Hi","annotations":null,"logprobs":null}],"summary":null,"phase":null}}`, `{"type":"response.completed","response":{"status":"completed","error":null,"output":null,"usage":null,"incomplete_details":null}}`),
		"an item of another form": sse(began,
			added(0, `"type":"file_search_call","content":"text","input":{"q":1},"summary":"s"`), piece("output_text", 1, "Hi"),
			ended("")),
		"an end that only [DONE] follows": sse(began, text, ended(""), done),
		"an annotation": sse(began, text,
			`{"type":"response.output_text.annotation.added","output_index":0,"content_index":0,"annotation_index":0,"annotation":{"type":"url_citation","url":"u"}}`, ended("")),
	} {
		t.Run(name, func(t *testing.T) {
			_, m, ready, err := runAPI(t, true, body)
			if err != nil || m.PlainText() != "Hi" || len(ready) != 0 {
				t.Errorf("%v %+v", err, m)
			}
		})
	}
}

// TestPiecesOfCustomCallsAreTakenWithoutTheirEnd streams the input of a custom tool whose end only the whole reply has,
// or none.
func TestPiecesOfCustomCallsAreTakenWithoutTheirEnd(t *testing.T) {
	begin := added(0, `"type":"custom_tool_call","call_id":"a","name":"Patch","input":""`)
	pieces := `{"type":"response.custom_tool_call_input.delta","output_index":0,"delta":"*** "}`
	whole := `{"type":"response.custom_tool_call_input.done","output_index":0,"input":"*** x"}`
	for name, body := range map[string]string{
		"the end in the last event": sse(began, begin, pieces,
			ended(`,"output":[{"type":"custom_tool_call","call_id":"a","name":"Patch","input":"*** x"}]`)),
		"no end of the item": sse(began, begin, pieces, whole, ended("")),
	} {
		_, m, ready, err := runAPI(t, true, body)
		if err != nil || m.Stop != llm.StopToolUse || len(ready) != 1 || string(ready[0].Input) != `{"input":"*** x"}` {
			t.Errorf("%s: %v %+v", name, err, m)
		}
	}
}

func TestNumbersInOtherFormsAreRead(t *testing.T) {
	_, m, ready,
		err := run(t,
		sse(
			`{"id":12,"choices":[{"index":0.0,"delta":{"tool_calls":[{"index":"0","id":7,"function":{"name":"Bash","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`,
			`{"choices":[],"usage":{"prompt_tokens":9.0,"completion_tokens":"2"}}`, done))
	if err != nil || len(ready) != 1 || ready[0].ID != "7" || m.ID != "12" || m.Usage.Input != 9 || m.Usage.Output != 2 {
		t.Errorf("%v %+v %+v", err, m, ready)
	}
	_, m, ready, err = runAPI(t, true, sse(`{"type":"response.created","response":{"id":12,"model":"m"}}`,
		`{"type":"response.output_item.done","output_index":"0","item":{"type":"function_call","id":1,"call_id":7,"name":"Bash","arguments":"{}"}}`,
		`{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":9.0,"output_tokens":"2"}}}`))
	if err != nil || len(ready) != 1 || ready[0].ID != "7" || m.ID != "12" || m.Usage.Input != 9 || m.Usage.Output != 2 {
		t.Errorf("%v %+v %+v", err, m, ready)
	}
}
