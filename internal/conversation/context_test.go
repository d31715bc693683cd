package conversation_test

import (
	"os"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

const contextSettings = `{"context": {"fileStructure": true, "providers": {"tickets": {"command": "touch ran; cat tickets.txt"}}}}`

// firstRequest prompts once in a project whose settings file is the given one, and returns the body of the request.
func firstRequest(t *testing.T, p *place, change func(*conversation.Options)) string {
	t.Helper()
	s := newSession(t, p.open(t, change), conversation.SessionOptions{})
	if _, err := s.Prompt(t.Context(), llm.UserText("go")); err != nil {
		t.Fatal(err)
	}
	return string(p.srv.Requests()[len(p.srv.Requests())-1].Body)
}

func TestCommandsOfAProjectsSettingsRunOnceItIsTrusted(t *testing.T) {
	p := newPlace(t, llmtest.Replies(llmtest.Say(llmtest.Text("Yes.")), llmtest.Say(llmtest.Text("Yes.")),
		llmtest.Say(llmtest.Text("Yes."))))
	p.write(t, "tickets.txt", "LATHE-7 is open\n")
	p.write(t, ".lathe/settings.json", contextSettings)
	if body := firstRequest(t, p, nil); strings.Contains(body, "LATHE-7") || strings.Contains(body, `name=\"structure\"`) {
		t.Errorf("a project that is not trusted adds to the context: %s", body)
	}
	if _, err := os.Stat(p.dir + "/ran"); err == nil {
		t.Fatal("its command was run")
	}
	i := p.open(t, nil)
	if err := i.Config().Trust(); err != nil {
		t.Fatal(err)
	}
	body := firstRequest(t, p, nil)
	// the command's file may be in the list
	for _, want := range []string{
		`<context name=\"tickets\">\nLATHE-7 is open\n</context>`,
		`<context name=\"structure\">\n.lathe/ 1\n`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is not in %s", want, body)
		}
	}
	if body := firstRequest(t, p, func(o *conversation.Options) { o.Bare = true }); strings.Contains(body, "LATHE-7") {
		t.Error("--bare runs it")
	}
}
