package boundary

import "github.com/lathe-dev/lathe/internal/machine/sandbox"

// ForHook returns the confinement of a hook that comes with a project, or nil where nothing is confined. It reaches
// only the hosts that the settings allow. It may also write to more, the data folders of plugins. Done is to be called
// when it has ended.
func (b *Boundary) ForHook(dir string, more ...string) (c *sandbox.Confinement, done func(), err error) {
	if !b.Confined() {
		return nil, func() {}, nil
	}
	r, err := b.For(append([]string{dir}, more...), Network{})
	if err != nil {
		return nil, nil, err
	}
	return r.Confinement, r.Finish, nil
}

// Finish is Done for a child that has no result to show the lines in: that of the next command has them.
func (r *Run) Finish() {
	lines := r.Done()
	b := r.b
	b.mu.Lock()
	defer b.mu.Unlock()
	b.earlier = append(b.earlier, lines...)
}
