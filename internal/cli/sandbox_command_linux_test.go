package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/sandbox/confine"
)

// sandboxed runs a subcommand of lathe in the folder of d.
func (d *driven) sandboxed(args ...string) (text string, code int) {
	d.t.Helper()
	c := exec.Command(d.cmd.Path, append([]string{"sandbox"}, args...)...)
	c.Dir, c.Env = d.dir, d.cmd.Env
	out, _ := c.CombinedOutput() // the exit code is checked
	return string(out), c.ProcessState.ExitCode()
}

func TestTheSandboxConfinesTheModelsCommandsAndYours(t *testing.T) {
	if s := confine.Detect(); s.Tier != confine.Full {
		t.Skipf("this machine has no tier full: %s", s.Why)
	}
	outside := filepath.Join(t.TempDir(), "outside")
	d := drive(t, `
reply
  when result="Read-only file system"
  say It was refused.
reply
  when contains="write it"
  call Bash {"command":"echo x >inside; echo x >/var/tmp/lathe-outside"}
final
  say It was written.
`)
	d.end()
	defer os.Remove("/var/tmp/lathe-outside")
	out, stderr, code := d.once("--sandbox", "workspace", "--allowedTools", "Bash", "write it")
	if code != 0 || !strings.Contains(out, "refused") {
		t.Errorf("exit code %d: %s%s", code, out, stderr)
	}
	if _, err := os.Stat(filepath.Join(d.dir, "inside")); err != nil {
		t.Error(err)
	}
	if text, code := d.sandboxed("run", "--", "sh", "-c", "touch mine; touch "+outside+"; exit 7"); code != 7 {
		t.Errorf("exit code %d: %s", code, text)
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("a command of sandbox run wrote outside")
	}
	if _, err := os.Stat(filepath.Join(d.dir, "mine")); err != nil {
		t.Error(err)
	}
	if text, code := d.sandboxed("status"); code != 0 || !strings.Contains(text, "tier: full") || !strings.Contains(text, "settings: on by default (workspace)") {
		t.Errorf("exit code %d: %s", code, text)
	}
	if text, code := d.sandboxed("run", "--sandbox", "tight", "--", "true"); code != 2 || !strings.Contains(text, "read-only, workspace") {
		t.Errorf("exit code %d: %s", code, text)
	}
}

func TestTheSessionRecordsItsSandboxAndItsConnections(t *testing.T) {
	if s := confine.Detect(); s.Tier != confine.Full {
		t.Skipf("this machine has no tier full: %s", s.Why)
	}
	d := drive(t, `
reply
  when result="the connection to refused.example:80 was refused: the host is not allowed, and nobody can be asked"
  say I need that host.
reply
  when contains="fetch it"
  call Bash {"command":"bash fetch.sh"}
final
  say It was fetched.
`)
	d.end()
	script := "exec 4<>/dev/tcp/127.0.0.1/${HTTP_PROXY##*:} && printf 'GET http://refused.example/ HTTP/1.0\r\n\r\n' >&4 && cat <&4 && false\n"
	if err := os.WriteFile(filepath.Join(d.dir, "fetch.sh"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	out, stderr, code := d.once("--sandbox", "workspace", "--allowedTools", "Bash", "fetch it")
	if code != 0 || !strings.Contains(out, "I need that host") {
		t.Fatalf("exit code %d: %s%s", code, out, stderr)
	}
	home := ""
	for _, v := range d.cmd.Env {
		if h, ok := strings.CutPrefix(v, "HOME="); ok {
			home = h
		}
	}
	logs, err := filepath.Glob(home + "/.local/share/lathe/projects/*/*/log.jsonl")
	if err != nil || len(logs) != 1 {
		t.Fatalf("%q, %v", logs, err)
	}
	b, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"sandbox":"full workspace"`, `"kind":"connection"`, `"host":"refused.example"`, `"protocol":"http","program":"bash"`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s is not in the log:\n%s", want, b)
		}
	}
}
