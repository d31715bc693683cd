package conversation_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// The opening that is shown is the one that is sent, byte for byte.
func TestTheOpeningIsSentAsItIsShown(t *testing.T) {
	p := newPlace(t, llmtest.Replies(llmtest.Say(llmtest.Text("Done."))))
	p.write(t, "CLAUDE.md", "Use tabs, <b> & \"quotes\".")
	set := func(o *conversation.Options) { o.AppendSystem = "Speak like a pirate." }
	shown := newSession(t, p.open(t, set), conversation.SessionOptions{Detached: true}).Opening(t.Context())
	s := newSession(t, p.open(t, set), conversation.SessionOptions{})
	if _, err := s.Prompt(t.Context(), llm.UserText("go")); err != nil {
		t.Fatal(err)
	}
	var sent struct {
		System   []struct{ Text string }
		Tools    []struct{ Name, Description string }
		Messages []struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal(p.srv.Requests()[0].Body, &sent); err != nil {
		t.Fatal(err)
	}
	var system, first []string
	for _, s := range shown.System {
		system = append(system, s.Text)
	}
	if got := strings.Join(system, "\n\n"); got != sent.System[0].Text {
		t.Errorf("system prompt, shown:\n%s\nsent:\n%s", got, sent.System[0].Text)
	}
	for i, tool := range sent.Tools {
		if shown.Tools[i].Name != tool.Name || shown.Tools[i].Description != tool.Description {
			t.Errorf("%+v is sent as %+v", shown.Tools[i], tool)
		}
	}
	for _, s := range shown.Context {
		first = append(first, s.Text)
	}
	var texts []string
	for _, c := range sent.Messages[0].Content {
		texts = append(texts, c.Text)
	}
	if want := slices.Concat(texts[:len(texts)-1]); strings.Join(first, "") != strings.Join(want, "") {
		t.Errorf("first message, shown:\n%s\nsent:\n%s", strings.Join(first, ""), strings.Join(want, ""))
	}
}
