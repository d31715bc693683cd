//go:build linux || darwin

package cli

import "golang.org/x/sys/unix"

// freeSpace is how many bytes an ordinary user can still write.
func freeSpace(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return st.Bavail * uint64(st.Bsize), nil
}
