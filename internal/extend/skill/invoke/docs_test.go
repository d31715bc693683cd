package invoke_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/llm"
)

// block is the first fenced block of a language in a page.
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
	data, err := os.ReadFile("../../../../docs/skills.md")
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

func TestTheExampleOfASkillWithAnAgentOfItsOwnDoesWhatItSays(t *testing.T) {
	data, err := os.ReadFile("../../../../docs/skills.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(data), "\n## A skill with its own agent\n")
	c := newConversation(t)
	c.write("p/.lathe/commands/callers.md", block(t, section, "markdown"))
	c.answer = "a.go:3"
	c.say("/callers Open")
	msgs, err := c.BeforeStep(t.Context())
	if err != nil || len(msgs) != 1 || !strings.Contains(msgs[0].PlainText(), "a.go:3") {
		t.Errorf("%+v %v", msgs, err)
	}
	if len(c.tasks) != 1 || c.tasks[0].Kind != "Explore" || !strings.Contains(c.tasks[0].Prompt,
		"List every caller of Open with path and line.") {
		t.Errorf("%+v", c.tasks)
	}
}
