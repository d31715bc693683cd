package snapshot

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncData makes the content of a file durable.
func syncData(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }
