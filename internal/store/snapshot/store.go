package snapshot

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"

	"github.com/lathe-dev/lathe/internal/base/glob"
	"github.com/lathe-dev/lathe/internal/machine/git"
)

// Options describe a project's store.
type Options struct {
	Dir      string          // the store's folder; made when the first step begins
	Roots    func() []string // the working roots, with links resolved
	Limit    int64           // bytes that the store may take; 0: DefaultLimit
	MaxFile  int64           // bytes of the largest file that is covered; 0: DefaultMaxFile
	MaxFiles int             // files of the largest root that is covered; 0: DefaultMaxFiles
	Include  []string        // patterns of ignored files that are covered all the same
	// reads what git keeps of files that did not change since, so that it is not copied; nil: all is copied
	Git *git.Git
	// longest wait of a command for first copies, and longest look at a root; 0: DefaultPatience; below 0: none for copies
	Patience time.Duration
	Few      int // files of a root that are copied without asking git; 0: DefaultFew
	// Background reports whether commands run beside the steps: changes between two steps may be theirs. May be nil.
	Background func() bool
	// Note is told of events that the user should see, such as an interrupted restore that was finished. May be nil.
	Note func(text string)
	// Wait is told at once why a step that is about to begin waits. May be nil.
	Wait func(text string)
}

// The limits where the options have none.
const (
	DefaultLimit    = 2 << 30
	DefaultMaxFile  = 16 << 20
	DefaultMaxFiles = 200_000
	DefaultFew      = 200
)

// Store keeps the snapshots of a project. It is safe for concurrent use; several processes may use one folder.
type Store struct {
	opt     Options
	include []glob.Glob

	mu      sync.Mutex // held for a whole operation
	blobs   sync.Mutex // held while the segment and the maps of contents are used
	closed  bool
	seg     *segment
	own     *flock.Flock    // on the own segment
	shared  *flock.Flock    // see use
	uses    int             // of the shared lock
	listed  []string        // the segments when the lock was taken last
	behind  bool            // segments went that the trees count on
	written map[string]bool // ids of the records of this store
	last    int64           // of the ids
	known   map[Hash]bool
	places  map[Hash]place
	scanned map[string]int64  // how far each segment was read
	from    map[string]string // the segment of a record
	records []Record
	ids     map[string]bool
	damaged []damage
	size    int64 // of all segments, roughly

	trees   map[string]*tree              // by root
	touched map[string]entry              // files that steps named and that no tree covers, by path
	running []*Record                     // steps at work
	editing map[string]int                // how many steps at work edit a file, by path
	looked  bool                          // all roots were looked at
	pending []postponed                   // files whose first copy is put off
	copying bool                          // somebody copies them
	looking atomic.Bool                   // Ahead was called
	copier  sync.WaitGroup                // copies, and the look ahead
	tail    atomic.Pointer[chan struct{}] // closed when the looks after all steps that ended are over
}

// New returns a store. Nothing is read or made before the first step begins.
func New(o Options) *Store {
	if o.Limit <= 0 {
		o.Limit = DefaultLimit
	}
	if o.MaxFile <= 0 {
		o.MaxFile = DefaultMaxFile
	}
	if o.MaxFiles <= 0 {
		o.MaxFiles = DefaultMaxFiles
	}
	if o.Patience == 0 {
		o.Patience = DefaultPatience
	}
	if o.Few == 0 {
		o.Few = DefaultFew
	}
	if o.Background == nil {
		o.Background = func() bool { return false }
	}
	if o.Wait == nil {
		o.Wait = func(string) {}
	}
	if o.Note == nil {
		o.Note = func(string) {}
	}
	var include []glob.Glob
	for _, pattern := range o.Include {
		g, err := glob.Compile(pattern)
		if err != nil {
			o.Note(fmt.Sprintf("The pattern %q of snapshots.include has no effect: %v.", pattern, err))
			continue
		}
		include = append(include, g)
	}
	s := &Store{
		opt: o, include: include, known: map[Hash]bool{}, places: map[Hash]place{}, scanned: map[string]int64{},
		from: map[string]string{}, ids: map[string]bool{},
		written: map[string]bool{}, trees: map[string]*tree{}, touched: map[string]entry{}, editing: map[string]int{},
	}
	over := make(chan struct{})
	close(over)
	s.tail.Store(&over)
	return s
}

