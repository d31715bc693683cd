package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Session is one open conversation. It is safe for concurrent use.
type Session struct {
	id, folder string
	temporary  bool         // of a store in memory
	lock       *flock.Flock // nil when read-only
	now        func() time.Time
	fsync      func(*os.File) error

	mu sync.Mutex
	f  *os.File
	j  *journal
	t  transcript

	revision int // of the messages

	notes []string
	buf   []byte
	back  backlog
	dirty bool // the file may hold more than it should and could not be cut back
	fresh bool // created by this process

	unsynced []string // folders made since the last sync
	unblobs  []string // blobs written since the last sync
	closed   bool
}

// Errors that callers may distinguish.
var (
	ErrReadOnly = errors.New("the session is open for reading only")
	ErrClosed   = errors.New("the session is closed")
)

// ID is the session's UUID.
func (s *Session) ID() string { return s.id }

// Dir is the working folder the session belongs to; empty when its header is lost.
func (s *Session) Dir() string { return s.j.header.Dir }

// Temporary reports that the session is gone when its store is discarded: it is of a store that [Temporary] made.
func (s *Session) Temporary() bool { return s.temporary }

// Path is the log file.
func (s *Session) Path() string { return filepath.Join(s.folder, logName) }

// Folder holds the log and the blobs.
func (s *Session) Folder() string { return s.folder }

// Blobs is the folder of the session's blobs; it may not exist yet.
func (s *Session) Blobs() string { return filepath.Join(s.folder, blobDir) }

// BlobDirs lists the folders that the conversation may name: the session's own blobs, and those of the
// sessions it was forked from.
func (s *Session) BlobDirs() []string {
	out := []string{s.Blobs()}
	for _, id := range slices.Backward(s.j.header.Lineage) {
		if validID(id) {
			out = append(out, filepath.Join(filepath.Dir(s.folder), id, blobDir))
		}
	}
	return out
}

// Lineage lists the sessions that this one was forked from, the first one first, and then itself. Entries keep their
// ids in a fork.
func (s *Session) Lineage() []string { return append(slices.Clone(s.j.header.Lineage), s.id) }

// Notes lists the defects that Open found and repaired, for the user: a torn line, damage.
func (s *Session) Notes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notes)
}

// Damage lists the lines that could not be read when the session was opened.
func (s *Session) Damage() []Damage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.j.damage)
}

// Info returns the session's entry in List, from memory.
func (s *Session) Info() Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := infoOf(s.j.header, s.j.sum)
	i.ID, i.Path, i.Size, i.Damaged = s.id, s.Path(), s.j.end, len(s.j.damage) > 0
	if n := len(s.j.refs); n == 0 {
		i.Modified = i.Created
	} else if st, err := os.Stat(i.Path); err == nil {
		i.Modified = st.ModTime()
	}
	return i
}

// Mode is the permission mode set last, or empty.
func (s *Session) Mode() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.j.sum.mode
}

// Model is the model set last, or empty.
func (s *Session) Model() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.j.sum.Model
}

// Messages is the head branch as it is to be sent. The open reply is not in it, nor are results before
// all calls of their reply have one. It grows only at its end, and parts keep their arrays, until a
// compaction or a checkout (see Revision). It must not be changed.
func (s *Session) Messages() []llm.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.t.msgs[:len(s.t.msgs):len(s.t.msgs)]
}

// Exchange numbers the present reply with its calls: it is the same from the reply's first part to its last result.
func (s *Session) Exchange() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.t.msgs)
	if s.t.closed { // the reply is one of them by now
		n--
	}
	return n
}

// Head is the id of the entry that the next one will follow; empty before the first.
func (s *Session) Head() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.j.idAt(s.j.head)
}

// LastUser is the id of the newest message of the user on the head branch, also of one that lathe wrote; empty when
// there is none.
func (s *Session) LastUser() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.j.head
	for at >= 0 && s.j.kind(s.j.refs[at]) != "user" {
		at = s.j.refs[at].parent
	}
	return s.j.idAt(at)
}

// AddUser adds a message of the user, and fsyncs. A reply that is still open is closed as broken and
// calls without a result are answered first.
func (s *Session) AddUser(_ context.Context, msg llm.Message, steered, synthetic bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.add(User{steered, synthetic, msg}, true)
	return err
}

// AddPart journals one complete part of the reply that is being received. An index that was there before
// voids the parts from there on.
func (s *Session) AddPart(_ context.Context, index int, p llm.Part) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.add(Part{index, p}, false)
	return err
}

// StartCall journals that a call is about to run; with sync it is on the disk when StartCall returns.
func (s *Session) StartCall(_ context.Context, start CallStart, sync bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.add(start, sync)
	return err
}

// EndCall journals the result of a call. A call that is unknown or has a result already is an error.
func (s *Session) EndCall(_ context.Context, end CallEnd) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.add(end, false)
	return err
}

// AddReply closes the open reply with the ID, Model, Usage and Stop of msg. Parts of msg that were not
// journalled, or differ from their entries, are added first.
func (s *Session) AddReply(_ context.Context, msg llm.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, p := range msg.Parts {
		if s.t.holds(i, p) {
			continue
		}
		if _, err := s.add(Part{i, p}, false); err != nil {
			return err
		}
	}
	r := Reply{MessageID: msg.ID, Model: msg.Model, Usage: msg.Usage, Stop: msg.Stop, Parts: s.t.length(len(msg.Parts))}
	_, err := s.add(r, false)
	return err
}

