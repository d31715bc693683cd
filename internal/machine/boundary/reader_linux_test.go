//go:build amd64 || arm64

package boundary_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/git"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

func TestReadersAreConfined(t *testing.T) {
	p := newPlace(t)
	write(t, p.home+"/.ssh/id", "KEY")
	write(t, p.dir+"/.env", "LOCAL=1")
	b := p.open(t, `{"enabled": true}`)
	r := b.Runner()
	defer r.Close()
	var out bytes.Buffer
	line := `echo x >new; echo x >/tmp/x && echo TEMP; cat .env; cat ` + p.home +
		`/.ssh/id; exec 3<>/dev/tcp/127.0.0.1/22; exec 3<>/dev/udp/192.0.2.1/53 && echo x >&3`
	if _, err := r.Run(t.Context(), sandbox.Spec{
		Argv: []string{"bash", "-c", line}, Dir: p.dir, Stdout: &out,
		Stderr: &out, Reads: true,
	}); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "LOCAL=1") || strings.Contains(text, "KEY") ||
		!strings.Contains(text, "Read-only file system") || !strings.Contains(text, "Network is unreachable") {
		t.Error(text)
	}
	if _, err := os.Stat(p.dir + "/new"); err == nil {
		t.Error("a reader wrote a file")
	}
	var none *boundary.Boundary
	if none.Runner().Readers != nil {
		t.Error("readers are confined where commands are not")
	}
}

// In /tmp, which is another folder inside, with the repository of a linked work tree beside it.
func TestGitReadsRepositoriesAsAConfinedReader(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	p := newPlace(t)
	b := p.open(t, `{"enabled": true}`)
	r := b.Runner()
	defer r.Close()
	base := t.TempDir()
	if err := os.Mkdir(base+"/main", 0o700); err != nil {
		t.Fatal(err)
	}
	run := func(dir string, args ...string) { t.Log(gitIn(t, dir, args...)) }
	run(base+"/main", "init", "-q")
	write(t, base+"/main/sub/file", "text")
	run(base+"/main", "add", ".")
	run(base+"/main", "commit", "-qm", "first")
	run(base+"/main", "worktree", "add", "-q", base+"/linked")
	write(t, base+"/linked/new", "text")
	for _, dir := range []string{base + "/main/sub", base + "/linked"} {
		info := git.New(r).Info(t.Context(), dir)
		if info.Err != nil || len(info.Commits) != 1 {
			t.Errorf("%s: %+v", dir, info)
		}
	}
	if info := git.New(r).Info(t.Context(), base+"/linked"); info.Status == nil || info.Status.Untracked != 1 {
		t.Errorf("the status: %+v", info)
	}
}

func TestAServerWritesItsCachesOnly(t *testing.T) {
	t.Run("home elsewhere", func(t *testing.T) { serverWritesItsCachesOnly(t, newPlace(t)) })
	t.Run("home below /tmp", func(t *testing.T) {
		p := newPlace(t)
		dir, err := os.MkdirTemp("/tmp", "lathe-test-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		p.cache = dir
		serverWritesItsCachesOnly(t, p)
	})
}

func serverWritesItsCachesOnly(t *testing.T, p place) {
	t.Helper()
	write(t, p.dir+"/file", "text")
	b := p.open(t, `{"enabled": true}`)
	c, err := b.ForServer([]string{p.dir}, false, boundary.Network{})
	if err != nil {
		t.Fatal(err)
	}
	r := sandbox.New()
	defer r.Close()
	s, err := r.StartPiped(t.Context(), sandbox.Spec{
		Argv: []string{"bash", "-c", `while read -r x; do if eval "$x" 2>/dev/null; then echo yes; else echo no; fi; done`},
		Dir:  p.dir, Env: sandbox.Overlay(os.Environ(), c.Environ()), Confine: c.Confinement,
	})
	if err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewScanner(s.Out)
	for line, want := range map[string]string{
		"test -r file": "yes", "echo x >file": "no", `echo x >"$XDG_CACHE_HOME/x"`: "yes", "echo x >/tmp/x": "yes",
		"exec 3<>/dev/tcp/192.0.2.1/80": "no",
	} {
		if _, err := fmt.Fprintln(s.In, line); err != nil {
			t.Fatal(err)
		}
		if !answers.Scan() || answers.Text() != want {
			t.Errorf("%s: got %q, want %q", line, answers.Text(), want)
		}
	}
	if exit := s.Shut(time.Minute); exit.Code != 0 || exit.Cancelled {
		t.Errorf("got %+v", exit)
	}
	if notes := c.Done(); len(notes) != 0 {
		t.Errorf("set aside: %q", notes)
	}
}
