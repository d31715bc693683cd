package session_test

import (
	"testing"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
)

func TestABranchBringsOnlyTheEntriesAndTextsThatAreWanted(t *testing.T) {
	ctx := t.Context()
	log, err := session.NewStore(t.TempDir()).Create(ctx, session.Meta{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	message := llm.Message{Role: llm.User, Parts: []llm.Part{
		llm.Text{Text: "the skill", Origin: llm.OriginSkill},
		llm.Text{Text: "the prompt"},
	}}
	if err := log.AddUser(ctx, message, false, false); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"Read", "TodoWrite"} {
		if err := log.AddPart(ctx, i, llm.ToolCall{ID: name, Name: name, Input: []byte(`{}`)}); err != nil {
			t.Fatal(err)
		}
	}
	cost := 0.5
	usage := llm.Usage{
		Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, CacheWrite1h: 5, Reasoning: 6, Estimated: true,
		CostUSD: &cost,
	}
	if err := log.AddReply(ctx, llm.Message{
		ID: "m1", Role: llm.Assistant, Model: "m", Usage: &usage,
		Stop: llm.StopToolUse,
	}); err != nil {
		t.Fatal(err)
	}

	var texts []string
	for p := range log.Parts(llm.OriginSkill) {
		texts = append(texts, p.(llm.Text).Text)
	}
	if len(texts) != 2 || texts[0] != "the skill" || texts[1] != "" {
		t.Errorf("texts of skills: %q", texts)
	}
	b := log.Branch().Only("part").Holding("TodoWrite")
	for _, e := range b.Entries(0, b.Len()) {
		if c := e.Body.(session.Part).Part.(llm.ToolCall); c.Name != "TodoWrite" {
			t.Errorf("a line without the text: %+v", c)
		}
	}
	b = log.Branch().Only("reply")
	replies := 0
	for _, e := range b.Entries(0, b.Len()) {
		r := e.Body.(session.Reply)
		replies++
		if r.MessageID != "m1" || r.Model != "m" || r.Stop != llm.StopToolUse || r.Usage.Prompt() != 8 ||
			!r.Usage.Estimated || *r.Usage.CostUSD != cost {
			t.Errorf("%+v %+v", r, r.Usage)
		}
	}
	if replies != 1 {
		t.Errorf("%d replies", replies)
	}
}

func TestSinceIsTheEndOfTheBranch(t *testing.T) {
	log, err := session.NewStore(t.TempDir()).Create(t.Context(), session.Meta{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	note := func(text string) string {
		e, err := log.Add(t.Context(), session.Note{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		return e.ID
	}
	since := func(id string) (texts string, ok bool) {
		b, ok := log.Since(id)
		if !ok {
			return "", false
		}
		for _, e := range b.Entries(0, b.Len()) {
			texts += e.Body.(session.Note).Text
		}
		return texts, true
	}
	if got, ok := since(""); got != "" || !ok {
		t.Errorf("of nothing: %q %v", got, ok)
	}
	a, b := note("a"), note("b")
	if err := log.Checkout(a); err != nil {
		t.Fatal(err)
	}
	note("c")
	d := note("d")
	for id, want := range map[string]string{"": "acd", a: "cd", d: ""} {
		if got, ok := since(id); got != want || !ok {
			t.Errorf("since %q: %q %v, want %q", id, got, ok, want)
		}
	}
	for _, id := range []string{b, "none"} {
		if got, ok := since(id); ok {
			t.Errorf("%s is on the branch: %q", id, got)
		}
	}
}
