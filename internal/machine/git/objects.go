package git

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ID is the SHA-1 of an object.
type ID [sha1.Size]byte

// Entry is a file of the index with the stat data of when git saw its content last.
type Entry struct {
	Path         []byte // from the top; valid only during the call
	ID           ID
	Mode         uint32 // 0o100644 or 0o100755 for a file
	Ino, Size    uint32 // the lower 32 bits
	Mtime, Ctime int64  // nanoseconds since 1970
	// Plain: the entry is of no conflict, and none of its flags makes git ignore the file or its stat data.
	Plain bool
}

// Index flags of an entry, and those that leave it plain: the length of its name, and that extended flags follow.
const indexPlain = 0x0fff | indexLong

// Entries calls each for every file in the repository's index, in path order. It returns the time at which the index
// was written, in nanoseconds since 1970: a file that was changed at that time or later may differ from its entry.
func Entries(r Repo, each func(Entry)) (written int64, err error) {
	path := filepath.Join(r.GitDir, "index")
	before, err := os.Stat(path) // a newer index than this time is no danger: fewer files count as clean
	if err != nil {
		return 0, err
	}
	data, err := readSmall(path, maxIndex)
	if err != nil {
		return 0, err
	}
	return before.ModTime().UnixNano(), readIndex(data, func(path, e []byte, extended uint16) {
		at := func(i int) uint32 { return binary.BigEndian.Uint32(e[i:]) }
		when := func(i int) int64 { return int64(at(i))*int64(time.Second) + int64(at(i+4)) }
		each(Entry{
			Path: path, ID: ID(e[indexHashAt : indexHashAt+indexHash]), Mode: at(indexModeAt), Ino: at(20), Size: at(36),
			Ctime: when(0), Mtime: when(8),
			Plain: binary.BigEndian.Uint16(e[indexFixed-2:])&^indexPlain == 0 && extended == 0,
		})
	})
}

// Bounds of the runs below.
const (
	objectsTimeout = time.Minute
	objectsOutput  = 256 << 20
)

// input runs git with a standard input, bounded as the reading of many objects needs.
func (g *Git) input(ctx context.Context, repo Repo, stdin string, args ...string) ([]byte, error) {
	program, err := g.program(repo.Root)
	if err != nil {
		return nil, err
	}
	over, err := g.overrides(ctx, program, repo, allScopes)
	if err != nil {
		return nil, err
	}
	wide := *g
	wide.Timeout, wide.MaxOutput = objectsTimeout, objectsOutput
	return wide.run(ctx, program, repo, over, strings.NewReader(stdin), args)
}

// Converted reports for each path from the top whether an attribute makes its content in the work tree another one than
// in the repository in a way that need not show in its size: a filter, an encoding, or $Id$.
func (g *Git) Converted(ctx context.Context, repo Repo, paths []string) ([]bool, error) {
	out, err := g.input(ctx, repo, strings.Join(paths, "\x00")+"\x00", "check-attr", "-z", "--stdin", "filter", "ident",
		"working-tree-encoding")
	if err != nil {
		return nil, err
	}
	fields := bytes.Split(out, []byte{0}) // path, attribute, value
	if len(fields) != 9*len(paths)+1 {
		return nil, errors.New("git check-attr: the output is not understood")
	}
	converted := make([]bool, len(paths))
	for i, path := range paths {
		for f := fields[9*i : 9*i+9]; len(f) > 0; f = f[3:] {
			value := string(f[2])
			converted[i] = converted[i] || string(f[0]) != path || value != "unspecified" && value != "unset"
		}
	}
	return converted, nil
}

func lines(ids []ID) string {
	var b strings.Builder
	for _, id := range ids {
		b.WriteString(hex.EncodeToString(id[:]))
		b.WriteByte('\n')
	}
	return b.String()
}

// Sizes returns the sizes of blobs, -1 for an object that is missing or no blob.
func (g *Git) Sizes(ctx context.Context, repo Repo, ids []ID) ([]int64, error) {
	out, err := g.input(ctx, repo, lines(ids), "--no-replace-objects", "cat-file",
		"--batch-check=%(objecttype) %(objectsize)")
	if err != nil {
		return nil, err
	}
	sizes := make([]int64, 0, len(ids))
	for line := range bytes.Lines(out) {
		size := int64(-1)
		if text, ok := bytes.CutPrefix(bytes.TrimSuffix(line, []byte("\n")), []byte("blob ")); ok {
			if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
				size = n
			}
		}
		sizes = append(sizes, size)
	}
	if len(sizes) != len(ids) {
		return nil, errors.New("git cat-file: the output is not understood")
	}
	return sizes, nil
}

// Blobs reads blobs and checks them; nil stands for one that is missing or damaged. All of them are in memory at once.
func (g *Git) Blobs(ctx context.Context, repo Repo, ids []ID) ([][]byte, error) {
	out, err := g.input(ctx, repo, lines(ids), "--no-replace-objects", "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	blobs := make([][]byte, len(ids))
	for i, id := range ids {
		head, rest, ok := bytes.Cut(out, []byte("\n"))
		if !ok {
			return nil, io.ErrUnexpectedEOF
		}
		out = rest
		fields := strings.Fields(string(head)) // id, type, size; or id, "missing"
		if len(fields) != 3 {
			continue
		}
		size, err := strconv.Atoi(fields[2])
		if err != nil || size < 0 || size >= len(out) {
			return nil, io.ErrUnexpectedEOF
		}
		if data := out[:size:size]; fields[1] == "blob" && blobID(data) == id {
			blobs[i] = append([]byte{}, data...)
		}
		out = out[size+1:]
	}
	return blobs, nil
}

func blobID(data []byte) ID {
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", len(data))
	h.Write(data)
	return ID(h.Sum(nil))
}
