package session

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
)

// header is the first line of a log.
type header struct {
	Kind    string    `json:"kind"`
	Format  int       `json:"format"`
	Session string    `json:"session"`
	Dir     string    `json:"dir"`
	Created time.Time `json:"created"`
	Lathe   string    `json:"lathe"`
	Model   string    `json:"model,omitempty"`
	Agent   string    `json:"agent,omitempty"`   // a subagent's session: whose
	Parent  string    `json:"parent,omitempty"`  // the session this one was forked from, or the subagent's parent
	Call    string    `json:"call,omitempty"`    // a subagent's session: the call of the parent that runs it
	At      string    `json:"at,omitempty"`      // the entry it was forked at
	Lineage []string  `json:"lineage,omitempty"` // all sessions it was forked from, the first one first
}

func (h header) line() ([]byte, error) {
	h.Kind, h.Format = kindHeader, Format
	b, err := appendMarshal(nil, h)
	if err != nil {
		return nil, err
	}
	return seal(b[:len(b)-1]), nil
}

// journal is the index of a log, without its contents.
type journal struct {
	index
	header header
	head   int32 // or -1
	next   uint64
	end    int64 // of the last good or damaged whole line
	open   bool  // the last line is good but has no newline
	torn   int64 // bytes after end
	damage []Damage
	sum    summary
	dec    decoder
}

// Damage is a line that could not be used, or not as it is. Line counts from 1; Offset and Size are
// bytes, the newline not counted.
type Damage struct {
	Line   int
	Offset int64
	Size   int64
	Text   string
}

func (d Damage) String() string {
	return fmt.Sprintf("line %d (byte %d, %d bytes): %s", d.Line, d.Offset, d.Size, d.Text)
}

func newJournal() *journal {
	return &journal{head: -1, dec: decoder{lean: true}}
}

// scanJournal reads a log of a size once and indexes it. see, when not nil, is shown every record.
func scanJournal(r io.Reader, size int64, see func(n int, rec *record)) (*journal, error) {
	j := newJournal()
	j.size = size
	lr := newLogReader(r)
	for n := 1; ; n++ {
		rec, err := lr.next()
		if errors.Is(err, io.EOF) {
			return j, nil
		}
		if err != nil {
			return nil, err
		}
		if !rec.whole && rec.err != nil {
			j.torn = rec.size
		} else {
			j.take(n, &rec)
		}
		if see != nil {
			see(n, &rec)
		}
	}
}

// take indexes one line.
func (j *journal) take(n int, rec *record) {
	j.end = rec.off + rec.size
	j.open = !rec.whole
	if rec.whole {
		j.end++
	}
	if n == 1 && j.takeHeader(rec) || rec.err == nil && string(rec.env.kind) == kindFormat {
		return
	}
	if rec.err == nil && len(rec.env.id) == 0 {
		rec.err = errNoID
	}
	if rec.err == nil {
		rec.err = j.add(rec)
	}
	if rec.err != nil {
		j.damage = append(j.damage, Damage{n, rec.off, rec.size, rec.err.Error()})
	}
}

func (j *journal) takeHeader(rec *record) bool {
	var h header
	if json.Unmarshal(rec.bytes, &h) == nil && h.Kind == kindHeader {
		j.header = h
	}
	if rec.err == nil && j.header.Kind == "" {
		j.damage = append(j.damage, Damage{1, rec.off, rec.size, "the first line is no header"})
		return false // it may be an entry
	}
	if rec.err != nil {
		j.damage = append(j.damage, Damage{1, rec.off, rec.size, "header: " + rec.err.Error()})
	}
	return true
}

// add indexes an entry. Its error is damage to report: an entry whose parent is missing is still indexed, after
// the entry before it; one whose id is taken is not.
func (j *journal) add(rec *record) error {
	if _, twice := find(&j.index, rec.env.id); twice {
		return fmt.Errorf("there is an entry %q before it", rec.env.id)
	}
	at := int32(len(j.refs))
	r := ref{id: j.number(rec.env.id), kind: j.kindNumber(rec.env.kind), parent: -1, off: rec.off, size: int32(rec.size)}
	var err error
	if len(rec.env.parent) > 0 {
		p, ok := find(&j.index, rec.env.parent)
		r.parent = p
		if !ok {
			r.parent, r.relink = at-1, true
			err = fmt.Errorf("its parent %q is missing; it is read as following the entry before it", rec.env.parent)
		}
	}
	j.put(r)
	if serr := j.summarise(at, rec); serr != nil {
		return serr
	}
	return err
}

func (j *journal) put(r ref) {
	j.head = int32(len(j.refs))
	j.append(r)
	n := r.id
	if n >= strangeID {
		n, _ = strconv.ParseUint(j.labels.id(r), 36, 64) // 0 for one that is not a number at all
	}
	if n >= j.next && n < maxID {
		j.next = n + 1
	}
}

// summarise reads the few entries that matter off the branch too.
func (j *journal) summarise(at int32, rec *record) error {
	kind := j.kind(j.refs[at])
	switch kind {
	case "head", "title", "model", "mode", "turn_end", "reply", "compaction", "side_request":
	case "user":
		if j.sum.firstPrompt != "" {
			return nil
		}
	default:
		return nil
	}
	b, err := j.dec.body(kind, rec.bytes)
	if err != nil {
		return err
	}
	return j.note(b)
}

// note takes in a body that was just put.
func (j *journal) note(b Body) error {
	h, ok := b.(Head)
	if !ok {
		j.sum.apply(b)
		return nil
	}
	target := int32(-1)
	if h.Target != "" {
		if target, ok = find(&j.index, h.Target); !ok {
			return fmt.Errorf("it moves the head to %q, which is missing; the head stays", h.Target)
		}
	}
	j.head = target
	return nil
}

// idAt is the id of the entry at a place, empty before the first.
func (j *journal) idAt(at int32) string {
	if at < 0 {
		return ""
	}
	return j.id(j.refs[at])
}

// lineSource reads the lines of given entries, in file order. Gaps between them are read only if they are short.
type lineSource struct {
	r    io.ReaderAt
	size int64 // where the last line ends
	off  int64 // of buf
	buf  []byte
}

// window is the size of one read in bytes.
const window = 256 << 10

// read returns the line of r, valid until the next call.
func (s *lineSource) read(r ref) ([]byte, error) {
	from, size := r.off-s.off, int64(r.size)
	if from < 0 || from+size > int64(len(s.buf)) {
		n := max(size, min(window, s.size-r.off))
		s.buf = slices.Grow(s.buf[:0], int(n))[:n]
		got, err := s.r.ReadAt(s.buf, r.off)
		s.buf, s.off, from = s.buf[:got], r.off, 0
		if int64(got) < size {
			return nil, cmp.Or(err, io.ErrUnexpectedEOF)
		}
	}
	return s.buf[from : from+size], nil
}

// carriesBody reports whether entries of a kind take part in building messages.
func carriesBody(kind string) bool {
	switch kind {
	case "user", "part", "call_start", "call_end", "reply", "compaction", "invoke_start", "invoke_end":
		return true
	}
	return false
}
