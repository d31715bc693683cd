package snapshot

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"os"
)

// walk reads the frames of a segment in order, but not the contents. The length of a content could be damaged and lead
// past records, so a content counts once the next record confirms the heads before it, or once its own checksum does.
type walk struct {
	blob    func(Hash, place)
	record  func(Record)
	damaged func(from, to int64) // records may be lost there
	live    func() bool          // a process still writes to the segment

	f       *os.File
	path    string
	size    int64
	heads   uint32 // checksum of the heads since the last record
	waiting []content
	settled int64 // the offset behind the last record
}

// content is where a content is.
type content struct {
	Hash
	place
}

// good is the place of the damage when there is none.
const good = -1

// read reads on from an offset, and returns the offset to read on from the next time. What follows it is torn, or a
// process still writes there.
func (w *walk) read(path string, at int64) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return at, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return at, err
	}
	w.f, w.path, w.size, w.settled, w.heads, w.waiting = f, path, info.Size(), at, 0, nil
	for at < w.size {
		next, bad, err := w.frame(at)
		if err == nil && bad == good && next == w.size {
			bad, err = w.end()
		}
		if err == nil && bad != good {
			next, err = w.skip(bad)
		}
		if err != nil || next == bad {
			return next, err
		}
		at = next
	}
	if len(w.waiting) > 0 { // of a live segment
		_, err = w.confirm(true)
		return w.settled, err
	}
	return max(at, w.settled), err
}

// frame reads one frame and returns the offset behind it; or where the damage begins.
func (w *walk) frame(at int64) (next, bad int64, err error) {
	head := make([]byte, frameHead+blobHead)
	n, err := w.f.ReadAt(head, at)
	if err != nil && !errors.Is(err, io.EOF) {
		return at, good, err
	}
	head = head[:n]
	p, ok := w.plausible(head, at)
	next = p.off + int64(p.size)
	switch {
	case ok && head[0] == frameBlob:
		w.waiting = append(w.waiting, content{Hash(head[frameHead : frameHead+len(Hash{})]), p})
		w.heads = crc32.Update(w.heads, castagnoli(), head[:frameHead])
		return next, good, nil
	case ok:
		var r Record
		payload, err := readFrame(w.f, p)
		if err == nil && json.Unmarshal(payload, &r) == nil {
			return w.one(r, next)
		}
		if err != nil && !errors.Is(err, errDamaged) {
			return at, good, err
		}
	}
	if bad, err = w.confirm(false); bad == good {
		bad = at
	}
	return at, bad, err
}

// plausible is the place of the payload if a frame may begin with a head.
func (w *walk) plausible(head []byte, at int64) (place, bool) {
	if len(head) < frameHead {
		return place{}, false
	}
	size := int64(binary.LittleEndian.Uint32(head[1:]))
	ok := size <= min(maxFrame, w.size-at-frameHead)
	ok = ok && (head[0] == frameRecord || head[0] == frameBlob && size >= blobHead)
	return place{w.path, at + frameHead, int(size)}, ok
}

// one hands out a record that ends at an offset, and the contents before it.
func (w *walk) one(r Record, end int64) (next, bad int64, err error) {
	if bad, err = w.confirm(r.Heads == w.heads); bad != good || err != nil {
		return end, bad, err
	}
	w.record(r)
	w.heads, w.settled = 0, end
	return end, good, nil
}

// confirm hands out the contents whose heads are known to be sound, or that match their own checksums. It stops at the
// first that does not.
func (w *walk) confirm(sound bool) (bad int64, err error) {
	list := w.waiting
	w.waiting = nil
	for _, c := range list {
		if !sound {
			_, err := readFrame(w.f, c.place)
			if errors.Is(err, errDamaged) {
				return c.off - frameHead, nil
			}
			if err != nil {
				return good, err
			}
		}
		w.blob(c.Hash, c.place)
	}
	return good, nil
}

// end looks at the contents that no record confirms: a process was killed before it wrote one, or will write one yet.
func (w *walk) end() (bad int64, err error) {
	if len(w.waiting) == 0 || w.live() {
		return good, nil
	}
	return w.confirm(false)
}

// skip passes over damage. It returns where it begins when nothing is lost: the rest of the segment is torn or still
// being written.
func (w *walk) skip(bad int64) (int64, error) {
	next, err := w.resync(bad + 1)
	if err != nil {
		return bad, err
	}
	if next == w.size {
		if w.live() {
			return bad, nil
		}
		if torn, err := w.torn(bad); torn || err != nil {
			return bad, err
		}
	}
	w.heads = 0
	w.damaged(bad, next)
	return next, nil
}

// resync finds the next whole frame, or the end.
func (w *walk) resync(at int64) (int64, error) {
	r := bufio.NewReader(io.NewSectionReader(w.f, at, w.size-at))
	for ; at < w.size; at++ {
		head, err := r.Peek(frameHead + blobHead)
		if err != nil && !errors.Is(err, io.EOF) {
			return at, err
		}
		if p, ok := w.plausible(head, at); ok && likely(head) {
			if _, err := readFrame(w.f, p); !errors.Is(err, errDamaged) {
				return at, err
			}
		}
		if _, err := r.Discard(1); err != nil {
			return at, err
		}
	}
	return w.size, nil
}

// likely tells the head of a frame from other bytes, so that few places are read as a whole.
func likely(head []byte) bool {
	if head[0] == frameRecord {
		return bytes.HasPrefix(head[frameHead:], []byte(`{"id":`))
	}
	size := binary.LittleEndian.Uint64(head[frameHead+len(Hash{}):])
	return size <= maxFrame && head[frameHead+blobHead-1] <= 1
}

// torn reports whether the rest of the segment is what a kill leaves, the beginning of one frame, or what a loss of
// power leaves, zeros. A whole frame whose length is damaged looks like a beginning, but matches its checksum with its
// real length.
func (w *walk) torn(at int64) (bool, error) {
	rest := make([]byte, w.size-at)
	if _, err := w.f.ReadAt(rest, at); err != nil {
		return false, err
	}
	if len(bytes.Trim(rest, "\x00")) == 0 {
		return true, nil
	}
	if rest[0] != frameBlob && rest[0] != frameRecord {
		return false, nil
	}
	whole := len(rest) - frameHead
	if whole <= 0 {
		return true, nil
	}
	if int64(binary.LittleEndian.Uint32(rest[1:])) <= int64(whole) {
		return false, nil
	}
	binary.LittleEndian.PutUint32(rest[1:], uint32(whole))
	return !intact(rest), nil
}
