//go:build linux || darwin

package cli_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/face/supervisor"
)

// acpModules installs the official client and acpx once for all tests, or takes them from the folder LATHE_ACP.
var acpModules = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv("LATHE_ACP"); dir != "" {
		return dir, nil
	}
	dir, err := os.MkdirTemp("", "lathe-acp")
	if err != nil {
		return "", err
	}
	out, err := exec.Command("npm", "install", "--prefix", dir, "--no-audit", "--no-fund", "--silent",
		"@agentclientprotocol/sdk@2.4.0", "zod@4", "acpx@0.19.1", "node@22").CombinedOutput()
	if err != nil {
		_ = os.RemoveAll(dir)
		return "", &exec.Error{Name: "npm install: " + string(out), Err: err}
	}
	npmFolder = dir
	return dir, nil
})

func needModules(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("it installs packages of npm")
	}
	dir, err := acpModules()
	if err != nil {
		t.Skipf("the clients are not there: %v", err)
	}
	return dir
}

// node runs a script of the modules.
func (p *jobsPlace) node(t *testing.T, modules string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, filepath.Join(modules, "node_modules", ".bin", "node"), args...)
	c.WaitDelay = time.Second
	c.Dir, c.Env = p.dir, p.environ()
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s\n%s", args, err, out, stderr.String())
	}
	return string(out)
}

// The official TypeScript client through a whole conversation: permission, cancellation, load and resume.
func TestTheOfficialClientOfEditors(t *testing.T) {
	modules := needModules(t)
	p := newJobsPlace(t)
	script := filepath.Join(modules, "conversation.mjs")
	b, err := os.ReadFile("testdata/acp/conversation.mjs")
	if err == nil {
		err = os.WriteFile(script, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	var out struct {
		Modes, Options, Asked, Kinds                 []string
		Hello, Permission, Cancelled, Agent, Resumed string
		Rejected, LoadedUser, Last                   string
		Listed                                       []bool
	}
	raw := p.node(t, modules, script, p.lathe, p.dir)
	if err := json.Unmarshal([]byte(raw), &out); err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	if out.Hello != "end_turn" || out.Permission != "end_turn" || out.Cancelled != "cancelled" || out.Last != "end_turn" ||
		out.Rejected != "end_turn" {
		t.Errorf("%+v", out)
	}
	if len(out.Asked) != 2 ||
		out.Asked[0] != "touch made.txt; echo made-it" || !strings.Contains(out.Agent, "It is made.") {
		t.Errorf("%+v", out)
	}
	if len(out.Listed) != 1 || !out.Listed[0] || out.Resumed != "" ||
		out.LoadedUser != "helloask meask me againask me once more" {
		t.Errorf("%+v", out)
	}
}

// acpx, a client for the command line, with its commands.
func TestTheCommandsOfACPX(t *testing.T) {
	modules := needModules(t)
	p := newJobsPlace(t)
	acpx := func(args ...string) string {
		return p.node(t, modules, append([]string{
			filepath.Join(modules, "node_modules", "acpx", "dist", "cli.js"), "--agent", p.lathe + " acp", "--approve-all",
		}, args...)...)
	}
	if out := acpx("--format", "quiet", "exec", "hello"); strings.TrimSpace(out) != "an answer of some words" {
		t.Errorf("%q", out)
	}
	out := acpx("--format", "json", "exec", "ask me")
	for _, want := range []string{`"It is made."`, `"tool_call"`, `"end_turn"`} {
		if !strings.Contains(out, want) {
			t.Errorf("%s is not in\n%s", want, out)
		}
	}
	acpx("sessions", "new", "--name", "work")
	if out := acpx("--format", "quiet", "prompt", "-s", "work", "hello"); !strings.Contains(out, "an answer of some words") {
		t.Errorf("%q", out)
	}
	if out := acpx("sessions", "list"); !strings.Contains(out, "hello") {
		t.Errorf("%q", out)
	}
	acpx("set-mode", "-s", "work", "plan")
	acpx("status", "-s", "work")
	acpx("sessions", "close", "work")
	jobs, err := p.List() // acpx ends all processes below its agent: these are not
	if err != nil || len(jobs) != 3 {
		t.Fatalf("%v %v", jobs, err)
	}
	for _, j := range jobs {
		if j.State == supervisor.Failed || len(j.Crashes) > 0 {
			t.Errorf("%+v", j)
		}
	}
	log, err := os.ReadFile(filepath.Join(p.home, ".local", "state", "lathe", "logs", "supervisor.log"))
	if err != nil || strings.Count(string(log), "supervisor runs") != 1 {
		t.Errorf("%s %v", log, err)
	}
}
