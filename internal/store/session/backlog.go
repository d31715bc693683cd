package session

import (
	"errors"
	"io"
	"os"
	"sync"
)

// backlog is the end of a log that the disk has no room for. Read through it, the log is whole.
type backlog struct {
	mu    sync.Mutex
	lines []byte
	count int
	base  int64 // where in the file the lines belong
	sync  bool  // one of them is to be fsynced
}

func (b *backlog) empty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.count == 0
}

func (b *backlog) add(line []byte, at int64, sync bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.count == 0 {
		b.base = at
	}
	b.lines, b.count, b.sync = append(b.lines, line...), b.count+1, b.sync || sync
}

func (b *backlog) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines, b.count, b.sync = nil, 0, false
}

// wholeLog reads a file with its backlog.
type wholeLog struct {
	file *os.File
	back *backlog
}

// ReadAt implements io.ReaderAt.
func (w wholeLog) ReadAt(p []byte, off int64) (int, error) {
	if w.back.empty() {
		return w.file.ReadAt(p, off)
	}
	w.back.mu.Lock()
	defer w.back.mu.Unlock()
	if w.back.count == 0 { // written meanwhile
		return w.file.ReadAt(p, off)
	}
	n := 0
	if off < w.back.base {
		var err error
		if n, err = w.file.ReadAt(p[:min(int64(len(p)), w.back.base-off)], off); err != nil {
			return n, err
		}
	}
	if n < len(p) && off+int64(n)-w.back.base < int64(len(w.back.lines)) {
		n += copy(p[n:], w.back.lines[off+int64(n)-w.back.base:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// whole is the log as it is to be read.
func (s *Session) whole() io.ReaderAt { return wholeLog{s.f, &s.back} }

// written is where the file ends, or is to end.
func (s *Session) written() int64 { return s.j.end - int64(len(s.back.lines)) }

// put appends a line. When the disk is full, a line that may wait is kept in memory, behind those that wait
// already; any other failure changes nothing.
func (s *Session) put(line []byte, sync, mayWait bool) error {
	err := s.flush(line, sync)
	if err == nil || !mayWait || !full(err) {
		return err
	}
	s.back.add(line, s.j.end, sync)
	return nil
}

// flush writes the waiting lines, and one after them, all or nothing.
func (s *Session) flush(line []byte, sync bool) error {
	sync = sync || s.back.sync
	if s.back.count > 0 {
		line = append(s.back.lines[:len(s.back.lines):len(s.back.lines)], line...)
	}
	_, err := s.f.Write(line)
	if err == nil && sync {
		err = s.sync()
	}
	if err == nil {
		s.back.clear()
		return nil
	}
	s.dirty = true
	return s.failed(errors.Join(err, s.cut()))
}

// Unwritten is how many entries are in memory only, because the disk is full. They are written in their order,
// with the next entry, as soon as there is room.
func (s *Session) Unwritten() int {
	s.back.mu.Lock()
	defer s.back.mu.Unlock()
	return s.back.count
}

// Full reports whether the disk, or the user's quota, has no room.
func (e *WriteError) Full() bool { return full(e.Err) }
