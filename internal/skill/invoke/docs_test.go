package invoke_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/llm"
)

// block is the first fenced block of a language.
func block(t *testing.T, page, language string) string {
	t.Helper()
	_, rest, found := strings.Cut(page, "\n```"+language+"\n")
	text, _, closed := strings.Cut(rest, "\n```\n")
	if !found || !closed {
		t.Fatalf("the page has no block %s", language)
	}
	return text
}

func TestTheExampleOfTheDocumentationDoesWhatItSays(t *testing.T) {
	data, err := os.ReadFile("../../../docs/skills.md")
	if err != nil {
		t.Fatal(err)
	}
	c := newConversation(t)
	c.write("p/.lathe/skills/release/SKILL.md", block(t, string(data), "markdown"))
	got := c.say("/release 1.2")[llm.OriginSkill]
	want := strings.ReplaceAll(block(t, string(data), "text"), "FOLDER", filepath.Join(c.dir, "p/.lathe/skills/release"))
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if list := c.Listing(); !strings.Contains(list, "- release: Prepares a release.") {
		t.Error(list)
	}
}
