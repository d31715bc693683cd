//go:build amd64 || arm64

package confine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine/inside"
)

// Detect returns the best tier of this machine. Once per process it starts a real child, which tries forbidden acts.
var Detect = sync.OnceValue(detect)

func detect() Support {
	s := Support{ABI: inside.LandlockABI()}
	if s.ABI < inside.LeastABI {
		s.Why = fmt.Sprintf("the kernel's Landlock is version %d, and version %d is needed (Linux 6.2, with \"landlock\" "+
			"among the active security modules)", s.ABI, inside.LeastABI)
		return s
	}
	var why error
	for _, user := range []bool{false, true} {
		if !user && os.Geteuid() != 0 {
			continue
		}
		full := Support{Tier: Full, ABI: s.ABI, User: user}
		err := Probe(full)
		if err == nil {
			return full
		}
		why = err
	}
	if carrier := Bubblewrap(); carrier != "" {
		carried := Support{Tier: Full, ABI: s.ABI, Carrier: carrier}
		err := Probe(carried)
		if err == nil {
			return carried
		}
		why = fmt.Errorf("%w; nor by %s: %w", why, carrier, err)
	}
	s.Why = fmt.Sprintf("namespaces cannot be used here: %v%s", why, hint(why))
	if err := Probe(Support{Tier: Landlock, ABI: s.ABI}); err != nil {
		s.Why += fmt.Sprintf("; nor Landlock: %v", err)
		return s
	}
	s.Tier = Landlock
	return s
}

// hint returns the user's next move for an error that has one, else "".
func hint(err error) string {
	if b, ferr := os.ReadFile("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"); ferr == nil && bytes.HasPrefix(b,
		[]byte("1")) {
		return " (AppArmor forbids user namespaces to programs without a profile: give lathe one with the rule \"userns,\")"
	}
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) {
		return " (the system, or the container around lathe, forbids user namespaces: see user.max_user_namespaces)"
	}
	return ""
}

// HoleError says what a probe could do that its boundary forbids. Other errors say that the machine lacks what the
// boundary is made of.
type HoleError struct{ Found string }

func (e *HoleError) Error() string { return "the probe's boundary does not hold: " + e.Found }

// probeLimit is how long a probe may take: some milliseconds as a rule, and for good where the setting up of a sandbox
// hangs.
var probeLimit = 10 * time.Second

// Probe starts a child in a tier and has it test the boundary. Nil means that it held.
func Probe(s Support) error {
	in, err := os.MkdirTemp("", "lathe-probe-")
	if err != nil {
		return fmt.Errorf("no folder for the probe: %w", err)
	}
	defer os.RemoveAll(in)
	if in, err = filepath.EvalSymlinks(in); err != nil {
		return err
	}
	open, shut := filepath.Join(in, "open"), filepath.Join(in, "shut")
	if err := errors.Join(os.Mkdir(open, 0o700), os.Mkdir(shut, 0o700)); err != nil {
		return err
	}
	cmd := exec.Command(inside.Self)
	cmd.Args = []string{inside.ProbeName, s.Tier.String(), open, shut}
	cmd.Dir = "/"
	cmd.Env = []string{}
	out, stdout, err := os.Pipe()
	if err != nil {
		return err
	}
	defer out.Close()
	defer stdout.Close()
	cmd.Stdout = stdout
	policy := &Policy{Mode: Workspace, Write: []string{open}}
	if s.Tier == Full { // Landlock alone cannot protect within a writable folder
		policy.Write, policy.Protect = []string{in}, []string{shut}
	}
	c, err := Wrap(cmd, policy, s)
	if err != nil {
		return err
	}
	defer c.Close()
	runtime.LockOSThread() // the child ends with its thread
	defer runtime.UnlockOSThread()
	stems := &Stems{Fork: func(start func() error) error { return start() }}
	defer stems.Close()
	if err := c.Start(cmd, stems); err != nil {
		return err
	}
	defer time.AfterFunc(probeLimit, func() { _ = cmd.Process.Kill() }).Stop()
	if _, err := c.Started(); err != nil {
		_ = cmd.Wait()
		return err
	}
	err = cmd.Wait()
	stdout.Close()
	if text, _ := io.ReadAll(io.LimitReader(out, 4096)); len(text) > 0 {
		return &HoleError{strings.TrimSuffix(string(text), "; ")}
	}
	if err != nil {
		return fmt.Errorf("the probe failed: %w", err)
	}
	if status, _, ok := c.Status(); s.Tier == Full && (!ok || status != 0) {
		return fmt.Errorf("the probe ended with status %d", status)
	}
	return nil
}
