package session

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
	"time"
)

// maxLine is the longest line that is written or read, in bytes; it bounds the memory
// that a damaged file can take.
const maxLine = 256 << 20

// tailLen is the length of a line's end: ,"crc":"01234567"}
const tailLen = len(`,"crc":"01234567"}`)

var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// seal ends a line, given without its closing brace, with its checksum and a newline.
func seal(line []byte) []byte {
	sum := crc32.Checksum(line, castagnoli())
	line = append(line, `,"crc":"`...)
	line = hex.AppendEncode(line, []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
	return append(line, '"', '}', '\n')
}

var (
	errNoObject = errors.New("session: the body of an entry must be a JSON object")
	errNoSum    = errors.New("no checksum at its end")
	errBadSum   = errors.New("the checksum does not match")
	errLong     = errors.New("longer than any line lathe writes")
	errNoID     = errors.New("no entry: id or kind is missing")
)

// unseal checks a line without its newline and returns the part that the checksum covers.
func unseal(line []byte) ([]byte, error) {
	n := len(line) - tailLen
	if n < 1 || string(line[n:n+8]) != `,"crc":"` || string(line[len(line)-2:]) != `"}` {
		return nil, errNoSum
	}
	var sum [4]byte
	if _, err := hex.Decode(sum[:], line[n+8:n+16]); err != nil {
		return nil, errNoSum
	}
	got := crc32.Checksum(line[:n], castagnoli())
	if got != uint32(sum[0])<<24|uint32(sum[1])<<16|uint32(sum[2])<<8|uint32(sum[3]) {
		return nil, errBadSum
	}
	return line[:n], nil
}

// envelope has the fields of every entry. The slices point into the line.
type envelope struct {
	id, parent, kind, time []byte
	body                   int // where the rest of the members starts, in a line that lathe wrote
}

// openEnvelope reads the envelope of a line. Lines of ours have the four members first and in order; any
// other order is read by encoding/json.
func openEnvelope(line []byte) (envelope, error) {
	var e envelope
	rest := line
	for _, f := range []struct {
		lead string
		to   *[]byte
	}{{`{"id":"`, &e.id}, {`","parent":"`, &e.parent}, {`","time":"`, &e.time}, {`","kind":"`, &e.kind}} {
		if len(rest) < len(f.lead) || string(rest[:len(f.lead)]) != f.lead {
			return slowEnvelope(line)
		}
		rest = rest[len(f.lead):]
		end := bytes.IndexAny(rest[:min(len(rest), 256)], `"\`)
		if end < 0 || rest[end] == '\\' {
			return slowEnvelope(line)
		}
		*f.to, rest = rest[:end], rest[end:]
	}
	e.body = len(line) - len(rest) + 1
	if len(e.id) == 0 || len(e.kind) == 0 {
		return slowEnvelope(line) // the first line of a log has no id
	}
	return e, nil
}

func slowEnvelope(line []byte) (envelope, error) {
	var w struct{ ID, Parent, Kind, Time string }
	if err := json.Unmarshal(line, &w); err != nil {
		return envelope{}, err
	}
	e := envelope{id: []byte(w.ID), parent: []byte(w.Parent), kind: []byte(w.Kind), time: []byte(w.Time)}
	if w.Kind == "" || (w.ID == "" && w.Kind != kindHeader && w.Kind != kindFormat) {
		return e, errNoID
	}
	return e, nil
}

// entry puts the envelope around a body.
func (e envelope) entry(b Body) Entry { return Entry{string(e.id), string(e.parent), e.when(), b} }

func (e envelope) when() time.Time {
	t, err := time.Parse(time.RFC3339Nano, string(e.time))
	if err != nil {
		return time.Time{}
	}
	return t
}

// lineReader cuts a file into lines.
type lineReader struct {
	r          io.Reader
	buf        []byte
	start, end int   // the unread bytes of buf
	read       bool  // something was read
	off        int64 // of buf[start] in the file
}

// line is one line without its newline; whole is false for a last line that has none. The bytes are valid
// until the next call. A line over maxLine has no bytes.
type line struct {
	off   int64
	size  int64
	bytes []byte
	whole bool
}

// Sizes of a reader's buffer: for its first read, and after that.
const (
	firstRead = 4 << 10
	largeRead = 256 << 10
)

func newLineReader(r io.Reader, off int64) *lineReader {
	return &lineReader{r: r, off: off, buf: make([]byte, firstRead)}
}

// next returns io.EOF after the last line.
func (l *lineReader) next() (line, error) {
	searched := 0
	for {
		if i := bytes.IndexByte(l.buf[l.start+searched:l.end], '\n'); i >= 0 {
			return l.take(searched+i, true), nil
		}
		searched = l.end - l.start
		if searched > maxLine {
			return l.discard()
		}
		switch err := l.fill(); {
		case errors.Is(err, io.EOF) && l.end > l.start:
			return l.take(l.end-l.start, false), nil
		case err != nil:
			return line{}, err
		}
	}
}

func (l *lineReader) take(n int, whole bool) line {
	out := line{off: l.off, size: int64(n), bytes: l.buf[l.start : l.start+n], whole: whole}
	if whole {
		n++
	}
	l.start += n
	l.off += int64(n)
	return out
}

// fill reads more, making room first. A new session's log is read whole by the first call; only a longer one needs the
// large buffer.
func (l *lineReader) fill() error {
	if l.start > 0 {
		copy(l.buf, l.buf[l.start:l.end])
		l.start, l.end = 0, l.end-l.start
	}
	if l.end == len(l.buf) || l.read && len(l.buf) < largeRead {
		grown := make([]byte, max(2*len(l.buf), largeRead))
		copy(grown, l.buf)
		l.buf = grown
	}
	for range 100 {
		n, err := l.r.Read(l.buf[l.end:])
		l.end += n
		if n > 0 {
			l.read = true
			return nil
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// discard passes an overlong line by without holding it.
func (l *lineReader) discard() (line, error) {
	out := line{off: l.off}
	for {
		if i := bytes.IndexByte(l.buf[l.start:l.end], '\n'); i >= 0 {
			out.size += int64(i)
			out.whole = true
			l.take(i, true)
			return out, nil
		}
		out.size += int64(l.end - l.start)
		l.off += int64(l.end - l.start)
		l.start = l.end
		if err := l.fill(); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return out, err
		}
	}
}

// Kinds of lines that are no entries.
const (
	kindHeader = "header" // the first line
	kindFormat = "format" // the following lines are of this format: for a version that will continue logs of this one
)

// record is one line of the log, checked.
type record struct {
	line
	env envelope
	err error // the line's defect, or nil
}

// logReader reads records, and refuses those of a newer format.
type logReader struct {
	*lineReader
	first bool // the next line is the first of the file
}

func newLogReader(r io.Reader) *logReader {
	return &logReader{lineReader: newLineReader(r, 0), first: true}
}

// next returns the next record; damage is in its err. An error is that of reading, io.EOF at the end, or
// *VersionError.
func (l *logReader) next() (record, error) {
	ln, err := l.lineReader.next()
	if err != nil {
		return record{}, err
	}
	first := l.first
	l.first = false
	r := record{line: ln}
	if r.bytes == nil && r.size > 0 {
		r.err = errLong
		return r, nil
	}
	_, r.err = unseal(r.bytes)
	if r.err != nil && !first { // a damaged header may still be readable in part
		return r, nil
	}
	if err := r.open(); err != nil {
		return r, err
	}
	return r, nil
}

// open reads the envelope, and the format version out of lines that carry it.
func (r *record) open() error {
	env, err := openEnvelope(r.bytes)
	if err == nil && r.err == nil && (string(env.kind) == kindHeader || string(env.kind) == kindFormat) {
		if err := checkVersion(r.bytes); err != nil {
			return err
		}
	}
	r.env = env
	if r.err == nil {
		r.err = err
	}
	return nil
}

// VersionError says that a log is of a newer format than this version of lathe can read.
type VersionError struct {
	Version int
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("the session is of format %d and this lathe reads up to %d; update lathe to open it", e.Version,
		Format)
}

func checkVersion(line []byte) error {
	var h struct {
		Format int `json:"format"`
	}
	if json.Unmarshal(line, &h) == nil && h.Format > Format { // if the format is not a number, the readable part is read
		return &VersionError{h.Format}
	}
	return nil
}
