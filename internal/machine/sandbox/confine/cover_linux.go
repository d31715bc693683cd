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
	answer := &Child{ours: -1}
	defer answer.Close()
	if err := answer.open(); err != nil {
		return err
	}
	herr := cmd.Process.WithHandle(func(pidfd uintptr) {
		_, err = c.stems.ask(c.user, inside.AskCover, &inside.Request{Plan: *p}, int(pidfd), int(answer.file.Fd()))
	})
	if err = errors.Join(herr, err); err != nil {
		return err
	}
	return answer.answered()
}
