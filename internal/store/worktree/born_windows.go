package worktree

import (
	"os"
	"syscall"
	"time"
)

// born returns when a folder was made; zero where the file system does not say.
func born(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	st, ok := info.Sys().(*syscall.Win32FileAttributeData)
	if !ok {
		return time.Time{}
	}
	return time.Unix(0, st.CreationTime.Nanoseconds())
}
