package snapshot

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// A segment is a file of frames: type (1 byte), length of the payload (4), CRC-32C of type, length and payload (4),
// payload. A content is its hash, its size (8), whether it is compressed (1), and its bytes.
const (
	frameHead   = 9
	frameBlob   = 'b'
	frameRecord = 'r'
	blobHead    = sha256.Size + 9
	segmentExt  = ".seg"
	maxFrame    = 1 << 30
)

// castagnoli is made when it is first needed: making it takes 0.3 ms, which every start would pay.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// errDamaged means that a stored content or record does not match its checksum.
var errDamaged = errors.New("the snapshot store is damaged there")

// place is where a frame's payload is.
type place struct {
	file string
	off  int64
	size int
}

// segment is the file that this process appends to.
type segment struct {
	f     *os.File
	end   int64
	dirty bool // something is not synced
}

// createSegment makes a new segment; its name sorts by time.
func createSegment(dir, id string) (*segment, error) {
	f, err := os.OpenFile(filepath.Join(dir, id+segmentExt), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if d, err := os.Open(dir); err == nil { // so that the name survives too
		_ = d.Sync()
		_ = d.Close()
	}
	return &segment{f: f}, nil
}

// append writes one frame and returns the place of its payload. On failure the segment is as it was.
func (s *segment) append(kind byte, payload []byte) (place, error) {
	frame := make([]byte, frameHead, frameHead+len(payload))
	frame[0] = kind
	binary.LittleEndian.PutUint32(frame[1:], uint32(len(payload)))
	sum := crc32.Update(crc32.Checksum(frame[:5], castagnoli()), castagnoli(), payload)
	binary.LittleEndian.PutUint32(frame[5:], sum)
	frame = append(frame, payload...)
	if _, err := s.f.WriteAt(frame, s.end); err != nil {
		return place{}, errors.Join(err, s.f.Truncate(s.end))
	}
	at := place{s.f.Name(), s.end + frameHead, len(payload)}
	s.end += int64(len(frame))
	s.dirty = true
	return at, nil
}

// sync makes all frames durable.
func (s *segment) sync() error {
	if !s.dirty {
		return nil
	}
	if err := syncData(s.f); err != nil {
		return err
	}
	s.dirty = false
	return nil
}

// compressors are used again: one takes 1.2 MB.
var compressors sync.Pool

// encodeBlob is the payload of a content.
func encodeBlob(h Hash, data []byte) []byte {
	out := make([]byte, blobHead, blobHead+len(data)/2+64)
	copy(out, h[:])
	binary.LittleEndian.PutUint64(out[sha256.Size:], uint64(len(data)))
	if len(data) > 128 {
		b := bytes.NewBuffer(out)
		w, _ := compressors.Get().(*flate.Writer)
		if w == nil {
			w, _ = flate.NewWriter(b, flate.BestSpeed) // the level is valid
		}
		defer compressors.Put(w)
		w.Reset(b)
		_, err := w.Write(data)
		if err == nil && w.Close() == nil && b.Len() < blobHead+len(data)*15/16 {
			out = b.Bytes()
			out[blobHead-1] = 1
			return out
		}
	}
	return append(out[:blobHead:blobHead], data...)
}

// decodeBlob checks and unpacks a payload.
func decodeBlob(payload []byte) (Hash, []byte, error) {
	var h Hash
	if len(payload) < blobHead {
		return h, nil, errDamaged
	}
	copy(h[:], payload)
	size, data := binary.LittleEndian.Uint64(payload[sha256.Size:]), payload[blobHead:]
	if payload[blobHead-1] == 1 {
		var err error
		if data, err = io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(data)), int64(size)+1)); err != nil {
			return h, nil, fmt.Errorf("%w: %w", errDamaged, err)
		}
	}
	if uint64(len(data)) != size || sha256.Sum256(data) != h {
		return h, nil, errDamaged
	}
	return h, data, nil
}

// readPlace reads a payload back and checks it.
func readPlace(p place) ([]byte, error) {
	f, err := os.Open(p.file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	frame := make([]byte, frameHead+p.size)
	if _, err := f.ReadAt(frame, p.off-frameHead); err != nil {
		return nil, err
	}
	if !intact(frame) {
		return nil, fmt.Errorf("%s, byte %d: %w", filepath.Base(p.file), p.off, errDamaged)
	}
	return frame[frameHead:], nil
}

func intact(frame []byte) bool {
	sum := crc32.Update(crc32.Checksum(frame[:5], castagnoli()), castagnoli(), frame[frameHead:])
	return binary.LittleEndian.Uint32(frame[5:]) == sum
}

// segments lists the segments of a folder, the oldest first.
func segments(dir string) ([]string, error) {
	list, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var out []string
	for _, e := range list {
		if strings.HasSuffix(e.Name(), segmentExt) {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	slices.Sort(out)
	return out, nil
}

// scanSegment reads a segment from an offset on: the places of its contents, without reading them, and its records. It
// returns the offset behind the last whole frame; what follows it is torn or still being written.
func scanSegment(path string, from int64, blob func(Hash, int64, place), record func(Record)) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return from, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return from, err
	}
	head := make([]byte, frameHead+blobHead)
	for at := from; ; {
		n, err := f.ReadAt(head, at)
		if n < frameHead {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return at, err
		}
		size := int64(binary.LittleEndian.Uint32(head[1:]))
		next := at + frameHead + size
		if next > info.Size() || size > maxFrame {
			return at, nil
		}
		switch {
		case head[0] == frameBlob && n == len(head) && size >= blobHead:
			blob(Hash(head[frameHead:frameHead+sha256.Size]), int64(binary.LittleEndian.Uint64(head[frameHead+sha256.Size:])), place{path, at + frameHead, int(size)})
		case head[0] == frameRecord:
			payload, err := readPlace(place{path, at + frameHead, int(size)})
			if errors.Is(err, errDamaged) {
				break // the frames after it may be whole
			}
			if err != nil {
				return at, err
			}
			var r Record
			if json.Unmarshal(payload, &r) == nil {
				record(r)
			}
		default:
			return at, nil
		}
		at = next
	}
}
