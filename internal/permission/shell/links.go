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
	command      int    // tells those of one command from others
	alias        bool   // dest, and all below it, is the same as source: a link to it
	elsewhere    bool   // only names that are new may be links
	unsure       bool   // the source is known only at run time
	links        bool   // links may lie at dest or below it; set by followLinks
	asked        bool   // the world was asked for links in source
	listed       bool   // and has all of them
	plain        bool   // an alias of what is there and holds no link
	since, again int    // the accesses noted before it
}

// puts notes where a command puts files, after its own accesses were noted.
func (a *analysis) puts(c *call, l landing) {
	if a.mute > 0 {
		return
	}
	l.command, l.since, l.again = len(a.calls), len(a.accesses), len(a.repeated)
	if c.name == "ln" || c.name == "link" || c.name == "cp" && (hasLetter(c.words, "sl") || hasLong(c.words,
		"--symbolic-link", "--link")) {
		l.alias = l.source != ""
	}
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
// link leads is unknown unless it was there before, so such an access is one of an unknown file, and of those that the
// link leads to as far as the world shows.
func (a *analysis) followLinks() {
	if len(a.landings) == 0 {
		return
	}
	a.findLinks()
	linked := slices.DeleteFunc(slices.Clone(a.landings), func(l landing) bool { return !l.links })
	if len(linked) > maxLandings {
		a.unknownFile(permission.Write, a.start)
		return
	}
	if len(linked) == 0 {
		return
	}
	a.overlaps(linked)
	first := len(a.accesses)
	for i := range linked {
		for _, x := range a.repeated[linked[i].again:] {
			a.followed(&linked[i], x, true)
		}
	}
	for i := 0; i < len(a.accesses); i++ {
		if i-first > maxFollowed {
			a.unknownFile(permission.Write, a.start)
			return
		}
		for j := range linked {
			a.followed(&linked[j], a.accesses[i], i >= linked[j].since)
		}
	}
}

// overlaps notes paths that leave a folder with links by .., and commands that put files into one: either may go
// through a link although no access shows it.
func (a *analysis) overlaps(linked []landing) {
	for _, o := range linked {
		if o.elsewhere {
			continue
		}
		for _, dir := range a.through {
			if below(dir, o.dest) && (dir != o.dest || o.alias) {
				a.unknownFile(permission.Write, dir+"/..")
			}
		}
		for _, l := range a.landings {
			if l.command > o.command && (below(l.dest, o.dest) || below(o.dest, l.dest)) {
				a.unknownFile(permission.Write, l.dest)
			}
		}
	}
}

// findLinks determines which landings may hold links: a copy of one that does holds them too.
func (a *analysis) findLinks() {
	for more := true; more; {
		more = false
		for i := range a.landings {
			l := &a.landings[i]
			if !l.links && a.mayHoldLinks(l) {
				l.links, more = true, true
			}
		}
	}
}

func (a *analysis) mayHoldLinks(l *landing) bool {
	if l.alias {
		links, _ := a.holdsLinks(l.source)
		l.plain = !links && a.world.Stat(filepath.Clean(l.source)).Kind != permission.Missing
	}
	if l.alias || l.elsewhere || l.unsure {
		return true
	}
	for i := range a.landings {
		if o := &a.landings[i]; o != l && o.links && !o.elsewhere && (below(l.source, o.dest) || below(o.dest, l.source)) {
			return true
		} else if o.links && o.elsewhere && below(l.source, o.dest) && a.world.Stat(l.source).Kind == permission.Missing {
			return true
		}
	}
	if l.asked {
		return false
	}
	l.asked = true
	links, listed := a.holdsLinks(l.source)
	l.listed = links && listed
	return links
}

// holdsLinks reports whether a file is a link or a folder with links in it, or one that cannot be looked through;
// listed when all its names were seen.
func (a *analysis) holdsLinks(path string) (links, listed bool) {
	node := a.world.Stat(filepath.Clean(path))
	if node.Kind == permission.Unknown || a.isLink(path) {
		return true, false
	}
	if node.Kind != permission.Folder {
		return false, true
	}
	names, complete := a.world.Names(node.Real, maxLanding)
	return !complete || slices.ContainsFunc(names, func(name string) bool {
		at := filepath.Join(node.Real, filepath.FromSlash(name))
		n := a.world.Stat(at)
		return n.Real != at || n.Kind == permission.Unknown
	}), complete
}

// followed notes an access that goes through a link below a landing.
func (a *analysis) followed(l *landing, x permission.Access, later bool) {
	if !l.links || x.Kind != permission.Read && x.Kind != permission.Write || !filepath.IsAbs(x.Target) {
		return
	}
	rest, ok := relative(l.dest, a.world.Stat(l.dest).Real, x)
	switch {
	case !ok:
		return
	case l.elsewhere:
		if later && rest != "." && x.Node == permission.Missing {
			a.unknownFile(x.Kind, filepath.Join(l.dest, rest))
		}
		return
	case l.unsure:
		if later && (rest != "." || x.Node != permission.Folder) {
			a.unknownFile(x.Kind, filepath.Join(l.dest, rest))
		}
		return
	case rest == ".":
		if !l.alias && a.world.Stat(l.dest).Kind == permission.Folder {
			return // a list of names that was there before
		}
		single := l.alias || a.world.Stat(l.source).Kind != permission.Folder || a.isLink(l.source)
		if !later || !single && x.Kind != permission.Read {
			return
		}
		if l.alias && l.plain {
			a.leads(l, rest, x.Kind)
			return
		}
	case l.alias && l.plain:
		a.leads(l, rest, x.Kind)
		return
	case x.Node != permission.Missing && l.listed && !l.alias && !a.passesLink(l.source, rest):
		return // it was there before, and no link takes its place
	}
	a.unknownFile(x.Kind, filepath.Join(l.dest, rest))
	a.leads(l, rest, x.Kind)
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

// passesLink reports whether a link lies on the way from a folder to a file below it.
func (a *analysis) passesLink(dir, rest string) bool {
	for name := range strings.SplitSeq(filepath.ToSlash(rest), "/") {
		if dir = filepath.Join(dir, name); a.isLink(dir) {
			return true
		}
	}
	return false
}

func (a *analysis) isLink(path string) bool {
	path = filepath.Clean(path)
	return a.world.Stat(path).Real != filepath.Join(a.world.Stat(filepath.Dir(path)).Real, filepath.Base(path))
}

// leads notes the files that a path below a landing may be: the same below the source, and where a relative link
// leads from its new folder.
func (a *analysis) leads(l *landing, rest string, kind permission.Kind) {
	at := filepath.Join(l.source, rest)
	if l.alias {
		a.place(kind, at, false)
		return
	}
	source, dest := filepath.Clean(l.source), l.dest
	names := append([]string{""}, strings.Split(filepath.ToSlash(rest), "/")...)
	for i, name := range names {
		source, dest = filepath.Join(source, name), filepath.Join(dest, name)
		if !a.isLink(source) {
			continue
		}
		a.place(kind, at, false)
		text, err := filepath.Rel(a.world.Stat(filepath.Dir(source)).Real, a.world.Stat(source).Real)
		if err == nil {
			a.place(kind, filepath.Join(append([]string{filepath.Dir(dest), text}, names[i+1:]...)...), false)
		}
		return
	}
	if a.world.Stat(source).Kind == permission.Missing {
		a.place(kind, at, false) // perhaps the line itself put it there
	}
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
