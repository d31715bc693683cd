package confine

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
)

// sandboxExec is macOS's program that starts another one under a profile. It is deprecated, and there is no other for
// programs that are not signed with entitlements.
const sandboxExec = "/usr/bin/sandbox-exec"

// Detect returns the tier Seatbelt if a real child is held by a profile. It runs once per process.
var Detect = sync.OnceValue(func() Support {
	if err := probeSeatbelt(); err != nil {
		return Support{Why: fmt.Sprintf("sandbox-exec does not confine here: %v", err)}
	}
	return Support{Tier: Seatbelt, Why: "macOS has no private processes and no private /tmp, and its loopback is shared"}
})

// probeSeatbelt has a child write where it may and where it may not.
func probeSeatbelt() error {
	in, err := os.MkdirTemp("", "lathe-probe-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(in)
	if in, err = filepath.EvalSymlinks(in); err != nil {
		return err
	}
	open, shut := filepath.Join(in, "open"), filepath.Join(in, "open", "shut")
	if err := os.MkdirAll(shut, 0o700); err != nil {
		return err
	}
	try := func(name string) error {
		cmd := exec.Command("/usr/bin/touch", name)
		if _, err := Wrap(cmd, &Policy{Mode: Workspace, Write: []string{open}, Protect: []string{shut}},
			Support{Tier: Seatbelt}); err != nil {
			return err
		}
		return cmd.Run()
	}
	if err := try(filepath.Join(open, "x")); err != nil {
		return fmt.Errorf("the writable folder cannot be written: %w", err)
	}
	for _, name := range []string{filepath.Join(in, "x"), filepath.Join(shut, "x")} {
		if try(name) == nil {
			return fmt.Errorf("%s was written", name)
		}
	}
	return nil
}

// Remembered is Detect.
func Remembered(string) Support { return Detect() }

// Child is lathe's side of a confined command; here there is nothing to keep.
type Child struct{}

// Wrap makes cmd start under the policy, through sandbox-exec.
func Wrap(cmd *exec.Cmd, p *Policy, s Support) (*Child, error) {
	if s.Tier == None {
		return nil, fmt.Errorf("the command cannot be confined: %s", s.Why)
	}
	args := []string{sandboxExec, "-p", SeatbeltProfile(p), cmd.Path}
	if len(cmd.Args) > 1 {
		args = append(args, cmd.Args[1:]...)
	}
	cmd.Path, cmd.Args = sandboxExec, args
	return &Child{}, nil
}

// Start starts the command.
func (*Child) Start(cmd *exec.Cmd, _ *Stems) error { return cmd.Start() }

// Started returns at once: an error of sandbox-exec is the command's exit code.
func (*Child) Started() (net.Listener, error) { return nil, nil }

// Status is not known beside the command's own.
func (*Child) Status() (status syscall.WaitStatus, left int, ok bool) { return status, 0, false }

// Close does nothing.
func (*Child) Close() {}

// Local returns nothing: the loopback is the machine's.
func (*Child) Local() []int { return nil }

// Top returns the process at the top of the command's tree, whose leader is the argument.
func (*Child) Top(leader int) int { return leader }

// Ended returns at once.
func (*Child) Ended() (stays bool) { return false }

// Cover does nothing: a profile names paths, so that it holds for a file that replaces another one.
func (*Child) Cover(*exec.Cmd, []string, []string) error { return nil }
