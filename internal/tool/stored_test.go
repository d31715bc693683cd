package tool_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// asJSON is a value as a reader of JSON gets it.
func asJSON(t *testing.T, v any) (out any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestALogRebuildsWhatItDoesNotRepeat stores the result of large calls of every shape and reads them again.
func TestALogRebuildsWhatItDoesNotRepeat(t *testing.T) {
	text := ""
	for i := range 200 {
		text += fmt.Sprintf("line %d of \"it\"\t\u00e9\n", i)
	}
	long := strings.Repeat("changed ", 40)
	for _, s := range []struct {
		tool  string
		input in
		most  int // bytes of the stored view and structured output
	}{
		{"Read", in{"file_path": "a.txt"}, 600},
		{"Read", in{"file_path": "a.txt", "offset": 20, "limit": 50}, 600},
		{"Read", in{"file_path": "."}, 300},
		{"Edit", in{"file_path": "a.txt", "old_string": "line 7 of \"it\"", "new_string": long + "\n" + long}, 1800},
		{"Write", in{"file_path": "new.txt", "content": text}, 6000},
		{"Write", in{"file_path": "a.txt", "content": text + "more\n"}, 700},
		{"Glob", in{"pattern": "**/*.go"}, 700},
		{"Grep", in{"pattern": "line", "output_mode": "content", "path": "a.txt"}, 700},
		{"Grep", in{"pattern": "package"}, 700},
		{"Bash", in{"command": "cat a.txt"}, 700},
	} {
		t.Run(fmt.Sprint(s.tool, s.input), func(t *testing.T) {
			b := newBench(t)
			b.put("a.txt", text)
			for i := range 60 {
				b.put(fmt.Sprintf("folder/file%d.go", i), "package b\n")
			}
			b.read("a.txt")
			r, err := b.call(s.tool, s.input)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := json.Marshal(s.input)
			if err != nil {
				t.Fatal(err)
			}
			call := llm.ToolCall{ID: "c", Name: s.tool, Input: raw}
			result := llm.ToolResult{CallID: "c", Name: s.tool, Parts: r.Parts}
			view, err := event.StoreView(r.View, result)
			if err != nil {
				t.Fatal(err)
			}
			meta, err := event.StoreMeta(r.Meta, r.View, call, result, r.Unstored...)
			if err != nil {
				t.Fatal(err)
			}
			if have := len(view) + len(meta); have > s.most {
				t.Errorf("view and structured output take %d bytes, at most %d wanted:\n%.600s\n%.600s", have, s.most, view, meta)
			}
			gotView, err := event.RestoreView(view, result)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(r.View, gotView); d != "" {
				t.Error(d)
			}
			gotMeta, err := event.RestoreMeta(meta, gotView, call, result)
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range r.Unstored {
				r.Meta[k] = gotMeta[k]
			}
			if d := cmp.Diff(asJSON(t, r.Meta), asJSON(t, gotMeta)); d != "" {
				t.Error(d)
			}
		})
	}
}
