package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/regular"
)

// The index of a root is a cache of its tree, so that an unchanged file is not read again. It is a file of numbers and
// texts of variable length, with its CRC-32C at the end. A step after it was written is in a segment behind the offsets
// that it holds.
const indexMagic = "lathe snapshot index 2\n"

func (s *Store) indexFile(root string) string {
	h := sha256.Sum256([]byte(root))
	return filepath.Join(s.opt.Dir, fmt.Sprintf("index-%x", h[:8]))
}

type indexWriter struct{ buf []byte }

func (w *indexWriter) num(n int64)   { w.buf = binary.AppendVarint(w.buf, n) }
func (w *indexWriter) text(t string) { w.num(int64(len(t))); w.buf = append(w.buf, t...) }
func (w *indexWriter) hash(h Hash)   { w.buf = append(w.buf, h[:]...) }
func (w *indexWriter) flag(is ...bool) {
	var b byte
	for i, v := range is {
		if v {
			b |= 1 << i
		}
	}
	w.buf = append(w.buf, b)
}

func (w *indexWriter) stamp(s stamp) {
	w.num(int64(s.ino))
	w.num(s.size)
	w.num(s.mtime)
	w.num(s.ctime)
	w.num(int64(s.mode))
	w.num(int64(s.links))
}

func (w *indexWriter) node(n *node) {
	w.stamp(n.at)
	w.flag(n.sure)
	w.num(int64(len(n.skipped)))
	for name := range n.skipped {
		w.text(name)
	}
	w.num(int64(len(n.entries)))
	for _, e := range n.entries {
		w.text(e.name)
		w.stamp(e.at)
		w.flag(e.sure, e.inGit)
		w.buf = append(w.buf, byte(e.Kind))
		w.num(int64(e.Mode))
		w.num(e.Size)
		w.hash(e.Hash)
		w.num(int64(e.Group))
		w.text(e.Uncovered)
	}
	w.num(int64(len(n.subs)))
	for _, s := range n.subs {
		w.text(filepath.Base(s.path))
		w.node(s)
	}
}

// writeTree writes the index of a tree; s.mu is held.
func (s *Store) writeTree(t *tree) error {
	if err := s.sync(); err != nil {
		return err
	}
	w := indexWriter{buf: []byte(indexMagic)}
	w.text(t.root.path)
	w.text(t.uncovered)
	w.num(int64(len(t.offsets)))
	for path, off := range t.offsets {
		w.text(filepath.Base(path))
		w.num(off)
	}
	w.node(t.root)
	w.buf = binary.LittleEndian.AppendUint32(w.buf, crc32.Checksum(w.buf, castagnoli()))
	path := s.indexFile(t.root.path)
	temp := path + "." + s.nextID()
	err := os.WriteFile(temp, w.buf, 0o600)
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		_ = os.Remove(temp)
		return err
	}
	t.changed = false
	return nil
}

var (
	errIndex      = errors.New("the index of the files is damaged")
	errOtherIndex = errors.New("the index is that of another version")
)

// checked reports whether an index, of any version, has its checksum at the end.
func checked(data []byte) bool {
	n := len(data) - 4
	return n >= 0 && crc32.Checksum(data[:n], castagnoli()) == binary.LittleEndian.Uint32(data[n:])
}

type indexReader struct {
	buf     []byte
	fail    bool
	pending []postponed // without their tree
}

func (r *indexReader) num() int64 {
	n, size := binary.Varint(r.buf)
	if size <= 0 {
		r.fail, r.buf = true, nil
		return 0
	}
	r.buf = r.buf[size:]
	return n
}

func (r *indexReader) bytes(n int64) []byte {
	if n < 0 || n > int64(len(r.buf)) {
		r.fail, r.buf = true, nil
		return nil
	}
	out := r.buf[:n]
	r.buf = r.buf[n:]
	return out
}

func (r *indexReader) text() string { return string(r.bytes(r.num())) }

