package shell

import (
	"path/filepath"

	"github.com/lathe-dev/lathe/internal/permission"
)

// readsWhole notes the folders that a command reads with everything in them.
func (a *analysis) readsWhole(c *call, patterns map[string]bool, sc *scope) {
	for _, name := range c.use.Reads {
		for _, at := range a.named(name, patterns, sc) {
			if kind := a.world.Stat(at).Kind; kind == permission.File || kind == permission.Special {
				a.place(permission.Read, at, false)
				continue
			}
			a.within(permission.Read, at)
		}
	}
}

// readsPast notes the files whose text in git's history a command prints. A name that is no file may be a folder, or
// the branch of a revision.
func (a *analysis) readsPast(c *call, patterns map[string]bool, sc *scope) {
	for _, name := range c.use.Past {
		for _, at := range a.named(name, patterns, sc) {
			a.place(permission.Read, at, false)
		}
	}
	if a.mute > 0 {
		return
	}
	if c.use.Raw {
		if at := a.world.Tracked(a.start, ""); at != "" {
			a.place(permission.Read, at, false)
		}
	}
	for _, hash := range c.use.Objects {
		if at := a.world.Tracked(a.start, hash); at != "" {
			a.place(permission.Read, at, false)
		}
	}
}

// named are the absolute paths that a word names, for a pattern the files that it matches now.
func (a *analysis) named(name string, patterns map[string]bool, sc *scope) []string {
	var out []string
	for _, d := range sc.places() {
		if patterns[name] {
			found, more := a.world.Glob(name, d, maxGlob)
			if more {
				a.saw(oddTooMuch, "files that "+name+" stands for")
			}
			if out = append(out, found...); len(found) > 0 {
				continue
			}
			name = unescape(name)
		}
		if filepath.IsAbs(name) {
			return append(out, name)
		}
		out = append(out, d+"/"+name)
	}
	return out
}
