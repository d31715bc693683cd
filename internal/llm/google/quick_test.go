package google

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

var quickChunks = []string{
	`{"candidates": [{"content": {"parts": [{"text": "a\u003cb\n世界"}],"role": "model"},"index": 0}],"usageMetadata": {"promptTokenCount": 7,"candidatesTokenCount": 2,"totalTokenCount": 9,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 7}],"thoughtsTokenCount": 3},"modelVersion": "gemini-3-flash","responseId": "r"}`,
	`{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"","thoughtSignature":"abc"},{"functionCall":{"name":"Read","args":{"n":-1.5e3}}}],"role":"model"},"finishReason":"STOP","index":0}],"modelVersion":"m","responseId":"r"}`,
}

var slowChunks = []string{
	`{"promptFeedback":{"blockReason":"SAFETY"}}`, `{"error":{"code":429}}`, `{"candidates":[{},{}]}`, `{"candidates":[{"groundingMetadata":{}}]}`,
	`{"Candidates":[]}`, `{"usageMetadata":{"promptTokenCount":1,"promptTokenCount":2}}`, `{"candidates":[{"content":{"parts":[{},{},{},{},{}]}}]}`, `{} x`,
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
}

func FuzzQuickChunksReadAsEncodingJSON(f *testing.F) {
	for _, s := range append(quickChunks, slowChunks...) {
		f.Add([]byte(quickChunks[0]), []byte(s))
		f.Add([]byte(s), []byte(strings.NewReplacer(`"a`, `"b\"`, `"hm`, `"`, "2", "11").Replace(s)))
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
		for i := range q.candidate[0].Content.Parts {
			p := q.part(&q.chunk.Candidates[0], i)
			if p == nil {
				continue
			}
			raw, wantPart := want.Candidates[0].Content.Parts[i], wirePart{}
			if err := llm.Unmarshal(raw, &wantPart); err != nil {
				t.Fatalf("%s is accepted: %v", raw, err)
			}
			if diff := cmp.Diff(wantPart, *p); diff != "" {
				t.Fatalf("%s after %s (-encoding/json +quick):\n%s", b, before, diff)
			}
			q.candidate[0].Content.Parts[i] = raw
		}
		if diff := cmp.Diff(want, q.chunk); diff != "" {
			t.Fatalf("%s after %s (-encoding/json +quick):\n%s", b, before, diff)
		}
	})
}

// BenchmarkDecode reads a reply of 2,000 texts and 20 calls.
func BenchmarkDecode(b *testing.B) {
	var body strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&body, `data: {"candidates": [{"content": {"parts": [{"text": "word%d \u00e9 more "}],"role": "model"},"index": 0}],"usageMetadata": {"promptTokenCount": 7,"candidatesTokenCount": %d,"totalTokenCount": 9,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 7}]},"modelVersion": "gemini-3-flash","responseId": "r"}`+"\n\n", i, i)
	}
	for range 20 {
		body.WriteString(`data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"Bash","args":{"command":"echo 1; echo 2"}}}],"role":"model"},"index":0}],"modelVersion":"gemini-3-flash","responseId":"r"}` + "\n\n")
	}
	body.WriteString(`data: {"candidates":[{"content":{"parts":[{"text":""}]},"finishReason":"STOP","index":0}]}` + "\n\n")
	llmtest.Bench(b, body.Len(), 2021, func() {
		if m, ready, err := run(b, body.String()); err != nil || len(ready) != 20 || len(m.Parts) != 21 {
			b.Fatal(err)
		}
	})
}
