//go:build amd64 || arm64

package confine

import (
	"errors"
	"os/exec"
	"slices"

	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine/inside"
)

// Cover makes protected paths read-only, and masked ones unreadable, once more in the running sandbox: the kernel drops
// the mount over a path that is replaced from outside. The tiers below Full have no such mounts.
func (c *Child) Cover(cmd *exec.Cmd, protect, mask []string) (err error) {
	if c.tier != Full {
		return nil
	}
	if c.carrier != "" { // its leader is outside, and lathe may not enter
		return errors.New("the sandbox is bubblewrap's, which cannot be changed while the command runs")
	}
	p := &inside.Plan{Protect: protect, Mask: mask}
	for _, one := range c.plan.Copies {
		if slices.Contains(protect, one.Path) {
			p.Copies = append(p.Copies, one)
		}
	}
	herr := cmd.Process.WithHandle(func(pidfd uintptr) { err = inside.Cover(pidfd, c.user, p) })
	if herr != nil {
		return herr
	}
	return err
}
