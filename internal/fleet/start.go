package fleet

import (
	"context"
	"os/exec"
)

// command starts a program that a person of the fleet chose: lathe, git, gh, or a command of the user. What the model
// or a repository decides runs in lathe's sandbox.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, name, args...)
}
