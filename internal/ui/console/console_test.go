package console

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
	"github.com/lathe-dev/lathe/internal/permission"
)

// place is a machine of a test's own.
type place struct {
	home, dir string
	srv       *llmtest.Server
	env       []string
	boundary  *boundary.Boundary // nil: no sandbox
}

func newPlace(t *testing.T, script *llmtest.Script) *place {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{home: home, dir: filepath.Join(home, "project")}
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	p.srv = llmtest.New(script, llmtest.Options{Vars: map[string]string{"WORKDIR": p.dir}})
	if err := p.srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.srv.Close() })
	return p
}

func (p *place) environ() []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "LANG=C.UTF-8", "SHELL=/bin/sh",
		"ANTHROPIC_BASE_URL=" + p.srv.URL(), "ANTHROPIC_API_KEY=sk-test",
	}, p.env...)
}

func (p *place) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (p *place) read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// seat is a console with a reader of its events.
type seat struct {
	*Console
	t *testing.T
}

func (p *place) open(t *testing.T, change func(*Options)) *seat {
	t.Helper()
	cfg, err := config.Load(config.Options{Dir: p.dir, Environ: p.environ(), ManagedPaths: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	inst, err := conversation.Open(conversation.Options{Config: cfg, Dir: p.dir, Environ: p.environ(), Version: "test", Boundary: p.boundary})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = inst.Close() })
	o := Options{Instance: inst, Session: conversation.SessionOptions{Interactive: true}, Version: "test"}
	if change != nil {
		change(&o)
	}
	c, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return &seat{c, t}
}

// Prompt runs turns and returns when nothing runs any more.
func (s *seat) Prompt(ctx context.Context, m llm.Message) error {
	if _, err := s.Console.Prompt(ctx, port.Prompt{Message: m}); err != nil {
		return err
	}
	if !await.Until(func() bool { return s.State().Turn == "" }) {
		return errors.New("the turn does not end")
	}
	return nil
}

// Steer hands a message to the running turn, and reports whether one ran.
func (s *seat) Steer(m llm.Message, after bool) bool {
	when := port.NextStep
	if after {
		when = port.AfterTurn
	}
	if s.State().Turn == "" {
		return false
	}
	_, err := s.Console.Prompt(s.t.Context(), port.Prompt{Message: m, When: when})
	return err == nil
}

// Unqueue takes back the newest message that waits.
func (s *seat) Unqueue() (llm.Message, bool) {
	q, err := s.Queue(s.t.Context(), port.QueueChange{Do: "drop"})
	if err != nil || q.Dropped == nil {
		return llm.Message{}, false
	}
	return *q.Dropped, true
}

func (s *seat) Next(ctx context.Context) (event.Event, error) { return s.Events().Next(ctx) }

func (s *seat) Interrupt() { _ = s.Console.Interrupt(s.t.Context(), "") }

func (s *seat) Answer(session, id string, a event.Answer) error {
	return s.Console.Answer(s.t.Context(), port.Answer{Session: session, ID: id, Answer: a})
}

func (s *seat) Command(ctx context.Context, name, args string) (event.Output, error) {
	return s.Console.Command(ctx, port.Command{Name: name, Args: args})
}

func (s *seat) Complete(ctx context.Context, q event.Query) []event.Candidate {
	out, err := s.Console.Complete(ctx, q)
	if err != nil {
		s.t.Error(err)
	}
	return out
}

func (s *seat) Questions() []event.Event { return s.bus.Questions() }

func (s *seat) History(before event.Cursor, n int) ([]event.Body, event.Cursor, error) {
	c, err := s.Read(s.t.Context(), port.ReadRequest{What: "history", Before: before, Limit: n})
	if err != nil {
		return nil, "", err
	}
	return c.History.History, c.History.More, nil
}

// until reads events until one of its type passes.
func until[T event.Body](s *seat, pass func(T) bool) T {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	defer cancel()
	for {
		e, err := s.Next(ctx)
		if err != nil {
			var none T
			s.t.Fatalf("no %T: %v", none, err)
		}
		if b, ok := e.Body.(T); ok && (pass == nil || pass(b)) {
			return b
		}
	}
}

