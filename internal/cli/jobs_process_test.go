//go:build linux || darwin

package cli_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/face/port/porttest"
	"github.com/lathe-dev/lathe/internal/face/supervisor"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// jobsPlace is a machine of a test's own, with a supervisor when something needs one.
type jobsPlace struct {
	supervisor.Place
	t         *testing.T
	lathe     string
	home, dir string
	srv       *llmtest.Server
	keyless   bool // no provider has a key
}

// jobsScript answers every prompt, and asks first where a prompt says so.
func jobsScript() *llmtest.Script {
	when := func(contains, result string, parts ...llmtest.Part) llmtest.Reply {
		return llmtest.Reply{When: &llmtest.When{Contains: contains, Result: result}, Parts: parts}
	}
	ask := llmtest.Tool("Bash", map[string]any{"command": "touch made.txt; echo made-it"})
	s := llmtest.Replies(when("", "made-it", llmtest.Text("It is made.")), when("ask me", "", ask),
		when("lathe was restarted", "", ask))
	answer := llmtest.Say(llmtest.Text("an answer of some words"))
	s.Final = &answer
	return s
}

func newJobsPlace(t *testing.T) *jobsPlace {
	t.Helper()
	home, err := os.MkdirTemp("", "lj") // short, for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	p := &jobsPlace{t: t, lathe: buildLathe(t), home: home, dir: filepath.Join(home, "p")}
	p.Place = supervisor.At(filepath.Join(home, ".local", "state", "lathe"), "")
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	p.serve(jobsScript())
	t.Cleanup(func() {
		if out, err := p.run("daemon", "stop"); err != nil {
			t.Errorf("daemon stop: %v\n%s", err, out)
		}
		if t.Failed() { // what the processes said
			logs, _ := filepath.Glob(filepath.Join(p.Jobs, "*", "worker.log"))
			for _, file := range append(logs, filepath.Join(home, ".local", "state", "lathe", "logs", "supervisor.log")) {
				b, _ := os.ReadFile(file)
				t.Logf("%s:\n%s", file, b)
			}
		}
	})
	return p
}

// serve begins a scripted model.
func (p *jobsPlace) serve(script *llmtest.Script) {
	p.t.Helper()
	p.srv = llmtest.New(script, llmtest.Options{})
	if err := p.srv.Start("127.0.0.1:0"); err != nil {
		p.t.Fatal(err)
	}
	srv := p.srv
	p.t.Cleanup(func() { _ = srv.Close() })
}

func (p *jobsPlace) environ() []string {
	out := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "LANG=C.UTF-8", "SHELL=/bin/sh"}
	if p.keyless {
		return out
	}
	return append(out, "ANTHROPIC_BASE_URL="+p.srv.URL(), "ANTHROPIC_API_KEY=sk-test")
}

