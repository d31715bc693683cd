//go:build unix

package snapshot

import (
	"os"
	"syscall"
)

// openFile opens a file for reading. It follows no link and does not wait for the other end of a pipe.
func openFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}
