package conversation_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

func TestMemoryOfAFolderComesWithTheFirstFileOfItAndOnce(t *testing.T) {
	p := newPlace(t, llmtest.Replies(
		llmtest.Say(llmtest.Tool("Read", map[string]any{"file_path": "${WORKDIR}/api/a.go"})),
		llmtest.Say(llmtest.Tool("Read", map[string]any{"file_path": "api/b.go"})),
		llmtest.Say(llmtest.Text("Done.")),
	))
	for name, text := range map[string]string{
		"api/CLAUDE.md": "Rule of the api folder.", ".claude/rules/b.md": "---\npaths: 'api/b*'\n---\nRule of b.",
		"api/a.go": "package a\n", "api/b.go": "package b\n",
	} {
		path := filepath.Join(p.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		p.write(t, name, text)
	}
	s := newSession(t, p.open(t, nil), conversation.SessionOptions{})
	if _, err := s.Prompt(t.Context(), llm.UserText("Look.")); err != nil {
		t.Fatal(err)
	}
	var results []llm.ToolResult
	for _, m := range s.Messages() {
		for _, part := range m.Parts {
			if r, ok := part.(llm.ToolResult); ok {
				results = append(results, r)
			}
		}
	}
	if len(results) != 2 {
		t.Fatalf("%d results", len(results))
	}
	if last, ok := results[0].Parts[len(results[0].Parts)-1].(llm.Text); !ok || last.Origin != llm.OriginMemory ||
		!strings.Contains(last.Text, "Rule of the api folder.") {
		t.Errorf("%+v", results[0].Parts)
	}
	if got := results[1].PlainText(); strings.Contains(got, "api folder") || !strings.Contains(got, "Rule of b.") {
		t.Errorf("%q", got)
	}
}
