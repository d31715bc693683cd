package session

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"

	"github.com/lathe-dev/lathe/internal/llm"
)

func (s *Session) writable() error {
	if s.closed {
		return ErrClosed
	}
	if s.lock == nil {
		return ErrReadOnly
	}
	return nil
}

// add checks a body, ends an exchange that it does not belong to, and writes.
func (s *Session) add(b Body, sync bool) (Entry, error) {
	b, err := s.check(b)
	if err != nil {
		return Entry{}, err
	}
	if s.t.over(b) {
		if err := s.repair(); err != nil {
			return Entry{}, err
		}
	}
	return s.write(b, sync)
}

// check returns the body in the form that is kept.
func (s *Session) check(b Body) (Body, error) {
	var err error
	switch v := b.(type) {
	case User:
		v.Message, err = cleanUser(v.Message)
		return v, err
	case Part:
		if v.Index < 0 {
			return nil, fmt.Errorf("session: the index of a part is %d", v.Index)
		}
		v.Part, err = cleanReply(v.Part)
		return v, err
	case CallStart:
		if v.Invoked {
			return s.checkInvoked(v)
		}
		v.Call = cleanRun(v.Call, v.CallID)
		return v, s.waits(v.CallID)
	case CallEnd:
		if v.Result, err = cleanResult(v.Result); err != nil {
			return nil, err
		}
		if v.Invoked {
			return s.endInvoked(v)
		}
		return s.endCall(v)
	case Compaction:
		return s.checkCompaction(v)
	case TurnEnd:
		sum := s.j.sum
		sum.apply(v)
		v.Total = sum.Total
		v.Total.Model = cmp.Or(sum.Model, sum.replyModel) // also where no one recorded a choice
		return v, nil
	case Unknown:
		return v, v.check()
	case nil:
		return nil, errors.New("session: an entry needs a body")
	}
	return b, nil
}

// check refuses bodies that would not be read back as they are.
func (u Unknown) check() error {
	if u.Name == "" || u.Name == kindHeader || u.Name == kindFormat {
		return fmt.Errorf("session: %q cannot be the kind of an entry", u.Name)
	}
	if u.JSON == nil {
		return nil
	}
	members, err := unmarshal[map[string]json.RawMessage](u.JSON)
	if err != nil {
		return errNoObject
	}
	for _, key := range envelopeKeys {
		if _, ok := members[key]; ok {
			return fmt.Errorf("session: the body of an entry cannot have a member %q", key)
		}
	}
	return nil
}

// waits is nil when a call has been journalled and has no result.
func (s *Session) waits(callID string) error {
	if s.t.find(cleanText(callID)) != nil {
		return nil
	}
	return fmt.Errorf("session: no call %q is waiting for a result: it was not journalled, or has one already", callID)
}

// checkInvoked returns the start of a call that the model did not make in the form that is kept.
func (s *Session) checkInvoked(c CallStart) (Body, error) {
	if c.Call == nil {
		return nil, fmt.Errorf("session: the start of %q, which the model did not make, does not tell the call", c.CallID)
	}
	c.CallID, c.Parent = cleanText(c.CallID), cleanText(c.Parent)
	c.Call = cleanRun(c.Call, c.CallID)
	if s.t.running(c.CallID) {
		return nil, fmt.Errorf("session: the call %q runs already", c.CallID)
	}
	return c, nil
}

// cleanRun returns a call as it runs in the form that is kept; nil is nil.
func cleanRun(c *llm.ToolCall, id string) *llm.ToolCall {
	if c == nil {
		return nil
	}
	call := cleanCall(*c)
	call.ID, call.Opaque = cleanText(id), nil
	return &call
}

// endCall returns the end of a call of the model's in the form that is kept. A change is written once, as in
// endInvoked.
func (s *Session) endCall(c CallEnd) (Body, error) {
	if t := s.t.find(c.Result.CallID); t != nil && t.hasCall {
		c.Call = nil
	}
	c.Call = cleanRun(c.Call, c.Result.CallID)
	return c, s.waits(c.Result.CallID)
}

// endInvoked is the same for the end. The call is written once: at its start, or here when it never ran.
func (s *Session) endInvoked(c CallEnd) (Body, error) {
	c.Parent = cleanText(c.Parent)
	switch {
	case s.t.running(c.Result.CallID):
		c.Call = nil
	case c.Call == nil:
		return nil, fmt.Errorf("session: no call %q is waiting for a result: it has not started, or has one already",
			c.Result.CallID)
	default:
		c.Call = cleanRun(c.Call, c.Call.ID)
	}
	return c, nil
}

