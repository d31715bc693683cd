//go:build unix

package regular

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestAPipeInThePlaceOfAFileIsNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	pipe, file := filepath.Join(dir, "pipe"), filepath.Join(dir, "file")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.WriteFile(file, []byte("text"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(pipe); !errors.Is(err, errNotRegular) {
		t.Errorf("%v", err)
	}
	if _, err := ReadFile(dir); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("%v", err)
	}
	if _, err := ReadFile(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if data, err := ReadFile(file); err != nil || string(data) != "text" {
		t.Errorf("%q, %v", data, err)
	}
}
