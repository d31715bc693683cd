package console

import (
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// Before the first prompt the hooks of the start have spoken, a server that fails is named, and the servers of the
// project that wait for approval are asked about.
func TestTheStartIsSeenBeforeTheFirstPrompt(t *testing.T) {
	p := newPlace(t, llmtest.Replies(llmtest.Say(llmtest.Text("hello"))))
	p.write(t, "../.config/lathe/settings.json", `{"mcpServers": {"broken": {"command": "/bin/false"}}, "hooks": {
		"SessionStart": [{"hooks": [{"type": "command", "command":
		"echo '{\"systemMessage\":\"good morning\",\"hookSpecificOutput\":{\"hookEventName\":\"SessionStart\",`+
		`\"additionalContext\":\"the moon is green\"}}'"}]}]}}`)
	p.write(t, ".mcp.json", `{"mcpServers": {"theirs": {"command": "/bin/cat"}}}`)
	s := p.open(t, nil)
	missing := map[string]bool{"good morning": true, "MCP server broken": true, "theirs?": true, "with your rights": true}
	until(s, func(b event.Body) bool {
		text := ""
		switch b := b.(type) {
		case event.Notice:
			text = b.Text
		case event.Asked:
			text = b.Question.Title + b.Question.Reason
		}
		for want := range missing {
			if strings.Contains(text, want) {
				delete(missing, want)
			}
		}
		return len(missing) == 0
	})
	s.prompt("hi")
	b := until[event.UserMessage](s, nil)
	if len(b.Told) != 1 || !strings.Contains(b.Told[0], "the moon is green") {
		t.Errorf("%q", b.Told)
	}
}