// run runs a command line to its end.
func (p *jobsPlace) run(args ...string) (string, error) {
	c := exec.Command(p.lathe, args...)
	c.Dir, c.Env = p.dir, p.environ()
	out, err := c.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (p *jobsPlace) must(args ...string) string {
	p.t.Helper()
	out, err := p.run(args...)
	if err != nil {
		p.t.Fatalf("lathe %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// client connects to the supervisor.
func (p *jobsPlace) client(ctx context.Context) *supervisor.Client {
	p.t.Helper()
	c, err := p.tryClient(ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

func (p *jobsPlace) tryClient(ctx context.Context) (*supervisor.Client, error) {
	return p.Ensure(ctx, func() error {
		cmd := exec.Command(p.lathe, "daemon", "run")
		cmd.Dir, cmd.Env, cmd.SysProcAttr = "/", p.environ(), &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			return err
		}
		go func() { _ = cmd.Wait() }()
		return nil
	})
}

// empty starts a session without a prompt.
func (p *jobsPlace) empty(ctx context.Context) supervisor.Job {
	p.t.Helper()
	c := p.client(ctx)
	defer c.Close()
	j, err := c.Start(ctx, supervisor.Start{Kind: "background", CWD: p.dir, Environ: p.environ()})
	if err != nil {
		p.t.Fatal(err)
	}
	return j
}

// face connects a face to a job's session.
func (p *jobsPlace) face(t *testing.T, id string, f port.Face) *port.Client {
	t.Helper()
	var c *port.Client
	var err error
	if !await.Until(func() bool { c, err = port.Dial(t.Context(), p.Socket(id), f); return err == nil }) {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// kill ends the process of a job at once, and waits for the next one.
func (p *jobsPlace) kill(id string) {
	p.t.Helper()
	j, err := p.Read(id)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := syscall.Kill(j.PID, syscall.SIGKILL); err != nil {
		p.t.Fatal(err)
	}
	if !await.Until(func() bool {
		now, err := p.Read(id)
		return err == nil && now.PID != j.PID && now.Live()
	}) {
		p.t.Fatal("the session process is not started again")
	}
}

func TestThePortThroughTheSocket(t *testing.T) {
	porttest.Run(t, func(t *testing.T) porttest.Place {
		p := newJobsPlace(t)
		id := p.empty(t.Context()).ID
		return porttest.Place{
			Face:    func(t *testing.T, f port.Face) port.Session { return p.face(t, id, f) },
			Restart: func(*testing.T) { p.kill(id) },
		}
	})
}

func TestASessionInTheBackground(t *testing.T) {
	p := newJobsPlace(t)
	id := p.must("--bg", "--name", "greeting", "say hello")
	if !await.Until(func() bool {
		j, err := p.Read(id)
		return err == nil && j.State == supervisor.Done
	}) {
		t.Fatalf("%s", p.must("ps"))
	}
	if out := p.must("ps"); !strings.Contains(out, id) || !strings.Contains(out, "done") {
		t.Errorf("%s", out)
	}
	if out := p.must("ps", "--json"); !strings.Contains(out, `"state":"done"`) ||
		!strings.Contains(out, `"kind":"background"`) {
		t.Errorf("%s", out)
	}
	if out := p.must("logs", "greet"); !strings.Contains(out, "an answer of some words") {
		t.Errorf("%s", out)
	}
	if out := p.must("daemon", "status"); !strings.Contains(out, "1 session, 1 with a process") {
		t.Errorf("%s", out)
	}
	p.must("stop", id)
	if j, err := p.Read(id); err != nil || j.Live() || j.State != supervisor.Done {
		t.Errorf("%+v %v", j, err)
	}
	p.must("respawn", id)
	if j, err := p.Read(id); err != nil || !j.Live() {
		t.Errorf("%+v %v", j, err)
	}
	p.must("rm", id)
	if out := p.must("ps"); strings.Contains(out, id) {
		t.Errorf("%s", out)
	}
	if out, err := p.run("attach", "unknown"); err == nil || !strings.Contains(out, "lathe ps lists them") {
		t.Errorf("%v %s", err, out)
	}
}

// A supervisor that was killed finds its processes, with their environments, and starts those again that die.
func TestASupervisorThatWasKilledFindsItsProcesses(t *testing.T) {
	p := newJobsPlace(t)
	id := p.empty(t.Context()).ID
	c := p.client(t.Context())
	now, err := c.Jobs(t.Context())
	c.Close()
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(now.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.face(t, id, port.Face{}) // it lives on
	if out := p.must("ps"); !strings.Contains(out, id) {
		t.Errorf("%s", out)
	}
	f := p.face(t, id, port.Face{})
	if _, err := f.Prompt(t.Context(), port.Prompt{ID: "p1", Message: llm.UserText("ask me")}); err != nil {
		t.Fatal(err)
	}
	p.client(t.Context()).Close()
	p.kill(id)
	f = p.face(t, id, port.Face{})
	if !await.Until(func() bool {
		c, err := f.Read(t.Context(), port.ReadRequest{What: "questions"})
		return err == nil && len(c.Questions) == 1
	}) {
		t.Error("the turn does not go on")
	}
}

// A command that the session runs cannot speak for a person: not to its own session, and not to the supervisor.
func TestACommandAnswersNoQuestionOfItsOwn(t *testing.T) {
	for _, sandbox := range []string{"off", "workspace"} {
		t.Run(sandbox, func(t *testing.T) {
			p := newJobsPlace(t)
			hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"version":1,"face":{"kind":"script"}}}`
			command := fmt.Sprintf("printf '%%s\\n' '%s' | timeout 5 %s attach --stdio victim; %s stop victim; echo tried",
				hello, p.lathe, p.lathe)
			p.serve(llmtest.Replies(llmtest.Say(llmtest.Tool("Bash", map[string]any{"command": command}))))
			id := p.must("--bg", "--name=victim", "--dangerously-skip-permissions", "--sandbox="+sandbox, "try it")
			if !await.Until(func() bool {
				j, err := p.Read(id)
				return err == nil && j.State == supervisor.Done
			}) {
				t.Fatalf("%s", p.must("ps"))
			}
			out := p.must("logs", id)
			if !strings.Contains(out, "tried") || strings.Contains(out, `"pid"`) || strings.Contains(out, ": stopped") {
				t.Errorf("a command reached the session or the supervisor:\n%s", out)
			}
			if sandbox == "off" && !strings.Contains(out, "it runs in a session") {
				t.Errorf("it is not said why:\n%s", out)
			}
		})
	}
}

// lathe -p -c attaches to a session that is live.
func TestARunGoesOnWithALiveSession(t *testing.T) {
	p := newJobsPlace(t)
	id := p.must("--bg", "say hello")
	if !await.Until(func() bool {
		j, err := p.Read(id)
		return err == nil && j.State == supervisor.Done
	}) {
		t.Fatalf("%s", p.must("ps"))
	}
	if out := p.must("-p", "-c", "and again"); out != "an answer of some words" {
		t.Errorf("%q", out)
	}
	if out := p.must("logs", id); strings.Count(out, "an answer of some words") != 2 || !strings.Contains(out, "and again") {
		t.Errorf("%s", out)
	}
	if out, err := p.run("-p", "-c", "--permission-mode", "plan", "more"); err == nil ||
		!strings.Contains(out, "settings of its own") {
		t.Errorf("%v %s", err, out)
	}
}

// A session in a worktree goes on in the same one.
func TestASessionInTheBackgroundKeepsItsWorktree(t *testing.T) {
	p := newJobsPlace(t)
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first"},
	} {
		if out, err := exec.Command("git", append([]string{"-C", p.dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	id := p.must("--bg", "--worktree", "ask me")
	var j supervisor.Job
	if !await.Until(func() bool {
		var err error
		j, err = p.Read(id)
		return err == nil && j.State == supervisor.Blocked
	}) {
		t.Fatalf("%s", p.must("ps"))
	}
	if j.CWD == p.dir {
		t.Fatalf("it works in %s", j.CWD)
	}
	p.kill(id)
	if !await.Until(func() bool {
		now, err := p.Read(id)
		return err == nil && now.State == supervisor.Blocked && now.PID != j.PID
	}) {
		t.Fatalf("%s", p.must("ps"))
	}
	if now, err := p.Read(id); err != nil || now.CWD != j.CWD || now.SessionID != j.SessionID {
		t.Errorf("%+v %v", now, err)
	}
}
