//go:build linux && (amd64 || arm64)

package boundary_test

import (
	"context"
	"os"
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/permission"
)

// BenchmarkStart is the time of true: without a sandbox, in a requested one, and in the default one with and without
// the machine's network.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	state, err := os.MkdirTemp("/var/tmp", "lathe-bench-")
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(state)
	for _, tt := range []struct {
		name, flag string
		reach      permission.Reach
	}{
		{"plain", "off", permission.ReachWrite},
		{"requested", "workspace", permission.ReachWrite},
		{"default", "", permission.ReachWrite},
		{"default network", "", permission.ReachOpen},
		{"view", "", permission.ReachView},
		{"read", "", permission.ReachRead},
	} {
		b.Run(tt.name, func(b *testing.B) {
			box, err := boundary.Open(boundary.Options{
				Flag: tt.flag, Dir: dir, Home: dir, State: state + "/state",
				Cache: state + "/cache",
			})
			if err != nil {
				b.Skip(err)
			}
			r := sandbox.New()
			defer r.Close()
			for b.Loop() {
				spec := sandbox.Spec{Argv: []string{"true"}, Dir: dir}
				if box.Confined() {
					c, err := box.ForCopy([]string{dir}, nil, tt.reach, boundary.Network{}, func(path string) string { return path })
					if err != nil {
						b.Fatal(err)
					}
					spec.Confine = c.Confinement
					defer func() { c.Done(); c.Drop() }()
				}
				if _, err := r.Run(context.Background(), spec); err != nil {
					b.Fatal(err)
				}
			}
			_ = box.Close()
		})
	}
}
