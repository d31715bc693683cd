package console

import (
	"net"
	"testing"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/face/port/porttest"
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
