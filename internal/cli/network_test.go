package cli_test

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// A run reaches the model's endpoint and nothing else: a proxy that everything but loopback would go
// through sees no connection.
func TestNothingButTheModelIsReached(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var seen atomic.Int32
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			seen.Add(1)
			_, _ = io.WriteString(c, "HTTP/1.1 502 no\r\n\r\n")
			_ = c.Close()
		}
	}()
	defer l.Close()
	dir := filepath.Join(t.TempDir(), "p")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	srv := llmtest.New(llmtest.Replies(
		llmtest.Say(llmtest.Tool("Bash", map[string]any{"command": "echo hi"})), llmtest.Say(llmtest.Text("Done."))),
		llmtest.Options{})
	if err := srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	proxy := "http://" + l.Addr().String()
	c := exec.Command(buildLathe(t), "-p", "go", "--dangerously-skip-permissions")
	c.Dir = dir
	c.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "HTTP_PROXY=" + proxy, "HTTPS_PROXY=" + proxy, "ALL_PROXY=" +
			proxy,
		"ANTHROPIC_BASE_URL=" + srv.URL(), "ANTHROPIC_API_KEY=sk-test",
	}
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := len(srv.Requests()); n != 2 {
		t.Errorf("%d requests at the model, want 2", n)
	}
	if seen.Load() != 0 {
		t.Errorf("%d connections went elsewhere", seen.Load())
	}
}
