//go:build !linux

package boundary

import "os"

// onChange does nothing: the file is checked when the command has ended.
func onChange(string, func()) (stop func()) { return func() {} }

// openRegular opens a file; only Linux has configurations that a confined command may write.
func openRegular(path string) (*os.File, error) { return os.Open(path) }
