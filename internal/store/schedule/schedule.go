// Package schedule keeps prompts that are sent at their times.
//
// The words: a schedule is a prompt and when it is due: by a cron rule, once, or at a pace that the model chooses. A
// store is one file of schedules: those of a session lie in its folder, those that start sessions in the state folder.
//
// Promises:
//
//   - Every change is on disk when its method returns; several processes may change one file.
//   - Nothing is made up for: times that passed while nothing could run count as one.
//   - A rule runs up to half its interval late, at most half an hour, and always by the same amount.
//   - A file has at most [Most] schedules.
package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/base/atomicfile"
)

// Most is how many schedules a session may have.
const Most = 50

// Lifetime is how long the schedules of a session run.
const Lifetime = 7 * 24 * time.Hour

// Bounds of the pace that a model chooses, and the pace after a run that was cut off.
const (
	Fastest = time.Minute
	Slowest = time.Hour
)

// FileName is the name of a store in the folder of a session.
const FileName = "schedules.json"

// Schedule is a prompt and when it is due.
type Schedule struct {
	ID      string    `json:"id"`
	Cron    string    `json:"cron,omitempty"` // see Parse; empty: it is due once, or is Paced
	Once    bool      `json:"once,omitempty"` // it ends with its first run
	Paced   bool      `json:"paced,omitempty"`
	Planned bool      `json:"planned,omitempty"` // of a Paced one: the model chose Due
	Prompt  string    `json:"prompt"`
	Reason  string    `json:"reason,omitempty"` // why the model chose Due
	Created time.Time `json:"created"`
	Due     time.Time `json:"due"`
	Expires time.Time `json:"expires,omitzero"` // zero: never

	Session *Session `json:"session,omitempty"` // of one that starts sessions
}

// Session is the session that a schedule starts.
type Session struct {
	Name string   `json:"name,omitempty"`
	CWD  string   `json:"cwd"`
	Args []string `json:"args,omitempty"` // flags of its command line
	Last string   `json:"last,omitempty"` // the job of the last run
}

// When says in words when the schedule runs.
func (x Schedule) When() string {
	switch {
	case x.Paced:
		return "at its own pace"
	case x.Cron == "" || x.Once:
		return "once"
	}
	if every, ok := strings.CutPrefix(x.Cron, "@every "); ok {
		return "every " + every
	}
	return x.Cron
}

// Errors of a store.
var (
	ErrNone = errors.New("there is no such schedule")
	ErrFull = fmt.Errorf("there are %d schedules already, which is the most; remove one first", Most)
)

// Store is a file of schedules. It is safe for concurrent use.
type Store struct {
	path    string
	changed chan struct{}

	mu    sync.Mutex
	seen  os.FileInfo // of the file that known was read from
	known []Schedule
}

// At is the store of a file, which need not exist.
func At(path string) *Store { return &Store{path: path, changed: make(chan struct{}, 1)} }

// Path is the path of the file.
func (s *Store) Path() string { return s.path }

// Changed receives after a change by this process.
func (s *Store) Changed() <-chan struct{} { return s.changed }

// List returns the schedules in the order in which they were made.
func (s *Store) List() ([]Schedule, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		s.seen, s.known = nil, nil
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if s.seen == nil || !os.SameFile(s.seen, now) || !s.seen.ModTime().Equal(now.ModTime()) {
		known, err := s.read()
		if err != nil {
			return nil, err
		}
		s.seen, s.known = now, known
	}
	return slices.Clone(s.known), nil
}

func (s *Store) read() (out []Schedule, err error) {
	b, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		return nil, fmt.Errorf("the schedules in %s cannot be read: %w", s.path, err)
	}
	return out, nil
}

// lockWait is how long a change waits for those of other processes.
const lockWait = 10 * time.Second

