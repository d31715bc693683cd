//go:build !linux

package boundary

import (
	"errors"
	"os"
)

// onChange does nothing: the file is checked when the command has ended.
func onChange(string, func()) (stop func()) { return func() {} }

// openRegular opens a file; only Linux has configurations that a confined command may write.
func openRegular(path string) (*os.File, error) { return os.Open(path) }

// notice is one change of a watched path; there are none here.
type notice struct{ path string }

func (notice) moved() bool    { return false }
func (notice) appeared() bool { return false }
func (notice) vanished() bool { return false }

// pathWatch watches nothing: no other system has mounts that are dropped.
type pathWatch struct {
	changed func(all []notice, late bool)
	settled func()
}

func (*pathWatch) add(_, _ []string) bool { return true }

func (*pathWatch) close() {}

// unswept keeps nothing: only Linux has the tier whose commands it is for.
type unswept struct{}

func (unswept) begin(_, _ string, _ watch) {}
func (unswept) end([]int)                  {}
func (unswept) close()                     {}

func sweepUnswept(_, _, _ string) []string { return nil }

func processGone(err error) bool { return errors.Is(err, os.ErrProcessDone) }