// waits waits for a status. Its event may have been read already: it can come before the end of the turn.
func (s *seat) waits(pass func(event.Status) bool) (now event.Status) {
	s.t.Helper()
	if !await.Until(func() bool { now = s.Status(); return pass(now) }) {
		s.t.Fatalf("the status is %+v", now)
	}
	return now
}

func (s *seat) command(name, args string) event.Output {
	s.t.Helper()
	out, err := s.Command(s.t.Context(), name, args)
	if err != nil {
		s.t.Fatalf("/%s %s: %v", name, args, err)
	}
	return out
}

func (s *seat) prompt(text string) {
	s.t.Helper()
	if err := s.Prompt(s.t.Context(), llm.UserText(text)); err != nil {
		s.t.Fatalf("%q: %v", text, err)
	}
}

func talk3() *llmtest.Script {
	return llmtest.Replies(llmtest.Say(llmtest.Text("one")), llmtest.Say(llmtest.Text("two")),
		llmtest.Say(llmtest.Text("three")))
}

func TestTheStreamBeginsWithOpenedAndStatus(t *testing.T) {
	s := newPlace(t, talk3()).open(t, nil)
	e, err := s.Next(t.Context())
	if o, ok := e.Body.(event.Opened); !ok || err != nil || o.Session == "" || len(o.History) != 0 {
		t.Fatalf("%+v %v", e, err)
	}
	e, _ = s.Next(t.Context())
	if st, ok := e.Body.(event.Status); !ok || st.Model == "" || st.Mode != permission.Default || st.ContextWindow == 0 {
		t.Fatalf("%+v", e.Body)
	}
}

// The status line names how commands are confined, and /sandbox tells more.
func TestTheStatusNamesTheSandbox(t *testing.T) {
	for tier, want := range map[confine.Tier][2]string{
		confine.Full:     {"sandboxed", "tier: full"},
		confine.Landlock: {"landlock", "not full because: `no namespaces`"},
	} {
		b, err := boundary.Open(boundary.Options{
			Settings: []byte(`{"enabled": true}`),
			Detect:   func() confine.Support { return confine.Support{Tier: tier, Why: "no namespaces"} },
		})
		if err != nil {
			t.Fatal(err)
		}
		p := newPlace(t, talk3())
		p.boundary = b
		s := p.open(t, nil)
		if got := s.Status().Sandbox; got != want[0] {
			t.Errorf("%v: the status says %q, want %q", tier, got, want[0])
		}
		s.shows("sandbox", "", want[1])
	}
}

func TestATurnIsToldAndCounted(t *testing.T) {
	s := newPlace(t, talk3()).open(t, nil)
	s.prompt("hello")
	if end := until[event.TurnEnd](s, nil); end.Reason != event.EndCompleted {
		t.Fatalf("%+v", end)
	}
	st := s.waits(func(st event.Status) bool { return st.CostUSD > 0 })
	if st.ContextUsed == 0 || st.Title != "hello" {
		t.Errorf("%+v", st)
	}
}

func TestANewConversationLeavesTheOldOneToBeResumed(t *testing.T) {
	s := newPlace(t, talk3()).open(t, nil)
	s.prompt("first")
	old := s.session().ID()
	s.command("model", "claude-opus-4-5")
	s.command("mode", "acceptEdits")
	s.command("new", "")
	if o := until(s, func(o event.Opened) bool { return o.Session != old }); len(o.History) != 0 {
		t.Errorf("%+v", o.History)
	}
	s.prompt("second")
	s.command("resume", old[:13])
	o := until(s, func(o event.Opened) bool { return o.Session == old })
	var kinds []string
	for _, b := range o.History {
		kinds = append(kinds, b.Kind())
	}
	if got := strings.Join(kinds, " "); got != "message.user part.done turn.end" {
		t.Errorf("%s", got)
	}
	st := until[event.Status](s, nil)
	if st.Model != "claude-opus-4-5" || st.Mode != permission.AcceptEdits || st.ContextUsed == 0 || st.CostUSD == 0 {
		t.Errorf("%+v", st)
	}
	s.prompt("third")
	if got := s.session().Messages(); len(got) != 4 || got[3].PlainText() != "two" {
		t.Errorf("%d messages", len(got))
	}
}
