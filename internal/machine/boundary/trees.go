package boundary

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/machine/git"
	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
	"github.com/lathe-dev/lathe/internal/permission"
)

// Linked are the work trees beside the working folders, and the folders of programs, that a line of the model uses.
type Linked struct {
	Programs []string // the folders of its PATH
	Made     []string // paths where the line may make one
	Named    []string // more paths that it names
}

// ForLine is ForCopy for a line that the permissions let run. In the default boundary it also writes work trees of the
// repository beside the working folders: those that the line names, and new ones where nothing is yet.
func (b *Boundary) ForLine(folders, hidden []string, l Linked, reach permission.Reach, n Network,
	moved func(string) string,
) (*Run, error) {
	var trees, made, above []string
	if b.standard && b.mode == confine.Workspace && reach != permission.ReachRead {
		trees = b.linked(slices.Concat(l.Made, l.Named), folders)
		made, above = b.newTrees(l.Made, folders)
	}
	r, err := b.ForCopy(slices.Concat(folders, trees, made), hidden, reach, n, moved, l.Programs...)
	if err != nil {
		removeEmpty(above)
		return nil, err
	}
	r.made = above
	return r, nil
}

// linked returns the work trees among paths and above them that are of the folders' repositories, on the word of both.
func (b *Boundary) linked(paths, folders []string) (out []string) {
	for _, path := range paths {
		if !b.beside(path, folders) || !there(path) {
			continue
		}
		repo, ok := git.Find(path)
		if !ok || !repo.Worktree || slices.Contains(out, repo.Root) {
			continue
		}
		real, err := filepath.EvalSymlinks(repo.Root)
		common := gitFolders(repo.Root)
		if err != nil || real != repo.Root || len(common) == 0 || !b.beside(real, folders) {
			continue
		}
		if slices.ContainsFunc(folders, func(dir string) bool {
			return common[0] == filepath.Join(dir, ".git") || slices.Contains(gitFolders(dir), common[0])
		}) {
			out = append(out, repo.Root)
		}
	}
	return out
}

// beside reports whether a path is outside of the folders and of the places of keys.
func (b *Boundary) beside(path string, folders []string) bool {
	return !slices.ContainsFunc(slices.Concat(folders, b.secrets()), func(dir string) bool {
		return within(path, dir) || within(dir, path)
	})
}

// newTrees makes folders for new work trees: only a folder can be mounted, and git takes an empty one. It returns them,
// and all that it made.
func (b *Boundary) newTrees(paths, folders []string) (trees, made []string) {
	for _, path := range paths {
		base := existing(path)
		real, err := filepath.EvalSymlinks(base)
		if err != nil || real != base || !b.beside(path, folders) {
			continue
		}
		if path == base {
			if entries, err := os.ReadDir(path); err != nil || len(entries) > 0 {
				continue
			}
		} else if os.MkdirAll(path, 0o777) != nil { // as git does; git says why it cannot
			continue
		}
		trees = append(trees, path)
		for dir := path; dir != base; dir = filepath.Dir(dir) {
			made = append(made, dir)
		}
	}
	return trees, made
}

// removeEmpty removes those of the folders that nothing is in.
func removeEmpty(made []string) {
	for _, dir := range made {
		_ = os.Remove(dir)
	}
}

// entries are the work trees that the repositories know, each with the folder that it names.
func (h homes) entries() map[string]string {
	out := map[string]string{}
	for _, config := range h {
		dir := filepath.Join(filepath.Dir(config), "worktrees")
		for _, name := range namesIn(dir) {
			back, _, err := readRegular(filepath.Join(dir, name, "gitdir"))
			if err == nil {
				out[filepath.Join(dir, name)] = filepath.Dir(absolute(strings.TrimSpace(string(back)), filepath.Join(dir, name)))
			}
		}
	}
	return out
}

// unkept returns a line for each new work tree that is in the session's own /tmp alone.
func (r *Run) unkept() (lines []string) {
	for entry, dir := range r.watch.homes.entries() {
		if r.trees[entry] == "" && r.b.Seen(dir) != dir {
			lines = append(lines, fmt.Sprintf("the work tree %s is not on this machine, but in the /tmp of lathe's sandbox, "+
				"which is removed with the session. To keep it, run git worktree remove --force %[1]s, "+
				"and git worktree add with the written-out path as a command of its own.", dir))
		}
	}
	return lines
}
