package best

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Store is the folder with a project's contests: ID.json, and ID-N.patch of each attempt.
type Store struct{ Dir string }

// Save writes a contest, whole or not at all.
func (s Store) Save(c *Contest) error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	return s.write(s.path(c.ID), append(text, '\n'))
}

// write writes a file, whole or not at all.
func (s Store) write(path string, data []byte) error {
	f, err := os.CreateTemp(s.Dir, ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

func (s Store) path(id string) string { return filepath.Join(s.Dir, id+".json") }

// savePatch keeps the changes of an attempt and returns the file.
func (s Store) savePatch(c *Contest, n int, patch []byte) (string, error) {
	path := filepath.Join(s.Dir, fmt.Sprintf("%s-%d.patch", c.ID, n))
	return path, s.write(path, patch)
}

// List lists the contests, newest first.
func (s Store) List() ([]*Contest, error) {
	entries, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []*Contest
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok {
			continue
		}
		c, err := s.read(id)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b *Contest) int {
		return cmp.Or(b.Created.Compare(a.Created), strings.Compare(a.ID, b.ID))
	})
	return out, nil
}

func (s Store) read(id string) (*Contest, error) {
	text, err := os.ReadFile(s.path(id))
	if err != nil {
		return nil, err
	}
	c := &Contest{}
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", s.path(id), err)
	}
	return c, nil
}

// Find finds a contest by the beginning of its id; "" is the newest.
func (s Store) Find(id string) (*Contest, error) {
	all, err := s.List()
	if err != nil {
		return nil, err
	}
	found := slices.DeleteFunc(slices.Clone(all), func(c *Contest) bool { return !strings.HasPrefix(c.ID, id) })
	switch {
	case len(all) == 0:
		return nil, errors.New(`there are no contests in this project; start one with: lathe best "..."`)
	case len(found) == 0:
		return nil, fmt.Errorf("there is no contest %q; lathe best list shows them", id)
	case id != "" && len(found) > 1:
		return nil, fmt.Errorf("%d contests begin with %q; give more of the id", len(found), id)
	}
	return found[0], nil
}

// Remove removes a contest and its patches, not its worktrees.
func (s Store) Remove(c *Contest) error {
	var errs []error
	for _, a := range c.Attempts {
		if a.Patch != "" {
			errs = append(errs, ignoreMissing(os.Remove(a.Patch)))
		}
	}
	return errors.Join(append(errs, ignoreMissing(os.Remove(s.path(c.ID))))...)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// ReadPatch reads the changes of an attempt.
func ReadPatch(a *Attempt) ([]byte, error) { return os.ReadFile(a.Patch) }
