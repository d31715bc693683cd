package tool

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// Names lists the entries below a folder, without following links.
func (m *Machine) Names(dir string, max int) ([]string, bool) {
	var names []string
	stop := errors.New("enough")
	err := filepath.WalkDir(dir, func(at string, _ fs.DirEntry, err error) error {
		if err != nil || at == dir {
			return err
		}
		if len(names) == max {
			return stop
		}
		rel, err := filepath.Rel(dir, at)
		names = append(names, filepath.ToSlash(rel))
		return err
	})
	return names, err == nil
}
