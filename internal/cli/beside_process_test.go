//go:build linux || darwin

package cli_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/face/supervisor"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/machine/term/termtest"
)

// screen opens lathe in a terminal.
func (p *jobsPlace) screen(t *testing.T, args ...string) (*termtest.Terminal, *exec.Cmd) {
	t.Helper()
	c := exec.Command(p.lathe, args...)
	c.Dir, c.Env = p.dir, append(p.environ(), "TERM=xterm-256color")
	d := termtest.Start(t, c, 90, 30)
	d.Shows("sandboxed") // the session is there
	return d, c
}

// only is the only job.
func (p *jobsPlace) only(t *testing.T, pass func(supervisor.Job) bool) (j supervisor.Job) {
	t.Helper()
	if !await.Until(func() bool {
		all, err := p.List()
		if err != nil || len(all) != 1 {
			return false
		}
		j = all[0]
		return pass(j)
	}) {
		t.Fatalf("%+v\n%s", j, p.must("ps"))
	}
	return j
}

// runs reports a process that has not ended.
func runs(pid int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && !strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

func live(j supervisor.Job) bool { return j.Live() && j.SessionID != "" }

func TestTheTerminalIsLeftByQuit(t *testing.T) {
	p := newJobsPlace(t)
	d, _ := p.screen(t)
	d.Type("hello\r")
	d.Shows("an answer of some words")
	j := p.only(t, live)
	if j.Kind != "interactive" {
		t.Errorf("%+v", j)
	}
	d.Type("/quit\r")
	if out := ended(t, d, 0); !strings.Contains(out, "Go on with: lathe --resume "+j.SessionID) {
		t.Errorf("%q", out)
	}
	if all, err := p.List(); err != nil || len(all) != 0 {
		t.Errorf("%+v %v", all, err)
	}
	if !await.Until(func() bool { return !runs(j.PID) }) {
		t.Error("the session process lives on")
	}
}

// A terminal that is killed while a question is open loses nothing: the session is attached to, and goes on.
func TestTheTerminalIsKilled(t *testing.T) {
	p := newJobsPlace(t)
	d, c := p.screen(t)
	d.Type("ask me\r")
	d.Shows("made.txt")
	j := p.only(t, func(j supervisor.Job) bool { return j.State == supervisor.Blocked })
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	again, _ := p.screenAttached(t, j.ID)
	again.Shows("made.txt")
	again.Press("\r", "It is made.")
	again.Type("/bg\r")
	if out := ended(t, again, 0); !strings.Contains(out, "lathe attach "+j.ID) {
		t.Errorf("%q", out)
	}
	if now := p.only(t, live); now.PID != j.PID || now.Kind != "background" {
		t.Errorf("%+v", now)
	}
}

func (p *jobsPlace) screenAttached(t *testing.T, id string) (*termtest.Terminal, *exec.Cmd) {
	t.Helper()
	return p.screen(t, "attach", id)
}

// A session process that is killed is started again below its terminal, which goes on with it.
func TestTheProcessBesideATerminalIsKilled(t *testing.T) {
	p := newJobsPlace(t)
	d, _ := p.screen(t)
	d.Type("hello\r")
	d.Shows("an answer of some words")
	j := p.only(t, live)
	if err := syscall.Kill(j.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	d.Type("ask me\r")
	d.Shows("made.txt")
	d.Press("\r", "It is made.")
	if now := p.only(t, live); now.PID == j.PID || now.SessionID != j.SessionID {
		t.Errorf("%+v", now)
	}
}

// The left arrow leads to all sessions, and enter back.
func TestTheLeftArrowLeadsToAllSessions(t *testing.T) {
	p := newJobsPlace(t)
	d, _ := p.screen(t)
	d.Type("hello\r")
	d.Shows("an answer of some words")
	d.Type("\x1b[D")
	d.Shows("Done")
	d.Shows("hello")
	d.Type("\r")
	d.Shows("an answer of some words")
}

// What the terminal prints when a session cannot begin is what it always was.
func TestATerminalWhoseSessionCannotBegin(t *testing.T) {
	p := newJobsPlace(t)
	c := exec.Command(p.lathe, "--resume", "0199aaaa")
	c.Dir, c.Env = p.dir, append(p.environ(), "TERM=xterm-256color")
	d := termtest.Start(t, c, 90, 30)
	if out := ended(t, d, 2); !strings.Contains(out, "0199aaaa") {
		t.Errorf("%q", out)
	}
	if all, err := p.List(); err != nil || len(all) != 0 {
		t.Errorf("%+v %v", all, err)
	}
}

func TestNoProcessBesideTheTerminal(t *testing.T) {
	p := newJobsPlace(t)
	d, _ := p.screen(t, "--no-background")
	d.Type("hello\r")
	d.Shows("an answer of some words")
	if all, err := p.List(); err != nil || len(all) != 0 {
		t.Errorf("%+v %v", all, err)
	}
	d.Type("/quit\r")
	ended(t, d, 0)
}

// The umask and the limits of the terminal hold for the process that takes the place of a killed one.
func TestLimitsOfTheTerminal(t *testing.T) {
	p := newJobsPlace(t)
	look := llmtest.Tool("Bash", map[string]any{"command": "touch made.txt; echo look: $(umask) $(ulimit -c)"})
	when := func(text string) llmtest.Reply {
		return llmtest.Reply{When: &llmtest.When{Contains: text}, Parts: []llmtest.Part{look}}
	}
	s := llmtest.Replies(llmtest.Reply{
		When: &llmtest.When{Result: "look:"}, Parts: []llmtest.Part{llmtest.Text("I looked.")},
	}, when("have a look"), when("lathe was restarted"))
	p.serve(s)
	p.client(t.Context()).Close() // the supervisor has the limits of the test
	c := exec.Command("sh", "-c", "umask 027; ulimit -S -c 16; exec "+p.lathe+" --bg --sandbox off have a look")
	c.Dir, c.Env = p.dir, p.environ()
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v %s", err, out)
	}
	id := strings.TrimSpace(string(out))
	blocked := func(j supervisor.Job) bool { return j.State == supervisor.Blocked }
	p.only(t, blocked)
	p.kill(id)
	f := p.face(t, id, port.Face{})
	var now port.Content
	if !await.Until(func() bool {
		now, err = f.Read(t.Context(), port.ReadRequest{What: "questions"})
		return err == nil && len(now.Questions) == 1
	}) {
		t.Fatalf("%+v %v", now, err)
	}
	e := now.Questions[0]
	a := port.Answer{Session: e.Session, ID: e.Body.(event.Asked).ID, Answer: event.Answer{Choice: event.ChoiceOnce}}
	if err := f.Answer(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	p.only(t, func(j supervisor.Job) bool { return j.State == supervisor.Done })
	if out := p.must("logs", id); !strings.Contains(out, "look: 0027 8") {
		t.Errorf("%s", out)
	}
}

// Terminals are killed at random moments after a prompt was typed, half of them while a question is open: the session
// goes on in one process, no prompt runs twice, and no question is lost. LATHE_TEST_KILLS says how often.
func TestKillsOfTheTerminalLoseNothing(t *testing.T) {
	kills := 4
	if n, err := strconv.Atoi(os.Getenv("LATHE_TEST_KILLS")); err == nil {
		kills = n
	}
	p := newJobsPlace(t)
	rnd := rand.New(rand.NewPCG(11, uint64(kills)))
	d, c := p.screen(t)
	job := p.only(t, live)
	s := port.NewStay(nil, func(ctx context.Context) (*port.Client, error) { return p.dial(ctx, job.ID) })
	defer func() { _ = s.Close() }()
	for n := range kills {
		text := fmt.Sprintf("hello %d", n)
		if n%2 == 0 {
			text = fmt.Sprintf("ask me %d", n)
		}
		d.Type(text + "\r")
		time.Sleep(time.Duration(rnd.IntN(200)) * time.Millisecond)
		_ = c.Process.Kill()
		p.settle(t, s)
		d, c = p.screenAttached(t, job.ID)
	}
	seen := map[string]bool{}
	for _, text := range p.conversation(t.Context(), t, s) {
		if seen[text] {
			t.Errorf("%q ran twice", text)
		}
		seen[text] = true
	}
	if len(seen) == 0 {
		t.Error("no prompt arrived")
	}
	if now := p.only(t, live); now.PID != job.PID {
		t.Errorf("the session moved from %+v to %+v", job, now)
	}
}

// settle answers what is asked, until nothing runs.
func (p *jobsPlace) settle(t *testing.T, s port.Session) {
	t.Helper()
	if !await.Until(func() bool {
		now, err := s.Read(t.Context(), port.ReadRequest{What: "questions"})
		if err != nil {
			return false
		}
		for _, e := range now.Questions {
			a := event.Answer{Choice: event.ChoiceOnce}
			_ = s.Answer(t.Context(), port.Answer{Session: e.Session, ID: e.Body.(event.Asked).ID, Answer: a})
		}
		return now.State.Doing == event.Idle
	}) {
		t.Fatal("the session does not come to rest")
	}
}

// A session without a face ends its process when it was idle for the time in the settings, and comes back. It waits a
// minute: LATHE_TEST_IDLE says that it may.
func TestAnIdleSessionHasNoProcess(t *testing.T) {
	if os.Getenv("LATHE_TEST_IDLE") == "" {
		t.Skip("set LATHE_TEST_IDLE: it waits for more than a minute")
	}
	p := newJobsPlace(t)
	settings := filepath.Join(p.home, ".config", "lathe", "settings.json")
	if err := os.MkdirAll(filepath.Dir(settings), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(settings, []byte(`{"background":{"idleMinutes":1}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	id := p.must("--bg", "hello")
	j := p.only(t, func(j supervisor.Job) bool { return j.State == supervisor.Done })
	for end := time.Now().Add(2 * time.Minute); runs(j.PID); time.Sleep(time.Second) {
		if time.Now().After(end) {
			t.Fatal("the process stays")
		}
	}
	d, _ := p.screenAttached(t, id)
	d.Shows("an answer of some words")
}
