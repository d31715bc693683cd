package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	logDays = 14            // how long former days are kept
	logDay  = time.DateOnly // in the names of their files
	logName = "lathe"       // lathe.log, lathe-2006-01-02.log
	maxLog  = 64 << 20      // bytes of one day's file; the rest is dropped
)

// logFile appends to one file and starts a new one each day. Several processes write the same file: each
// record is one write in append mode, and the day's change is decided by a link that only one of them can
// make. (Libraries for this assume a single process: they write at their own offset.)
type logFile struct {
	path string
	now  func() time.Time // nil: time.Now

	mu     sync.Mutex
	f      *os.File
	day    string
	size   int64
	failed bool // it could not be opened; nothing is tried again
	wrote  bool
	closed bool
}

// Write appends one record. Where that is not possible the record is dropped: a log must not end a run.
func (l *logFile) Write(record []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	today := l.time().Format(logDay)
	if l.failed || l.closed {
		return len(record), nil
	}
	if l.f == nil || l.day != today {
		if err := l.open(today); err != nil {
			l.failed = true
			return 0, err
		}
	}
	if l.size > maxLog {
		return len(record), nil
	}
	n, err := l.f.Write(record)
	l.size += int64(n)
	l.wrote = l.wrote || err == nil
	return n, err
}

func (l *logFile) time() time.Time {
	if l.now != nil {
		return l.now()
	}
	return time.Now()
}

func (l *logFile) written() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wrote
}

// open puts the file of a former day aside and opens today's.
func (l *logFile) open(today string) error {
	if l.f != nil {
		_ = l.f.Close()
		l.f = nil
	}
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return err
	}
	switch st, err := os.Stat(l.path); {
	case err != nil:
	case !st.Mode().IsRegular(): // a pipe would wait for a reader
		return errors.New("not a regular file")
	case st.Size() > 0 && st.ModTime().Local().Format(logDay) != today:
		l.putAside(st.ModTime().Local().Format(logDay))
	}
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	st, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	l.f, l.day, l.size = f, today, st.Size()
	return nil
}

// putAside gives the file its day's name, unless another process did. Where a file system has no links, or
// an open file cannot be removed, the file just grows on until it works.
func (l *logFile) putAside(day string) {
	if err := os.Link(l.path, l.aside(day)); err != nil {
		return
	}
	_ = os.Remove(l.path)
	l.prune()
}

func (l *logFile) aside(day string) string {
	return filepath.Join(filepath.Dir(l.path), logName+"-"+day+".log")
}

// prune removes the files of days long ago.
func (l *logFile) prune() {
	oldest := l.time().AddDate(0, 0, -logDays).Format(logDay)
	for _, name := range namesIn(filepath.Dir(l.path)) {
		day, ok := strings.CutPrefix(strings.TrimSuffix(name, ".log"), logName+"-")
		if _, err := time.Parse(logDay, day); ok && err == nil && day < oldest && name == filepath.Base(l.aside(day)) {
			_ = os.Remove(filepath.Join(filepath.Dir(l.path), name))
		}
	}
}

// Close lets go of the file; later records are dropped.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.f == nil {
		return nil
	}
	err := l.f.Close()
	l.f = nil
	return err
}
