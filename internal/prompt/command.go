package prompt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

// Command is a command of the settings whose output is a section of the context.
type Command struct {
	Name   string
	Shell  string // the command line
	Origin string // the file and line that ask for it
	Wait   time.Duration
	Limit  int // bytes of its output
}

// commandOutput is the most output kept of one command, in bytes, whatever its limit.
const commandOutput = 64 << 10

// ownSections are the names of lathe's own sections, which no command may take.
var ownSections = []string{"environment", "git", "skills", "structure", "changes", memoryName}

// Commands returns providers that run commands in a folder, in the order given, with the environment that environ
// returns. A command that fails or has an unusable name is left out with a notice.
func Commands(all []Command, dir string, runner *sandbox.Runner, environ func() []string) []Provider {
	var out []Provider
	for _, c := range all {
		c.Wait = min(c.Wait, providerWait)
		out = append(out, Provider{
			Name: c.Name, Origin: c.Origin, Wait: c.Wait, Limit: c.Limit,
			Get: func(ctx context.Context) (string, error) {
				if err := checkName(c.Name); err != nil {
					return "", err
				}
				return c.run(ctx, dir, runner, environ())
			},
		})
	}
	return out
}

func checkName(name string) error {
	for _, own := range ownSections {
		if name == own {
			return errors.New("lathe has a context of this name itself; choose another")
		}
	}
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
	}
	if name == "" || len(name) > 60 || strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
		return errors.New("a name has letters, digits, - and _, and at most 60 of them")
	}
	return nil
}

// run returns the command's output. Processes that it started end with it.
func (c Command) run(ctx context.Context, dir string, runner *sandbox.Runner, environ []string) (string, error) {
	shell, flag := "/bin/sh", "-c"
	if runtime.GOOS == "windows" {
		shell, flag = "cmd", "/c"
	}
	var out, complaint capped
	exit, err := runner.Run(ctx, sandbox.Spec{
		Argv: []string{shell, flag, c.Shell}, Dir: dir, Env: environ, Stdout: &out, Stderr: &complaint,
	})
	switch {
	case err != nil:
		return "", err
	case exit.Code != 0:
		first, _, _ := strings.Cut(strings.TrimSpace(complaint.String()), "\n")
		return "", fmt.Errorf("its command ended with exit code %d; %s", exit.Code, oneLine(first, 200))
	}
	return out.String(), nil
}

// capped keeps the first bytes written to it.
type capped struct{ bytes.Buffer }

func (c *capped) Write(p []byte) (int, error) {
	if room := commandOutput - c.Len(); room > 0 {
		c.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