// AddDecision journals a permission decision, raw JSON; sync is for approvals by a person.
func (s *Session) AddDecision(_ context.Context, callID string, decision json.RawMessage, sync bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.add(Decision{callID, decision}, sync)
	return err
}

// SetTitle names the session.
func (s *Session) SetTitle(ctx context.Context, title string) error { return s.set(ctx, Title{title}) }

// SetModel records the model that answers from here on.
func (s *Session) SetModel(ctx context.Context, model string) error { return s.set(ctx, Model{model}) }

// SetMode records the permission mode.
func (s *Session) SetMode(ctx context.Context, mode string) error { return s.set(ctx, Mode{mode}) }

func (s *Session) set(ctx context.Context, b Body) error {
	_, err := s.Add(ctx, b)
	return err
}

// EndTurn closes a turn, and fsyncs. It fills in Total.
func (s *Session) EndTurn(_ context.Context, end TurnEnd) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.add(end, true)
	return err
}

// Add journals any body but Head, for which there is Checkout. User and TurnEnd are fsynced.
func (s *Session) Add(_ context.Context, b Body) (Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := b.(Head); ok {
		return Entry{}, errors.New("session: use Checkout to move the head")
	}
	sync := false
	switch b.(type) {
	case User, TurnEnd:
		sync = true
	}
	return s.add(b, sync)
}

// Checkout moves the head to an entry, or with "" before the first one. The entries after it stay in
// the log as another branch.
func (s *Session) Checkout(entryID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := find(&s.j.index, entryID); !ok && entryID != "" {
		return fmt.Errorf("session: there is no entry %q in session %s", entryID, s.id)
	}
	if _, err := s.add(Head{entryID}, false); err != nil {
		return err
	}
	return s.rebuild()
}

// rebuild derives the messages of the head branch from the log.
func (s *Session) rebuild() error {
	branch := s.j.branch(s.j.head).only(carriesBody)
	s.t = transcript{}
	s.revision++
	bad, err := branch.eachBody(s.whole(), &s.j.dec, func(i int, _ envelope, b Body) bool {
		if c, ok := b.(Compaction); ok {
			if place, ok := find(&s.j.index, c.Until); ok {
				s.t.compact(c, place)
			}
		}
		s.t.apply(b, branch.at[i])
		return true
	})
	for _, e := range bad {
		s.notes = append(s.notes, "unreadable: "+e.Error())
	}
	return err
}

// repair ends the calls and turns that a crash left open, in the log too.
func (s *Session) repair() error {
	model := s.j.sum.replyModel
	if model == "" {
		model = s.j.sum.Model
	}
	for _, b := range s.t.repairs(model) {
		if _, err := s.write(b, false); err != nil {
			return err
		}
	}
	return nil
}

// Entries yields the head branch from the root on, as it was when the loop began, read from the file.
// Entries that cannot be read are left out; Verify reports them.
func (s *Session) Entries() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		s.mu.Lock()
		branch := s.j.branch(s.j.head)
		s.mu.Unlock()
		s.entries(branch, yield)
	}
}

// All yields every entry in the order of the file, whatever its branch.
func (s *Session) All() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		s.mu.Lock()
		all := s.j.all()
		s.mu.Unlock()
		s.entries(all, yield)
	}
}

// place is where an entry is in the log.
func (s *Session) place(id string) (int32, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return find(&s.j.index, id)
}

func (s *Session) entries(p pick, yield func(Entry) bool) {
	_, _ = p.eachBody(s.whole(), &decoder{}, func(_ int, env envelope, b Body) bool { return yield(env.entry(b)) })
}

// Sync makes all that was added so far survive a power cut.
func (s *Session) Sync(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writable(); err != nil {
		return err
	}
	if !s.back.empty() {
		return s.flush(nil, true)
	}
	return s.sync()
}

// Close lets go of the session. One that was created and never got an entry is removed again. A reply
// that is open stays so and is repaired at the next Open. Entries for which there is still no room are lost,
// which is an error.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	err := errors.Join(s.last(), s.f.Close())
	if s.lock == nil {
		return err
	}
	if s.fresh && len(s.j.refs) == 0 && len(s.unblobs) == 0 {
		err = errors.Join(err, removeFolder(s.folder, s.lock))
	} else {
		err = errors.Join(err, s.lock.Unlock())
	}
	return err
}

// last writes the lines that waited for room.
func (s *Session) last() error {
	if s.back.empty() {
		return nil
	}
	if err := s.flush(nil, true); err != nil {
		return fmt.Errorf("the last %d entries of the conversation were in memory only and are lost: %w", s.back.count, err)
	}
	return nil
}

// holds reports whether the open reply has this part at index. A call is known by its id: its journalled
// form is the one that ran.
func (t *transcript) holds(index int, p llm.Part) bool {
	for _, o := range t.open {
		if o.index != index {
			continue
		}
		if have, ok := o.part.(llm.ToolCall); ok {
			c, ok := p.(llm.ToolCall)
			return ok && cleanText(c.ID) == have.ID
		}
		clean, err := cleanReply(p)
		return err == nil && reflect.DeepEqual(clean, o.part)
	}
	return false
}

// length is how many parts a reply closes with when the provider says n: calls that were journalled stay.
func (t *transcript) length(n int) int {
	for _, o := range t.open {
		if _, ok := o.part.(llm.ToolCall); ok && o.index >= n {
			n = o.index + 1
		}
	}
	return n
}
