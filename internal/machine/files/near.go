package files

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/base/fuzzy"
)

// The budget of a search for near names in a whole tree.
const (
	nearFiles = 20_000
	nearTime  = 100 * time.Millisecond
	nearMax   = 5
)

// Near finds up to five existing files that a missing path may have meant: similar names in the same
// folder, then the same or a similar name elsewhere in the roots, within a budget. Best first.
func (r *Roots) Near(ctx context.Context, missing Path) []string {
	want := filepath.Base(missing.Real)
	found := r.nearIn(missing, want)
	if len(found) < nearMax {
		found = append(found, r.nearTree(ctx, missing, want)...)
	}
	slices.SortStableFunc(found, func(a, b near) int { return a.cost - b.cost })
	var out []string
	for _, n := range found {
		if !slices.Contains(out, n.path) && len(out) < nearMax {
			out = append(out, n.path)
		}
	}
	return out
}

type near struct {
	path string
	cost int // 0 is the same name
}

// nearIn looks in the folder that the missing path names.
func (r *Roots) nearIn(missing Path, want string) []near {
	dir, err := r.openDir(missing.Root, filepath.Dir(missing.Real))
	if err != nil {
		return nil
	}
	defer dir.Close()
	list, err := readNames(dir, filepath.Dir(missing.Real))
	if err != nil {
		return nil
	}
	var out []near
	for _, e := range list[:min(len(list), nearFiles)] {
		if cost, ok := nameCost(want, e.Name()); ok {
			out = append(out, near{filepath.Join(filepath.Dir(missing.Real), e.Name()), cost})
		}
	}
	return out
}

// nearTree looks everywhere in the roots but in ignored places.
func (r *Roots) nearTree(ctx context.Context, missing Path, want string) []near {
	ctx, cancel := context.WithTimeout(ctx, nearTime)
	defer cancel()
	var out []near
	left := nearFiles
	for _, root := range r.List() {
		start := Path{Real: root.Path, Root: &root}
		_, _ = r.Walk(ctx, start, WalkOptions{Ignore: true, Enter: enterSource}, func(e Entry) error {
			if left--; left < 0 {
				return SkipAll
			}
			if cost, ok := nameCost(want, filepath.Base(e.Path)); ok && cost <= 1 {
				out = append(out, near{e.Path, cost*10 + pathCost(missing.Real, e.Path)})
			}
			return nil
		}) // the names found until the budget ended are good enough
	}
	return out
}

// enterSource enters folders that neither version control nor ignore files keep out.
func enterSource(name, _ string, ignored bool) bool { return !ignored && !VCSFolder(name) }

// VCSFolder reports whether version control keeps its own files in folders of this name.
func VCSFolder(name string) bool {
	switch name {
	case ".git", ".hg", ".svn", ".jj", ".bzr", ".sl":
		return true
	}
	return false
}

// pathCost counts the folders in which two paths differ, between those they share at both ends.
func pathCost(a, b string) int {
	x, y := strings.Split(filepath.ToSlash(filepath.Dir(a)), "/"), strings.Split(filepath.ToSlash(filepath.Dir(b)), "/")
	for len(x) > 0 && len(y) > 0 && x[0] == y[0] {
		x, y = x[1:], y[1:]
	}
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	return min(9, len(x)+len(y))
}

// nameCost is the distance of a name from the wanted one, and whether that is near enough.
func nameCost(want, name string) (int, bool) {
	w, n := strings.ToLower(want), strings.ToLower(name)
	switch {
	case want == name:
		return 0, true
	case w == n:
		return 1, true
	}
	wStem, nStem := strings.TrimSuffix(w, filepath.Ext(w)), strings.TrimSuffix(n, filepath.Ext(n))
	if wStem == nStem && len(wStem) > 1 {
		return 1, true
	}
	if d := fuzzy.Distance(w, n, 3); d <= max(1, min(3, len(w)/4)) {
		return 1 + d, true
	}
	if len(wStem) >= 4 && len(nStem) >= 4 && (strings.Contains(n, wStem) || strings.Contains(w, nStem)) {
		return 5, true
	}
	return 0, false
}