// update changes the file.
func (s *Store) update(change func([]Schedule) ([]Schedule, error)) error {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return err
	}
	lock := flock.New(s.path+".lock", flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	if _, err := lock.TryLockContext(ctx, 5*time.Millisecond); err != nil {
		return fmt.Errorf("the schedules in %s cannot be changed: %w", s.path, err)
	}
	defer func() { _ = lock.Unlock() }() // closing releases it all the same
	all, err := s.read()
	if err == nil {
		all, err = change(all)
	}
	if err != nil {
		return err
	}
	if len(all) == 0 {
		if err = os.Remove(s.path); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	} else {
		var b []byte
		if b, err = json.MarshalIndent(all, "", "\t"); err == nil {
			err = atomicfile.Write(s.path, append(b, '\n'), 0o600)
		}
	}
	if err != nil {
		return fmt.Errorf("the schedules cannot be kept: %w", err)
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
	return nil
}

// Add keeps a schedule and returns it with its id. A Cron without a Due is due at its first time.
func (s *Store) Add(x Schedule) (Schedule, error) {
	x.ID, x.Created = uuid.NewString()[:8], time.Now()
	if strings.TrimSpace(x.Prompt) == "" {
		return x, errors.New("a schedule needs a prompt")
	}
	if x.Cron != "" {
		r, err := Parse(x.Cron)
		if err != nil {
			return x, err
		}
		if x.Due.IsZero() && x.Once {
			x.Due = r.Next(x.Created)
		} else if x.Due.IsZero() {
			x.Due = r.due(x.ID, x.Created)
		}
	}
	if x.Due.IsZero() {
		return x, errors.New("a schedule needs a time")
	}
	return x, s.update(func(all []Schedule) ([]Schedule, error) {
		if len(all) >= Most {
			return nil, ErrFull
		}
		return append(all, x), nil
	})
}

// Change changes the schedule with an id; false from change removes it. ErrNone: there is none.
func (s *Store) Change(id string, change func(*Schedule) bool) (out Schedule, err error) {
	err = s.update(func(all []Schedule) ([]Schedule, error) {
		i := slices.IndexFunc(all, func(x Schedule) bool { return x.ID == id })
		if i < 0 {
			return nil, fmt.Errorf("%w: %s", ErrNone, id)
		}
		keep := change(&all[i])
		if out = all[i]; !keep {
			all = slices.Delete(all, i, i+1)
		}
		return all, nil
	})
	return out, err
}

// Edit gives a schedule another rule or prompt; an empty one stays.
func (s *Store) Edit(id, rule, prompt string) (Schedule, error) {
	var r Rule
	if rule != "" {
		var err error
		if r, err = Parse(rule); err != nil {
			return Schedule{}, err
		}
	}
	return s.Change(id, func(x *Schedule) bool {
		if rule != "" {
			x.Cron, x.Paced, x.Planned = rule, false, false
			x.Due = r.due(id, time.Now())
		}
		if prompt != "" {
			x.Prompt = prompt
		}
		return true
	})
}

// Remove removes a schedule and returns it.
func (s *Store) Remove(id string) (Schedule, error) {
	return s.Change(id, func(*Schedule) bool { return false })
}

// Due returns the schedules whose time has come, the oldest time first.
func (s *Store) Due(now time.Time) ([]Schedule, error) {
	all, err := s.List()
	all = slices.DeleteFunc(all, func(x Schedule) bool { return x.Due.After(now) })
	slices.SortStableFunc(all, func(a, b Schedule) int { return a.Due.Compare(b.Due) })
	return all, err
}

// Ran says that a schedule ran, as it was when it became due: it is due at its next time after now, or removed if that
// was its last. One that was removed or changed meanwhile stays as it is.
func (s *Store) Ran(ran Schedule, now time.Time) error {
	_, err := s.Change(ran.ID, func(x *Schedule) bool {
		if !x.Due.Equal(ran.Due) {
			return true
		}
		if x.Session != nil && ran.Session != nil {
			x.Session.Last = ran.Session.Last
		}
		return x.advance(now)
	})
	if errors.Is(err, ErrNone) {
		return nil
	}
	return err
}

// advance sets the next time; false: there is none.
func (x *Schedule) advance(now time.Time) bool {
	switch {
	case x.Paced:
		x.Planned, x.Reason, x.Due = false, "", now.Add(Slowest)
	case x.Cron == "" || x.Once:
		return false
	default:
		r, err := Parse(x.Cron)
		if err != nil {
			return false // a later version wrote it
		}
		x.Due = r.due(x.ID, now)
	}
	return x.Expires.IsZero() || x.Due.Before(x.Expires)
}
