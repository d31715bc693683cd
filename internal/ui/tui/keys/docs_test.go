package keys_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
)

var update = flag.Bool("update", false, "write the golden files")

// TestDocumentationHasEveryKey keeps docs/keys.md from going stale: its tables are made of the table.
func TestDocumentationHasEveryKey(t *testing.T) {
	file := filepath.Join("..", "..", "..", "..", "docs", "keys.md")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	start, end := strings.Index(text, "<!-- keys:"), strings.Index(text, "<!-- end of keys -->")
	if start < 0 || end < start {
		t.Fatalf("the marks of the tables are gone from %s", file)
	}
	start += strings.Index(text[start:], "\n") + 1
	text = text[:start] + tables() + text[end:]
	switch {
	case text == string(data):
	case !*update:
		t.Fatalf("%s is out of date: go test ./internal/ui/tui/keys -run Documentation -update", file)
	default:
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var headings = map[keys.Context]string{
	keys.Global:          "everywhere, after the contexts below",
	keys.Chat:            "the prompt",
	keys.Task:            "while a command runs in the foreground",
	keys.Autocomplete:    "the list of completions is open",
	keys.HistorySearch:   "the search of earlier prompts is open",
	keys.Scroll:          "whenever something scrolls",
	keys.Transcript:      "the conversation has the focus",
	keys.Confirmation:    "a permission dialog or a question is open",
	keys.Select:          "a list with a search field is open",
	keys.MessageSelector: "a list of messages is open",
	keys.Help:            "a page of text is open",
}

func tables() string {
	var b strings.Builder
	var last keys.Context
	for _, row := range keys.Table() {
		if row.Context != last {
			last = row.Context
			fmt.Fprintf(&b, "\n### %s\n\nWhen: %s.\n\n| keys | action | effect |\n|---|---|---|\n", last, headings[last])
		}
		var shown []string
		for _, k := range row.Keys {
			shown = append(shown, "`"+strings.ReplaceAll(k, "|", `\|`)+"`")
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s |\n", strings.Join(shown, ", "), row.Action, strings.ReplaceAll(row.Help, "|",
			`\|`))
	}
	return b.String() + "\n"
}

func TestEveryContextIsExplained(t *testing.T) {
	for _, row := range keys.Table() {
		if headings[row.Context] == "" {
			t.Errorf("%s has no heading for docs/keys.md", row.Context)
		}
	}
}