func (r *indexReader) byte() byte {
	if b := r.bytes(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (r *indexReader) count() int {
	n := r.num()
	if n < 0 || n > int64(len(r.buf)) {
		r.fail = true
		return 0
	}
	return int(n)
}

func (r *indexReader) stamp() stamp {
	return stamp{uint64(r.num()), r.num(), r.num(), r.num(), fs.FileMode(r.num()), uint32(r.num())}
}

func (r *indexReader) node(n *node, known map[Hash]bool) {
	n.at = r.stamp()
	n.sure = r.byte() == 1
	for range r.count() {
		if n.skipped == nil {
			n.skipped = map[string]bool{}
		}
		n.skipped[r.text()] = true
	}
	count := r.count()
	n.entries = make([]entry, 0, count)
	for range count {
		e := entry{name: r.text(), at: r.stamp()}
		flags := r.byte()
		e.sure, e.inGit = flags&1 != 0, flags&2 != 0
		e.Kind, e.Mode, e.Size = Kind(r.byte()), uint32(r.num()), r.num()
		copy(e.Hash[:], r.bytes(sha256.Size))
		e.Group, e.Uncovered = uint64(r.num()), r.text()
		switch {
		case e.Uncovered == notCopied:
			r.pending = append(r.pending, postponed{nil, n, e.name, e.Size})
		case e.Uncovered == "" && !e.inGit && e.sure:
			known[e.Hash] = true
		}
		n.entries = append(n.entries, e)
	}
	for range r.count() {
		if r.fail {
			return
		}
		sub := &node{path: filepath.Join(n.path, r.text()), up: n}
		r.node(sub, known)
		n.subs = append(n.subs, sub)
	}
}

// readTree reads the index of a root, with the offsets up to which the segments are part of it.
func (s *Store) readTree(root string) (*tree, map[string]int64, error) {
	data, err := regular.ReadFile(s.indexFile(root))
	if err != nil {
		return nil, nil, err
	}
	body, ok := bytes.CutPrefix(data, []byte(indexMagic))
	if !checked(data) {
		return nil, nil, errIndex
	}
	if !ok || len(body) < 4 {
		return nil, nil, errOtherIndex
	}
	r := &indexReader{buf: body[:len(body)-4]}
	t := &tree{root: &node{path: r.text()}, uncovered: r.text(), watch: newWatch(root)}
	offsets := map[string]int64{}
	for range r.count() {
		name := r.text()
		offsets[filepath.Join(s.opt.Dir, name)] = r.num()
	}
	known := make(map[Hash]bool, len(body)/160)
	r.node(t.root, known)
	if r.fail || t.root.path != root {
		t.watch.close()
		return nil, nil, errIndex
	}
	s.blobs.Lock()
	if len(s.known) == 0 {
		s.known = known
	} else {
		maps.Copy(s.known, known)
	}
	s.blobs.Unlock()
	for i := range r.pending {
		r.pending[i].t = t
	}
	s.pending = append(s.pending, r.pending...)
	return t, offsets, nil
}

// load puts the tree of a root in memory: its index and the steps since; s.mu is held.
func (s *Store) load(root string) (*tree, error) {
	if t := s.trees[root]; t != nil {
		return t, nil
	}
	t, offsets, err := s.readTree(root)
	if err != nil {
		if errors.Is(err, errIndex) {
			text := "%v, so it is made again: undo does not take back what changed in %s since the last step."
			s.opt.Note(fmt.Sprintf(text, err, root))
		}
		t = newTree(root) // the index is a cache: without it all files are read
		s.trees[root] = t
		return t, nil
	}
	if t.uncovered != "" && TimeOf(s.nextID()).Sub(indexTime(s.indexFile(root))) > retryUncovered {
		t.watch.close()
		t = newTree(root)
	}
	list, err := segments(s.opt.Dir)
	if err != nil {
		return nil, err
	}
	for _, path := range list {
		w := walk{record: t.replay, live: func() bool { return true }} // the tail is read again
		w.blob, w.damaged = func(Hash, place) {}, func(int64, int64) {}
		_, err := w.read(path, offsets[path])
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	s.trees[root] = t
	return t, nil
}

// replay brings the states of a record into a tree that was written before it. The contents are read again at the next
// scan.
func (t *tree) replay(r Record) {
	if r.Kind == Began || r.Kind == restoring || r.Kind == pruned {
		return
	}
	for _, c := range r.Changes {
		if c.Path != t.root.path && strings.HasPrefix(c.Path, t.root.path) {
			t.put(c.Path, stamp{}, false, c.After)
		}
	}
}
