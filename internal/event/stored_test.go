package event_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

func TestAStructuredOutputThatLooksLikeAReferenceIsKept(t *testing.T) {
	long := strings.Repeat("text ", 100)
	r := llm.ToolResult{Parts: []llm.Part{llm.Text{Text: long}}}
	for _, meta := range []map[string]any{
		{"$stored": "mine"},
		{"$stored": map[string]any{"text": long}},
		{"deep": map[string]any{"$stored": map[string]any{"text": []any{0.0, 4.0}}}, "also": long},
		{"list": []any{long, long}, "null": nil},
		{},
	} {
		b, err := event.StoreMeta(meta, nil, llm.ToolCall{}, r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := event.RestoreMeta(b, nil, llm.ToolCall{}, r)
		if d := cmp.Diff(meta, got); err != nil || d != "" {
			t.Errorf("%s: %v\n%s", b, err, d)
		}
	}
}

func TestAReferenceThatLeadsNowhereIsAnEmptyText(t *testing.T) {
	long := strings.Repeat("text ", 100)
	r := llm.ToolResult{Parts: []llm.Part{llm.Text{Text: long}}}
	view, err := event.StoreView(event.TextView{Text: long, Path: "a"}, r)
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []llm.ToolResult{{}, {Parts: []llm.Part{llm.Text{Text: "short"}}}} {
		got, err := event.RestoreView(view, other)
		if d := cmp.Diff(event.View(event.TextView{Path: "a"}), got); err != nil || d != "" {
			t.Errorf("%v %s", err, d)
		}
	}
}

func TestViewsWithoutReferencesAreRead(t *testing.T) {
	for _, plain := range []string{
		`{"shape":"text","text":"one \"stored\":{ two","path":"a"}`,
		`{"shape":"command","command":"x","output":"y","exit_code":0}`,
		`{"shape":"listing","title":"x","items":["a"],"total":1}`,
		`null`, ``,
	} {
		want, err := event.UnmarshalView([]byte(plain))
		if err != nil {
			t.Fatal(err)
		}
		got, err := event.RestoreView(json.RawMessage(plain), llm.ToolResult{})
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%s: %v %s", plain, err, d)
		}
	}
	meta := `{"type":"text","file":{"content":"x"}}`
	got, err := event.RestoreMeta(json.RawMessage(meta), nil, llm.ToolCall{}, llm.ToolResult{})
	if want := (map[string]any{"type": "text", "file": map[string]any{"content": "x"}}); err != nil || cmp.Diff(want,
		got) != "" {
		t.Error(got, err)
	}
}
