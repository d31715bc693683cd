package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The commands of docs/plugins.md are run in order, and the marketplace of the page is valid but for the plugins that
// are not beside it.
func TestTheExamplesOfThePluginsPageWork(t *testing.T) {
	home := t.TempDir()
	lathe := buildLathe(t)
	run := func(args ...string) (string, error) {
		cmd := exec.Command(lathe, args...)
		cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for line := range strings.Lines(pageBlock(t, "plugins.md", "console")) {
		args := strings.Fields(strings.TrimPrefix(line, "$ lathe "))
		if args[1] == "install" {
			args = append(args, "--yes")
		}
		if out, err := run(args...); err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
	}
	market := filepath.Join(home, "market")
	if err := os.MkdirAll(filepath.Join(market, ".claude-plugin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(market, ".claude-plugin", "marketplace.json"),
		[]byte(pageBlock(t, "plugins.md", "json")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(home, "demo"), filepath.Join(market, "demo")); err != nil {
		t.Fatal(err)
	}
	if out, err := run("plugin", "validate", market); err != nil || !strings.Contains(out,
		"plugin lint from github corp/lint@0f3c") {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := run("plugin", "list"); err != nil || !strings.Contains(out, "demo@path  enabled") {
		t.Fatalf("%v: %s", err, out)
	}
}
