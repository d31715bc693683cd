//go:build !linux && !darwin && !windows

package worktree

import "time"

// born returns when a folder was made; zero, since it is not known here.
func born(string) time.Time { return time.Time{} }
