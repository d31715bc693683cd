package openai

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/llm"
)

// quickChunks are events in the forms of several hosts.
var quickChunks = []string{
	`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","system_fingerprint":null,"choices":[{"index":0,"delta":{"role":"assistant","content":"a\u00e9\n\"b\" 世界"},"logprobs":null,"finish_reason":null}]}`,
	`{"id":"c","model":"m","choices":[{"index":0,"delta":{"reasoning_content":"hm","content":null},"finish_reason":null}],"usage":null}`,
	`{"id":"c","model":"m","choices":[{"index":0,"delta":{"reasoning":"hm","content":""},"finish_reason":null,"native_finish_reason":null}],"provider":"X"}`,
	`{"id":"c","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"Bash","arguments":""}}]},"finish_reason":null}]}`,
	`{"id":"c","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{\"a\":"}},{"index":2,"id":null,"function":{"name":null,"arguments":null}}]}}]}`,
	`{"model":"0","choices":[{"delta":{"tool_calls":[]}}]}`,
	`{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, `{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2.0,"cost":0.5}}`,
	`{"choices":[{"index":0,"delta":{"reasoning":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm","index":0}]}}]}`,
}

// slowChunks are left to encoding/json.
var slowChunks = []string{
	`{"choices":[],"usage":{"prompt_tokens":"x"}}`, `{"choices":[],"x_groq":{}}`, `{"error":{"message":"x"}}`,
	`{"id":"a","id":"b"}`, `{"ID":"a"}`, `{"choices":[{"index":0},{"index":1}]}`, `{"choices":[{"delta":null}]}`, `{"id":"\ud83d\ude00"}`,
	`{"choices":[{"delta":{"tool_calls":[{"id":"x","function":{"arguments":"{}"}}]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":{}}}]}}]}`,
	`{"choices":[{"delta":{"content":[{"type":"text","text":"a"}]}}]}`, `{"choices":[{"delta":{"content":"a"}}]`, `{} {}`,
}

func TestOrdinaryChunksAreReadInOnePass(t *testing.T) {
	for _, s := range quickChunks {
		if q := (quick{}); !q.readChunk([]byte(s)) {
			t.Errorf("left to encoding/json: %s", s)
		}
	}
	for _, s := range slowChunks {
		if q := (quick{}); q.readChunk([]byte(s)) {
			t.Errorf("not left to encoding/json: %s", s)
		}
	}
	for _, s := range quickEvents {
		if q := (quickResponses{}); !q.readEvent([]byte(s)) {
			t.Errorf("left to encoding/json: %s", s)
		}
	}
	for i, s := range quickItems {
		if got := quickItem([]byte(s), &responseItem{}); got != (i < 4) {
			t.Errorf("%v: %s", got, s)
		}
	}
}

func FuzzQuickChunksReadAsEncodingJSON(f *testing.F) {
	for _, s := range append(quickChunks, slowChunks...) {
		f.Add([]byte(quickChunks[0]), []byte(s))
		f.Add([]byte(s), []byte(strings.NewReplacer(`:"h`, `:"x\"`, `"a`, `"b`, `:1`, `:2`, "}", "} ").Replace(s)))
	}
	f.Fuzz(func(t *testing.T, before, b []byte) {
		var q quick
		q.readChunk(before)
		if !q.readChunk(b) {
			return
		}
		var want chunk
		if err := llm.Unmarshal(b, &want); err != nil {
			t.Fatalf("%s is accepted: %v", b, err)
		}
		if diff := cmp.Diff(want, q.chunk); diff != "" {
			t.Fatalf("%s after %s (-encoding/json +quick):\n%s", b, before, diff)
		}
	})
}

var quickEvents = []string{
	`{"type":"response.output_text.delta","item_id":"msg_1","output_index":1,"content_index":0,"delta":"a\n世界","logprobs":[],"obfuscation":"xyz","sequence_number":7}`,
	`{"type":"response.function_call_arguments.delta","delta":"{\"a\":","item_id":"fc","output_index":2,"sequence_number":12}`,
	`{"type":"response.reasoning_summary_text.delta","item_id":"rs","output_index":0,"summary_index":1,"delta":"hm"}`,
	`{"type":"response.created","response":{"id":"r","object":"response","created_at":17,"status":"in_progress","error":null,"incomplete_details":null,"instructions":"a","model":"m","output":[],"tools":[{"type":"function","parameters":{"type":"object"}}],"temperature":1.0,"top_p":-0.98e2,"usage":null,"metadata":{}},"sequence_number":0}`,
	`{"type":"response.output_item.added","item":{"id":"rs","type":"reasoning","summary":[]},"output_index":0,"sequence_number":2}`,
	`{"type":"response.content_part.done","content_index":0,"item_id":"msg","output_index":1,"part":{"type":"output_text","annotations":[],"text":"a"},"sequence_number":9}`,
	`{"type":"response.completed","response":{"id":"r","status":"completed","model":"m","output":[{"id":"rs","type":"reasoning"}],"usage":{"input_tokens":1,"input_tokens_details":{"cached_tokens":1.0},"output_tokens":2}}}`,
}

// quickItems are items; the last are left to encoding/json.
var quickItems = []string{
	`{"id":"rs","type":"reasoning","summary":[{"type":"summary_text","text":"a\n"}],"encrypted_content":"gAAA","status":null}`,
	`{"id":"msg","type":"message","status":"completed","content":[{"type":"output_text","annotations":[{"type":"url_citation","url":"u","title":"t"}],"logprobs":[],"text":"é"}],"phase":"final_answer","role":"assistant"}`,
	`{"id":"fc","type":"function_call","status":"completed","arguments":"{\"a\":1}","call_id":"c","name":"Bash"}`,
	`{"type":"message","content":null,"summary":null}`,
	`{"Type":"message"}`, `{"type":"message","content":"x"}`, `{"type":"custom_tool_call","input":"x"}`, `{"type":1}`, `{"id":"a","id":"b"}`,
}

func FuzzQuickItemsReadAsEncodingJSON(f *testing.F) {
	for _, s := range quickItems {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var got, want responseItem
		if !quickItem(b, &got) {
			return
		}
		if err := llm.Unmarshal(b, &want); err != nil {
			t.Fatalf("%s is accepted: %v", b, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s (-encoding/json +quick):\n%s", b, diff)
		}
	})
}

func FuzzQuickEventsReadAsEncodingJSON(f *testing.F) {
	for _, s := range append(quickEvents, `{"type":"error","code":"x"}`, `{"type":"a","type":"b"}`, `{"delta":{}}`, `{"output_index":-1}`) {
		f.Add([]byte(quickEvents[0]), []byte(s))
		f.Add([]byte(s), []byte(strings.NewReplacer(`:"h`, `:"x\"`, `"a`, `"b`, `:1`, `:2`, "}", "} ").Replace(s)))
	}
	f.Fuzz(func(t *testing.T, before, b []byte) {
		var q quickResponses
		q.readEvent(before)
		if !q.readEvent(b) {
			return
		}
		var want responseEvent
		if err := llm.Unmarshal(b, &want); err != nil {
			t.Fatalf("%s is accepted: %v", b, err)
		}
		if diff := cmp.Diff(want, q.event); diff != "" {
			t.Fatalf("%s after %s (-encoding/json +quick):\n%s", b, before, diff)
		}
	})
}
