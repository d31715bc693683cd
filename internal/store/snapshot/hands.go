package snapshot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lathe-dev/lathe/internal/machine/files"
)

// phase is called between the parts of an operation; tests end the process there.
var phase = func(string) {}

// hands change files for a restore. They work below an open folder, the root or, for a file outside of all roots, the
// deepest folder above it: a folder on the way that becomes a link in the same moment leads nowhere else.
type hands struct {
	store *Store
	open  map[string]*os.Root
}

func (s *Store) newHands() *hands { return &hands{s, map[string]*os.Root{}} }

func (h *hands) close() {
	for _, r := range h.open {
		_ = r.Close()
	}
}

// at is the open folder for a path, and the path below it.
func (h *hands) at(path string) (*os.Root, string, error) {
	base := ""
	for _, root := range h.store.outerRoots() {
		if below(path, root) && path != root {
			base = root
		}
	}
	if base != "" {
		return h.below(base, path)
	}
	for dir := range h.open { // what a restore made below a folder stays below it
		if below(path, dir) && (base == "" || len(dir) < len(base)) {
			base = dir
		}
	}
	if base == "" {
		base = stageDir(path)
	}
	return h.below(base, path)
}

func (h *hands) below(base, path string) (*os.Root, string, error) {
	rel, err := filepath.Rel(base, path)
	if err != nil {
		return nil, "", err
	}
	if r := h.open[base]; r != nil {
		return r, rel, nil
	}
	r, err := os.OpenRoot(base)
	if err != nil {
		return nil, "", err
	}
	h.open[base] = r
	return r, rel, nil
}

func (h *hands) chmod(path string, m fs.FileMode) error {
	r, rel, err := h.at(path)
	if err != nil {
		return err
	}
	return r.Chmod(rel, m)
}

// drop removes a temporary file.
func (h *hands) drop(temp string) {
	if r, rel, err := h.at(temp); err == nil {
		_ = r.Remove(rel)
	}
}

func (h *hands) remove(c Change) error {
	r, rel, err := h.at(c.Path)
	if err != nil {
		return err
	}
	if why := linked(c.Path, nothing); why != "" {
		if _, there := look(c.Path); !there && c.Before.Kind == Dir {
			return nil
		}
		return errors.New(why)
	}
	if c.Before.Kind == Dir {
		at, there := look(c.Path)
		if !there {
			return nil
		}
		if at.kind() != Dir {
			return errors.New("it is no folder any more")
		}
		if err := r.Remove(rel); err != nil {
			return fmt.Errorf("the folder is not empty: %w", err)
		}
		return nil
	}
	if already, err := h.store.expect(c); already || err != nil {
		return err
	}
	return r.Remove(rel)
}

func (h *hands) makeDir(c Change) error {
	r, rel, err := h.at(c.Path)
	if err != nil {
		return err
	}
	if why := taken(c.Path); why != "" {
		return errors.New(why)
	}
	already, err := h.store.expect(c)
	if already || err != nil {
		return err
	}
	switch c.Before.Kind {
	case Dir:
		return r.Chmod(rel, mode(c.After)|0o700)
	case File, Link:
		if err := r.Remove(rel); err != nil {
			return err
		}
	}
	return r.MkdirAll(rel, (mode(c.After)|0o700)&fs.ModePerm)
}

// stage writes the new content of a file beside it.
func (h *hands) stage(id string, i int, c Change) (string, error) {
	data, err := h.store.content(c.After.Hash)
	if err != nil {
		return "", err
	}
	temp := filepath.Join(stageDir(c.Path), tempName(id, i))
	r, rel, err := h.at(temp)
	if err != nil {
		return "", err
	}
	_ = r.Remove(rel)
	if c.After.Kind == Link {
		return temp, r.Symlink(string(data), rel)
	}
	f, err := r.OpenFile(rel, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode(c.After)), f.Close()); err != nil {
		_ = r.Remove(rel)
	}
	return temp, err
}

// taken is a reason when a file cannot be made at a path.
func taken(path string) string {
	if inDisguise(path) {
		return "a name that differs in case only is in its place"
	}
	return linked(path, nothing)
}

// put gives a staged content its name.
func (h *hands) put(c Change, temp string) error {
	already, err := h.store.expect(c)
	if why := taken(c.Path); err == nil && why != "" {
		err = errors.New(why)
	}
	if already || err != nil {
		if temp != "" {
			h.drop(temp)
		}
		return err
	}
	if temp == "" {
		return h.chmod(c.Path, mode(c.After))
	}
	r, from, err := h.at(temp)
	if err != nil {
		return err
	}
	below, to, err := h.at(c.Path)
	if err != nil {
		return err
	}
	if r != below {
		return errors.New("its folder moved meanwhile")
	}
	if c.Before.Kind == Dir {
		if err := r.Remove(to); err != nil {
			return fmt.Errorf("a folder is in its place: %w", err)
		}
	}
	if err := r.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	return r.Rename(from, to)
}

// relink makes files that were one file under several names one again.
func (h *hands) relink(groups map[uint64]string, c Change) {
	first := groups[c.After.Group]
	if first == "" {
		groups[c.After.Group] = c.Path
		return
	}
	temp := filepath.Join(filepath.Dir(c.Path), files.TempPrefix+h.store.nextID())
	r, name, err := h.at(temp)
	from, other, err2 := h.at(first)
	to, path, err3 := h.at(c.Path)
	if err != nil || err2 != nil || err3 != nil || r != from || r != to {
		return // they stay files of their own
	}
	if r.Link(other, name) == nil {
		_ = r.Rename(name, path)
		_ = r.Remove(name) // a rename between two names of one file does nothing
	}
}
