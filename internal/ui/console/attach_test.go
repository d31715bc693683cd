package console

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// sentWith is the user's newest message as the model got it.
func (s *seat) sentWith() llm.Message {
	s.t.Helper()
	all := s.session().Messages()
	for _, m := range slices.Backward(all) {
		if m.Role == llm.User && session.StripContext(m).PlainText() != "" {
			return m
		}
	}
	s.t.Fatal("nothing was sent")
	return llm.Message{}
}

func TestAFileNamedInAPromptIsAttachedAndMayBeEdited(t *testing.T) {
	p := newPlace(t, llmtest.Replies(
		llmtest.Say(llmtest.Tool("Edit", map[string]string{"file_path": "a.go", "old_string": "two", "new_string": "2"})),
		llmtest.Say(llmtest.Text("done")),
	))
	p.write(t, "a.go", "one\ntwo\nthree\n")
	p.write(t, "docs/x.md", "x\n")
	p.user(t, `{"permissions":{"allow":["Edit"]}}`)
	s := p.open(t, nil)
	if got := s.Complete(t.Context(), event.Query{Kind: event.QueryAttach, Text: "mend @a.go in @docs/"}); len(got) != 2 ||
		got[0].Text != "a.go" || got[0].Help != "~4 tokens" || got[1].Help != "folder" {
		t.Errorf("chips: %+v", got)
	}
	s.prompt("mend @a.go in @docs/, me@a.go and @missing")
	m := s.session().Messages()[0]
	if got := session.Attached(m); !slices.Equal(got, []string{"a.go (3 lines)", "docs/ (folder)"}) {
		t.Errorf("attached %q", got)
	}
	if got := session.StripContext(m).PlainText(); got != "mend @a.go in @docs/, me@a.go and @missing" {
		t.Errorf("typed %q", got)
	}
	if all := m.PlainText(); !strings.Contains(all, "2\ttwo\n") || !strings.Contains(all, "x.md") {
		t.Errorf("the model got %q", all)
	}
	if got := p.read(t, "a.go"); got != "one\n2\nthree\n" {
		t.Errorf("the file was not edited: %q", got)
	}
	got := until(s, func(b event.UserMessage) bool { return !b.Synthetic })
	if !slices.Equal(got.Attached, []string{"a.go (3 lines)", "docs/ (folder)"}) ||
		strings.Contains(got.Message.PlainText(), "three") {
		t.Errorf("front ends get %+v", got)
	}
}

func TestSomeLinesAndImagesAreAttached(t *testing.T) {
	p := newPlace(t, talk3())
	p.write(t, "my file.txt", "a\nb\nc\nd\n")
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	p.write(t, "p.png", picture.String())
	s := p.open(t, nil)
	s.prompt(`look: @"my file.txt"#L2-3 and @p.png`)
	m := s.session().Messages()[0]
	if got := session.Attached(m); !slices.Equal(got, []string{"my file.txt (2 lines)", "p.png (image/png)"}) {
		t.Errorf("attached %q", got)
	}
	if !slices.ContainsFunc(m.Parts, func(p llm.Part) bool { _, ok := p.(llm.Media); return ok }) {
		t.Error("the image is missing")
	}
}

func TestADeniedFileIsNotAttachedAndAGuardedOneIsAskedFor(t *testing.T) {
	p := newPlace(t, talk3())
	p.write(t, "secret.txt", "hunter2\n")
	p.write(t, ".env", "KEY=hunter3\n")
	if err := os.WriteFile(filepath.Join(p.home, "outside.txt"), []byte("hunter4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.user(t, `{"permissions":{"deny":["Read(secret.txt)"]}}`)
	s := p.open(t, nil)
	ended := make(chan error, 1)
	go func() {
		ended <- s.Prompt(t.Context(), llm.UserText("@secret.txt @.env @../outside.txt"))
	}()
	until(s, func(n event.Notice) bool {
		return strings.HasPrefix(n.Text, "not attached: secret.txt: Permission denied")
	})
	q := until(s, func(a event.Asked) bool { return a.Question.Permission != nil && a.Question.Title == "Read" })
	if err := s.Answer(s.session().ID(), q.ID, event.Answer{Choice: event.ChoiceNo}); err != nil {
		t.Fatal(err)
	}
	until(s, func(n event.Notice) bool { return strings.HasPrefix(n.Text, "not attached: .env: Permission denied") })
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got := s.sentWith().PlainText(); strings.Contains(got, "hunter") {
		t.Errorf("the model got %q", got)
	}
}
