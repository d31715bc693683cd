package permission

import (
	"path/filepath"
	"slices"
	"strings"
)

// Place is the copy of the project that an isolated agent works in. The rules and roots of the project hold for the same
// file in the copy.
type Place struct {
	Project string // the session's working folder
	Dir     string // the folder in the copy that stands for it
	Shared  string // git's folder, which a work tree shares with the project; empty: none
}

// Moved returns the path in the copy for one in the project; any other path, and every path where p is nil, as it is.
func (p *Place) Moved(path string) string {
	if p == nil {
		return path
	}
	return rebase(path, p.Project, p.Dir)
}

// rebase moves a path from one folder to another.
func rebase(path, from, to string) string {
	if path == from {
		return to
	}
	if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(from, string(filepath.Separator))+string(filepath.Separator)); ok {
		return filepath.Join(to, rest)
	}
	return path
}

// leaves returns the file in the project itself that a call would write, or "".
func (p *Place) leaves(accesses []Access) string {
	for _, a := range accesses {
		if a.Kind == Write && isUnder(p.Project, a.Target) && !isUnder(p.Dir, a.Target) && (p.Shared == "" || !isUnder(p.Shared, a.Target)) {
			return a.Target
		}
	}
	return ""
}

func isUnder(dir, path string) bool { return path == dir || rebase(path, dir, "") != path }

// atHome is the request with the paths of the copy as those of the project.
func (p *Place) atHome(req Request) Request {
	req.Place, req.Dir, req.Accesses = nil, rebase(req.Dir, p.Dir, p.Project), slices.Clone(req.Accesses)
	for i := range req.Accesses {
		if a := &req.Accesses[i]; a.Kind == Read || a.Kind == Write {
			a.Target, a.Named = rebase(a.Target, p.Dir, p.Project), rebase(a.Named, p.Dir, p.Project)
		}
	}
	return req
}

// isolated decides on a call of an agent in a copy of the project: as on the same call in the project. Rules on the copy's
// own paths hold too, and the project's files are not written.
func (p *Policy) isolated(req Request) Decision {
	place, here := req.Place, req
	here.Place = nil
	if path := place.leaves(req.Accesses); path != "" {
		return Decision{Effect: Deny, Layer: LayerMode, Reason: "this agent works in its own copy of the project, " + place.Dir + ", and does not write " + path}
	}
	home, own := p.decide(place.atHome(req)), p.decide(here)
	switch {
	case own.Effect == Deny && (own.Layer == LayerDeny || own.Layer == LayerGuards), own.Effect == Ask && own.Rule != "":
		return stricter(home, own)
	case own.Effect == Allow && own.Rule != "" && home.Effect == Ask && home.Rule == "" && home.Layer == LayerAnalysis:
		return own
	}
	return home
}
