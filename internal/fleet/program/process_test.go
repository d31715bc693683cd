//go:build linux

package program

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/fleet"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// built is both programs, beside each other.
var built struct {
	once sync.Once
	dir  string
	err  error
	out  []byte
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

func build(t testing.TB) (dir string) {
	t.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "lfb-"); built.err != nil {
			return
		}
		c := exec.Command("go", "build", "-o", built.dir+string(filepath.Separator), "./cmd/lathe", "./cmd/lathe-fleet")
		c.Dir, c.Env = "../../..", append(os.Environ(), "CGO_ENABLED=0")
		built.out, built.err = c.CombinedOutput()
	})
	if built.err != nil {
		t.Fatalf("%v\n%s", built.err, built.out)
	}
	return built.dir
}

// machine is a home of a test's own with a scripted model.
type machine struct {
	t       testing.TB
	bin     string
	home    string
	environ []string
}

// writes has each agent write the file that its prompt names.
func writes() *llmtest.Script {
	call := llmtest.Say(llmtest.Tool("Bash", map[string]any{"command": "echo ${NAME} > ${NAME}.txt"}))
	call.Capture = map[string]llmtest.Capture{"NAME": {From: "users", Match: `write the file (\w+)`}}
	end := llmtest.Say(llmtest.Text("It is written."))
	s := llmtest.Replies(call)
	s.Final = &end
	return s
}

func newMachine(t testing.TB, script *llmtest.Script) *machine {
	t.Helper()
	home, err := os.MkdirTemp("/var/tmp", "lf") // the sandbox has a /tmp of its own
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	srv := llmtest.New(script, llmtest.Options{})
	if err := srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	m := &machine{t: t, bin: build(t), home: home, environ: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LANG=C.UTF-8", "SHELL=/bin/sh",
		"ANTHROPIC_BASE_URL=" + srv.URL(), "ANTHROPIC_API_KEY=sk-test",
	}}
	t.Cleanup(func() { _, _ = m.run("lathe", "daemon", "stop") }) // none may run
	return m
}

// repo makes a repository with one commit.
func (m *machine) repo() string {
	m.t.Helper()
	dir := filepath.Join(m.home, "repo")
	script := "git init -q -b main " + dir + " && cd " + dir + " && echo hello > a.txt && git add . && " +
		"git -c user.name=t -c user.email=t@t commit -qm first && git config user.name t && git config user.email t@t"
	if out, err := exec.Command("sh", "-c", script).CombinedOutput(); err != nil {
		m.t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

func (m *machine) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(m.bin, name), args...)
	c.Dir, c.Env = m.home, m.environ
	return c
}

func (m *machine) run(name string, args ...string) (string, error) {
	out, err := m.command(name, args...).CombinedOutput()
	return string(out), err
}

func (m *machine) must(args ...string) string {
	m.t.Helper()
	c := m.command("lathe-fleet", args...)
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		m.t.Fatalf("lathe-fleet %s: %v\n%s%s", strings.Join(args, " "), err, out, errs.String())
	}
	return string(out)
}

func (m *machine) jobs(jobs ...fleet.Job) string {
	m.t.Helper()
	path := filepath.Join(m.home, "jobs.jsonl")
	f, err := os.Create(path)
	if err != nil {
		m.t.Fatal(err)
	}
	defer f.Close()
	for _, j := range jobs {
		if err := json.NewEncoder(f).Encode(j); err != nil {
			m.t.Fatal(err)
		}
	}
	return path
}

