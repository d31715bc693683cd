//go:build unix

package config_test

import (
	"syscall"
	"testing"
)

func TestFilesThatAreNoFilesDoNotHang(t *testing.T) {
	m := newMachine(t)
	m.mkdir("home/proj/.lathe")
	if err := syscall.Mkfifo(m.path(projFile), 0o600); err != nil {
		t.Skip("no named pipes here:", err)
	}
	want := projFile + ": cannot read the settings: " + projFile + " is not a regular file"
	diff(t, "error", m.fail(), want)
}
