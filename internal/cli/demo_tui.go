package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/lathe-dev/lathe/internal/permission"
)

// inTerminal shows the work in the terminal interface: lathe itself, in the demo's project and surroundings.
func (d *demo) inTerminal(ctx context.Context, p *program) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c := exec.CommandContext(ctx, self, "--permission-mode", string(permission.AcceptEdits), "--allowedTools="+
		d.kind.allow, "--no-session-persistence", "--", demoPrompt)
	c.Dir, c.Env, c.Stdin, c.Stdout, c.Stderr = d.dir, d.environ(), p.in, p.out, p.err
	if err := c.Run(); err != nil {
		return fmt.Errorf("the terminal interface failed: %w; try lathe demo without --tui", err)
	}
	return nil
}
