//go:build unix

package cli_test

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

func TestAnInterruptEndsAReplay(t *testing.T) {
	bin, home := buildLathe(t), t.TempDir()
	srv := llmtest.New(llmtest.Replies(
		llmtest.Say(llmtest.Text("First."), llmtest.Tool("Read", map[string]any{"file_path": filepath.Join(home, "none")})),
		llmtest.Say(llmtest.Text("Last.")),
	), llmtest.Options{})
	if err := srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	lathe := func(args ...string) *exec.Cmd {
		c := exec.Command(bin, args...)
		c.Dir, c.Env = home, []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + home, "ANTHROPIC_BASE_URL=" + srv.URL(),
			"ANTHROPIC_API_KEY=sk-test",
		}
		return c
	}
	const id = "01890a5d-ac96-774b-bcce-b302099a8057"
	if out, err := lathe("-p", "--session-id", id, "go").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c := lathe("session", "replay", id, "--speed", "0.0000001") // a millisecond becomes hours
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(out)
	line, err := r.ReadString('\n')
	if err != nil || !strings.Contains(line, "> go") {
		t.Errorf("the first line is %q, %v", line, err)
	}
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	var rest bytes.Buffer
	_, _ = rest.ReadFrom(r)
	_ = c.Wait()
	if code := c.ProcessState.ExitCode(); code != 130 || strings.Contains(rest.String(), "Last.") {
		t.Errorf("exit code %d, %q, stderr %q", code, &rest, &stderr)
	}
}
