package boundary

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/permission"
)

// workspaceFile ends the names of settings of an editor's workspace.
const workspaceFile = ".code-workspace"

// keptNames are names of files and folders that only an approved command makes or changes: what belongs in a repository
// and chooses what runs there, or what agents read as instructions.
var keptNames = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for _, name := range permission.UnaskedNames() {
		out[name] = !strings.ContainsAny(name, "/*")
	}
	return out
})

// keptPaths are those of several names. They count at the top of a working folder.
var keptPaths = sync.OnceValue(func() []string {
	return slices.DeleteFunc(permission.UnaskedNames(), func(name string) bool { return !strings.Contains(name, "/") })
})

// keptIn returns the paths that an unapproved command must not change: those that are there, and at the top
// those that may come.
func keptIn(folders []string, scanned map[string]below) (out []string) {
	for _, dir := range folders {
		for _, path := range keptPaths() {
			out = append(out, filepath.Join(dir, path))
		}
		for path := range scanned[dir].kept {
			out = append(out, path)
		}
		out = openState(out, filepath.Join(dir, stateFolder))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// keepOnly leaves out of paths those that the boundary protects from approved commands too.
func keepOnly(paths, folders []string) []string {
	var always []string
	for _, dir := range folders {
		always = append(always, protectedIn(dir)...)
	}
	return slices.DeleteFunc(paths, func(path string) bool { return slices.Contains(always, path) })
}

// Recorded lets the command change files that otherwise only an approved command changes. It is for git where it writes
// what it has recorded, as with git switch; Done says what that was.
func (r *Run) Recorded() {
	if !r.keeps {
		return
	}
	r.keeps, r.recorded = false, stamps(r.kept, r.below)
	real := withTargets(r.kept)
	r.Policy.Protect = slices.DeleteFunc(r.Policy.Protect, func(path string) bool { return slices.Contains(real, path) })
	for _, path := range r.kept {
		if r.watch.missing(path) {
			delete(r.watch.names, path)
		}
	}
}

// stamps are the states of paths, of the files in folders, and of what a scan found.
func stamps(paths []string, scanned map[string]below) map[string]stamp {
	out := map[string]stamp{}
	for _, b := range scanned {
		paths = slices.Concat(paths, slices.Collect(maps.Keys(b.kept)))
	}
	for _, path := range paths {
		if files, err := os.ReadDir(path); err == nil {
			for _, e := range files {
				if fi, err := e.Info(); err == nil {
					out[filepath.Join(path, e.Name())] = stampOf(fi)
				}
			}
		} else if fi, err := os.Lstat(path); err == nil {
			out[path] = stampOf(fi)
		}
	}
	return out
}

// told returns a line on the files that Recorded opened and that are others now.
func (r *Run) told() []string {
	if r.recorded == nil {
		return nil
	}
	var names []string
	for path, now := range stamps(r.kept, r.b.trees.scan(slices.Collect(maps.Keys(r.below)))) {
		if was, ok := r.recorded[path]; !ok || was != now {
			names = append(names, path)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return []string{"git changed what chooses programs or instructs agents: " + strings.Join(names, ", ")}
}

// added sets aside what an unapproved command made of such names, and returns a line for each. Paths are
// those that were set aside for another reason; it adds its own.
func (b below) added(now below, aside string, paths map[string]*repo) (lines []string) {
	for path := range now.kept {
		if _, gone := paths[path]; gone || b.kept[path] || !there(path) || isState(path) {
			continue
		}
		paths[path], lines = nil, append(lines, setAside(path, aside))
	}
	slices.Sort(lines)
	return lines
}
