package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/uuid"
)

const (
	logName = "log.jsonl"
	blobDir = "blobs"
)

// Store is all sessions below one data folder.
type Store struct {
	temporary string // the folder that Discard removes
	projects  string
	now       func() time.Time
	fsync     func(*os.File) error // (*os.File).Sync; tests see and fail it
}

// NewStore returns the store in dataHome, which is lathe's own data folder. Nothing is read or made.
func NewStore(dataHome string) *Store {
	return &Store{projects: filepath.Join(dataHome, "projects"), now: time.Now, fsync: (*os.File).Sync}
}

// SetClock has sessions that are opened or made from now on take the time of their entries from now instead of
// time.Now. It is for tests of long pauses.
func (s *Store) SetClock(now func() time.Time) { s.now = now }

// Meta describes a session to be created.
type Meta struct {
	Dir     string // the working folder
	Version string // of lathe
	ID      string // a UUID, or empty for a new one
	Model   string
	Parent  string // the session that started this one
	Agent   string // the kind of subagent whose session it is: a child, which List and Latest leave out
	Call    string // of a child: the call of the parent that runs it
}

// ProjectDir is the folder with the sessions of a project, which need not exist yet. Lathe's other files of
// a project are in it too, under names that are no session's id.
func (s *Store) ProjectDir(dir string) string { return filepath.Join(s.projects, slug(realDir(dir))) }

// Create makes a session and opens it. The log is on disk but not fsynced before the first user message;
// a session that gets no entry is removed at Close.
func (s *Store) Create(_ context.Context, m Meta) (*Session, error) {
	id, err := s.newID(m.ID)
	if err != nil {
		return nil, err
	}
	h := header{
		Session: id, Dir: realDir(m.Dir), Created: s.now().UTC(), Lathe: m.Version,
		Model: m.Model, Parent: m.Parent, Agent: m.Agent, Call: m.Call,
	}
	project := slug(h.Dir)
	if m.Agent != "" && m.Parent != "" { // beside its parent, wherever it works
		folder, err := s.locate(m.Parent)
		if err != nil {
			return nil, fmt.Errorf("session: the parent of a subagent's session: %w", err)
		}
		project = filepath.Base(filepath.Dir(folder))
	}
	return s.create(h, project, nil)
}

// NewID makes an id for a session. Ids are in the order of time.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

func (s *Store) newID(want string) (string, error) {
	if want == "" {
		return NewID(), nil
	}
	id, err := uuid.Parse(want)
	if err != nil || len(want) != 36 {
		return "", fmt.Errorf("session: %q is no session id: give a UUID such as %s", want, uuid.NewString())
	}
	if folder, err := s.locate(id.String()); err == nil {
		return "", fmt.Errorf("session: %s exists already (%s): resume it with --resume, or give another --session-id", id,
			folder)
	}
	return id.String(), nil
}

// validID reports whether a name is a session id in the form that lathe writes.
func validID(name string) bool {
	id, err := uuid.Parse(name)
	return err == nil && id.String() == name
}

// create makes the folder of a session with its first lines.
func (s *Store) create(h header, project string, lines func(*os.File) error) (_ *Session, err error) {
	folder := filepath.Join(s.projects, project, h.Session)
	_, err = os.Stat(filepath.Dir(folder))
	newProject := err != nil
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		return nil,
			fmt.Errorf("the folder for sessions cannot be made: %w; set XDG_DATA_HOME to a folder that can be written", err)
	}
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("session: make the folder of the session: %w", err)
	}
	lock, err := takeLock(folder, lockHint)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(filepath.Join(folder, logName)); err == nil { // made since newID looked
		return nil, errors.Join(fmt.Errorf("session: %s exists already", h.Session), lock.Unlock())
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, removeFolder(folder, lock))
		}
	}()
	if err := writeLog(filepath.Join(folder, logName), h, lines); err != nil {
		return nil, err
	}
	sess, err := s.load(folder, lock)
	if err != nil {
		return nil, err
	}
	sess.fresh = true
	sess.unsynced = []string{folder, filepath.Dir(folder)}
	if newProject {
		sess.unsynced = append(sess.unsynced, s.projects, filepath.Dir(s.projects))
	}
	return sess, nil
}

