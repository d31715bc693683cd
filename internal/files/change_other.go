//go:build !linux && !darwin

package files

import "io/fs"

// Change is what tells two states of a file apart that have one size and time. It is not known here.
func Change(fs.FileInfo) (inode uint64, changed int64) { return 0, 0 }
