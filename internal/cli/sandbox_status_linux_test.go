//go:build unix

package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
)

// settings writes the user's own settings.
func (d *driven) settings(text string) {
	d.t.Helper()
	file := filepath.Join(filepath.Dir(d.dir), ".config", "lathe", "settings.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func TestTheStatusOfTheSandboxSaysWhatHolds(t *testing.T) {
	s := confine.Detect()
	if s.Tier != confine.Full {
		t.Skipf("this machine has no tier full: %s", s.Why)
	}
	d := drive(t, "final\n  say Done.\n")
	d.end()
	status := func() map[string]any {
		t.Helper()
		text, code := d.sandboxed("status", "--json")
		var out map[string]any
		if err := json.Unmarshal([]byte(text), &out); err != nil || code != 0 {
			t.Fatalf("exit code %d: %s", code, text)
		}
		if out["tier"] != "full" || out["landlock"] != float64(s.ABI) || out["userNamespace"] != s.User {
			t.Errorf("%v", out)
		}
		return out
	}
	for _, c := range []struct {
		settings, mode, plain string
		standard              any
	}{
		{
			`{}`, "workspace", "settings: on by default (workspace); --sandbox off, or sandbox.enabled: false, switches it off",
			true,
		},
		{`{"sandbox": {"enabled": true}}`, "workspace", "settings: workspace\n", false},
		{`{"sandbox": {"enabled": false}}`, "off", "settings: off; commands of the model run without it", nil},
	} {
		d.settings(c.settings)
		if out := status(); out["mode"] != c.mode || out["default"] != c.standard || out["error"] != nil {
			t.Errorf("%s: %v", c.settings, out)
		}
		if text, code := d.sandboxed("status"); code != 0 || !strings.Contains(text, "tier: full (") ||
			!strings.Contains(text, c.plain) {
			t.Errorf("%s: exit code %d: %s", c.settings, code, text)
		}
	}
	d.settings(`{"sandbox": {"enabled": true, "network": {"allowedDomains": ["*.*.example.com"]}}}`)
	if out := status(); out["error"] == nil || out["mode"] != "off" {
		t.Errorf("%v", out)
	}
	if text, code := d.sandboxed("status"); code != 0 || !strings.Contains(text, "settings: ") || !strings.Contains(text,
		"*.*.example.com") {
		t.Errorf("exit code %d: %s", code, text)
	}
	if text, code := d.sandboxed("run", "--", "true"); code != 2 || !strings.Contains(text, "*.*.example.com") {
		t.Errorf("exit code %d: %s", code, text)
	}
}

func TestACommandOfYoursInTheSandbox(t *testing.T) {
	if s := confine.Detect(); s.Tier != confine.Full {
		t.Skipf("this machine has no tier full: %s", s.Why)
	}
	d := drive(t, "final\n  say Done.\n")
	d.end()
	d.settings(`{"sandbox": {"enabled": false}}`) // asked for by name, it confines all the same
	if text, code := d.sandboxed("run", "--", "sh", "-c",
		"touch inside && ! touch /var/tmp/lathe-run-outside"); code != 0 {
		t.Errorf("exit code %d: %s", code, text)
	}
	if text, code := d.sandboxed("run", "--sandbox", "read-only", "--", "touch", "more"); code == 0 ||
		!strings.Contains(text, "Read-only file system") {
		t.Errorf("exit code %d: %s", code, text)
	}
	if text, code := d.sandboxed("run", "--sandbox", "off", "--", "touch", "more"); code != 2 || !strings.Contains(text,
		"choose read-only or workspace") {
		t.Errorf("exit code %d: %s", code, text)
	}
	if _, err := os.Stat(filepath.Join(d.dir, "more")); err == nil {
		t.Error("it was written")
	}
	if text, code := d.sandboxed("run"); code != 2 {
		t.Errorf("exit code %d: %s", code, text)
	}
	if text, code := d.sandboxed("run", "--", "no-such-program"); code == 0 || !strings.Contains(text, "no-such-program") {
		t.Errorf("exit code %d: %s", code, text)
	}
	// What the command plants is taken back and said.
	d.git("init", "-q")
	if text, code := d.sandboxed("run", "--", "sh", "-c", "mkdir -p .vscode; echo x >.mcp.json; true"); code != 0 ||
		!strings.Contains(text, ".mcp.json") {
		t.Errorf("exit code %d: %s", code, text)
	}
	if _, err := os.Stat(filepath.Join(d.dir, ".mcp.json")); err == nil {
		t.Error("a planted list of servers stayed")
	}
}

// The network of a command of yours: what the settings and the flag allow, and refusals are printed.
func TestTheNetworkOfACommandOfYoursInTheSandbox(t *testing.T) {
	if s := confine.Detect(); s.Tier != confine.Full {
		t.Skipf("this machine has no tier full: %s", s.Why)
	}
	d := drive(t, "final\n  say Done.\n")
	d.end()
	get := []string{"python3", "-c", "import urllib.request as u; u.urlopen('http://registry.example.com:1/')"}
	text, _ := d.sandboxed(append([]string{"run", "--"}, get...)...)
	if strings.Contains(text, "executable file not found") {
		t.Skip("python3 is not installed")
	}
	if !strings.Contains(text, "network: registry.example.com refused") {
		t.Errorf("%s", text)
	}
	text, _ = d.sandboxed(append([]string{"run", "--allow-host", "*.example.com", "--"}, get...)...)
	if strings.Contains(text, "example.com refused") {
		t.Errorf("the allowed host was refused: %s", text)
	}
}
