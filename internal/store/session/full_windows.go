package session

import (
	"errors"
	"syscall"
)

// System error codes of Windows: ERROR_HANDLE_DISK_FULL, ERROR_DISK_FULL and ERROR_DISK_QUOTA_EXCEEDED.
const (
	handleDiskFull    = syscall.Errno(39)
	diskFull          = syscall.Errno(112)
	diskQuotaExceeded = syscall.Errno(1295)
)

// full reports whether a write failed for want of room.
func full(err error) bool {
	return errors.Is(err, handleDiskFull) || errors.Is(err, diskFull) || errors.Is(err, diskQuotaExceeded)
}
