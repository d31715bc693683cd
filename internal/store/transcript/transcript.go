// Package transcript writes the conversation of a session in the form of Claude Code's transcripts: one JSON object a
// line, with uuid and parentUuid, as hooks and status lines that people have read it. The session's log stays the only
// record; the file is made from it.
//
// Promises: the lines are those of the head branch. The file is brought up to date only when somebody is about to be
// given its path, and only its end is written again then. A torn or deleted file is made again.
package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/lathe-dev/lathe/internal/store/session"
)

// Name is the file beside the log of a session.
const Name = "transcript.jsonl"

// File is the transcript of one session. It is safe for concurrent use.
type File struct {
	log  *session.Session
	main string // the id of the main conversation; the session's own, but for a subagent

	mu   sync.Mutex
	last string // the newest entry that the file has
	done mark
}

// mark is a place up to which the lines are final: no reply is open there.
type mark struct {
	entry  string // "": before the first
	offset int64  // of the line after it, in bytes
	parent string // the uuid of the last line of the conversation, or empty
}

// New is the transcript of a session. Main is the id of the main conversation. Nothing is read or written.
func New(log *session.Session, main string) *File { return &File{log: log, main: main} }

// Path is where the file is, or will be.
func (f *File) Path() string { return filepath.Join(f.log.Folder(), Name) }

// Update brings the file up to date. There is none as long as the session has no message.
func (f *File) Update() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	newest := f.log.Head()
	if newest == "" {
		return nil
	}
	st, err := os.Lstat(f.Path())
	if err == nil && !st.Mode().IsRegular() { // a link would have another file written
		if err := os.Remove(f.Path()); err != nil {
			return err
		}
	}
	there := err == nil && st.Mode().IsRegular() && st.Size() >= f.done.offset
	if there && f.last == "" {
		f.done = f.earlier(st.Size())
	}
	if there && newest == f.last {
		return nil
	}
	b, onBranch := f.log.Since(f.done.entry)
	if !there || !onBranch { // it was deleted, or the conversation went back
		f.done = mark{}
		b, _ = f.log.Since("")
	}
	b = b.WithMeta()
	l := &lines{f: f, parent: f.done.parent}
	done := f.done
	for _, e := range b.Entries(0, b.Len()) {
		l.take(e)
		if len(l.open) == 0 {
			done = mark{entry: e.ID, offset: f.done.offset + int64(l.out.Len()), parent: l.parent}
		}
	}
	l.settle(nil)
	if l.err != nil {
		return l.err
	}
	if err := f.write(l.out.Bytes(), there); err != nil {
		return err
	}
	f.done, f.last = done, newest
	return nil
}

// mostTail is how much of the end of an earlier process's file is searched for the place to go on, in bytes.
const mostTail = 256 << 10

// earlier finds the last place in the file of an earlier process up to which its lines are final. What a kill left
// behind it is written again.
func (f *File) earlier(size int64) mark {
	file, err := os.Open(f.Path())
	if err != nil {
		return mark{}
	}
	defer file.Close()
	tail := make([]byte, min(size, mostTail))
	if _, err := file.ReadAt(tail, size-int64(len(tail))); err != nil {
		return mark{}
	}
	for end := bytes.LastIndexByte(tail, '\n'); end > 0; {
		begin := bytes.LastIndexByte(tail[:end], '\n')
		var l struct {
			Entry string `json:"entryId"`
			UUID  string `json:"uuid"`
		}
		whole := begin >= 0 || int64(len(tail)) == size
		if whole && json.Unmarshal(tail[begin+1:end], &l) == nil && l.Entry != "" && l.UUID != "" {
			return mark{entry: l.Entry, offset: size - int64(len(tail)-end-1), parent: l.UUID}
		}
		end = begin
	}
	return mark{}
}

// write puts lines behind those that are final.
func (f *File) write(text []byte, there bool) (err error) {
	if !there && len(text) == 0 {
		return nil
	}
	file, err := os.OpenFile(f.Path(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if f.same(file, text) {
		return nil
	}
	if err := file.Truncate(f.done.offset); err != nil {
		return err
	}
	_, err = file.WriteAt(text, f.done.offset)
	return err
}

// same reports that the file ends with these lines already: a hook that reads it meanwhile then finds it whole.
func (f *File) same(file *os.File, text []byte) bool {
	st, err := file.Stat()
	if err != nil || st.Size() != f.done.offset+int64(len(text)) {
		return false
	}
	old := make([]byte, len(text))
	_, err = file.ReadAt(old, f.done.offset)
	return (err == nil || len(text) == 0) && bytes.Equal(old, text)
}