// write appends one entry: one write, and with sync an fsync. When either fails the line is taken back
// and nothing has changed, but that a full disk makes entries wait that nothing depends on but the conversation.
func (s *Session) write(b Body, sync bool) (Entry, error) {
	if err := s.writable(); err != nil {
		return Entry{}, err
	}
	if err := s.prepare(); err != nil {
		return Entry{}, err
	}
	e := Entry{ID: strconv.FormatUint(s.j.next, 36), Parent: s.j.idAt(s.j.head), Time: s.now(), Body: b}
	body, err := appendEntry(s.buf[:0], e)
	if err != nil {
		return Entry{}, fmt.Errorf("session: %s entry: %w", b.Kind(), err)
	}
	line := seal(body)
	if s.buf = line[:0]; cap(line) > 1<<20 {
		s.buf = nil // one large result must not stay in memory
	}
	if len(line) > maxLine {
		return Entry{}, fmt.Errorf("session: an entry of %d MB is too large; the limit is %d MB", len(line)>>20, maxLine>>20)
	}
	if err := s.put(line, sync, mayWait(b, sync)); err != nil {
		return Entry{}, err
	}
	s.commit(e, int64(len(line)))
	return e, nil
}

// mayWait reports whether an entry may be kept in memory while the disk is full: all but the start of a call that
// has effects, which must not happen unrecorded, and entries that move the head.
func mayWait(b Body, sync bool) bool {
	switch b.(type) {
	case CallStart:
		return !sync
	case Head:
		return false
	}
	return true
}

// prepare makes the file end where the next line is to start.
func (s *Session) prepare() error {
	if s.dirty {
		if err := s.cut(); err != nil {
			return s.failed(err)
		}
	}
	if s.j.open {
		if err := s.put([]byte("\n"), false, true); err != nil {
			return err
		}
		s.j.end++
		s.j.open = false
	}
	return nil
}

// cut removes the remains of a failed write after the last good line.
func (s *Session) cut() error {
	err := s.f.Truncate(s.written())
	if err != nil { // Windows cannot through a handle that only appends
		err = os.Truncate(s.Path(), s.written())
	}
	s.dirty = err != nil
	return err
}

// WriteError says that the session could not be written. Its earlier content is kept; the same call may
// be tried again.
type WriteError struct {
	ID   string
	Path string
	Err  error
}

func (e *WriteError) Error() string {
	return fmt.Sprintf("session %s could not be written: %v; everything before that is intact: "+
		"make room in %s and go on with --resume %s", e.ID, e.Err, filepath.Dir(e.Path), e.ID)
}

func (e *WriteError) Unwrap() error { return e.Err }

func (s *Session) failed(err error) error { return &WriteError{s.id, s.Path(), err} }

// commit takes a line that is in the file into memory.
func (s *Session) commit(e Entry, size int64) {
	parent := s.j.head
	s.j.put(ref{
		id: s.j.number([]byte(e.ID)), kind: s.j.kindNumber([]byte(e.Body.Kind())), parent: parent,
		off: s.j.end, size: int32(size - 1),
	})
	s.j.end += size
	_ = s.j.note(e.Body) // fails for an unknown head only, which Checkout has ruled out
	at := int32(len(s.j.refs) - 1)
	if c, ok := e.Body.(Compaction); ok {
		until, _ := find(&s.j.index, c.Until)
		s.t.compact(c, until)
		s.revision++
	}
	s.t.apply(e.Body, at)
}

// sync fsyncs the blobs that the log names, the log, and once the folders that lead to it.
func (s *Session) sync() error {
	for len(s.unblobs) > 0 {
		if err := s.syncFile(s.unblobs[0]); err != nil {
			return err
		}
		if s.unblobs = s.unblobs[1:]; len(s.unblobs) == 0 {
			if err := s.syncDir(s.Blobs()); err != nil {
				return err
			}
		}
	}
	return s.syncLog()
}

// syncLog syncs the log and, beside it, the folders that were made for it: a file system commits them together, so a
// new session waits for the disk once and not three times.
func (s *Session) syncLog() error {
	errs := make([]error, len(s.unsynced))
	var wg sync.WaitGroup
	for i, dir := range s.unsynced {
		wg.Go(func() { errs[i] = s.syncDir(dir) })
	}
	err := s.fsync(s.f)
	wg.Wait()
	if err = errors.Join(err, errors.Join(errs...)); err == nil {
		s.unsynced = nil
	}
	return err
}

func (s *Session) syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed by the user; Verify reports it
	}
	if err != nil {
		return err
	}
	return errors.Join(s.fsync(f), f.Close())
}

// syncDir makes the names in a folder durable; Windows does that by itself and has no call for it.
func (s *Session) syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(s.fsync(f), f.Close())
}
