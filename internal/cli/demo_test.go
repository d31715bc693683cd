package cli_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The demo does its whole job without a terminal: the test fails first and passes in the end. It runs in
// both forms, with Go and on a machine that has none.
func TestDemo(t *testing.T) {
	bin := buildLathe(t)
	for name, path := range map[string]string{"go": os.Getenv("PATH"), "sh": shellPath(t)} {
		t.Run(name, func(t *testing.T) {
			c := exec.Command(bin, "demo")
			c.Env = []string{"PATH=" + path, "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir(), "GOCACHE=" + goCache(t)}
			out, err := c.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, want := range []string{
				"replies are scripted", "FAIL", "exit code 1", "Edit median", "exit code 0",
				"What changed", "The test, run once more", "ok", "ANTHROPIC_API_KEY",
			} {
				if !strings.Contains(string(out), want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
			if strings.Contains(string(out), "\x1b") {
				t.Error("escape sequences without a terminal")
			}
		})
	}
}

// shellPath is a PATH that has the usual programs but not go.
func shellPath(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"sh", "bash", "sort", "printf", "cat", "git", "env", "rm"} {
		if path, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(path, dir+"/"+name); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

func goCache(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
