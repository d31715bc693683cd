package tool

import (
	"bytes"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"
)

// BlobWriter takes data of unknown size. Commit keeps it and returns its path; Close without Commit drops it.
// The data can be read back until then, also beside Write.
type BlobWriter interface {
	Write(p []byte) (int, error)
	ReadAt(p []byte, off int64) (int, error)
	Commit() (path string, err error)
	Close() error
}

// outputText is a command's output as the model gets it.
type outputText struct {
	text string // for the model: all of it, or its head and tail
	path string // the file with all of it as it came, when text is not all
	size int64  // bytes that came
	note string // why there is no such file although there should be
}

// rawInline is how many bytes as they came are held in memory before they go to a blob; without escapes
// and rewritten lines the text gets too long first.
const rawInline = 256 << 10

// bashText collects the output of a command, in memory that does not grow with it: the head and the tail of
// the readable text, everything as it came in a blob once it is more than fits inline, and a thinned stream
// for whoever watches. Write is called by one goroutine.
type bashText struct {
	limit   int   // characters inline
	flood   int64 // bytes after which flooded is called, once
	flooded func()
	blob    func() (BlobWriter, error)
	live    liveText

	size   int64
	saved  int64  // bytes in the blob
	raw    []byte // until there is a blob
	w      BlobWriter
	fault  error // of the blob
	handed bool  // the blob is another's

	plain   plainText
	lines   lineText
	scratch []byte
	head    []byte // the first limit characters
	heads   int    // characters in head
	tail    []byte // at least the last limit/2 characters after head
	tails   int
}

func (t *bashText) Write(p []byte) (int, error) {
	before := t.size
	t.size += int64(len(p))
	t.keep(p)
	t.scratch = t.plain.add(t.scratch[:0], p)
	t.live.add(t.scratch)
	t.lines.add(t.scratch, t.text)
	if t.flood > 0 && before <= t.flood && t.size > t.flood {
		t.flooded()
	}
	return len(p), nil
}

// keep stores new output.
func (t *bashText) keep(p []byte) {
	if t.fault != nil {
		return
	}
	if t.w == nil {
		t.raw = append(t.raw, p...)
		if len(t.raw) <= rawInline && t.tails == 0 {
			return
		}
		t.spill()
		return
	}
	t.save(p)
}

// save writes to the blob, up to bashKept bytes.
func (t *bashText) save(p []byte) {
	p = p[:min(int64(len(p)), bashKept-t.saved)]
	if len(p) == 0 {
		return
	}
	t.saved += int64(len(p))
	_, t.fault = t.w.Write(p)
}

// spill moves the output so far to a blob.
func (t *bashText) spill() {
	if t.w, t.fault = t.blob(); t.fault == nil {
		t.save(t.raw)
	}
	t.raw = nil
}

// text takes readable text: to the head until that is full, else to the tail.
func (t *bashText) text(p []byte) {
	if t.heads < t.limit {
		n := utf8.RuneCount(p)
		if t.heads+n <= t.limit {
			t.head, t.heads = append(t.head, p...), t.heads+n
			return
		}
		i := prefix(p, t.limit-t.heads)
		t.head, t.heads = append(t.head, p[:i]...), t.limit
		p = p[i:]
	}
	t.tails += utf8.RuneCount(p)
	most := 4 * t.limit // bytes that limit characters may have
	if len(p) > most {
		p = p[len(p)-most:]
	}
	if t.tail = append(t.tail, p...); len(t.tail) > 4*most {
		t.tail = append(t.tail[:0], t.tail[len(t.tail)-most:]...)
	}
}

// prefix is the length in bytes of the first n characters.
func prefix(p []byte, n int) int {
	i := 0
	for ; n > 0 && i < len(p); n-- {
		_, w := utf8.DecodeRune(p[i:])
		i += w
	}
	return i
}

// suffix is where the last n characters begin.
func suffix(p []byte, n int) int {
	i := len(p)
	for ; n > 0 && i > 0; n-- {
		_, w := utf8.DecodeLastRune(p[:i])
		i -= w
	}
	return i
}