// Close waits for the look after the last step and lets go of the files. A store that was never used leaves no trace.
func (s *Store) Close() error {
	s.waitForLooks()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.copier.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end()
}

// end writes what is not written yet and lets go of the files; s.mu is held.
func (s *Store) end() error {
	var errs []error
	if s.shared != nil {
		s.closed, s.uses = false, 0
		errs = append(errs, s.use(context.Background()))
	}
	for _, t := range s.trees {
		if t.changed {
			errs = append(errs, s.writeTree(t))
		}
		t.watch.close()
	}
	if s.seg != nil {
		errs = append(errs, s.prune(), s.leaveSegment())
	}
	if s.closed = true; s.shared != nil {
		errs = append(errs, s.shared.Close())
	}
	return errors.Join(errs...)
}

var errClosed = errors.New("the snapshot store is closed")

// nextID is a new id; ids of one process sort by time.
func (s *Store) nextID() string {
	s.last = max(s.last+1, time.Now().UnixMicro())
	return idAt(s.last) + strings.ToLower(rand.Text()[:4])
}

// idAt is the part of an id that is its time.
func idAt(micro int64) string {
	id := strconv.FormatInt(micro, 36)
	return strings.Repeat("0", max(0, 11-len(id))) + id
}

// TimeOf is the time of a record's id.
func TimeOf(id string) time.Time {
	if len(id) < 11 {
		return time.Time{}
	}
	n, _ := strconv.ParseInt(id[:11], 36, 64)
	return time.UnixMicro(n)
}

// writer is the own segment, made when it is first needed.
func (s *Store) writer() (*segment, error) {
	if s.seg != nil {
		return s.seg, nil
	}
	seg, err := createSegment(s.opt.Dir, s.nextID())
	if err != nil {
		return nil, err
	}
	own := flock.New(seg.f.Name())
	if _, err := own.TryLock(); err != nil {
		return nil, errors.Join(err, seg.f.Close())
	}
	s.seg, s.own = seg, own
	return seg, nil
}

// put stores an encoded content unless it is there; s.blobs is held.
func (s *Store) put(h Hash, payload []byte) error {
	if s.known[h] {
		return nil
	}
	seg, err := s.writer()
	if err != nil {
		return err
	}
	at, err := seg.append(frameBlob, payload)
	if err != nil {
		return err
	}
	s.known[h], s.places[h] = true, at
	s.size += int64(at.size)
	return nil
}

// record appends a record; s.mu is held.
func (s *Store) record(r *Record) error {
	s.blobs.Lock()
	defer s.blobs.Unlock()
	seg, err := s.writer()
	if err != nil {
		return err
	}
	if r.ID == "" {
		r.ID = s.nextID()
	}
	r.Process = os.Getpid()
	at, err := seg.record(*r)
	if err != nil {
		return err
	}
	s.size += int64(at.size)
	s.records = append(s.records, *r)
	s.ids[r.ID], s.written[r.ID] = true, true
	return nil
}

// take reads a file and stores its content, not yet synced. sure: the content is that of the stamp. The error is one of
// the store; a file that cannot be read is a state that is not covered.
func (s *Store) take(path string) (st State, at stamp, sure bool, err error) {
	return s.inspect(path, s.keep)
}

// takeSpelled is take for a name that was not read from its folder: a file of another spelling is none.
func (s *Store) takeSpelled(path string) (st State, at stamp, sure bool, err error) {
	if inDisguise(path) {
		return State{}, stamp{}, true, nil
	}
	return s.take(path)
}

