// Package atomicfile replaces small files of lathe's own: a reader sees the old content or the new one, and a failure
// leaves the old one.
package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
)

// Write makes data the content of a file by renaming a temporary one from the same folder.
func Write(path string, data []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
