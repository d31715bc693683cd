package tool

import (
	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/permission"
)

// At moves the Env of a subagent to a copy of the project, which replaces the project among its roots; nil changes
// nothing.
func (e *Env) At(p *permission.Place) (*Env, error) {
	if p == nil || e.Isolated != nil && e.Isolated.Dir == p.Dir { // its parent works there too
		return e, nil
	}
	roots, err := files.NewRoots(p.Work)
	if err != nil {
		return nil, err
	}
	for _, r := range e.Roots.List()[1:] {
		if err := roots.Add(r.Path, r.ReadOnly); err != nil {
			return nil, err
		}
	}
	e.Roots, e.Dir, e.Isolated, e.hidden = roots, NewDir(roots.First()), p, new(hiddenFiles)
	return e, nil
}

// Leave gives the background commands of an agent that ends to the one above. Those of an agent in its own copy of the
// project end, since the copy may be removed.
func (e *Env) Leave(above *Env) error {
	if e.Isolated != nil && (above.Isolated == nil || above.Isolated.Dir != e.Isolated.Dir) {
		e.Background.end(e.Owner)
		return e.Roots.Close()
	}
	e.Background.HandOver(e.Owner, above.Owner)
	return nil
}

// end ends the commands of an agent and waits for them.
func (b *Background) end(owner string) {
	b.mu.Lock()
	var own []*shellRun
	for _, s := range b.shells {
		if s.ownedBy(owner) {
			own = append(own, s)
		}
	}
	b.mu.Unlock()
	for _, s := range own {
		s.cancel(errShellClosed)
		<-s.ended
	}
}
