package task

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLoad(t *testing.T) {
	p := filepath.Join(t.TempDir(), "x.json")
	if _, err := Load(p); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), p) {
		t.Error(err)
	}
	os.WriteFile(p, []byte("{"), 0o600)
	if _, err := Load(p); !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), p) {
		t.Error(err)
	}
	os.WriteFile(p, []byte(`{"a":1}`), 0o600)
	if v, err := Load(p); err != nil || v["a"] != 1.0 {
		t.Error(v, err)
	}
}
