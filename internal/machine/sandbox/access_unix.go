//go:build unix

package sandbox

import "golang.org/x/sys/unix"

// mayWrite reports whether this process may make files in a folder.
func mayWrite(dir string) bool { return unix.Access(dir, unix.W_OK) == nil }
