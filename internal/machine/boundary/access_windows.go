package boundary

import "os"

// writeAccess returns nil if a path is there and not marked read-only.
func writeAccess(path string) error {
	fi, err := os.Stat(path)
	if err == nil && fi.Mode().Perm()&0o200 == 0 {
		return os.ErrPermission
	}
	return err
}
