package files

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/fuzzy"
)

// maxListed is how many names of one folder are read.
const maxListed = 20_000

// outside reports text that leads out of the roots.
func outside(text string) bool {
	return text == "~" || text == ".." || strings.HasPrefix(text, "/") || strings.HasPrefix(text, "~/") ||
		strings.HasPrefix(text, "../") || filepath.IsAbs(text)
}

// list looks text up in the one folder that it names: the part before the last slash is a folder as it is
// written, the part after it letters of a name.
func (x *Index) list(ctx context.Context, text string, limit int) ([]Match, error) {
	if text == "~" || text == ".." {
		text += "/"
	}
	i := strings.LastIndexByte(text, '/')
	if i < 0 {
		return nil, nil
	}
	dir, name := text[:i+1], text[i+1:]
	path := expandHome(dir)
	if !filepath.IsAbs(path) {
		path = filepath.Join(x.roots.First(), filepath.FromSlash(path))
	}
	entries, err := readSome(ctx, path)
	if err != nil || ctx.Err() != nil {
		return nil, ctx.Err() // a folder that is not there has no files; that is no failure
	}
	var names []string
	for _, e := range entries {
		n := e.Name()
		if VCSFolder(n) || strings.HasPrefix(n, ".") && !strings.HasPrefix(name, ".") {
			continue
		}
		if e.IsDir() || e.Type()&fs.ModeSymlink != 0 && leadsToFolder(filepath.Join(path, n)) {
			n += "/"
		}
		names = append(names, n)
	}
	slices.Sort(names)
	shift := len([]rune(dir))
	var out []Match
	for _, found := range fuzzy.Rank(name, names, limit, nil) {
		for i := range found.Marks {
			found.Marks[i] += shift
		}
		n := names[found.Index]
		out = append(out, Match{Path: dir + n, Marks: found.Marks, Dir: strings.HasSuffix(n, "/")})
	}
	return out, nil
}

// listBelow is list for text below the first root.
func (x *Index) listBelow(ctx context.Context, text string, limit int) ([]Match, error) {
	const here = "./"
	found, err := x.list(ctx, here+strings.TrimPrefix(text, here), limit)
	for i := range found {
		found[i].Path = strings.TrimPrefix(found[i].Path, here)
		for j := range found[i].Marks {
			found[i].Marks[j] -= len(here)
		}
	}
	return found, err
}

func leadsToFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// readSome lists a folder without waiting longer than ctx: it may be on a machine that does not answer.
func readSome(ctx context.Context, path string) ([]fs.DirEntry, error) {
	type result struct {
		list []fs.DirEntry
		err  error
	}
	done := make(chan result, 1)
	go func() {
		f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
		if err != nil {
			done <- result{nil, err}
			return
		}
		defer f.Close()
		list, err := f.ReadDir(maxListed)
		done <- result{list, err}
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case r := <-done:
		return r.list, r.err
	}
}
