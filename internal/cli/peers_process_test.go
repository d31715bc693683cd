//go:build linux || darwin

package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// tells is a model that sends a message to the session paint-the-fence when it is told to.
func tells() *llmtest.Script {
	when := func(text string, turn int, parts ...llmtest.Part) llmtest.Reply {
		r := llmtest.Say(parts...)
		r.When = &llmtest.When{Contains: text, Turn: &turn}
		return r
	}
	return llmtest.Replies(
		when("is another session", 0, llmtest.Tool("SendMessage", map[string]any{
			"to": "paint-the-fence", "message": "use blue paint",
		})),
		when("use blue paint", 1, llmtest.Text("Blue it is.")),
		llmtest.Say(llmtest.Text("Which colour, I wonder.")),
		llmtest.Say(llmtest.Text("I told it.")),
	)
}

// said waits until the conversation of a session has a text.
func (m *machine) said(id, text string) {
	m.t.Helper()
	out := ""
	if !await.Until(func() bool {
		b, _ := m.command("logs", id).Output() // its log may not be there yet
		out = string(b)
		return strings.Contains(out, text)
	}) {
		m.t.Fatalf("%s never said %q:\n%s\n%s", id, text, out, m.run("ps"))
	}
}

func TestSessionsSpeakWithEachOther(t *testing.T) {
	m := newMachine(t, tells(), "")
	painter := m.run("--bg", "paint the fence")
	m.said(painter, "Which colour, I wonder.")
	teller := m.run("--bg", "tell @paint-the-fence the colour")
	m.said(teller, "I told it.")
	m.said(painter, "Blue it is.")
	for _, r := range m.srv.Requests() {
		if bytes.Contains(r.Body, []byte("tell @paint-the-fence")) && !bytes.Contains(r.Body, []byte("SendMessage")) {
			t.Error("the tool is not offered")
		}
	}
}

func TestASessionThatMayDoMoreHoldsAMessage(t *testing.T) {
	m := newMachine(t, tells(), "")
	painter := m.run("--bg", "--permission-mode", "acceptEdits", "paint the fence")
	m.said(painter, "Which colour, I wonder.")
	teller := m.run("--bg", "tell @paint-the-fence the colour")
	m.said(teller, "I told it.")
	s := m.terminal("dash")
	s.Shows("waits for: answer")
	s.Press(" ", "use blue paint")
	s.Type("1\r")
	m.said(painter, "Blue it is.")
	s.Type("\x03")
	ended(t, s, 0)
}
