//go:build linux && (amd64 || arm64)

package boundary_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

// The process that is killed is this test, started again: it runs a command in the sandbox, and reports when that has
// planted a file.
func TestWhatAKilledSessionLeftIsSetAsideByTheNextOne(t *testing.T) {
	if dir := os.Getenv("LATHE_TEST_KILLED"); dir != "" {
		p := place{dir + "/project", dir + "/home", dir + "/home/config", dir + "/home/state", dir + "/cache"}
		start(t, confinement(t, p.open(t, ""), p.dir), p.dir, "mkdir .vscode; echo x >.envrc; exec sleep 1000")
		return
	}
	p := newPlace(t)
	p.open(t, "")
	write(t, p.dir+"/.mcp.json", "{}") // the user's own
	c := exec.Command("/proc/self/exe", "-test.run=^TestWhatAKilledSessionLeftIsSetAsideByTheNextOne$")
	c.Env = append(os.Environ(), "LATHE_TEST_KILLED="+filepath.Dir(p.dir))
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	planted := func(name string) bool { _, err := os.Lstat(filepath.Join(p.dir, name)); return err == nil }
	if !await.Until(func() bool { return planted(".envrc") }) {
		t.Error("nothing was planted")
	}
	_ = c.Process.Kill()
	_ = c.Wait()
	b := p.open(t, "")
	if planted(".envrc") || planted(".vscode") || !planted(".mcp.json") {
		t.Errorf(".envrc %v, .vscode %v", planted(".envrc"), planted(".vscode"))
	}
	if _, _, notes, _ := run(t, b, p.dir, "true"); len(notes) != 2 || !strings.Contains(notes[0]+notes[1],
		".vscode is protected") {
		t.Errorf("notes: %q", notes)
	}
	write(t, p.dir+"/.envrc", "mine")
	if _, _, notes, _ := run(t, p.open(t, ""), p.dir, "true"); len(notes) > 0 || !planted(".envrc") {
		t.Errorf("a file of the user's was set aside: %q", notes)
	}
}

func TestWhatARemainingProcessMakesIsSetAsideByTheNextSession(t *testing.T) {
	p := newPlace(t)
	b := p.open(t, "")
	c := confinement(t, b, p.dir)
	c.Leave()
	r := sandbox.New()
	exit, err := r.Run(t.Context(), sandbox.Spec{
		Argv: []string{"bash", "-c", "(until [ -e go ]; do :; done; echo x >.envrc; echo >done; sleep 1000) >/dev/null " +
			"2>&1 & echo $!"}, Dir: p.dir, Confine: c.Confinement, Leave: true,
	})
	if err != nil || len(exit.Left) == 0 {
		t.Fatalf("%v, %+v", err, exit)
	}
	t.Cleanup(func() {
		for _, pid := range exit.Left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	c.Done()
	r.Close()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, p.dir+"/go", "")
	if !await.Until(func() bool { _, err := os.Stat(p.dir + "/done"); return err == nil }) {
		t.Fatal("it did not stay: " + strconv.Itoa(exit.Left[0]))
	}
	p.open(t, "")
	if _, err := os.Lstat(p.dir + "/.envrc"); err == nil {
		t.Error("it stays")
	}
}

func confinement(t *testing.T, b *boundary.Boundary, dir string) *boundary.Run {
	t.Helper()
	c, err := b.For([]string{dir}, boundary.Network{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
