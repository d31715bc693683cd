//go:build unix

package session

import (
	"errors"
	"syscall"
)

// full reports whether a write failed for want of room: on the disk, in a quota, below a limit of file sizes.
func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}
