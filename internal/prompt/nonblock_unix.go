//go:build unix

package prompt

import "syscall"

// nonblock keeps open from waiting for a writer when a FIFO took the place of the file that was checked.
const nonblock = syscall.O_NONBLOCK
