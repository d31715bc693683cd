package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Root is one folder the agent may work in, or only read (ReadOnly).
type Root struct {
	Path     string // absolute, links resolved
	Named    string // as it was given, absolute
	ReadOnly bool
}

// Roots are the folders a session works in. The first is the session's own folder; more are added at
// run time. Safe for concurrent use.
type Roots struct {
	// Seen returns the real place of a path that commands made in a /tmp of their own, and any other path as it is. Nil:
	// there is none. Set it before the first use.
	Seen func(path string) string

	mu      sync.RWMutex
	roots   []Root
	handles map[string]*os.Root
}

// NewRoots makes Roots with dir as the session's folder, which must exist.
func NewRoots(dir string) (*Roots, error) {
	r := &Roots{handles: map[string]*os.Root{}}
	if err := r.Add(dir, false); err != nil {
		return nil, err
	}
	return r, nil
}

// Add lets the session use dir too. Adding a folder again changes whether it is read-only.
func (r *Roots) Add(dir string, readOnly bool) error {
	abs, err := filepath.Abs(expandHome(dir))
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return fmt.Errorf("cannot use %s as a folder to work in: %w", dir, err)
	}
	info, err := os.Stat(real)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("cannot use %s as a folder to work in: it is a file; name its folder", dir)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.roots {
		if r.roots[i].Path == real {
			r.roots[i].ReadOnly = readOnly && i > 0
			return nil
		}
	}
	r.roots = append(r.roots, Root{real, abs, readOnly})
	return nil
}

// Remove takes back a folder of Add that the session may work in; false when it is none, or the session's own.
func (r *Roots) Remove(real string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.roots {
		if i > 0 && r.roots[i].Path == real && !r.roots[i].ReadOnly {
			r.roots = slices.Delete(slices.Clone(r.roots), i, i+1)
			return true
		}
	}
	return false
}

// List returns the roots, the session's own folder first.
func (r *Roots) List() []Root {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return append([]Root(nil), r.roots...)
}

// First is the session's own folder.
func (r *Roots) First() string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.roots[0].Path
}

// Close lets go of the folders held open.
func (r *Roots) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for k, h := range r.handles {
		errs = append(errs, h.Close())
		delete(r.handles, k)
	}
	return errors.Join(errs...)
}

// handle opens the folder of a root once and keeps it.
func (r *Roots) handle(root string) (*os.Root, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.handles[root]; h != nil {
		return h, nil
	}
	h, err := os.OpenRoot(root)
	if err == nil {
		r.handles[root] = h
	}
	return h, err
}

// Path is a path as it was resolved at one moment.
type Path struct {
	Named   string      // as it was given
	Lexical string      // absolute and cleaned; links not followed
	Real    string      // absolute, every link followed, also a dangling last one
	Root    *Root       // the root that holds Real; nil outside all roots
	Info    fs.FileInfo // of Real, not following links; nil when there is nothing
	Err     error       // why Info is nil, when it is not that nothing is there
}

// Linked reports whether a link made the real path differ from the named one.
func (p Path) Linked() bool { return p.Real != p.Lexical }

// Inside reports whether the real path is in a root.
func (p Path) Inside() bool { return p.Root != nil }

// Exists reports whether something was there.
func (p Path) Exists() bool { return p.Info != nil }

// Resolve makes path absolute (relative to dir, ~ is the home folder), follows its links and says which
// root holds it. A path that does not exist is no error; a loop of links is.
func (r *Roots) Resolve(path, dir string) (Path, error) {
	p := Path{Named: path}
	if path == "" {
		return p, errors.New("the path is empty; name a file or folder")
	}
	if strings.ContainsRune(path, 0) {
		return p, fmt.Errorf("the path %q has a NUL byte; no file can have that name", path)
	}
	lex := expandHome(path)
	if !filepath.IsAbs(lex) {
		lex = filepath.Join(dir, lex)
	}
	p.Lexical = filepath.Clean(lex)
	if !filepath.IsAbs(p.Lexical) {
		return p, fmt.Errorf("%s is not absolute and there is no working folder to start from", path)
	}
	real := p.Lexical
	if r.Seen != nil {
		real = r.Seen(real)
	}
	real, err := FollowLinks(real)
	if err != nil {
		return p, err
	}
	p.Real = real
	p.Root = r.holder(real)
	p.Info, p.Err = os.Lstat(real)
	if Nothing(p.Err) {
		p.Err = nil
	}
	return p, nil
}

// Nothing reports whether an error means that there is nothing at a path, also because a part of it is no
// folder.
func Nothing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// holder returns the innermost root that holds the real path, or nil.
func (r *Roots) holder(real string) *Root {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var best *Root
	for i := range r.roots {
		if Within(r.roots[i].Path, real) && (best == nil || len(r.roots[i].Path) > len(best.Path)) {
			root := r.roots[i]
			best = &root
		}
	}
	return best
}

// Virtual reports whether a real path is in /proc or /sys, where size and times say nothing about the content.
func Virtual(real string) bool { return Within("/proc", real) || Within("/sys", real) }

// Within reports whether path is dir or lies below it. Both are absolute and clean.
func Within(dir, path string) bool {
	if dir == path {
		return true
	}
	if !strings.HasSuffix(dir, string(filepath.Separator)) {
		dir += string(filepath.Separator)
	}
	return strings.HasPrefix(path, dir)
}

func expandHome(path string) string {
	if path != "~" && !strings.HasPrefix(path, "~/") && !strings.HasPrefix(path, `~\`) {
		return path
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return path
	}
	return filepath.Join(home, path[1:])
}

// Resolved is a path with links resolved; where that fails, the path as it is.
func Resolved(path string) string {
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	return path
}

// maxLinks is Linux's own limit of links in one path.
const maxLinks = 40

// FollowLinks resolves every link in an absolute, clean path. Where a part does not exist (or cannot be
// looked at) the rest is kept as it is, so the target of a dangling link is the file that a write would create.
func FollowLinks(path string) (string, error) {
	sep := string(filepath.Separator)
	start := filepath.VolumeName(path) + sep
	done, rest := start, strings.Split(strings.TrimPrefix(path, start), sep)
	links := 0
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			done = filepath.Dir(done)
			continue
		}
		next := filepath.Join(done, part)
		info, err := os.Lstat(next)
		if err != nil {
			// Nothing below next can be a link, unless the target of a link climbs out again.
			if slices.Contains(rest, "..") {
				return "", fmt.Errorf("%s leads through %s, which cannot be looked at: %w", path, next, err)
			}
			return filepath.Join(append([]string{next}, rest...)...), nil
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("%s goes through too many links, perhaps a loop; name the file itself", path)
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", fmt.Errorf("cannot follow the link %s: %w", next, err)
		}
		if filepath.IsAbs(target) {
			done = filepath.VolumeName(target) + sep
			target = strings.TrimPrefix(target, done)
		}
		rest = append(strings.Split(filepath.FromSlash(target), sep), rest...)
	}
	return done, nil
}
