package acp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

func TestADiffHasTheOldAndTheNewLinesOfEachPart(t *testing.T) {
	d := event.Diff{Path: "a.go", Unified: "--- a.go\n+++ a.go\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n@@ -9 +9 @@\n-nine\n+ten\n"}
	out := diffContent(d, "/w")
	if len(out) != 2 || out[0].Path != "/w/a.go" || *out[0].OldText != "one\ntwo\n" || *out[0].NewText != "one\nthree\n" ||
		*out[1].OldText != "nine\n" || *out[1].NewText != "ten\n" {
		t.Errorf("%+v", out)
	}
	d = event.Diff{Path: "/b", Unified: "--- /dev/null\n+++ b\n@@ -0,0 +1 @@\n+new\n", Created: true}
	if out := diffContent(d, "/w"); len(out) != 1 || out[0].OldText != nil || *out[0].NewText != "new\n" {
		t.Errorf("%+v", out)
	}
}

func TestADiffOfTheDraftIsAFileWithItsPatch(t *testing.T) {
	d := event.Diff{Path: "/a", Unified: "--- a\n+++ a\n@@ -1 +1 @@\n-one\n+two\n@@ -9 +9 @@\n-nine\n+ten\n"}
	b, err := json.Marshal(draft(toolCall{Update: "tool_call", ID: "1", Content: diffContent(d, "")}))
	if err != nil || strings.Count(string(b), `"modify"`) != 1 || !strings.Contains(string(b), `+ten`) ||
		!strings.Contains(string(b), `"tool_call_update"`) {
		t.Errorf("%s %v", b, err)
	}
}

func TestContentOfAPromptBecomesPartsOfAMessage(t *testing.T) {
	var blocks []content
	err := json.Unmarshal([]byte(`[{"type":"text","text":"look"},
		{"type":"resource_link","uri":"file:///w/a%20b.go","name":"a b.go"},
		{"type":"resource_link","uri":"https://example.com","name":"a page"},
		{"type":"resource","resource":{"uri":"file:///w/c.go","text":"package c\n"}},
		{"type":"image","data":"AA==","mimeType":"image/png"}]`), &blocks)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := partsOf(blocks)
	if err != nil || len(parts) != 5 {
		t.Fatalf("%v %v", parts, err)
	}
	if parts[1].(llm.Text).Text != `@"/w/a b.go"` || parts[2].(llm.Text).Text != "[a page](https://example.com)" {
		t.Errorf("%+v", parts)
	}
	if file := parts[3].(llm.Text); file.Origin != llm.OriginFile || !strings.Contains(file.Text, "/w/c.go") {
		t.Errorf("%+v", file)
	}
}

func TestAFenceIsLongerThanThoseInTheText(t *testing.T) {
	if got := fenced("```\nx\n```\n", "sh"); got != "````sh\n```\nx\n```\n````" {
		t.Errorf("%s", got)
	}
}

func TestServersOfAClientAreWrittenAsLatheReadsThem(t *testing.T) {
	b, err := serverFile([]mcpServer{
		{Name: "one", Command: "/x", Args: []string{"a"}, Env: []pair{{"K", "v"}}},
		{Type: "http", Name: "two", URL: "https://e", Headers: []pair{{"H", "w"}}},
	})
	want := `{"mcpServers":{"one":{"command":"/x","args":["a"],"env":{"K":"v"}},` +
		`"two":{"type":"http","url":"https://e","headers":{"H":"w"}}}}`
	if err != nil || string(b) != want {
		t.Errorf("%s %v", b, err)
	}
	for _, wrong := range [][]mcpServer{
		{{Name: "x", Command: "y"}, {Name: "x", Command: "y"}}, {{Name: "x", Type: "ws", URL: "y"}}, {{Name: "x", Type: "sse"}},
	} {
		if _, err := serverFile(wrong); err == nil {
			t.Errorf("%+v is taken", wrong)
		}
	}
}

func TestAFormHasWhatIsAskedAndAnAnswerInWords(t *testing.T) {
	parts := []event.Question{
		{Title: "Colour", Text: "Which?", Free: true, Options: []event.Option{{ID: "0", Label: "red"}, {ID: "1", Label: "blue"}}},
		{Text: "Sizes?", Multi: true, Options: []event.Option{{ID: "0", Label: "s"}, {ID: "1", Label: "l"}}},
		{Text: "Name?", Free: true},
	}
	var form struct {
		Properties map[string]json.RawMessage
	}
	if err := json.Unmarshal(formOf(parts), &form); err != nil || len(form.Properties) != 4 {
		t.Errorf("%s %v", formOf(parts), err)
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal([]byte(`{"q1":"1","q1_own":"dark","q2":["0","1"],"q3":7}`), &given); err != nil {
		t.Fatal(err)
	}
	a := answersOf(parts, given)
	if a.Parts[0].Choice != "1" || a.Parts[0].Text != "dark" || len(a.Parts[1].Choices) != 2 || a.Parts[2].Text != "" {
		t.Errorf("%+v", a)
	}
}

func TestEachChoiceHasAKind(t *testing.T) {
	for id, want := range map[string]string{
		event.ChoiceOnce: "allow_once", event.ChoiceSession: "allow_always", event.ChoiceAlways: "allow_always",
		event.ChoiceNo: "reject_once", event.ChoiceStop: "reject_once", event.ChoiceNever: "reject_always",
		"trust": "allow_always", "leave": "reject_once", "0": "allow_once",
	} {
		if got := optionKind(id); got != want {
			t.Errorf("%s: %s", id, got)
		}
	}
}
