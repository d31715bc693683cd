//go:build !linux

package boundary

import "io/fs"

// Only Linux has overlays.
func roomInMemory(string, uint64) bool    { return false }
func sameOwner(string, fs.FileInfo) error { return nil }
func aliveProcess(int) bool               { return true }
func (r *Run) Changes() ([]Change, error) { return nil, nil }
