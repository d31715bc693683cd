package tool

import (
	"context"
	"os"
)

func (e *Files) environ() []string {
	if e.Environ != nil {
		return e.Environ()
	}
	return os.Environ()
}

func (e *Results) blobWriter(ctx context.Context, name string) (BlobWriter, error) {
	if e.NewBlob != nil {
		return e.NewBlob(ctx, name)
	}
	f, err := os.CreateTemp("", "lathe-*.txt") // mode 0600
	if err != nil {
		return nil, err
	}
	return &tempBlob{File: f}, nil
}

// tempBlob is a blob in a temporary file.
type tempBlob struct {
	*os.File
	kept bool
}

// Commit keeps the file.
func (b *tempBlob) Commit() (string, error) {
	b.kept = true
	return b.Name(), b.File.Close()
}

// Close drops the file unless it was kept.
func (b *tempBlob) Close() error {
	if b.kept {
		return nil
	}
	b.File.Close()
	return os.Remove(b.Name())
}
