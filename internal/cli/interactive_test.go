//go:build linux || darwin

package cli_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// seat is lathe on a terminal, with somebody at the keys.
type seat struct {
	t    *testing.T
	cmd  *exec.Cmd
	keys *os.File

	mu  sync.Mutex
	out bytes.Buffer
	all bytes.Buffer
	new chan struct{}
}

func converse(t *testing.T, term string, script *llmtest.Script, args ...string) *seat {
	t.Helper()
	home := t.TempDir()
	dir := filepath.Join(home, "project")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	srv := llmtest.New(script, llmtest.Options{Vars: map[string]string{"WORKDIR": dir}})
	if err := srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	c := exec.Command(buildLathe(t), args...)
	c.Dir = dir
	c.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=" + term, "ANTHROPIC_BASE_URL=" + srv.URL(), "ANTHROPIC_API_KEY=sk-test", "LANG=C.UTF-8"}
	f, err := pty.StartWithSize(c, &pty.Winsize{Rows: 30, Cols: 90})
	if err != nil {
		t.Fatal(err)
	}
	s := &seat{t: t, cmd: c, keys: f, new: make(chan struct{}, 1)}
	go s.read()
	t.Cleanup(func() { _ = c.Process.Kill(); _ = f.Close() })
	return s
}

func (s *seat) read() {
	buf := make([]byte, 4096)
	for {
		n, err := s.keys.Read(buf)
		s.mu.Lock()
		s.out.Write(buf[:n])
		s.all.Write(buf[:n])
		s.mu.Unlock()
		select {
		case s.new <- struct{}{}:
		default:
		}
		if err != nil {
			close(s.new)
			return
		}
	}
}

// sees waits until a text was shown, and forgets what came up to it.
func (s *seat) sees(want string) {
	s.t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		s.mu.Lock()
		i := strings.Index(s.out.String(), want)
		if i >= 0 {
			s.out.Next(i + len(want))
		}
		text := s.out.String()
		s.mu.Unlock()
		if i >= 0 {
			return
		}
		select {
		case _, open := <-s.new:
			if !open {
				s.t.Fatalf("it ended before %q was shown:\n%q", want, text)
			}
		case <-deadline:
			s.t.Fatalf("%q was not shown, but\n%q", want, text[:min(len(text), 4000)])
		}
	}
}

func (s *seat) types(keys string) {
	s.t.Helper()
	if _, err := s.keys.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// presses types a key again and again until a text is shown.
func (s *seat) presses(key, want string) {
	s.t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for range 100 {
		s.types(key)
		<-tick.C
		s.mu.Lock()
		shown := strings.Contains(s.out.String(), want)
		s.mu.Unlock()
		if shown {
			return
		}
	}
	s.t.Fatalf("%q does not bring %q", key, want)
}

// ends waits for the exit code and returns all that was shown.
func (s *seat) ends(code int) string {
	s.t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.cmd.Wait() // its code is looked at below
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		s.t.Fatal("it does not end")
	}
	for range s.new { // the rest of what was shown
	}
	if got := s.cmd.ProcessState.ExitCode(); got != code {
		s.t.Errorf("exit code %d, want %d", got, code)
	}
	return s.all.String()
}

func twoReplies() *llmtest.Script {
	return llmtest.Replies(llmtest.Say(llmtest.Text("The first reply.")), llmtest.Say(llmtest.Text("The second reply.")))
}

func TestPlainLinesConverse(t *testing.T) {
	s := converse(t, "xterm-256color", twoReplies(), "--plain", "hello", "there")
	s.sees("The first reply.")
	s.sees("> ")
	s.types("/status\r")
	s.sees("title: `hello there`")
	s.types("more\r")
	s.sees("The second reply.")
	s.sees("> ")
	s.types("\x04")
	if out := s.ends(0); !strings.Contains(out, "Go on with: lathe --resume ") {
		t.Errorf("%q", out)
	}
}

func TestADumbTerminalConversesInPlainLines(t *testing.T) {
	s := converse(t, "dumb", twoReplies())
	s.sees("> ")
	s.types("hello\n")
	s.sees("The first reply.")
	s.sees("> ")
	s.types("\x03")
	s.sees("Ctrl+C again leaves")
	s.types("\x03")
	if out := s.ends(0); strings.ContainsRune(out, '\x1b') || !strings.Contains(out, "lathe --resume ") {
		t.Errorf("%q", out)
	}
}

func TestTheTerminalInterfaceConverses(t *testing.T) {
	s := converse(t, "xterm-256color", twoReplies(), "hello")
	s.sees("The first reply.")
	s.presses("\x03", "again leaves") // while the turn still ends, the key interrupts it
	s.types("\x03")
	out := s.ends(0)
	if !strings.Contains(out, "\x1b[?1049h") || !strings.Contains(out, "\x1b[?1049l") || !strings.Contains(out, "lathe --resume ") {
		t.Errorf("%q", out)
	}
}

func TestPlainLinesThroughAPipe(t *testing.T) {
	home := t.TempDir()
	srv := llmtest.New(twoReplies(), llmtest.Options{})
	if err := srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	c := exec.Command(buildLathe(t), "--plain")
	c.Dir = home
	c.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "ANTHROPIC_BASE_URL=" + srv.URL(), "ANTHROPIC_API_KEY=sk-test"}
	c.Stdin = strings.NewReader("hello\n/cost\nmore")
	var out, errOut bytes.Buffer
	c.Stdout, c.Stderr = &out, &errOut
	if err := c.Run(); err != nil {
		t.Fatalf("%v: %s", err, errOut.String())
	}
	for _, want := range []string{"The first reply.", "in 1 turn", "The second reply."} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	if errOut.Len() > 0 {
		t.Errorf("on stderr: %s", errOut.String())
	}
}
