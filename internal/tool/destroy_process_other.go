//go:build !linux

package tool

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

// runningProcesses asks ps(1).
func runningProcesses(ctx context.Context, r *sandbox.Runner) ([]process, error) {
	if runtime.GOOS == "windows" {
		return nil, errors.ErrUnsupported
	}
	var b bytes.Buffer
	if _, err := r.Run(ctx, sandbox.Spec{
		Argv:   []string{"/bin/ps", "-axo", "pid=,ppid=,command="},
		Stdout: &b,
	}); err != nil {
		return nil, err
	}
	var out []process
	for l := range strings.Lines(b.String()) {
		f := strings.Fields(l)
		if len(f) < 3 {
			continue
		}
		pid, err := strconv.Atoi(f[0])
		parent, err2 := strconv.Atoi(f[1])
		if err == nil && err2 == nil {
			out = append(out, processOf(pid, parent, f[2], strings.Join(f[2:], " ")))
		}
	}
	return out, nil
}