// inspect reads a file and hands its content to keep.
func (s *Store) inspect(path string, keep func(Hash, []byte) error) (st State, at stamp, sure bool, err error) {
	began := clock()
	at, ok := look(path)
	if !ok {
		return State{}, at, true, nil
	}
	st = State{Kind: at.kind(), Mode: uint32(at.mode & modeBits)}
	switch st.Kind {
	case Dir:
		return st, at, true, nil
	case Unknown:
		return st, at, true, nil
	case Link:
		target, err := os.Readlink(path)
		if err != nil {
			return uncovered(st, at, reason(err)), at, true, nil
		}
		st.Mode, st.Size, st.Hash = 0, int64(len(target)), sha256.Sum256([]byte(target))
		return st, at, !at.racy(began), keep(st.Hash, []byte(target))
	}
	if at.links > 1 {
		st.Group = at.ino
	}
	if st.Size = at.size; at.size > s.opt.MaxFile {
		return uncovered(st, at, s.tooLarge()), at, true, nil
	}
	data, err := readFile(path, s.opt.MaxFile)
	if err != nil {
		return uncovered(st, at, reason(err)), at, true, nil
	}
	after, _ := look(path)
	st.Size, st.Hash = int64(len(data)), sha256.Sum256(data)
	return st, at, after == at && !at.racy(began), keep(st.Hash, data)
}

// keep stores a content; encoding it does not hold the lock that scans hold.
func (s *Store) keep(h Hash, data []byte) error {
	s.blobs.Lock()
	known := s.known[h]
	s.blobs.Unlock()
	if known {
		return nil
	}
	payload := encodeBlob(h, data)
	s.blobs.Lock()
	defer s.blobs.Unlock()
	return s.put(h, payload)
}

// uncovered is a state whose content is not kept; the stamp tells two of them apart.
func uncovered(s State, at stamp, why string) State {
	var b bytes.Buffer
	_ = binary.Write(&b, binary.LittleEndian, []int64{int64(at.ino), at.size, at.mtime})
	s.Size, s.Hash, s.Uncovered = at.size, sha256.Sum256(b.Bytes()), why
	return s
}

func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Sprintf("it cannot be read: %v", err)
}

// readFile reads a regular file of at most limit bytes, following no link and never waiting.
func readFile(path string, limit int64) ([]byte, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	buf := bytes.NewBuffer(make([]byte, 0, info.Size()+1))
	if _, err := io.Copy(buf, io.LimitReader(f, limit+1)); err != nil {
		return nil, err
	}
	if int64(buf.Len()) > limit {
		return nil, errors.New("it grows")
	}
	return buf.Bytes(), nil
}

// content is a stored content.
func (s *Store) content(h Hash) ([]byte, error) {
	s.blobs.Lock()
	at, ok := s.places[h]
	s.blobs.Unlock()
	if !ok {
		return nil, fmt.Errorf("its content %s is no longer kept", h.String()[:12])
	}
	payload, err := readPlace(at)
	if err != nil {
		return nil, err
	}
	got, data, err := decodeBlob(payload)
	if err == nil && got != h {
		err = errDamaged
	}
	return data, err
}

// Uncovered lists the roots of which only the files are covered that edits name, each with the reason. It knows those
// that a step has looked at.
func (s *Store) Uncovered() []string {
	s.waitForLooks()
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for root, t := range s.trees {
		if t.uncovered != "" {
			out = append(out, root+": "+t.uncovered)
		}
	}
	slices.Sort(out)
	return out
}

// sync makes all that was written durable; s.mu is held.
func (s *Store) sync() error {
	if s.seg == nil {
		return nil
	}
	return s.seg.sync()
}

// Name is a path for people: below the root it is in, or whole.
func (s *Store) Name(path string) string { return s.rel(path) }

// rel is a path for people: below the root it is in, or whole.
func (s *Store) rel(path string) string {
	for _, root := range s.opt.Roots() {
		if r, err := filepath.Rel(root, path); err == nil && !strings.HasPrefix(r, "..") {
			return filepath.ToSlash(r)
		}
	}
	return path
}
