package google

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm/llmtest/suite"
)

// BenchmarkDecode reads a reply of 2,000 texts and 20 calls.
func BenchmarkDecode(b *testing.B) {
	var body strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&body,
			`data: {"candidates": [{"content": {"parts": [{"text": "word%d \u00e9 more "}],"role": "model"},"index": 0}],"usageMetadata": {"promptTokenCount": 7,"candidatesTokenCount": %d,"totalTokenCount": 9,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 7}]},"modelVersion": "gemini-3-flash","responseId": "r"}`+"\n\n", i, i)
	}
	for range 20 {
		body.WriteString(
			`data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"Bash","args":{"command":"echo 1; echo 2"}}}],"role":"model"},"index":0}],"modelVersion":"gemini-3-flash","responseId":"r"}` + "\n\n")
	}
	body.WriteString(`data: {"candidates":[{"content":{"parts":[{"text":""}]},"finishReason":"STOP","index":0}]}` + "\n\n")
	suite.Bench(b, body.Len(), 2021, func() {
		if m, ready, err := run(b, body.String()); err != nil || len(ready) != 20 || len(m.Parts) != 21 {
			b.Fatal(err)
		}
	})
}
