//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
)

// carrierNeeded is set where no tier but the one of bubblewrap is full.
const carrierNeeded = "LATHE_TEST_CARRIER"

// TestTheSameByBubblewrapWhereOnlyItMakesNamespaces runs the tests of the boundary again as an ordinary user who may
// make no user namespace, beside a setuid bubblewrap. The restriction is the kernel's own (user.max_user_namespaces),
// in a user namespace that has all ids.
func TestTheSameByBubblewrapWhereOnlyItMakesNamespaces(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can set up the restriction")
	}
	carrier := confine.Bubblewrap()
	if carrier == "" {
		t.Skip("bubblewrap is not installed")
	}
	dir := realDir(t)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	setuid, self := copyFile(t, carrier, filepath.Join(dir, "bwrap"), 0o4755), copyFile(t, "/proc/self/exe",
		filepath.Join(dir, "tests"), 0o755)
	const script = `mount --bind "$1" "$2" && echo 0 >/proc/sys/user/max_user_namespaces && shift 2 && exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"`
	cmd := exec.Command("/bin/sh", "-c", script, "sh", setuid, carrier, self,
		// Outside no user namespace can be made either, so these would show nothing.
		"-test.run=^TestAttack|^TestConfined", "-test.skip=/./make_a_user_namespace", "-test.v="+
			fmt.Sprint(testing.Verbose()))
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=/var/tmp", "HOME=/nonexistent", carrierNeeded + "=1"}
	all := []syscall.SysProcIDMap{{Size: 65536}}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS, UidMappings: all,
		GidMappings: all, GidMappingsEnableSetgroups: true,
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

func copyFile(t *testing.T, from, to string, mode uint32) string {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	if err == nil {
		err = unix.Chmod(to, mode)
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func TestConfinedPrivateFolderIsSharedWithLathe(t *testing.T) {
	r := New()
	defer r.Close()
	tiers(t, func(t *testing.T, s confine.Support) {
		work, private := realDir(t), realDir(t)
		inside := private
		if s.Tier == confine.Full {
			inside = confine.PrivateDir
		}
		c := &Confinement{
			Policy:  confine.Policy{Mode: confine.Workspace, Write: []string{work}, Private: private},
			Support: s,
		}
		if exit, out := sh(t, r, work, "echo here > "+inside+"/f", c); exit.Code != 0 {
			t.Fatalf("exit %d: %s", exit.Code, out)
		}
		if b, err := os.ReadFile(filepath.Join(private, "f")); err != nil || string(b) != "here\n" {
			t.Errorf("outside there is %q, %v", b, err)
		}
	})
}
