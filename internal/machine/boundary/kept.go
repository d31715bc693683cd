package boundary

import (
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

// keptIn returns the paths that a command which nobody approved must not change: those that are there, and at the top
// those that may come.
func keptIn(folders []string, scanned map[string]below) (out []string) {
	for _, dir := range folders {
		for _, path := range keptPaths() {
			out = append(out, filepath.Join(dir, path))
		}
		for path := range scanned[dir].kept {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// unkept sets aside what a command that nobody approved made of such names, and returns a line for each. Paths are
// those that were set aside for another reason; it adds its own.
func (b below) unkept(now below, aside string, paths map[string]*repo) (lines []string) {
	for path := range now.kept {
		if _, gone := paths[path]; gone || b.kept[path] || !there(path) {
			continue
		}
		paths[path], lines = nil, append(lines, setAside(path, aside))
	}
	slices.Sort(lines)
	return lines
}
