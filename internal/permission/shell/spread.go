package shell

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// spreads notes the folders that patterns list where the program takes the names for text: echo ~/.ssh/* lists
// the files as ls does.
func (a *analysis) spreads(c *call, sc *scope) {
	for _, w := range c.words {
		name := w.text
		if !w.glob || slices.Contains(c.use.Reads, name) || slices.Contains(c.use.Writes, name) ||
			slices.Contains(c.use.Kills, name) {
			continue
		}
		a.spreadFolders(name, sc)
	}
}

// spreadFolders notes the folders that a pattern lists.
func (a *analysis) spreadFolders(name string, sc *scope) {
	name = strings.TrimSuffix(name, "/")
	for _, d := range sc.places() {
		found, more := a.world.Glob(name, d, maxGlob)
		if more {
			a.saw(oddTooMuch, "files that "+name+" stands for")
		}
		folders := map[string]bool{}
		for _, f := range found {
			if dir := filepath.Dir(f); !folders[dir] {
				folders[dir] = true
				a.place(permission.Read, dir, false)
			}
		}
		if len(found) == 0 {
			a.path(permission.Read, plainFolder(name), []string{d}, false)
		}
	}
}

// plainFolder is the deepest folder that a pattern names without a wildcard.
func plainFolder(pattern string) string {
	for strings.ContainsAny(pattern, `*?[`) {
		up := filepath.Dir(pattern)
		if up == pattern {
			break
		}
		pattern = up
	}
	return unescape(pattern)
}
