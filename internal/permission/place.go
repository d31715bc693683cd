package permission

import (
	"path/filepath"
	"slices"
	"strings"
)

// Place is the copy of the project that an isolated agent works in. The rules and roots of the project hold for the
// same file in the copy. All paths are absolute, with links resolved.
type Place struct {
	Project string   // the top folder of the project: the repository's, else the session's working folder
	Dir     string   // the top folder of the copy
	Work    string   // the folder in the copy that stands for the session's working folder
	Shared  string   // git's folder, which a work tree shares with the project; empty: none
	Others  []string // folders that the agent does not write: the project, the copies of other agents
}

// Moved returns the path in the copy for one in the project; any other path, and every path where p is nil, as it is.
func (p *Place) Moved(path string) string {
	if p == nil {
		return path
	}
	return rebase(path, p.Project, p.Dir)
}

// Original returns the path in the project for one in the copy; any other path as it is.
func (p *Place) Original(path string) string { return rebase(path, p.Dir, p.Project) }

// rebase moves a path from one folder to another.
func rebase(path, from, to string) string {
	if path == from {
		return to
	}
	if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(from, string(filepath.Separator))+
		string(filepath.Separator)); ok {
		return filepath.Join(to, rest)
	}
	return path
}

// leaves returns the file or folder outside of the copy that a call would write, or where a command that writes would
// work, although it belongs to the project or to another agent's copy; or "". Guards keep git's folder, which is
// shared.
func (p *Place) leaves(req Request) string {
	for _, a := range req.Accesses {
		switch {
		case a.Kind == Write && p.closed(a.Target):
			return a.Target
		case a.Kind == Exec && a.Command != nil && !a.Command.Class.ReadOnly():
			if path := p.named(req, a.Command.Parts); path != "" {
				return path
			}
		}
	}
	return ""
}

func (p *Place) closed(path string) bool {
	return !isUnder(p.Dir, path) && (p.Shared == "" || !isUnder(p.Shared, path)) && slices.ContainsFunc(p.Others,
		func(dir string) bool { return isUnderFolded(dir, path) })
}

// named returns the path outside of the copy among the words of a line, as in cd PATH or git -C PATH. A file that is
// known to be only read does not count.
func (p *Place) named(req Request, parts []Part) string {
	for _, part := range parts {
		for word := range strings.FieldsSeq(part.Text) {
			if _, value, ok := strings.Cut(word, "="); ok {
				word = value
			}
			if !filepath.IsAbs(word) {
				word = filepath.Join(req.Dir, word)
			}
			word = filepath.Clean(word)
			isRead := func(a Access) bool { return a.Kind == Read && a.Node == File && (a.Target == word || a.Named == word) }
			if p.closed(word) && !slices.ContainsFunc(req.Accesses, isRead) {
				return word
			}
		}
	}
	return ""
}

func isUnder(dir, path string) bool { return path == dir || rebase(path, dir, "") != path }

// isUnderFolded is isUnder where case may not count, since the file system may ignore it.
func isUnderFolded(dir, path string) bool {
	return isUnder(dir, path) || len(path) >= len(dir) && isUnder(dir, dir+path[len(dir):]) && strings.EqualFold(
		path[:len(dir)], dir)
}

// atHome is the request with the paths of the copy as those of the project.
func (p *Place) atHome(req Request) Request {
	req.Place, req.Dir, req.Accesses = nil, p.Original(req.Dir), slices.Clone(req.Accesses)
	for i := range req.Accesses {
		if a := &req.Accesses[i]; a.Kind == Read || a.Kind == Write {
			a.Target, a.Named = p.Original(a.Target), p.Original(a.Named)
		}
	}
	return req
}

// isolated decides on a call of an agent in a copy of the project: as on the same call in the project. Rules on the
// copy's own paths hold too, and the project's files are not written.
func (p *Policy) isolated(req Request) Decision {
	place, here := req.Place, req
	here.Place = nil
	if path := place.leaves(req); path != "" {
		return Decision{Effect: Deny, Layer: LayerMode, Reason: "this agent works in its own copy of the project, " +
			place.Dir + ", and does not write " + path + "; use the same path in the copy"}
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
