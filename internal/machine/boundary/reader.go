package boundary

import (
	"path/filepath"
	"slices"

	"github.com/lathe-dev/lathe/internal/machine/git"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
	"github.com/lathe-dev/lathe/internal/permission"
)

// Runner returns a new Runner that confines lathe's own readers (git, ripgrep) where a sandbox was requested. b may be
// nil.
func (b *Boundary) Runner() *sandbox.Runner {
	r := sandbox.New()
	if b != nil && !b.standard { // the default boundary costs a start nothing
		r.Readers = b.reader
	}
	return r
}

// reader is the boundary of a child of lathe's own that reads a folder: it writes nothing, has no network, and does not
// see the places of keys. A flaw in git or ripgrep that a hostile repository exploits gains nothing by it. Files of the
// folder are not masked, since git compares all of them.
func (b *Boundary) reader(dir string) (*sandbox.Confinement, error) {
	if !b.Confined() {
		return nil, nil
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	p := confine.Policy{Mode: confine.ReadOnly, Show: []string{real}}
	if repo, ok := git.Find(real); ok {
		for _, path := range []string{repo.Root, repo.GitDir, repo.CommonDir} {
			if path, err := filepath.EvalSymlinks(path); err == nil {
				p.Show = append(p.Show, path)
			}
		}
	}
	p.Mask = slices.DeleteFunc(b.secrets(), func(secret string) bool { // neither the folder nor anything in it is hidden
		return slices.ContainsFunc(p.Show, func(dir string) bool { return within(dir, secret) || within(secret, dir) })
	})
	return &sandbox.Confinement{Policy: p, Support: b.support()}, nil
}

// ForServer returns the confinement of a long-lived child that serves the session, as a language server does: it reads
// the folders, writes to the caches and a /tmp of its own, and reaches the hosts that n allows, with open all. Start it
// with Runner.StartPiped, and call Done when it has ended. A server that changes files of the project is started with
// For.
func (b *Boundary) ForServer(folders []string, open bool, n Network) (*Run, error) {
	reach := permission.ReachWrite
	if open {
		reach = permission.ReachOpen
	}
	r, err := b.ForCopy(folders, nil, reach, n, func(path string) string { return path })
	if err != nil {
		return nil, err
	}
	p := &r.Policy
	for _, dir := range p.Write {
		if dir != b.cache() { // below /tmp a folder that is shown would lie, read-only, on the one that is written
			p.Show = append(p.Show, dir)
		}
	}
	p.Write = nil
	if r.Support.Tier == confine.Full { // elsewhere the session's own folder is all that there is
		p.Temp, p.TempWork = "", ""
	}
	if b.mode == confine.Workspace {
		p.Write = []string{b.cache()}
	}
	return r, nil
}
