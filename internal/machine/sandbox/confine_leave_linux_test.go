package sandbox

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
)

func TestConfinedProcessesStayConfinedWhenTheyMayStay(t *testing.T) {
	tiers(t, func(t *testing.T, s confine.Support) {
		dir := realDir(t)
		work, outside := dir+"/work", write(t, dir+"/outside/file", "as it was")
		if err := errors.Join(os.Mkdir(work, 0o700), unix.Mkfifo(work+"/go", 0o600)); err != nil {
			t.Fatal(err)
		}
		line := `(read line <go; echo changed >` + outside + `; echo tried >tried) >/dev/null 2>&1 & exit 3`
		r := New()
		exit, err := r.Run(t.Context(), Spec{
			Argv: []string{"/bin/bash", "-c", line}, Dir: work, Leave: true,
			Confine: &Confinement{Policy: confine.Policy{Mode: confine.Workspace, Write: []string{work}}, Support: s},
		})
		if err != nil || exit.Code != 3 || len(exit.Left) == 0 {
			t.Fatalf("got %+v, %v", exit, err)
		}
		r.Close()
		for _, pid := range exit.Left {
			if err := syscall.Kill(pid, 0); err != nil {
				t.Errorf("process %d ended with lathe: %v", pid, err)
			}
		}
		if err := os.WriteFile(work+"/go", []byte("now\n"), 0); err != nil {
			t.Fatal(err)
		}
		if !await.Until(func() bool { b, _ := os.ReadFile(work + "/tried"); return strings.Contains(string(b), "tried") }) {
			t.Fatal("what stayed did not go on")
		}
		if b, _ := os.ReadFile(outside); string(b) != "as it was" {
			t.Errorf("what stayed wrote outside: %q", b)
		}
	})
}

func TestConfinedCommandsThatLeaveNothingEnd(t *testing.T) {
	tiers(t, func(t *testing.T, s confine.Support) {
		r := New()
		defer r.Close()
		work := realDir(t)
		exit, err := r.Run(t.Context(), Spec{
			Argv: []string{"/bin/sh", "-c", "exit 4"}, Dir: work, Leave: true,
			Confine: &Confinement{Policy: confine.Policy{Mode: confine.Workspace, Write: []string{work}}, Support: s},
		})
		if err != nil || exit.Code != 4 || len(exit.Left) > 0 {
			t.Errorf("got %+v, %v", exit, err)
		}
	})
}
