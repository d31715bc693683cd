//go:build unix

package boundary

import "golang.org/x/sys/unix"

// writeAccess returns nil if lathe's user may write an existing path.
func writeAccess(path string) error { return unix.Access(path, unix.W_OK) }
