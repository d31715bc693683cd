//go:build linux || darwin

package cli_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/client"
)

// servePlace is a machine with lathe serve.
type servePlace struct {
	*jobsPlace
	cmd     *exec.Cmd
	address string // of the loopback listener
}

func newServePlace(t *testing.T, args ...string) *servePlace {
	t.Helper()
	p := &servePlace{jobsPlace: newJobsPlace(t)}
	p.start(args...)
	t.Cleanup(func() { p.kill9() })
	return p
}

// start starts lathe serve and waits until it listens.
func (p *servePlace) start(args ...string) {
	p.t.Helper()
	at := "127.0.0.1:0"
	if p.address != "" {
		at = strings.TrimPrefix(p.address, "http://")
	}
	p.cmd = exec.Command(p.lathe, append([]string{"serve", "--listen", at}, args...)...)
	p.cmd.Dir, p.cmd.Env = p.dir, p.environ()
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	p.cmd.Stderr = p.cmd.Stdout
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
		if at, ok := strings.CutPrefix(lines.Text(), "listening on http"); ok {
			p.address = "http" + at
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return
		}
	}
	p.t.Fatalf("lathe serve does not listen: %s", said)
}

func (p *servePlace) kill9() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

func (p *servePlace) socket() *client.Client {
	return client.Unix(filepath.Join(p.Sockets, "serve.sock"))
}

// eventOf waits for an event of a kind ("": any) that passes.
func eventOf(
	ctx context.Context, t *testing.T, e *client.Events, kind string, pass func(json.RawMessage) bool,
) client.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	var kinds []string
	for {
		got, err := e.Next(ctx)
		if err != nil {
			t.Fatalf("no %s: %v; read: %s", kind, err, kinds)
		}
		if kinds = append(kinds, got.Kind); (kind == "" || got.Kind == kind) && (pass == nil || pass(got.Body)) {
			return got
		}
	}
}

func TestATurnThroughHTTP(t *testing.T) {
	p := newServePlace(t)
	ctx := t.Context()
	for name, c := range map[string]*client.Client{
		"socket": p.socket(), "token": client.New(p.address, p.must("serve", "token"), nil),
	} {
		t.Run(name, func(t *testing.T) {
			s, err := c.CreateSession(ctx, client.NewSession{Dir: p.dir, Name: "greeting"})
			if err != nil || !s.Live {
				t.Fatalf("%+v %v", s, err)
			}
			events, err := c.Events(ctx, client.EventsQuery{Sessions: []string{s.ID}})
			if err != nil {
				t.Fatal(err)
			}
			defer events.Close()
			eventOf(ctx, t, events, "opened", nil)
			if r, err := c.Prompt(ctx, s.ID, client.Prompt{ID: "p1", Text: "ask me"}); err != nil || r.State != "begun" {
				t.Fatalf("%+v %v", r, err)
			}
			asked := eventOf(ctx, t, events, "asked", nil)
			var q struct {
				ID string `json:"id"`
			}
			if err := json.Unmarshal(asked.Body, &q); err != nil {
				t.Fatal(err)
			}
			if err := c.Answer(ctx, s.ID, q.ID, client.Answer{Choice: "once"}); err != nil {
				t.Fatal(err)
			}
			eventOf(ctx, t, events, "turn.end", nil)
			if r, err := c.Prompt(ctx, s.ID, client.Prompt{ID: "p1", Text: "ask me"}); err != nil || r.State != "known" {
				t.Errorf("%+v %v", r, err)
			}
			if page, err := c.Sessions(ctx, client.SessionsQuery{Text: "greeting"}); err != nil || len(page.Sessions) == 0 {
				t.Errorf("%+v %v", page, err)
			}
			if got, _, err := c.History(ctx, s.ID, "", 20); err != nil || len(got) < 3 {
				t.Errorf("%+v %v", got, err)
			}
		})
	}
}

// One stream brings the turns of all sessions; a reader that comes back gets what each did meanwhile, once.
func TestOneStreamBringsAllSessions(t *testing.T) {
	p := newServePlace(t)
	ctx := t.Context()
	c := p.socket()
	a, b, asleep := p.session(t), p.session(t), p.session(t)
	events, err := c.Events(ctx, client.EventsQuery{})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	prompt := func(id, text string) {
		t.Helper()
		if _, err := c.Prompt(ctx, id, client.Prompt{Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []client.Session{a, b, asleep} {
		prompt(s.ID, "hello")
	}
	last := ""
	for ended := map[string]bool{}; len(ended) < 3; { // a turn may be over before the session is followed
		e := eventOf(ctx, t, events, "", nil)
		if e.Kind == "turn.end" || e.Kind == "opened" && strings.Contains(string(e.Body), "turn.end") {
			ended[e.Session] = true
		}
		last = e.ID
	}
	events.Close()
	for _, s := range []client.Session{a, b, asleep} {
		prompt(s.ID, "hello again")
	}
	for _, s := range []client.Session{a, b, asleep} {
		if err := answerAll(ctx, &overHTTP{c, s.ID}); err != nil {
			t.Fatal(err)
		}
	}
	p.send(t, http.MethodPost, "/v1/sessions/"+asleep.ID+"/stop", nil)
	if events, err = c.Events(ctx, client.EventsQuery{After: last}); err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	missing := map[string]bool{"resync " + asleep.ID: true, "turn.end " + a.ID: true, "turn.end " + b.ID: true}
	for len(missing) > 0 {
		e := eventOf(ctx, t, events, "", nil)
		if e.Kind == "opened" {
			t.Errorf("%s begins again", e.Session)
		}
		delete(missing, e.Kind+" "+e.Session)
	}
}
