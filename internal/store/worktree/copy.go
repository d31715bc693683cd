package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/base/glob"
)

// Bounds of one copy.
const (
	mostFiles = 50_000
	mostBytes = 1 << 30
)

var errTooLarge = errors.New("the folder is too large to copy for an isolated agent (more than 50,000 files or 1 " +
	"GB); make it a git repository with git init and a commit")

// mark is a file's state that tells a changed file from an unchanged one.
type mark struct {
	size int64
	time int64 // ns
	mode fs.FileMode
}

// manifest is the state of all files of a copy, by path.
type manifest map[string]mark

func listed(root string) manifest {
	m := manifest{}
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == root {
			return nil
		}
		if e.Name() == ".git" { // git writes there when it only reads
			if e.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		info, err := e.Info()
		rel, relErr := filepath.Rel(root, path)
		if err != nil || relErr != nil {
			return nil
		}
		at := mark{info.Size(), info.ModTime().UnixNano(), info.Mode()}
		if e.IsDir() {
			at.size, at.time = 0, 0
		}
		m[rel] = at
		return nil
	})
	return m
}

// copyFolder makes the copy where there is no repository.
func (t *Tree) copyFolder(ctx context.Context) error {
	if _, err := os.Lstat(t.Path); err == nil {
		return nil // of an earlier run
	}
	if err := os.MkdirAll(filepath.Dir(t.Path), 0o755); err != nil {
		return err
	}
	making, err := os.MkdirTemp(filepath.Dir(t.Path), ".making-")
	if err != nil {
		return err
	}
	if err = copyTree(ctx, t.from, making); err == nil {
		err = os.Rename(making, t.Path) // whole or not at all
	}
	if err != nil {
		t.drop(making)
		return err
	}
	t.was = listed(t.Path)
	return nil
}

// drop removes a folder, and the folder of all copies when it is empty.
func (t *Tree) drop(dir string) {
	_ = os.RemoveAll(dir)
	_ = os.Remove(filepath.Dir(t.Path))
}

func copyTree(ctx context.Context, from, to string) error {
	files, bytes := 0, int64(0)
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if files++; info.Mode().IsRegular() {
			bytes += info.Size()
		}
		if files > mostFiles || bytes > mostBytes {
			return errTooLarge
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return copyOne(path, filepath.Join(to, rel), info)
	})
}

// copyOne copies a file, a link as it is, or makes a folder. Anything else is left out.
func copyOne(from, to string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return os.MkdirAll(to, info.Mode().Perm()|0o700)
	case info.Mode().Type() == fs.ModeSymlink:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case !info.Mode().IsRegular():
		return nil
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	return copyInto(from, out)
}

// copyInto copies a file and closes out.
func copyInto(from string, out *os.File) error {
	in, err := os.Open(from)
	if err != nil {
		return errors.Join(err, out.Close())
	}
	defer in.Close()
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// leaveFolder removes an unchanged copy of a folder, or describes the changes.
func (t *Tree) leaveFolder() string {
	if t.was == nil {
		return fmt.Sprintf("[Its work is in %s, a copy of %s. Compare them with: diff -r %s %s]", t.Path, t.from,
			quote(t.from), quote(t.Path))
	}
	lines := t.differences()
	if len(lines) == 0 {
		t.drop(t.Path)
		return ""
	}
	return fmt.Sprintf("[Its work is in %s, a copy of %s:\n%s\nCompare them with: diff -r %s %s]", t.Path, t.from,
		cut(strings.Join(lines, "\n")), quote(t.from), quote(t.Path))
}

// differences lists the files that are not as they were when the copy was made.
func (t *Tree) differences() (lines []string) {
	now := listed(t.Path)
	for path, at := range now {
		if was, ok := t.was[path]; !ok {
			lines = append(lines, " new: "+path)
		} else if was != at {
			lines = append(lines, " changed: "+path)
		}
	}
	for path := range t.was {
		if _, ok := now[path]; !ok {
			lines = append(lines, " removed: "+path)
		}
	}
	slices.Sort(lines)
	return lines
}

// copyIgnored copies files that git ignores and that match a pattern.
func (t *Tree) copyIgnored(ctx context.Context, patterns []string) error {
	if len(patterns) == 0 {
		return nil
	}
	patient := *t.m.git
	patient.Timeout, patient.MaxOutput = 30*time.Second, 64<<20
	out, err := patient.Run(ctx, t.repo, "ls-files", "-z", "--others", "--ignored", "--exclude-standard")
	if err != nil {
		return fmt.Errorf("the ignored files cannot be listed for worktree.copy: %w", err)
	}
	root, err := os.OpenRoot(t.Path) // a link in the commit must not lead a copy out of it
	if err != nil {
		return err
	}
	defer root.Close()
	bytes := int64(0)
	for _, name := range strings.Split(string(out), "\x00") {
		if name == "" || !filepath.IsLocal(name) || !slices.ContainsFunc(patterns,
			func(p string) bool { return matches(p, name) }) {
			continue
		}
		from := filepath.Join(t.repo.Root, name)
		info, err := os.Lstat(from)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if bytes += info.Size(); bytes > mostBytes {
			return errors.New("the files of the setting worktree.copy have more than 1 GB; name fewer")
		}
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		out, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
		if err != nil {
			return err
		}
		if err := copyInto(from, out); err != nil {
			return err
		}
	}
	return nil
}

// matches takes a pattern without a slash for a name in any folder, as .gitignore does.
func matches(pattern, name string) bool {
	if !strings.Contains(pattern, "/") {
		pattern = "**/" + pattern
	}
	return glob.Match(strings.TrimPrefix(pattern, "/"), name)
}
