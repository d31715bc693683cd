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
// payload. A content is its hash, its size (8), whether it is compressed (1), and its bytes. A record holds the CRC-32C
// of the heads of the contents since the one before it: a reader that skips their bytes knows that it skipped nothing
// else.
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
	heads uint32 // checksum of the heads of the frames since the last record
	dirty bool   // something is not synced
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
	s.heads = crc32.Update(s.heads, castagnoli(), frame[:frameHead])
	s.dirty = true
	return at, nil
}

// record appends a record, which confirms the heads of the contents before it.
func (s *segment) record(r Record) (place, error) {
	r.Heads = s.heads
	b, err := json.Marshal(r)
	if err != nil {
		return place{}, err
	}
	at, err := s.append(frameRecord, b)
	if err == nil {
		s.heads = 0
	}
	return at, err
}

// finish confirms the contents behind the last record, and syncs: nothing follows. On a full disk the contents stay
// unconfirmed, and readers check them one by one.
func (s *segment) finish(id string) error {
	if s.heads != 0 {
		_, _ = s.record(Record{ID: id, Kind: finished})
	}
	return s.sync()
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

// A compressor takes 1.2 MB, and a pool keeps one for each processor. So one is shared, and only contents that are
// stored beside each other take more from the pool, which lets them go.
var (
	sharing     sync.Mutex
	shared      = sync.OnceValue(newCompressor)
	compressors sync.Pool
)

func newCompressor() *flate.Writer {
	w, _ := flate.NewWriter(nil, flate.BestSpeed) // the level is valid
	return w
}

func compress(to io.Writer, data []byte) error {
	if sharing.TryLock() {
		defer sharing.Unlock()
		return compressWith(shared(), to, data)
	}
	w, ok := compressors.Get().(*flate.Writer)
	if !ok {
		w = newCompressor()
	}
	defer compressors.Put(w)
	return compressWith(w, to, data)
}

func compressWith(w *flate.Writer, to io.Writer, data []byte) error {
	w.Reset(to)
	_, err := w.Write(data)
	return errors.Join(err, w.Close())
}

// encodeBlob is the payload of a content.
func encodeBlob(h Hash, data []byte) []byte {
	out := make([]byte, blobHead, blobHead+len(data)/2+64)
	copy(out, h[:])
	binary.LittleEndian.PutUint64(out[sha256.Size:], uint64(len(data)))
	if len(data) > 128 {
		b := bytes.NewBuffer(out)
		if compress(b, data) == nil && b.Len() < blobHead+len(data)*15/16 {
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
	return readFrame(f, p)
}

func readFrame(f *os.File, p place) ([]byte, error) {
	frame := make([]byte, frameHead+p.size)
	if _, err := f.ReadAt(frame, p.off-frameHead); err != nil {
		return nil, err
	}
	if !intact(frame) {
		return nil, fmt.Errorf("%s, byte %d: %w", p.file, p.off-frameHead, errDamaged)
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
