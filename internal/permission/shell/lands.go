package shell

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// maxLanding is how many names of one folder are looked at before they are copied or moved.
const maxLanding = 5000

// lands notes where copied, moved and unpacked files come to lie. Of the names within folders only those are kept
// that a guard has something against.
func (a *analysis) lands(c *call, sc *scope) {
	if c.use.Unpacks != "" {
		for _, dir := range sc.places() {
			a.within(permission.Write, from(c.use.Unpacks, dir))
			a.puts(c, landing{dest: from(c.use.Unpacks, dir), elsewhere: true})
		}
	}
	if c.name == "git" {
		a.bringsFiles(c, sc)
		if c.use.GitDir != "" {
			a.gitDirs = append(a.gitDirs, gitDirs(c, sc.places())...)
		}
	}
	if c.use.Lands == nil || len(sc.places()) == 0 {
		return
	}
	patterns := map[string]bool{}
	for _, w := range c.words {
		if w.glob {
			patterns[w.text] = true
		}
	}
	var put []landing
	unsure := slices.ContainsFunc(c.words[1:], func(w word) bool { return w.unknown })
	for _, dir := range sc.places() {
		target := from(c.use.Lands.Target, dir)
		if unsure { // find -exec cp {} x, xargs cp -t x
			for _, name := range perhapsTargets(c) {
				at := from(name, dir)
				put = append(put, landing{dest: at, unsure: true})
				a.place(permission.Write, at, false)
				a.place(permission.Write, filepath.Join(at, "?"), false)
			}
		}
		inside := c.use.Lands.Inside || a.world.Stat(target).Kind == permission.Folder
		for _, source := range c.use.Lands.Sources {
			for _, s := range a.named(source, patterns, sc) {
				under := inside && filepath.Base(source) != "." && filepath.Base(source) != ".."
				a.land(filepath.Clean(s), target, under, c)
				put = append(put, landings(c, source, filepath.Clean(s), target, c.use.Lands.Inside)...)
			}
		}
	}
	for _, l := range put {
		a.puts(c, l)
	}
}

// perhapsTargets are the words of a copy that may be its target, where unknown words stand among them.
func perhapsTargets(c *call) []string {
	sources := c.use.Lands.Sources
	if first := slices.IndexFunc(c.words[1:], func(
		w word,
	) bool {
		return w.unknown || !strings.HasPrefix(w.text, "-")
	}); first < 0 || !c.words[1+first].unknown {
		sources = sources[min(1, len(sources)):]
	}
	return append(slices.Clone(sources), c.use.Lands.Target)
}

// landings are the places to which a source is copied or moved: named is the source as the line writes it, path its
// resolved place. The line may have made or removed the folder before, so both places of the source count, unless
// certain is set: it goes into the target in any case.
func landings(c *call, named, path, target string, certain bool) []landing {
	dests := []string{filepath.Join(target, filepath.Base(path))}
	switch base := filepath.Base(named); {
	case base == ".", base == "..": // the contents
		dests[0] = target
	case !certain, c.name == "rsync": // with a slash behind the source rsync takes the contents
		dests = append(dests, target)
	}
	if hasLong(c.words, "--parents") {
		dests = append(dests, filepath.Join(target, named))
	}
	var all []landing
	for _, at := range dests {
		all = append(all, landing{source: path, dest: at})
		if c.name == "ln" && !filepath.IsAbs(named) { // a relative link starts from its own folder
			all = append(all, landing{source: filepath.Join(filepath.Dir(at), named), dest: at})
		}
	}
	return all
}

// land notes one source that goes to target, under its own name if that is a folder to put it into.
func (a *analysis) land(source, target string, inside bool, c *call) {
	kind := a.world.Stat(source).Kind
	if inside {
		target = filepath.Join(target, filepath.Base(source))
		a.place(permission.Write, target, false)
	}
	if !c.use.Lands.Deep || kind == permission.File || kind == permission.Special || c.name == "mv" &&
		kind != permission.Folder {
		return
	}
	names, complete := a.world.Names(source, maxLanding)
	if !complete {
		a.within(permission.Write, target)
		return
	}
	for _, name := range names {
		if at := filepath.Join(target, filepath.FromSlash(name)); slices.ContainsFunc([]string{name, filepath.Base(target) +
			"/" + name}, permission.GuardedWrite) {
			a.place(permission.Write, at, false)
		}
	}
}

// within notes that files of unknown names are read or written in a folder.
func (a *analysis) within(kind permission.Kind, dir string) {
	named, node := a.resolve(dir)
	x := permission.Access{Kind: kind, Target: cmp.Or(node.Real, named), Node: node.Kind, Below: true}
	if kind == permission.Read {
		x.Links = node.Links
	}
	if named != x.Target {
		x.Named = named
	}
	a.access(x)
}
