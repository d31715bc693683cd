//go:build linux && (amd64 || arm64)

package boundary_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

// inner is a shell in the sandbox that runs a line when it is told to.
type inner struct {
	p   *sandbox.Piped
	out *bufio.Reader
	run *boundary.Run
}

func newInner(t *testing.T, b *boundary.Boundary, dir string) *inner {
	t.Helper()
	c, err := b.For([]string{dir}, boundary.Network{})
	if err != nil {
		t.Fatal(err)
	}
	r := sandbox.New()
	t.Cleanup(r.Close)
	p, err := r.StartPiped(t.Context(), sandbox.Spec{Argv: []string{"bash"}, Dir: dir, Env: sandbox.Overlay(os.Environ(),
		c.Environ()), Confine: c.Confinement})
	if err != nil {
		t.Fatal(err)
	}
	return &inner{p, bufio.NewReader(p.Out), c}
}

// do runs a line and returns its output, up to the end of its last line.
func (i *inner) do(t *testing.T, line string) string {
	t.Helper()
	if _, err := io.WriteString(i.p.In, "{ "+line+"; } 2>&1 | tr '\\n' ' '; echo\n"); err != nil {
		t.Fatal(err)
	}
	out, err := i.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// end ends the shell, and returns the notes on its sandbox.
func (i *inner) end() string {
	i.p.In.Close()
	i.p.Wait()
	return strings.Join(i.run.Done(), "\n")
}

// replace puts another file in the place of one, as editors and git config do.
func replace(t *testing.T, path, text string) {
	t.Helper()
	write(t, path+".lock", text)
	if err := os.Rename(path+".lock", path); err != nil {
		t.Fatal(err)
	}
}

const evilConfig = "[core]\n\tfsmonitor = touch planted; false\n"

func TestAFileThatIsReplacedOutsideStaysProtectedAndMasked(t *testing.T) {
	for _, settings := range []string{"", `{"enabled": true}`} {
		p := newPlace(t)
		b := p.open(t, settings)
		gitIn(t, p.dir, "init", "-q")
		env, netrc := filepath.Join(p.dir, ".env"), filepath.Join(p.home, ".netrc")
		write(t, env, "SECRET=one\n")
		write(t, netrc, "password one\n")
		i := newInner(t, b, p.dir)
		for _, line := range []string{"echo x >>.git/config", "cat .env", "cat " + netrc} {
			if got := i.do(t, line+" && echo worked"); strings.Contains(got, "worked") {
				t.Fatalf("before: %s: %s", line, got)
			}
		}
		for round := range 3 { // the cover is dropped each time
			gitIn(t, p.dir, "config", "user.email", strings.Repeat("x", round+1)+"@example.com")
			replace(t, env, "SECRET=two\n")
			replace(t, netrc, "password two\n")
			for line, refused := range map[string]string{ // which change nothing while the cover is missing
				"[ -w .git/config ] || echo denied": "denied", "cat .env": "denied", "cat " + netrc: "denied",
			} {
				if !await.Until(func() bool { return strings.Contains(i.do(t, line), refused) }) {
					t.Errorf("%q: %s works after the file was replaced", settings, line)
				}
			}
			if got := i.do(t, "echo x >>.git/config"); !strings.Contains(got, "ead-only") {
				t.Errorf("%q: a command wrote to the replaced configuration: %s", settings, got)
			}
		}
		if notes := i.end(); notes != "" && !strings.Contains(notes, "config was undone") {
			t.Errorf("notes: %s", notes)
		}
		if got := gitIn(t, p.dir, "config", "user.email"); got != "xxx@example.com\n" {
			t.Errorf("the user's own change is lost: %q", got)
		}
	}
}

func TestAGitSettingThatACommandMakesInTheGapIsUndone(t *testing.T) {
	p := newPlace(t)
	b := p.open(t, "")
	gitIn(t, p.dir, "init", "-q")
	config := filepath.Join(p.dir, ".git", "config")
	write(t, filepath.Join(p.dir, "evil"), evilConfig)
	i := newInner(t, b, p.dir)
	if _, err := io.WriteString(i.p.In, "e=$(cat evil); echo ready; while [ ! -e stop ]; do printf '%s\\n' \"$e\" "+
		">.git/config; done 2>/dev/null\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := i.out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	replaced := 0
	for round := range 20 { // git fails, or is killed, where the file that it has mapped becomes shorter
		c := exec.Command("git", "config", "user.name", strings.Repeat("x", round+1))
		c.Dir = p.dir
		if c.Run() == nil {
			replaced++
		}
	}
	if replaced == 0 {
		t.Error("git replaced the file in no round")
	}
	write(t, filepath.Join(p.dir, "stop"), "")
	notes := i.end()
	text, err := os.ReadFile(config)
	if err != nil || strings.Contains(string(text), "fsmonitor") {
		t.Errorf("%v, %s, notes %s", err, text, notes)
	}
	t.Logf("notes: %s", notes)
}
