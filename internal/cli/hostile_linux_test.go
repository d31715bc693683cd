//go:build unix

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A device gives bytes without end and a pipe may give none: a file that lathe reads whole must be a regular one.
func TestFilesOfTheCommandLineMustBeRegular(t *testing.T) {
	d := drive(t, "final\n  say Hello.\n")
	d.fifo("pipe")
	for _, file := range []string{"/dev/zero", filepath.Join(d.dir, "pipe"), d.dir} {
		for _, args := range [][]string{
			{"-p", "hi", "--system-prompt-file", file},
			{"-p", "hi", "--append-system-prompt-file", file},
			{"-p", "hi", "--settings", file},
			{"tool", "call", "Read", "--input", "@" + file},
		} {
			c := exec.Command(d.cmd.Path, args...)
			c.Dir, c.Env = d.dir, d.cmd.Env
			out, err := c.CombinedOutput()
			if err == nil || c.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), file) ||
				!strings.Contains(string(out), "not a regular file") {
				t.Errorf("%q: %v %s", args, err, out)
			}
		}
	}
	large := filepath.Join(d.dir, "large.md")
	if err := os.WriteFile(large, make([]byte, 3<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := d.once("hi", "--system-prompt-file", large); code != 2 || !strings.Contains(stderr,
		"are read at most") {
		t.Errorf("%d %s", code, stderr)
	}
	if n := len(d.srv.Requests()); n != 0 {
		t.Errorf("%d requests went out", n)
	}
	d.end()
}

func TestOutputThatCannotBeWrittenIsAFailure(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("this machine has no /dev/full to write to: %v", err)
	}
	defer full.Close()
	for _, args := range [][]string{
		{"--help"},
		{"-h"},
		{"help", "session"},
		{"session", "list", "--help"},
		{"version"},
		{"--version"},
		{"man"},
		{"completion", "bash"},
		{"tool", "list"},
	} {
		c := exec.Command(buildLathe(t), args...)
		c.Env, c.Stdout = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}, full
		var stderr strings.Builder
		c.Stderr = &stderr
		if err := c.Run(); err == nil || c.ProcessState.ExitCode() != 1 || !strings.Contains(stderr.String(),
			"no space left") {
			t.Errorf("%q: %v %s", args, err, &stderr)
		}
	}
}

func TestSIGQUITEndsTheTurnWithoutGoroutines(t *testing.T) {
	d := drive(t, "reply\n  call Bash {\"command\":\"cat gate\"}\nfinal\n  say Done.\n", "--dangerously-skip-permissions")
	var stderr strings.Builder
	d.fifo("gate")
	c := exec.Command(d.cmd.Path, "-p", "--output-format", "json", "--dangerously-skip-permissions", "go")
	c.Dir, c.Env, c.Stderr = d.dir, d.cmd.Env, &stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	gate, err := os.OpenFile(filepath.Join(d.dir, "gate"), os.O_WRONLY, 0) // blocks until the command reads
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Close()
	if err := c.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // the exit code is checked
	if code := c.ProcessState.ExitCode(); code != 131 || strings.Contains(stderr.String(), "goroutine") {
		t.Errorf("%d %s", code, &stderr)
	}
	d.end()
}
