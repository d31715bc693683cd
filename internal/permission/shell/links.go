package shell

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// Limits of following copies: landings of one line that may hold links, and accesses that are noted because of them.
const (
	maxLandings = 100
	maxFollowed = 300
)

// landing is a place where a command of the line puts files that may be links. The world shows nothing of them yet.
type landing struct {
	source, dest string // absolute; source is "" where the files come from elsewhere: an archive, git
	alias        bool   // dest, and all below it, is the same as source: a link to it
	elsewhere    bool   // only names that are new may be links
	unsure       bool   // the source is known only at run time
	links        bool   // links may lie at dest or below it
	plain        bool   // an alias of what is there and holds no link
	since        int    // the accesses noted before it
}

// puts notes where a command puts files, after its own accesses were noted.
func (a *analysis) puts(c *call, l landing) {
	if a.mute > 0 {
		return
	}
	l.since = len(a.accesses)
	if c.name == "ln" || c.name == "link" || c.name == "cp" && (hasLetter(c.words, "sl") || hasLong(c.words,
		"--symbolic-link", "--link")) {
		l.alias = l.source != ""
	}
	missing, holds := a.world.Stat(filepath.Clean(l.source)).Kind == permission.Missing, a.holdsLinks(l.source)
	l.plain = l.alias && !holds && !missing
	l.links = l.alias || l.elsewhere || l.unsure || holds || slices.ContainsFunc(a.landings, func(o landing) bool {
		return o.links && (below(l.source, o.dest) && (missing || !o.elsewhere) || !o.elsewhere && below(o.dest, l.source))
	})
	a.landings = append(a.landings, l)
}

// landsIn reports whether the line has put files into a folder, so that a pattern may stand for more than is there now.
func (a *analysis) landsIn(dir string) bool {
	return slices.ContainsFunc(a.landings, func(l landing) bool { return below(dir, l.dest) || below(l.dest, dir) })
}

// hasLetter reports whether one of the letters is among the short flags.
func hasLetter(words []word, letters string) bool {
	return slices.ContainsFunc(words[1:], func(w word) bool {
		return len(w.text) > 1 && w.text[0] == '-' && w.text[1] != '-' && strings.ContainsAny(w.text, letters)
	})
}

// hasLong reports whether one of the flags is there, perhaps abbreviated.
func hasLong(words []word, flags ...string) bool {
	return slices.ContainsFunc(words[1:], func(w word) bool {
		return len(w.text) > 2 && slices.ContainsFunc(flags, func(f string) bool { return strings.HasPrefix(f, w.text) })
	})
}

// bringsFiles notes the folders that git fills with tracked files, which may be links.
func (a *analysis) bringsFiles(c *call, sc *scope) {
	sub, rest := gitSubcommand(c)
	if !among(sub, "checkout", "switch", "restore", "stash", "worktree", "pull", "merge", "rebase", "cherry-pick",
		"clone", "reset", "revert", "am", "apply", "read-tree", "checkout-index", "submodule") {
		return
	}
	if (sub == "checkout" || sub == "switch") && len(rest) == 2 && among(rest[0], "-b", "-c") {
		return // a new branch of the same files
	}
	for _, dir := range gitDirs(c, sc.places()) {
		a.puts(c, landing{dest: dir, elsewhere: true})
		for i, w := range rest {
			if among(sub, "worktree", "clone") && !strings.HasPrefix(w, "-") {
				a.puts(c, landing{dest: from(w, dir), elsewhere: true})
				if sub == "worktree" && rest[0] == "add" && i > 0 && w != "" && !strings.ContainsAny(w, "$`*?[{~") {
					a.trees = append(a.trees, from(w, dir))
				}
			}
		}
	}
}

// followLinks notes the accesses that go through links which the line itself copies, moves, makes or unpacks. Where a
// link leads is unknown unless it was there before, so such an access is one of an unknown file, and of the one behind
// the link as far as the world shows.
func (a *analysis) followLinks() {
	if len(a.landings) > maxLandings {
		a.unknownFile(permission.Write, a.start)
		return
	}
	for _, l := range a.landings {
		for _, dir := range a.through { // left again by .., which leads on from the link's target
			if l.links && !l.elsewhere && below(dir, l.dest) && (dir != l.dest || l.alias) {
				a.unknownFile(permission.Write, dir+"/..")
			}
		}
	}
	first := len(a.accesses)
	for i := 0; i < len(a.accesses); i++ {
		if i-first > maxFollowed {
			a.unknownFile(permission.Write, a.start)
			return
		}
		for _, l := range a.landings {
			if l.links {
				a.followed(l, a.accesses[i], i >= l.since)
			}
		}
	}
}

// holdsLinks reports whether a file is a link or a folder with links in it, or one that cannot be looked through.
func (a *analysis) holdsLinks(path string) bool {
	node := a.world.Stat(filepath.Clean(path))
	if node.Kind != permission.Folder {
		return node.Kind == permission.Unknown || a.isLink(path)
	}
	names, complete := a.world.Names(node.Real, maxLanding)
	return !complete || a.isLink(path) || slices.ContainsFunc(names, func(name string) bool {
		at := filepath.Join(node.Real, filepath.FromSlash(name))
		n := a.world.Stat(at)
		return n.Real != at || n.Kind == permission.Unknown
	})
}

// followed notes an access that goes through a link below a landing; later: it comes behind that.
func (a *analysis) followed(l landing, x permission.Access, later bool) {
	rest, ok := relative(l.dest, a.world.Stat(l.dest).Real, x)
	if !ok || x.Kind != permission.Read && x.Kind != permission.Write || !filepath.IsAbs(x.Target) {
		return
	}
	source, unknown := a.world.Stat(filepath.Clean(l.source)).Kind, true
	switch {
	case l.elsewhere:
		unknown = later && rest != "." && x.Node == permission.Missing
	case l.unsure:
		unknown = later && (rest != "." || x.Node != permission.Folder)
	case rest == "." && !later,
		rest == "." && !l.alias && (a.world.Stat(l.dest).Kind == permission.Folder || // names that were there before
			source == permission.Folder && !a.isLink(l.source) && x.Kind != permission.Read):
		return
	case l.alias:
		unknown = !l.plain
	}
	if unknown {
		a.unknownFile(x.Kind, filepath.Join(l.dest, rest))
	}
	if l.source != "" && !l.unsure {
		a.place(x.Kind, filepath.Join(l.source, rest), false)
	}
}

// relative is the path of an access from a folder that is named in two ways.
func relative(dir, real string, x permission.Access) (rest string, ok bool) {
	for _, path := range []string{x.Named, x.Target} {
		for _, d := range []string{dir, real} {
			if path != "" && d != "" && below(path, d) {
				rest, err := filepath.Rel(d, path)
				return rest, err == nil
			}
		}
	}
	return "", false
}

func (a *analysis) isLink(path string) bool {
	path = filepath.Clean(path)
	return a.world.Stat(path).Real != filepath.Join(a.world.Stat(filepath.Dir(path)).Real, filepath.Base(path))
}

// unknownFile notes a file that only running the line determines. No rule covers it.
func (a *analysis) unknownFile(kind permission.Kind, path string) {
	show := path
	if rel, err := filepath.Rel(a.start, path); err == nil {
		show = rel
		if !strings.HasPrefix(rel, "..") {
			show = "./" + filepath.ToSlash(rel)
		}
	}
	a.access(permission.Access{Kind: kind, Target: show, Node: permission.Unknown})
}
