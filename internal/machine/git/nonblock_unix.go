//go:build unix

package git

import "syscall"

// nonblock keeps the opening of a FIFO, put there after the look at it, from waiting for a writer.
const nonblock = syscall.O_NONBLOCK