func TestOneCommandRunsTwentyJobsOnFourWorkers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the sandbox of these jobs is Linux's")
	}
	m := newMachine(t, writes())
	repo := m.repo()
	var jobs []fleet.Job
	for i := range 20 {
		jobs = append(jobs, fleet.Job{
			ID: fmt.Sprintf("j%02d", i), Repo: repo, Prompt: fmt.Sprintf("write the file n%02d", i),
			Check: fmt.Sprintf("grep -q n%02d n%02d.txt", i, i),
		})
	}
	out, err := m.run("lathe-fleet", "submit", m.jobs(jobs...), "--workers", "4")
	if err != nil {
		logs, _ := m.run("lathe-fleet", "logs", "j07")
		t.Fatalf("%v\n%s\n%s", err, out, logs)
	}
	if !strings.Contains(out, "20 of 20 jobs are done") {
		t.Fatalf("%s", out)
	}
	if patch := m.must("result", "j07", "--patch"); !strings.Contains(patch, "+n07") || strings.Count(patch, "diff --git") != 1 {
		t.Errorf("%s", patch)
	}
	if name := m.must("result", "j07", "--branch"); name != "fleet/j07\n" {
		t.Error(name)
	}
	show, err := exec.Command("git", "-C", repo, "show", "fleet/j07:n07.txt").Output()
	if err != nil || string(show) != "n07\n" {
		t.Errorf("%v %s", err, show)
	}
	if _, err := m.run("lathe-fleet", "result", "j07", "--branch"); err == nil {
		t.Error("a patch was applied twice")
	}
	if out := m.must("logs", "j07"); !strings.Contains(out, `"turn.end"`) {
		t.Errorf("%s", out)
	}
	if out := m.must("logs", "--transcript", "j07"); !strings.Contains(out, `"crc"`) {
		t.Errorf("%s", out)
	}
	if out := m.must("stats"); !strings.Contains(out, "done            20") {
		t.Errorf("%s", out)
	}
}

// socket is where an engine is reached, below the home folder.
const socket = ".local/share/lathe/fleet/engine.sock"

// TestASessionGoesOnAfterItsWorkerWasKilled kills the worker in the middle of a turn: the session is the same after it.
func TestASessionGoesOnAfterItsWorkerWasKilled(t *testing.T) {
	script := writes()
	script.Replies[0].FirstByte = llmtest.Duration(4 * time.Second)
	m := newMachine(t, script)
	up := func() *exec.Cmd {
		c := m.command("lathe-fleet", "up", "--workers", "1", "--lease", "1s")
		c.Stderr = os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = c.Process.Kill(), c.Wait() })
		if !await.Until(func() bool { _, err := os.Stat(filepath.Join(m.home, socket)); return err == nil }) {
			t.Fatal("the fleet is not up")
		}
		return c
	}
	first := up()
	m.must("submit", m.jobs(fleet.Job{ID: "long", Repo: m.repo(), Prompt: "write the file late"}))
	session := func() string {
		var all []struct{ Name, SessionID, CWD string }
		out, err := m.run("lathe", "ps", "--json")
		if err != nil || json.Unmarshal([]byte(out), &all) != nil || len(all) != 1 {
			return ""
		}
		return all[0].SessionID
	}
	if !await.Until(func() bool { return session() != "" }) {
		t.Fatal("lathe ps does not list the job")
	}
	before := session()
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // it was killed
	up()
	var shown struct {
		Record fleet.Record
		Result *fleet.Result
	}
	if !await.Until(func() bool {
		shown.Result = nil
		return json.Unmarshal([]byte(m.must("show", "long")), &shown) == nil && shown.Result != nil
	}) {
		t.Fatalf("%s\n%s", m.must("list"), m.must("show", "long"))
	}
	if shown.Result.State != fleet.Done || shown.Result.Session != before || shown.Record.Tries != 2 {
		t.Errorf("the session was %s: %+v %+v", before, shown.Record, shown.Result)
	}
	if patch := m.must("result", "long", "--patch"); strings.Count(patch, "+late") != 1 {
		t.Errorf("%s", patch)
	}
}

func TestARunningSessionIsCancelled(t *testing.T) {
	script := writes()
	script.Replies[0].FirstByte = llmtest.Duration(time.Minute)
	m := newMachine(t, script)
	c := m.command("lathe-fleet", "up", "--workers", "1")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = c.Process.Kill(), c.Wait() })
	if !await.Until(func() bool { _, err := os.Stat(filepath.Join(m.home, socket)); return err == nil }) {
		t.Fatal("the fleet is not up")
	}
	m.must("submit", "-p", "write the file x")
	running := func() string {
		for line := range strings.Lines(m.must("list", "--json", "--state", "running")) {
			var r fleet.Record
			if json.Unmarshal([]byte(line), &r) == nil {
				return r.ID
			}
		}
		return ""
	}
	if !await.Until(func() bool { return running() != "" }) {
		t.Fatal("no job runs")
	}
	id := running()
	m.must("cancel", id)
	if !await.Until(func() bool { return strings.Contains(m.must("show", id), `"result"`) }) {
		t.Fatalf("%s", m.must("show", id))
	}
	if out := m.must("list", "--json"); !strings.Contains(out, `"cancelled"`) {
		t.Errorf("%s", out)
	}
}
