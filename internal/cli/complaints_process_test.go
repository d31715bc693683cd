//go:build linux || darwin

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/face/supervisor"
	"github.com/lathe-dev/lathe/internal/llm"
)

// What users of agents with servers complain of most. Turns that hang without a client, silent loss at a reconnect,
// events that are missing, questions that one face sees and slow readers that are dropped are tests of porttest
// (TurnWithoutFace, CursorGetsMissed, SameOrder, QuestionsReach) and of the event bus.

// A supervisor that is killed and replaced disconnects nobody.
func TestComplaintARestartDisconnectsFaces(t *testing.T) {
	p := newJobsPlace(t)
	id := p.empty(t.Context()).ID
	f := p.face(t, id, port.Face{})
	events, err := f.Attach(t.Context(), port.From{})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	c := p.client(t.Context())
	now, err := c.Jobs(t.Context())
	c.Close()
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(now.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.client(t.Context()).Close()
	if _, err := f.Prompt(t.Context(), port.Prompt{ID: "p1", Message: llm.UserText("hello")}); err != nil {
		t.Fatal(err)
	}
	for {
		e, err := events.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.Body.(event.TurnEnd); ok {
			return
		}
	}
}

// A session that ran no turn can be gone on with.
func TestComplaintASessionWithoutATurnCannotBeResumed(t *testing.T) {
	for _, end := range []string{"stop", "kill"} {
		t.Run(end, func(t *testing.T) {
			p := newJobsPlace(t)
			j := p.empty(t.Context())
			if end == "stop" {
				p.must("stop", j.ID)
			} else if err := syscall.Kill(j.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			d, _ := p.screenAttached(t, j.ID)
			d.Type("hello\r")
			d.Shows("an answer of some words")
		})
	}
}

// A face that connects starts no MCP server again.
func TestComplaintReconnectsRestartServers(t *testing.T) {
	p := newJobsPlace(t)
	starts := filepath.Join(p.home, "starts")
	server := `{"mcpServers":{"counted":{"command":"sh","args":["-c","echo x >> ` + starts + `; exec cat > /dev/null"]}}}`
	if err := os.WriteFile(filepath.Join(p.home, ".claude.json"), []byte(server), 0o600); err != nil {
		t.Fatal(err)
	}
	id := p.empty(t.Context()).ID
	count := func() int {
		b, _ := os.ReadFile(starts)
		return strings.Count(string(b), "x")
	}
	if !await.Until(func() bool { return count() > 0 }) {
		t.Fatal("the server is not started")
	}
	before := count()
	for range 5 {
		f := p.face(t, id, port.Face{})
		events, err := f.Attach(t.Context(), port.From{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := events.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		events.Close()
		_ = f.Close()
	}
	if now := count(); now != before {
		t.Errorf("%d starts, then %d", before, now)
	}
}

// The lists of sessions name the same ones.
func TestComplaintListsDiffer(t *testing.T) {
	p := newJobsPlace(t)
	id := p.must("--bg", "--name", "greeting", "say hello")
	p.only(t, func(j supervisor.Job) bool { return j.State == "done" })
	j, err := p.Read(id)
	if err != nil {
		t.Fatal(err)
	}
	if out := p.must("session", "list", "--json"); !strings.Contains(out, j.SessionID) {
		t.Errorf("%s", out)
	}
	if out := p.must("ps", "--json"); !strings.Contains(out, j.SessionID) {
		t.Errorf("%s", out)
	}
}
