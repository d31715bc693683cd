package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"
)

// fleetProgram is the program of the fleet and of benchmarks. It is apart since its engine costs 11 MB.
const fleetProgram = "lathe-fleet"

func fleetCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "fleet <command>", Short: "Run many jobs, on this machine or on many: see lathe fleet --help",
		Long:               "Run many jobs, on this machine or on many. The commands are those of the program lathe-fleet.",
		DisableFlagParsing: true,
		RunE:               func(c *cobra.Command, args []string) error { return p.runFleet(c.Context(), args) },
	}
}

func benchCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "bench <command>", Short: "Measure agents on tasks: see lathe bench --help",
		Long:               "Measure agents on tasks. The commands are those of lathe-fleet bench.",
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			return p.runFleet(c.Context(), append([]string{"bench"}, args...))
		},
	}
}

// runFleet runs lathe-fleet, which is beside this program or on PATH, and ends as it does.
func (p *program) runFleet(ctx context.Context, args []string) error {
	path, err := findFleet()
	if err != nil {
		return err
	}
	c := exec.Command(path, args...)
	c.Stdin, c.Stdout, c.Stderr = p.in, p.out, p.err
	if err := c.Start(); err != nil {
		return &Error{Code: exitFailed, Err: err, Hint: "build it with make fleet"}
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		_ = c.Process.Signal(os.Interrupt) // it may have ended
		err = <-ended
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return &Error{Code: max(exit.ExitCode(), exitFailed), Quiet: true, Err: err}
	}
	return err
}

func findFleet() (string, error) {
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), fleetProgram+filepath.Ext(self))
		if _, err := os.Stat(beside); err == nil {
			return beside, nil
		}
	}
	path, err := exec.LookPath(fleetProgram)
	if err != nil {
		return "", usage("make fleet builds it", "the program %s is neither beside lathe nor on PATH", fleetProgram)
	}
	return path, nil
}
