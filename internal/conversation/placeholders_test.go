package conversation_test

import (
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// A system prompt may name the folder, the date, the platform and the model; the settings add instructions.
func TestTheSystemPromptNamesWhereItIs(t *testing.T) {
	p := newPlace(t, llmtest.Replies(llmtest.Say(llmtest.Text("hello"))))
	p.write(t, "../.config/lathe/settings.json", `{"instructions": "Answer in verse."}`)
	s := newSession(t, p.open(t, func(o *conversation.Options) {
		o.System = "In {{cwd}} on {{platform}}, {{date}}, as {{model}}; {{other}}."
	}), conversation.SessionOptions{})
	p.promptIn(t, s, "hi")
	sent := p.sent()[0]
	for _, want := range []string{"In " + s.Dir() + " on ", ", as " + s.Model().ID, "{{other}}", "Answer in verse."} {
		if !strings.Contains(sent, want) {
			t.Errorf("%q is missing in %s", want, sent)
		}
	}
}
