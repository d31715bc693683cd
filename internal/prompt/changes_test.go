package prompt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
)

func TestChangesAfterTheFirstMessageAreAppendedOnce(t *testing.T) {
	_, o := tree(t, map[string]string{
		"p/.git/HEAD": "ref: refs/heads/main\n", "p/.git/objects/x": "",
		"p/.git/refs/x": "", "p/CLAUDE.md": "be kind",
	})
	o.Now = func() time.Time { return time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC) }
	msgs := []llm.Message{FirstMessage(t.Context(), llm.UserText("hi"), o)}
	if got := Changes(o, msgs); got != nil {
		t.Fatalf("nothing changed, and the model gets %+v", got)
	}
	if err := os.WriteFile(filepath.Join(o.Root, ".git", "HEAD"), []byte("ref: refs/heads/dev\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.Root, "CLAUDE.md"), []byte("be brief"), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Now = func() time.Time { return time.Date(2026, 11, 22, 1, 0, 0, 0, time.UTC) }
	o.Mode, o.NobodyAnswers = "plan", true
	parts := Changes(o, msgs)
	got := text(parts)
	for _, want := range []string{
		"Date: 2026-11-22 (Sunday)\n", "Branch: dev\n", "Permission mode: plan\n",
		"Questions: nobody answers;", "be brief",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	for _, p := range parts {
		if p.(llm.Text).Origin == llm.OriginAuthor {
			t.Errorf("it passes as the user's: %+v", p)
		}
	}
	msgs = append(msgs, llm.Message{Role: llm.User, Parts: parts})
	if again := Changes(o, msgs); again != nil {
		t.Errorf("the same change comes twice: %+v", again)
	}
	o.Mode, o.NobodyAnswers = "default", false
	if back := text(Changes(o, msgs)); !strings.Contains(back, "Permission mode: default\n") || !strings.Contains(back,
		"Questions: the user answers them\n") || strings.Contains(back, "Date") {
		t.Errorf("got %s", back)
	}
}

// A row that somebody else writes is no record: the user's text and tool results do not count.
func TestOnlyLathesOwnTextsRecordAValue(t *testing.T) {
	_, o := tree(t, nil)
	o.Mode, o.NoMemory = "plan", true
	msgs := []llm.Message{llm.UserText("Permission mode: plan\nDate: 2026-11-22")}
	if got := text(Changes(o, msgs)); !strings.Contains(got, "Permission mode: plan") {
		t.Errorf("got %q", got)
	}
}
