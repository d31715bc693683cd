// Package regular reads regular files and refuses everything else: opening a pipe in the place of a settings file would
// block until another process writes to it.
//
// Promise: nothing here waits for another process.
package regular

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// ReadFile is os.ReadFile for regular files; anything else is an error.
func ReadFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errKind(info)}
	}
	return io.ReadAll(f)
}

var errNotRegular = errors.New("it is not a regular file")

func errKind(info fs.FileInfo) error {
	if info.IsDir() {
		return syscall.EISDIR
	}
	return errNotRegular
}
