package google

import (
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm"
)

// TestOddChunksOfHostsAreRead has forms that the reference of Gemini's API does not have, and hosts send.
func TestOddChunksOfHostsAreRead(t *testing.T) {
	text, stop := parts(`{"text":"Hi"}`), finish("STOP")
	for name, body := range map[string]string{
		"a keep-alive without data": "data: \r\n\r\n" + sse(text) + "data:\n\n" + sse(stop),
		"an event that is a ping":   "event: ping\ndata: ping\n\n" + sse(text, stop),
		"a chunk that is null":      sse("null", text, stop),
		"comments and a mark":       "\xef\xbb\xbf: hello\n\n" + sse(text, stop),
		"lines that end in LF":      strings.ReplaceAll(sse(text, stop), "\r", ""),
		"[DONE]":                    sse(text, stop, "[DONE]"),
		"no content":                sse(text, `{"candidates":[{"finishReason":"STOP"}]}`),
		"content without parts": sse(text,
			`{"candidates":[{"content":{"role":"model"},"finishReason":"STOP","index":0}]}`),
		"null in every place": sse(
			`{"candidates":[{"content":null,"index":null,"finishReason":null,"finishMessage":null,"groundingMetadata":null}],"promptFeedback":null,"usageMetadata":null,"modelVersion":null,"responseId":null,"error":null}`, parts(`{"text":"Hi","thought":null,"thoughtSignature":null,"functionCall":null}`), stop),
		"empty parts":         sse(parts(``), parts(`{}`), parts(`{"text":""}`), parts(`{"text":null}`), text, stop),
		"a part that is null": sse(parts(`null`), text, stop),
		"no candidates": sse(`{"candidates":[],"usageMetadata":{"promptTokenCount":3}}`,
			`{"candidates":null}`, text, stop),
		"usage in a chunk of its own": sse(text, `{"candidates":[{"finishReason":"STOP"}]}`,
			`{"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":1}}`),
		"an empty feedback": sse(`{"promptFeedback":{},"candidates":[{"content":{"parts":[{"text":"Hi"}]}}]}`,
			stop),
		"an empty error": sse(`{"error":{},"candidates":[{"content":{"parts":[{"text":"Hi"}]}}]}`, stop),
		"a reason that is unspecified": sse(
			`{"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"FINISH_REASON_UNSPECIFIED"}]}`, stop),
	} {
		t.Run(name, func(t *testing.T) {
			m, ready, err := run(t, body)
			if err != nil || m.PlainText() != "Hi" || len(m.Parts) != 1 || m.Stop != llm.StopEndTurn || len(ready) != 0 {
				t.Errorf("%v %+v", err, m)
			}
		})
	}
}

func TestNumbersInOtherFormsAreRead(t *testing.T) {
	m, ready,
		err := run(t,
		sse(
			`{"candidates":[{"index":"0","content":{"parts":[{"functionCall":{"id":7,"name":"Bash","args":{"n":1.5}}}]},"finishReason":"STOP"}],"responseId":12,`+
				`"usageMetadata":{"promptTokenCount":9.0,"candidatesTokenCount":"2","thoughtsTokenCount":1.6}}`))
	if err != nil || len(ready) != 1 || !strings.HasPrefix(ready[0].ID, "7") || string(ready[0].Input) != `{"n":1.5}` ||
		m.ID != "12" || m.Usage.Input != 9 || m.Usage.Output != 4 {
		t.Errorf("%v %+v %+v", err, m, ready)
	}
}