// writeLog writes the first lines of a log under another name first, so that a log always has its header.
func writeLog(path string, h header, lines func(*os.File) error) error {
	first, err := h.line()
	if err != nil {
		return fmt.Errorf("session: header: %w", err)
	}
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("session: make the log: %w", err)
	}
	_, err = f.Write(first)
	if err == nil && lines != nil {
		err = lines(f)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("session: write the log: %w", err)
	}
	return nil
}

// Open opens a session by its full id to continue it. Calls and turns that a crash left open are ended. When another
// process has it open the error is a *LockedError.
func (s *Store) Open(_ context.Context, id string) (*Session, error) {
	folder, err := s.locate(id)
	if err != nil {
		return nil, err
	}
	lock, err := takeLock(folder, lockHint)
	if err != nil {
		return nil, err
	}
	sess, err := s.load(folder, lock)
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return sess, nil
}

// OpenReadOnly opens a session to look at it, also while another process writes it; nothing is changed.
func (s *Store) OpenReadOnly(id string) (*Session, error) {
	folder, err := s.locate(id)
	if err != nil {
		return nil, err
	}
	return s.load(folder, nil)
}

// locate finds the folder of a session in any project.
func (s *Store) locate(id string) (string, error) {
	if !validID(id) {
		return "", fmt.Errorf("session: %q is no session id; lathe session list shows them", id)
	}
	projects, err := os.ReadDir(s.projects)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("session: read the folder of sessions: %w", err)
	}
	for _, p := range projects {
		folder := filepath.Join(s.projects, p.Name(), id)
		if _, err := os.Stat(filepath.Join(folder, logName)); err == nil {
			return folder, nil
		}
	}
	return "", missing("there is no session %s; lathe session list shows them", id)
}

// load reads the log of a session; without a lock it is read-only.
func (s *Store) load(folder string, lock *flock.Flock) (_ *Session, err error) {
	flag := os.O_RDONLY
	if lock != nil {
		flag = os.O_RDWR | os.O_APPEND
	}
	f, err := os.OpenFile(filepath.Join(folder, logName), flag, 0)
	if err != nil {
		return nil, fmt.Errorf("session: open the log: %w", err)
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("session: open the log: %w", err)
	}
	j, err := scanJournal(f, info.Size(), nil)
	if err != nil {
		return nil, fmt.Errorf("session: read %s: %w", f.Name(), err)
	}
	sess := &Session{
		id: filepath.Base(folder), folder: folder, temporary: s.temporary != "", lock: lock, now: s.now,
		fsync: s.fsync, f: f, j: j,
	}
	if j.sum.Model == "" {
		j.sum.Model = j.header.Model
	}
	if err := sess.settle(); err != nil {
		return nil, err
	}
	return sess, nil
}

// settle brings a log that was just read into order: the torn end is set aside, open calls and turns are ended.
func (s *Session) settle() error {
	for _, d := range s.j.damage {
		s.notes = append(s.notes, "damaged: "+d.String())
	}
	if s.j.torn > 0 {
		s.setAside()
	}
	if err := s.rebuild(); err != nil {
		return err
	}
	if s.lock == nil {
		return nil
	}
	if s.j.end == 0 {
		return s.writeHeader()
	}
	if err := s.repair(); err != nil { // the next user message tries again
		s.notes = append(s.notes, err.Error())
	}
	return nil
}

// writeHeader begins a log whose creation was cut off.
func (s *Session) writeHeader() error {
	line, err := header{Session: s.id, Created: s.now().UTC()}.line()
	if err != nil {
		return err
	}
	if err := s.put(line, false, false); err != nil {
		return err
	}
	s.j.end = int64(len(line))
	return nil
}

// Remove deletes a session with its blobs, and moves those of its subagents to the trash. One that is open
// in another process is not removed.
func (s *Store) Remove(id string) error {
	folder, err := s.locate(id)
	if err != nil {
		return err
	}
	if err := s.trashChildren(id); err != nil {
		return err
	}
	lock, err := takeLock(folder, "close it there before removing it")
	if err != nil {
		return err
	}
	return removeFolder(folder, lock)
}

// removeFolder removes the log first, without which a folder is no session, and lets go of the lock
// before the rest, because Windows removes no open files.
func removeFolder(folder string, lock *flock.Flock) error {
	err := os.Remove(filepath.Join(folder, logName))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err = errors.Join(err, lock.Unlock()); err != nil {
		return fmt.Errorf("session: remove %s: %w", folder, err)
	}
	if err := os.RemoveAll(folder); err != nil {
		return fmt.Errorf("session: remove %s: %w", folder, err)
	}
	return nil
}
