package console

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/face/port/porttest"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// portScript answers every prompt, and asks first where a prompt says so.
func portScript() *llmtest.Script {
	ask := llmtest.Tool("Bash", map[string]any{"command": "touch made.txt; echo made-it"})
	s := llmtest.Replies(when("", "made-it", llmtest.Text("It is made.")), when("ask me", "", ask))
	answer := llmtest.Say(llmtest.Text("an answer of some words"))
	s.Final = &answer
	return s
}

func TestThePort(t *testing.T) {
	for name, connect := range map[string]func(*testing.T, *port.Server, port.Face) port.Session{
		"in the same process": func(_ *testing.T, s *port.Server, f port.Face) port.Session { return s.For(f) },
		"through a pipe":      piped,
	} {
		t.Run(name, func(t *testing.T) {
			porttest.Run(t, func(t *testing.T) porttest.Place {
				s := newPlace(t, portScript()).open(t, nil)
				server := &port.Server{Session: s.Console, Lathe: "test"}
				return porttest.Place{Face: func(t *testing.T, f port.Face) port.Session { return connect(t, server, f) }}
			})
		})
	}
}

// piped connects a face through a pipe.
func piped(t *testing.T, server *port.Server, f port.Face) port.Session {
	t.Helper()
	ours, theirs := net.Pipe()
	go server.Serve(t.Context(), jsonrpc.NewLines(theirs, theirs, theirs.Close))
	c, err := port.Connect(t.Context(), jsonrpc.NewLines(ours, ours, ours.Close), f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestPrincipals: the log and hooks know who sent a prompt, and who answered a question.
func TestPrincipals(t *testing.T) {
	p := newPlace(t, portScript())
	seen := filepath.Join(p.home, "seen")
	if err := os.MkdirAll(filepath.Join(p.home, ".claude"), 0o700); err != nil {
		t.Fatal(err)
	}
	hook := `[{"hooks":[{"type":"command","command":"cat >> ` + seen + `; echo >> ` + seen + `"}]}]`
	settings := `{"hooks":{"UserPromptSubmit":` + hook + `,"PreToolUse":` + hook + `}}`
	if err := os.WriteFile(filepath.Join(p.home, ".claude", "settings.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	s := p.open(t, nil)
	server := &port.Server{Session: s.Console, Lathe: "test"}
	ann, ben := server.For(port.Face{Principal: "ann"}), server.For(port.Face{Principal: "ben"})
	if _, err := ann.Prompt(t.Context(), port.Prompt{Message: llm.UserText("ask me")}); err != nil {
		t.Fatal(err)
	}
	if !await.Until(func() bool { return len(s.Questions()) == 1 }) {
		t.Fatal("nothing is asked")
	}
	e := s.Questions()[0]
	a := port.Answer{Session: e.Session, ID: e.Body.(event.Asked).ID, Answer: event.Answer{Choice: event.ChoiceOnce}}
	if err := ben.Answer(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if !await.Until(func() bool { return s.State().Doing == event.Idle }) {
		t.Fatal("the turn does not end")
	}
	log, err := os.ReadFile(s.session().Log().Path())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"from":"ann"`, `"by":"ben"`} {
		if !strings.Contains(string(log), want) {
			t.Errorf("the log lacks %s", want)
		}
	}
	hooks, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(hooks)) {
		if strings.TrimSpace(line) != "" && !strings.Contains(line, `"principal":"ann"`) {
			t.Errorf("a hook was told %s", line)
		}
	}
}
