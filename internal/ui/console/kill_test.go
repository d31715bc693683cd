package console

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/llm"
)

// TestMain lets the test binary act as a lathe that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("CONSOLE_TEST_VICTIM"); dir != "" {
		if err := victim(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// victim runs a turn and prints every event when a reader gets it.
func victim(dir string) error {
	ctx := context.Background()
	cfg, err := config.Load(config.Options{Dir: dir, Environ: os.Environ(), ManagedPaths: []string{}})
	if err != nil {
		return err
	}
	inst, err := conversation.Open(conversation.Options{Config: cfg, Dir: dir, Environ: os.Environ(), Version: "test"})
	if err != nil {
		return err
	}
	c, err := Open(ctx, Options{Instance: inst, Session: conversation.SessionOptions{Interactive: true}, Version: "test"})
	if err != nil {
		return err
	}
	go func() { _, _ = c.Prompt(ctx, port.Prompt{Message: llm.UserText("look")}) }()
	for {
		e, err := c.Events().Next(ctx)
		if err != nil {
			return err
		}
		line, err := event.MarshalEvent(e)
		if err != nil {
			return err
		}
		fmt.Println(string(line))
		if _, ok := e.Body.(event.TurnEnd); ok {
			return nil
		}
	}
}

// watch runs a lathe, kills it after a number of recorded events, and returns the events its reader got.
func (p *place) watch(t *testing.T, kill int) []event.Event {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self)
	c.Env = append(p.environ(), "CONSOLE_TEST_VICTIM="+p.dir)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var seen []event.Event
	for r := bufio.NewReader(out); ; {
		line, err := r.ReadBytes('\n')
		if err != nil { // the last line may be cut: no one got that event
			break
		}
		e, err := event.UnmarshalEvent(bytes.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		if seen = append(seen, e); len(recorded(seen)) == kill {
			_ = c.Process.Kill()
		}
	}
	_ = c.Wait()
	return seen
}

// unnamed removes the ids of replies: a reply that was cut off gets a new one.
func unnamed(events []string) []string {
	name := regexp.MustCompile(` part \S* \{`)
	for i, s := range events {
		events[i] = name.ReplaceAllString(s, " part {")
	}
	return events
}

func TestAReaderMissesNothingWhenLatheIsKilled(t *testing.T) {
	for kill := 1; kill <= 30; kill += 4 {
		p := newPlace(t, eventfulScript())
		eventful(t, p)
		seen := p.watch(t, kill)
		var last event.Cursor
		id := ""
		for _, e := range seen {
			if e.Cursor != "" {
				last, id = e.Cursor, e.Session
			}
		}
		s := p.open(t, func(o *Options) { o.Session.Resume = id })
		rest := s.attach(port.From{After: last})
		all := unnamed(recorded(s.attach(port.From{After: event.CursorAt(id, "", 0)})))
		wantSame(t, fmt.Sprintf("killed after %d events, seen %d", kill, len(seen)), all,
			unnamed(append(recorded(seen), recorded(rest)...)))
		starts, ends := 0, 0
		for _, e := range all {
			starts += strings.Count(e, " start ")
			ends += strings.Count(e, " end ")
		}
		if starts > ends {
			t.Errorf("killed after %d events: %d calls started and %d ended", kill, starts, ends)
		}
	}
}
