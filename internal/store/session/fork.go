package session

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Fork makes a new session of the branch that ends at an entry ("" is the head) and opens it. The entries
// keep their ids, the blobs are linked or copied, the header names where they come from. The source may be
// open in another process.
func (s *Store) Fork(ctx context.Context, id, at string) (*Session, error) {
	return s.ForkAs(ctx, id, at, "")
}

// ForkAs is Fork with the id that the copy is to have; "" makes one.
func (s *Store) ForkAs(_ context.Context, id, at, as string) (*Session, error) {
	newID, err := s.newID(as)
	if err != nil {
		return nil, err
	}
	src, err := s.OpenReadOnly(id)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	end := src.j.head
	if at != "" {
		n, ok := find(&src.j.index, at)
		if !ok {
			return nil, fmt.Errorf("session: there is no entry %q in session %s to fork at", at, id)
		}
		end = n
	}
	h := src.j.header
	h.Session, h.Created = newID, s.now().UTC()
	h.Parent, h.At, h.Agent = id, src.j.idAt(end), ""
	h.Lineage = append(slices.Clone(h.Lineage), id)
	dst, err := s.create(h, filepath.Base(filepath.Dir(src.folder)),
		func(f *os.File) error { return src.copyBranch(f, end) })
	if err != nil {
		return nil, err
	}
	if err := finishFork(dst, src); err != nil {
		return nil, errors.Join(err, dst.Close())
	}
	return dst, nil
}

// finishFork gives the fork the blobs, and the title and settings that were set on other branches.
func finishFork(dst, src *Session) error {
	if err := copyBlobs(dst.Blobs(), src.Blobs()); err != nil {
		return fmt.Errorf("session: copy the blobs: %w", err)
	}
	have, want := &dst.j.sum, src.j.sum
	var missing []Body
	if have.Title != want.Title {
		missing = append(missing, Title{want.Title})
	}
	if have.Model != want.Model {
		missing = append(missing, Model{want.Model})
	}
	if have.mode != want.mode {
		missing = append(missing, Mode{want.mode})
	}
	for _, b := range missing {
		if _, err := dst.Add(context.Background(), b); err != nil {
			return err
		}
	}
	return nil
}

// copyBranch writes the lines of the branch that ends at an entry. An entry whose parent was lost names the one
// that it is read as following.
func (s *Session) copyBranch(w io.Writer, end int32) error {
	buf := bufio.NewWriterSize(w, 256<<10)
	before := ""
	branch := s.j.branch(end)
	err := branch.eachLine(s.whole(), func(i int, line []byte) bool {
		r := branch.ref(i)
		_, err := buf.Write(transplant(line, r, before))
		before = branch.id(r)
		return err == nil && buf.WriteByte('\n') == nil
	})
	return errors.Join(err, buf.Flush())
}

// transplant returns the sealed line of an entry, without its newline.
func transplant(line []byte, r ref, parent string) []byte {
	if _, err := unseal(line); err == nil && !r.relink {
		return line
	}
	members, err := unmarshal[map[string]json.RawMessage](line)
	if err != nil { // its checksum was right, so it was written like that
		return line
	}
	delete(members, "crc")
	members["parent"] = llm.AppendQuoted(nil, parent)
	joined := joinMembers(members)
	return bytes.TrimSuffix(seal(joined[:len(joined)-1]), []byte("\n"))
}

func copyBlobs(dst, src string) error {
	files, err := os.ReadDir(src)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dst, 0o700); err != nil {
		return err
	}
	for _, f := range files {
		if !f.Type().IsRegular() || f.Name()[0] == '.' {
			continue
		}
		from, to := filepath.Join(src, f.Name()), filepath.Join(dst, f.Name())
		if os.Link(from, to) == nil {
			continue
		}
		if err := copyFile(to, from); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// joinMembers writes the envelope first, as lathe does, then the rest sorted.
func joinMembers(members map[string]json.RawMessage) []byte {
	out := []byte{'{'}
	add := func(key string, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(llm.AppendQuoted(out, key), ':')
		out = append(out, value...)
	}
	for _, key := range []string{"id", "parent", "time", "kind"} {
		value, ok := members[key]
		if !ok {
			value = []byte(`""`)
		}
		add(key, value)
		delete(members, key)
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		add(key, bytes.TrimSpace(members[key]))
	}
	return append(out, '}')
}
