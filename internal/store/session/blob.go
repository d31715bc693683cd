package session

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// hashLen is how many hexadecimal digits of the SHA-256 name a blob; two contents that share them get
// their whole hashes.
const hashLen = 16

// Blob keeps data as a file named after its content and the extension of name, and returns its path. The
// same content is kept once. The file is fsynced with the next entry that is.
func (s *Session) Blob(ctx context.Context, name string, data []byte) (string, error) {
	w, err := s.BlobWriter(ctx, name)
	if err != nil {
		return "", err
	}
	defer w.Close()
	if _, err := io.Copy(w, bytes.NewReader(data)); err != nil {
		return "", err
	}
	return w.Commit()
}

// BlobWriter takes a blob whose size is not known beforehand. Commit keeps it; Close without Commit
// drops it.
type BlobWriter struct {
	s    *Session
	name string
	f    *os.File
	sum  hash.Hash
	size int64
	done bool
}

// BlobWriter begins a blob. It may be used beside other methods of the session, by one goroutine.
func (s *Session) BlobWriter(_ context.Context, name string) (*BlobWriter, error) {
	s.mu.Lock()
	err := s.writable()
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.Blobs(), 0o700); err != nil {
		return nil, s.failed(err)
	}
	f, err := os.CreateTemp(s.Blobs(), ".new-*") // mode 0600
	if err != nil {
		return nil, s.failed(err)
	}
	return &BlobWriter{s: s, name: name, f: f, sum: sha256.New()}, nil
}

// Write adds to the blob.
func (w *BlobWriter) Write(p []byte) (int, error) {
	n, err := w.f.Write(p)
	w.sum.Write(p[:n])
	w.size += int64(n)
	if err != nil {
		return n, w.s.failed(err)
	}
	return n, nil
}

// ReadAt reads back written bytes, until Commit or Close. It may be used beside Write.
func (w *BlobWriter) ReadAt(p []byte, off int64) (int, error) { return w.f.ReadAt(p, off) }

// Size is how many bytes were written so far.
func (w *BlobWriter) Size() int64 { return w.size }

// Commit names the blob after its content, journals it and returns its path.
func (w *BlobWriter) Commit() (string, error) {
	if w.done {
		return "", errors.New("session: the blob is closed already")
	}
	w.done = true
	tmp := w.f.Name()
	defer os.Remove(tmp) // is gone when it was renamed
	if err := w.f.Close(); err != nil {
		return "", w.s.failed(err)
	}
	sum := hex.EncodeToString(w.sum.Sum(nil))
	path, err := w.place(tmp, sum)
	if err != nil {
		return "", w.s.failed(err)
	}
	ref := BlobRef{File: filepath.Base(path), Name: cleanText(w.name), Size: w.size, SHA256: sum}
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	if _, err := w.s.add(ref, false); err != nil {
		return "", err
	}
	w.s.unblobs = append(w.s.unblobs, path)
	return path, nil
}

// place moves the temporary file to its name, unless the same content is there.
func (w *BlobWriter) place(tmp, sum string) (string, error) {
	for _, n := range []int{hashLen, len(sum)} {
		path := filepath.Join(w.s.Blobs(), sum[:n]+extension(w.name))
		_, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return path, os.Rename(tmp, path)
		}
		if err != nil {
			return "", err
		}
		if have, _, err := hashFile(path); err == nil && have == sum {
			return path, nil
		}
		if n == len(sum) { // somebody changed the file: the content goes back in
			return path, os.Rename(tmp, path)
		}
	}
	return "", fs.ErrInvalid
}

// Close drops the blob unless it was committed.
func (w *BlobWriter) Close() error {
	if w.done {
		return nil
	}
	w.done = true
	return errors.Join(w.f.Close(), os.Remove(w.f.Name()))
}

// extension is that of name if it is a plain one, else .txt, so that a path shows the kind of its contents.
func extension(name string) string {
	ext := strings.ToLower(filepath.Ext(name))
	plain := strings.Trim(ext[min(1, len(ext)):], "abcdefghijklmnopqrstuvwxyz0123456789") == ""
	if len(ext) < 2 || len(ext) > 10 || !plain {
		return ".txt"
	}
	return ext
}

// hashFile returns the SHA-256 of a file in hexadecimal, and its size.
func hashFile(path string) (string, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return "", 0, fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), n, nil
}
