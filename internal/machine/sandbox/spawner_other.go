//go:build !linux

package sandbox

// spawner runs the fork where it is called: only Linux ties a child to the thread that made it.
type spawner struct{}

func (s *spawner) do(f func() error) error { return f() }

func (s *spawner) close() {}
