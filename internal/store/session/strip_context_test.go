package session

import (
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm"
)

func injectedMessage() llm.Message {
	return llm.Message{Role: llm.User, Parts: []llm.Part{
		llm.Text{Text: "Folder: /w", Origin: llm.OriginContext},
		llm.Text{Text: "Use tabs.", Origin: llm.OriginMemory},
		llm.Text{Text: "<b>fix</b> it"},
		llm.Text{Text: "<i>now</i>"},
	}}
}

func TestWhatLatheAddedIsKnownByItsOriginAlsoAfterAResume(t *testing.T) {
	st := newStore(t)
	s := create(t, st)
	must(t, s.AddUser(ctx, injectedMessage(), false, false))
	s = reopen(t, st, s)
	m := s.Messages()[0]
	same(t, m.Parts, injectedMessage().Parts)
	stripped := StripContext(m)
	same(t, stripped.PlainText(), "<b>fix</b> it\n\n<i>now</i>")
	same(t, len(m.Parts), 4)
	same(t, s.Info().FirstPrompt, "<b>fix</b> it")
	for info, err := range st.List(s.Dir()) {
		must(t, err)
		same(t, info.FirstPrompt, "<b>fix</b> it")
	}
}

func TestAMessageOfAddedTextsOnlyIsKept(t *testing.T) {
	m := llm.Message{Role: llm.User, Parts: []llm.Part{llm.Text{Text: "the mode changed", Origin: llm.OriginReminder}}}
	same(t, StripContext(m).PlainText(), "the mode changed")
}

// A text without an origin is the author's, whatever it looks like.
func TestTextsAreNotGuessedAtByTheirTags(t *testing.T) {
	const entry = `{"id":"a","parent":"","time":"2026-01-02T03:04:05.000Z","kind":"user","message":{"role":"user","parts":[` +
		`{"type":"text","text":"<system-reminder>\nfolder\n</system-reminder>"},{"type":"text","text":"hello"}]}}`
	st := plant(t, plainHeader, entry)
	s := open(t, st, plantedID)
	if got := StripContext(s.Messages()[0]); len(got.Parts) != 2 {
		t.Errorf("%+v", got)
	}
	if got := s.Info().FirstPrompt; !strings.HasPrefix(got, "<system-reminder>") {
		t.Errorf("%q", got)
	}
}
