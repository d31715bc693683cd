//go:build amd64 || arm64

package sandbox

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
)

// The switch holds for a PID namespace, so the test runs itself in one of its own.
func TestConfinedCommandsRunWhereNoProgramMayBeInMemory(t *testing.T) {
	const mark = "LATHE_TEST_MEMFD"
	if os.Getenv(mark) == "" {
		if os.Getuid() != 0 {
			t.Skip("only root can change vm.memfd_noexec")
		}
		if _, err := os.Stat("/proc/sys/vm/memfd_noexec"); err != nil {
			t.Skip("this kernel has no vm.memfd_noexec")
		}
		unshare, err := exec.LookPath("unshare")
		if err != nil {
			t.Skip("unshare is not installed")
		}
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command(unshare, "--pid", "--fork", "--mount-proc", "sh", "-c",
			`echo 2 >/proc/sys/vm/memfd_noexec && exec "$@"`, "sh", exe, "-test.run=^"+t.Name()+"$", "-test.v")
		c.Env = append(os.Environ(), mark+"=1")
		out, err := c.CombinedOutput()
		if strings.Contains(string(out), "unshare failed") {
			t.Skipf("no PID namespace can be made: %s", out)
		}
		if err != nil || strings.Contains(string(out), "SKIP") {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	if fd, err := unix.MemfdCreate("test", unix.MFD_EXEC); err == nil {
		unix.Close(fd)
		t.Fatal("a program may be in memory")
	}
	s := confine.Detect()
	if s.Tier != confine.Full {
		t.Fatalf("the tier is %v: %s", s.Tier, s.Why)
	}
	r := New()
	defer r.Close()
	work := realDir(t)
	exit, out := sh(t, r, work, "echo here; touch /var/tmp/outside",
		&Confinement{Policy: confine.Policy{Mode: confine.Workspace, Write: []string{work}}, Support: s})
	if exit.Code == 0 || !strings.Contains(out, "here\n") || !strings.Contains(out, "ead-only") {
		t.Errorf("%+v: %s", exit, out)
	}
}
