//go:build unix

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
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
	if text, code := d.sandboxed("status"); code != 0 || !strings.Contains(text, "tier: full") || !strings.Contains(text,
		"settings: on by default (workspace)") {
		t.Errorf("exit code %d: %s", code, text)
	}
	if text, code := d.sandboxed("run", "--sandbox", "tight", "--", "true"); code != 2 || !strings.Contains(text,
		"read-only, workspace") {
		t.Errorf("exit code %d: %s", code, text)
	}
}

// TestLatheSandboxTakesTheSettingsAndReturnsTheCommandsEnd tries run and status with the settings that a user may have.
func TestLatheSandboxTakesTheSettingsAndReturnsTheCommandsEnd(t *testing.T) {
	if s := confine.Detect(); s.Tier != confine.Full {
		t.Skipf("this machine has no tier full: %s", s.Why)
	}
	t.Setenv("TMPDIR", "/var/tmp") // inside, /tmp is another folder
	d := drive(t, "final\n  say Done.\n")
	d.end()
	port := greet(t, "tcp", "127.0.0.1:0")
	d.write("fetch.sh", "exec 4<>/dev/tcp/127.0.0.1/${HTTP_PROXY##*:} && printf 'GET http://127.0.0.1:"+port+
		"/ HTTP/1.0\r\n\r\n' >&4 && grep -q hello <&4")
	if err := os.MkdirAll(filepath.Join(d.dir, "../.config/lathe"), 0o700); err != nil {
		t.Fatal(err)
	}
	const in, out = "touch in", "touch in ../out"
	for _, c := range []struct {
		settings string
		args     []string
		code     int
		text     string
	}{
		{`{}`, []string{"run", "--", "sh", "-c", in}, 0, ""},
		{`{}`, []string{"run", "--", "sh", "-c", out}, 1, "Read-only file system"},
		{`{"enabled":false}`, []string{"run", "--", "sh", "-c", out}, 1, "Read-only file system"},
		{`{"mode":"read-only"}`, []string{"run", "--", "sh", "-c", in}, 1, "Read-only file system"},
		{`{"mode":"read-only"}`, []string{"run", "--sandbox", "workspace", "--", "sh", "-c", in}, 0, ""},
		{`{"mode":"workspace"}`, []string{"run", "--sandbox", "read-only", "--", "sh", "-c", in}, 1, "Read-only file system"},
		{`{"filesystem":{"allowWrite":[".."]}}`, []string{"run", "--", "sh", "-c", out}, 0, ""},
		{`{}`, []string{"run", "--sandbox", "off", "--", "true"}, 2, "choose read-only or workspace"},
		{`{}`, []string{"run", "--", "sh", "-c", "kill -9 $$"}, 137, ""},
		{`{}`, []string{"run", "--", "no-such-program"}, 1, "cannot start no-such-program"},
		{`{}`, []string{"run", "--", "sh", "-c", "mkdir .vscode; touch .vscode/x"}, 0, ".vscode is protected"},
		{`{}`, []string{"run", "--", "bash", "fetch.sh"}, 1, "network: 127.0.0.1"},
		{`{}`, []string{"run", "--allow-host", "127.0.0.1", "--", "bash", "fetch.sh"}, 0, ""},
		{`{"network":{"allowedDomains":["127.0.0.1"]}}`, []string{"run", "--", "bash", "fetch.sh"}, 0, ""},
		{`{}`, []string{"run", "--allow-host", "a b", "--", "true"}, 2, `"a b" is no host`},
		{`{}`, []string{"status"}, 0, "settings: on by default (workspace)"},
		{`{"mode":"read-only"}`, []string{"status"}, 0, "settings: on by default (read-only)"},
		{`{"enabled":true}`, []string{"status"}, 0, "settings: workspace\n"},
		{`{"enabled":true,"mode":"read-only"}`, []string{"status"}, 0, "settings: read-only\n"},
		{`{"enabled":false}`, []string{"status"}, 0, "settings: off; commands of the model run without it"},
		{`{"network":{"deniedDomains":["a b"]}}`, []string{"status"}, 0, "settings: the hosts of the sandbox"},
		{`{}`, []string{"status", "--json"}, 0, `{"default":true,"landlock":`},
		{`{"enabled":true,"mode":"read-only"}`, []string{"status", "--json"}, 0, `"mode":"read-only","tier":"full"`},
		{`{"enabled":false}`, []string{"status", "--json"}, 0, `"mode":"off","tier":"full"`},
		{`{"network":{"deniedDomains":["a b"]}}`, []string{"status", "--json"}, 0, `"error":"the hosts of the sandbox`},
	} {
		d.write("../.config/lathe/settings.json", `{"sandbox":`+c.settings+`}`)
		text, code := d.sandboxed(c.args...)
		if code != c.code || !strings.Contains(text, c.text) || c.text == "" && text != "" {
			t.Errorf("%s %q: exit code %d, want %d: %s", c.settings, c.args, code, c.code, text)
		}
		_, err := os.Stat(filepath.Join(d.dir, ".vscode"))
		if err == nil {
			t.Errorf("%q: a protected name stays", c.args)
		}
		for _, name := range []string{"in", "../out"} {
			_ = os.Remove(filepath.Join(d.dir, name)) // where it was made
		}
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
	script := "exec 4<>/dev/tcp/127.0.0.1/${HTTP_PROXY##*:} && printf 'GET http://refused.example/ HTTP/1.0\r\n\r\n' " +
		">&4 && cat <&4 && false\n"
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
	for _, want := range []string{
		`"sandbox":"full workspace"`, `"kind":"connection"`, `"host":"refused.example"`,
		`"protocol":"http","program":"bash"`,
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s is not in the log:\n%s", want, b)
		}
	}
	if _, stderr, code := d.once("--continue", "--sandbox", "off", "go on"); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if _, stderr, code := d.once("--continue", "--sandbox", "read-only", "go on"); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if b, err = os.ReadFile(logs[0]); err != nil {
		t.Fatal(err)
	}
	var systems []string
	for _, l := range strings.Split(string(b), "\n") {
		if strings.Contains(l, `"kind":"system"`) {
			_, rest, _ := strings.Cut(l, `"sandbox":"`)
			box, _, _ := strings.Cut(rest, `"`)
			systems = append(systems, box)
		}
	}
	if want := []string{"full workspace", "", "full read-only"}; !slices.Equal(systems, want) {
		t.Errorf("the log has the sandboxes %q, want %q", systems, want)
	}
}
