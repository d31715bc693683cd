//go:build unix

package tool

import (
	"os"
	"syscall"
)

// openPlain opens a file for reading; a link is an error, and a pipe is not waited for.
func openPlain(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}
