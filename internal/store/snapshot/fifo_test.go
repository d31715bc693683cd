//go:build unix

package snapshot_test

import "golang.org/x/sys/unix"

func fifo(p *place, name string) {
	p.t.Helper()
	p.must(unix.Mkfifo(p.path(name), 0o600))
}
