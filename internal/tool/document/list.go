package document

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	itemsMax   = 1000
	itemChars  = 300     // of one line
	inflateMax = 2 << 30 // bytes that are unpacked to list an archive
)

// Listable reports whether the kind of a file, as files.BinaryKind names it, has a list.
func Listable(kind string) bool {
	switch kind {
	case "zip archive", "tar archive", "gzip", "bzip2", "SQLite database":
		return true
	}
	return false
}

// list lists the entries of an archive or the tables of a database.
func list(f interface {
	io.ReadSeeker
	io.ReaderAt
}, size int64,
) (*Answer, error) {
	head := make([]byte, 16)
	if _, err := f.ReadAt(head, 0); err != nil {
		return nil, errors.New("it ends too early")
	}
	switch text := string(head); {
	case strings.HasPrefix(text, "PK\x03\x04"), strings.HasPrefix(text, "PK\x05\x06"):
		return listZip(f, size)
	case text == sqliteMagic:
		return listSQLite(f, size)
	case strings.HasPrefix(text, "\x1f\x8b"):
		return listGzip(f)
	case strings.HasPrefix(text, "BZh"):
		return listPacked(bzip2.NewReader(bufio.NewReader(f)), "", "bzip2")
	}
	return listTar(bufio.NewReader(f), "tar archive")
}

// add takes one more line and reports whether there is room for another.
func (a *Answer) add(line string) bool {
	if len(a.Items) == itemsMax {
		a.More = true
		return false
	}
	if short := firstRunes(line, itemChars); short != line {
		line = short + "…"
	}
	a.Items = append(a.Items, strings.ToValidUTF8(strings.ReplaceAll(line, "\n", "\\n"), "\uFFFD"))
	return true
}

func listZip(f io.ReaderAt, size int64) (*Answer, error) {
	z, err := zip.NewReader(f, size)
	if err != nil {
		return nil, fmt.Errorf("the zip archive is damaged (%w)", err)
	}
	a := &Answer{What: "zip archive"}
	for _, e := range z.File {
		note := ""
		if e.Flags&1 != 0 {
			note = ", encrypted"
		}
		if !a.add(fmt.Sprintf("%s (%d bytes%s)", e.Name, e.UncompressedSize64, note)) {
			break
		}
	}
	return a, nil
}

func listGzip(f io.ReadSeeker) (*Answer, error) {
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		return nil, fmt.Errorf("the gzip file is damaged (%w)", err)
	}
	return listPacked(z, z.Name, "gzip")
}

// listPacked lists the tar archive in a packed file, else the one file in it. name is what the packing program noted,
// if anything.
func listPacked(z io.Reader, name, by string) (*Answer, error) {
	r := bufio.NewReaderSize(z, 1024)
	if head, _ := r.Peek(512); len(head) > 262 && string(head[257:262]) == "ustar" {
		return listTar(r, "tar archive, packed with "+by)
	}
	a := &Answer{What: by + " file"}
	n, err := io.Copy(io.Discard, io.LimitReader(r, inflateMax))
	line := fmt.Sprintf("%s (%d bytes unpacked)", name, n)
	switch {
	case err != nil:
		line = fmt.Sprintf("%s (damaged after %d bytes: %v)", name, n, err)
	case n == inflateMax:
		line = fmt.Sprintf("%s (more than %d bytes unpacked)", name, n)
	}
	a.add(strings.TrimSpace(line))
	return a, nil
}

func listTar(r io.Reader, what string) (*Answer, error) {
	packed := &io.LimitedReader{R: r, N: inflateMax}
	t, a := tar.NewReader(packed), &Answer{What: what}
	for {
		h, err := t.Next()
		switch {
		case errors.Is(err, io.EOF):
			return a, nil
		case packed.N <= 0:
			a.More = true
			return a, nil
		case err != nil && len(a.Items) == 0:
			return nil, fmt.Errorf("the %s is damaged (%w)", what, err)
		case err != nil:
			a.add(fmt.Sprintf("[damaged after this: %v]", err))
			return a, nil
		}
		line := fmt.Sprintf("%s (%d bytes)", h.Name, h.Size)
		if h.Linkname != "" {
			line = fmt.Sprintf("%s -> %s", h.Name, h.Linkname)
		}
		if !a.add(line) {
			return a, nil
		}
	}
}
