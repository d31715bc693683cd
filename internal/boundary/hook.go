package boundary

import "github.com/lathe-dev/lathe/internal/sandbox"

// ForHook returns the confinement of a hook that comes with a project, or nil where nothing is confined. It reaches only the
// hosts that the settings allow. It may also write to more, the data folders of plugins. Done is to be called when it has ended.
func (b *Boundary) ForHook(dir string, more ...string) (c *sandbox.Confinement, done func(), err error) {
	if !b.Confined() {
		return nil, func() {}, nil
	}
	r, err := b.For(append([]string{dir}, more...), Network{})
	if err != nil {
		return nil, nil, err
	}
	return r.Confinement, func() { r.Done() }, nil
}
