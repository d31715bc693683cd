//go:build !linux

package boundary

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// place is a name in a folder that was no link when it was looked for. Only Linux can hold a folder open for it.
type place string

func openPlace(path string) (place, error) {
	real, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err == nil && real != filepath.Dir(path) {
		err = fmt.Errorf("%s leads elsewhere", filepath.Dir(path))
	}
	return place(path), err
}

func (place) close() {}

func (p place) move(to string) error { return os.Rename(string(p), to) }

func (p place) rename(name string) error {
	return os.Rename(string(p), filepath.Join(filepath.Dir(string(p)), name))
}

func (place) lock() (unlock func(), err error) { return func() {}, nil }

func (p place) replace(text []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(string(p)), ".config-")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err == nil {
		err = os.Rename(f.Name(), string(p))
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// stampOf returns what tells a changed file or folder from the same one.
func stampOf(fi os.FileInfo) stamp {
	return stamp{size: fi.Size(), written: fi.ModTime().UnixNano(), mode: fi.Mode(), changed: fi.ModTime().UnixNano()}
}
