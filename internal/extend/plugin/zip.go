package plugin

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// unpacked is the folder of a plugin that is named by a zip file. It is unpacked once for each content.
func (s *Store) unpacked(file string) (string, error) {
	sum, err := sumOf(file)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(s.dir, "zip", sum)
	if _, err := os.Stat(dir); err == nil {
		return top(dir), nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return "", err
	}
	next, err := os.MkdirTemp(filepath.Dir(dir), "new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(next)
	if err := unzip(file, next); err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	if err := os.Rename(next, dir); err != nil {
		if _, there := os.Stat(dir); there != nil { // else another lathe was faster
			return "", err
		}
	}
	return top(dir), nil
}

func sumOf(file string) (string, error) {
	in, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer in.Close()
	if st, err := in.Stat(); err != nil || !st.Mode().IsRegular() || st.Size() > mostBytes {
		return "", fmt.Errorf("%s is no regular file of at most %d MB", file, mostBytes>>20)
	}
	h := sha256.New()
	_, err = io.Copy(h, in)
	return hex.EncodeToString(h.Sum(nil)), err
}

// unzip unpacks the regular files of a zip file.
func unzip(file, dir string) error {
	z, err := zip.OpenReader(file)
	if err != nil {
		return err
	}
	defer z.Close()
	files, size := 0, int64(0)
	for _, f := range z.File {
		if !f.Mode().IsRegular() {
			continue
		}
		if files++; files > mostFiles || !filepath.IsLocal(filepath.FromSlash(f.Name)) {
			return fmt.Errorf("it has too many files, or a path leads out of it: %s", f.Name)
		}
		in, err := f.Open()
		if err != nil {
			return err
		}
		limited := &io.LimitedReader{R: in, N: mostBytes - size + 1} // the size in the header may be a lie
		err = write(filepath.Join(dir, filepath.FromSlash(f.Name)), limited, f.Mode())
		_ = in.Close()
		if size = mostBytes + 1 - limited.N; err == nil && size > mostBytes {
			err = fmt.Errorf("it has more than %d MB", mostBytes>>20)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// top is the only folder in a folder that is no plugin itself, as most archives have one.
func top(dir string) string {
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) == 1 && entries[0].IsDir() && !strings.HasPrefix(entries[0].Name(), ".") {
		if _, data, _ := manifestOf(dir); data == nil && !looksLike(dir) {
			return filepath.Join(dir, entries[0].Name())
		}
	}
	return dir
}