// finish ends the output. It is called once, after the last Write.
func (t *bashText) finish() outputText {
	t.scratch = t.plain.end(t.scratch[:0])
	t.live.add(t.scratch)
	t.lines.add(t.scratch, t.text)
	t.lines.end(t.text)
	t.live.end()
	out := outputText{size: t.size}
	if t.tails == 0 {
		out.text = string(t.head)
		return out
	}
	if t.w == nil && t.fault == nil && !t.handed {
		t.spill()
	}
	if t.fault == nil && !t.handed {
		out.path, t.fault = t.w.Commit()
	}
	switch {
	case t.fault != nil:
		out.note = "The full output could not be kept: " + t.fault.Error()
	case t.saved < t.size && !t.handed:
		out.note = fmt.Sprintf("Of the %s of output the file has the first %s.", size(t.size), size(t.saved))
	}
	out.text = t.shorten(out.path)
	return out
}

// shorten joins the first and the last half of the limit, cut at line ends where one is near.
func (t *bashText) shorten(path string) string {
	head := t.head[:prefix(t.head, t.limit/2)]
	if i := bytes.LastIndexByte(head, '\n'); i > len(head)*3/4 {
		head = head[:i+1]
	}
	all := t.tail
	if want := t.limit - t.limit/2; t.tails < want { // the tail begins inside head
		all = append(append([]byte{}, t.head[suffix(t.head, want-t.tails):]...), t.tail...)
	} else {
		all = all[suffix(all, want):]
	}
	if i := bytes.IndexByte(all, '\n'); i >= 0 && i < len(all)/4 {
		all = all[i+1:]
	}
	left := t.heads + t.tails - utf8.RuneCount(head) - utf8.RuneCount(all)
	where := ""
	switch {
	case path != "" && t.saved < t.size && !t.handed:
		where = "; the output is in " + path
	case path != "":
		where = "; all of the output is in " + path
	}
	return fmt.Sprintf("%s\n[... %d characters left out here%s ...]\n\n%s", head, left, where, all)
}

// handOver ends the output as far as this collector goes: it returns the text so far and the blob with
// everything that came, which the caller goes on to write.
func (t *bashText) handOver() (text string, w BlobWriter, err error) {
	if t.w == nil && t.fault == nil {
		t.spill()
	}
	w, t.w, t.handed = t.w, nil, true
	out := t.finish()
	return out.text, w, t.fault
}

func (t *bashText) close() {
	t.live.end()
	if t.w != nil {
		_ = t.w.Close() // drops the uncommitted rest
	}
}

// Live output is sent at most thirty times a second, and of a flood only the latest part each time.
const (
	livePause = 33 * time.Millisecond
	liveMost  = 16 << 10
)

// liveText thins output for people who watch.
type liveText struct {
	send func(string)

	mu      sync.Mutex
	buf     []byte
	skipped int
	cr      bool
	timer   *time.Timer
	last    time.Time
	ended   bool
}

// add takes text of plainText. A lone carriage return becomes a line break.
func (l *liveText) add(p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended || len(p) == 0 {
		return
	}
	if len(p) > liveMost {
		cut := suffixAt(p, liveMost)
		l.skipped += len(l.buf) + cut
		l.buf, p = l.buf[:0], p[cut:]
	}
	for _, c := range p {
		if l.cr && c != '\n' {
			l.buf = append(l.buf, '\n')
		}
		if l.cr = c == '\r'; !l.cr && c != '\b' {
			l.buf = append(l.buf, c)
		}
	}
	if len(l.buf) > liveMost {
		cut := suffixAt(l.buf, liveMost/2)
		l.skipped += cut
		l.buf = append(l.buf[:0], l.buf[cut:]...)
	}
	if wait := livePause - time.Since(l.last); wait > 0 {
		if l.timer == nil {
			l.timer = time.AfterFunc(wait, l.tick)
		}
		return
	}
	l.flush()
}

// suffixAt is where the last n bytes of p begin, moved on to a character's start.
func suffixAt(p []byte, n int) int {
	i := len(p) - n
	for i < len(p) && !utf8.RuneStart(p[i]) {
		i++
	}
	return i
}

func (l *liveText) tick() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = nil
	if !l.ended {
		l.flush()
	}
}

func (l *liveText) flush() {
	if len(l.buf) == 0 {
		return
	}
	text := string(l.buf)
	if l.skipped > 0 {
		text = fmt.Sprintf("\n[... %d bytes not shown ...]\n%s", l.skipped, text)
	}
	l.buf, l.skipped, l.last = l.buf[:0], 0, time.Now()
	l.send(text)
}

func (l *liveText) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	l.flush()
	l.ended = true
	if l.timer != nil {
		l.timer.Stop()
	}
}
