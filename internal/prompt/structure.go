package prompt

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/machine/files"
)

const (
	structureLimit = 2_000  // bytes
	structureFiles = 50_000 // that are counted
)

// Structure provides the folders below dir with their file counts, as many levels as fit, and the files of dir itself.
// Files that git ignores are left out.
func Structure(dir string) Provider {
	return Provider{Name: "structure", Origin: "setting context.fileStructure", Get: func(ctx context.Context) (string,
		error,
	) {
		top, more, err := countFiles(ctx, dir)
		if err != nil {
			return "", err
		}
		return top.text(more), nil
	}}
}

// folderCount is a folder with the number of files in it and below.
type folderCount struct {
	files   int
	folders map[string]*folderCount
	names   []string // of the files of the top folder
}

func countFiles(ctx context.Context, dir string) (top *folderCount, more bool, err error) {
	top = &folderCount{}
	roots, err := files.NewRoots(dir)
	if err != nil {
		return nil, false, err
	}
	defer roots.Close()
	start, err := roots.Resolve(dir, dir)
	if err != nil {
		return nil, false, err
	}
	_, err = roots.Walk(ctx, start, files.WalkOptions{Ignore: true, Enter: func(name, _ string, ignored bool) bool {
		return !ignored && name != ".git"
	}}, func(e files.Entry) error {
		if more = top.files >= structureFiles; more {
			return files.SkipAll
		}
		top.add(e.Rel)
		return nil
	})
	return top, more, err
}

func (f *folderCount) add(rel string) {
	dir, name := path.Split(rel)
	if dir == "" {
		f.names = append(f.names, name)
	}
	f.files++
	for part := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
		if part == "" {
			break
		}
		if f.folders == nil {
			f.folders = map[string]*folderCount{}
		}
		if f.folders[part] == nil {
			f.folders[part] = &folderCount{}
		}
		f = f.folders[part]
		f.files++
	}
}

// text returns the deepest tree that fits; if even one level is too long, the provider's limit cuts it.
func (f *folderCount) text(more bool) string {
	note := ""
	if more {
		note = fmt.Sprintf("(only the first %d files were counted)\n", structureFiles)
	}
	tail := strings.Join(f.names, " ") + "\n" + note
	best, last := "", ""
	for depth := 1; depth <= 6; depth++ {
		var b strings.Builder
		f.write(&b, depth, "")
		tree := b.String()
		if tree == last || best != "" && len(tree)+len(tail) > structureLimit {
			break
		}
		best, last = tree+tail, tree
	}
	return best
}

func (f *folderCount) write(b *strings.Builder, depth int, indent string) {
	if depth == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(f.folders)) {
		sub := f.folders[name]
		fmt.Fprintf(b, "%s%s/ %d\n", indent, oneLine(name, 100), sub.files)
		sub.write(b, depth-1, indent+" ")
	}
}
