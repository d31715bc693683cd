package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofrs/flock"

	"github.com/lathe-dev/lathe/internal/base/regular"
	"github.com/lathe-dev/lathe/internal/machine/files"
)

// Outcome is what an applied plan did.
type Outcome struct {
	ID      string        // of the record; empty when no file changed
	Changed []Change      // done
	Left    []PlannedFile // left alone; Blocked says why
}

// ErrBusy means that another process brings files of the project back.
var ErrBusy = errors.New("another process is bringing files of this project back; try again when it is done")

// Apply brings the files of a plan back. choose decides about a file that somebody else changed; nil keeps all of
// those. It first stores what is there now, so that Apply can itself be undone. The files change after their new
// contents were written, one by one; a process that takes the store up finishes an Apply that was cut off.
func (p *Plan) Apply(choose func(PlannedFile) Choice) (Outcome, error) {
	s := p.store
	s.waitForLooks()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.use(context.Background()); err != nil {
		return Outcome{}, err
	}
	defer s.unuse()
	unlock, err := s.lockRestores()
	if err != nil {
		return Outcome{}, err
	}
	defer unlock()
	var out Outcome
	var todo []Change
	for _, f := range p.Files {
		c, why, err := p.decide(f, choose)
		if err != nil {
			return out, err
		}
		if why != "" {
			f.Blocked = why
			out.Left = append(out.Left, f)
			continue
		}
		todo = append(todo, c)
	}
	if len(todo) == 0 {
		return out, nil
	}
	plan := Record{
		Kind: restoring, Where: Where{Session: p.Session, Title: p.Kind}, Of: p.Of, Again: p.Again,
		Kept: p.kept, Changes: todo,
	}
	if err := s.record(&plan); err != nil {
		return out, err
	}
	phase("planned")
	if err := errors.Join(s.sync(), os.WriteFile(s.marker(), []byte(plan.ID), 0o600)); err != nil {
		return out, err
	}
	phase("marked")
	done, left := s.perform(plan)
	phase("performed")
	for _, l := range left {
		out.Left = append(out.Left, PlannedFile{Path: l.path, Blocked: l.why})
	}
	out.Changed = done
	out.ID, err = s.finish(plan, done)
	return out, err
}

func (s *Store) marker() string { return filepath.Join(s.opt.Dir, "restoring") }

// lockRestores keeps other processes from bringing files back at the same time.
func (s *Store) lockRestores() (func(), error) {
	l := flock.New(filepath.Join(s.opt.Dir, "restore.lock"), flock.SetPermissions(0o600))
	ok, err := l.TryLock()
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, ErrBusy
	}
	return func() { _ = l.Unlock() }, nil
}

// finish records a restore that was performed. One that changed no file is none, so that it can be tried again.
func (s *Store) finish(plan Record, done []Change) (string, error) {
	if len(done) == 0 {
		return "", os.Remove(s.marker())
	}
	r := Record{
		Kind: plan.Title, Where: plan.Where, Begin: plan.ID, Of: plan.Of, Again: plan.Again, Kept: plan.Kept,
		Changes: done,
	}
	r.Title = ""
	err := s.record(&r)
	if err == nil {
		err = s.sync()
	}
	phase("recorded")
	for _, c := range done {
		if _, _, e := s.file(c.Path); e != nil {
			err = errors.Join(err, e)
		}
	}
	if err == nil {
		err = os.Remove(s.marker())
	}
	return r.ID, err
}

// decide is the change of one file, with the content that is there now stored; or the reason why it is left alone.
func (p *Plan) decide(f PlannedFile, choose func(PlannedFile) Choice) (c Change, why string, err error) {
	s := p.store
	if f.Blocked != "" {
		return c, f.Blocked, nil
	}
	to := f.To
	if f.Foreign {
		choice := Keep
		if choose != nil {
			choice = choose(f)
		}
		switch choice {
		case Take:
		case Merge:
			text, conflicts, err := p.Merged(f)
			if err != nil {
				return c, err.Error(), nil
			}
			if conflicts > 0 {
				return c, fmt.Sprintf("the merge has %d conflicts", conflicts), nil
			}
			to.Hash, to.Size = hashOf(text), int64(len(text))
			if err := s.keep(to.Hash, text); err != nil {
				return c, "", err
			}
		default:
			return c, "somebody else changed it since", nil
		}
	}
	now, _, _, err := s.takeSpelled(f.Path)
	if err != nil {
		return c, "", err
	}
	if !now.same(f.Now) {
		return c, "it was changed meanwhile", nil
	}
	if why := s.blocked(now, to); why != "" {
		return c, why, nil
	}
	return Change{f.Path, now, to}, linked(f.Path, p.makesFolder), nil
}

// makesFolder reports whether the plan puts a folder in the place of something else.
func (p *Plan) makesFolder(path string) bool {
	i, ok := slices.BinarySearchFunc(p.Files, path,
		func(f PlannedFile, path string) int { return strings.Compare(f.Path, path) })
	return ok && p.Files[i].To.Kind == Dir
}

// linked is a reason when a folder on the way to a path is a link or a file: what lies behind a link is not covered.
// Those that will be a folder are passed over.
func linked(path string, will func(string) bool) string {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		at, there := look(dir)
		if dir != filepath.Dir(dir) && (!there || at.kind() != Dir && will(dir)) {
			continue
		}
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || real != dir || at.kind() != Dir {
			return dir + " is a link or a file now"
		}
		return ""
	}
}

func nothing(string) bool { return false }

type left struct{ path, why string }

// perform changes the files of a plan and returns those that it changed. Files that are already as planned count.
func (s *Store) perform(plan Record) (done []Change, skipped []left) {
	h := s.newHands()
	defer h.close()
	skip := func(c Change, err error) { skipped = append(skipped, left{c.Path, err.Error()}) }
	staged := map[string]string{} // path -> temporary file
	groups := map[uint64]string{}
	var order []Change
	for i, c := range plan.Changes {
		if c.After.Kind != File && c.After.Kind != Link {
			order = append(order, c)
			continue
		}
		if c.Before.Kind == c.After.Kind && c.Before.Hash == c.After.Hash {
			order = append(order, c) // only the mode differs
			continue
		}
		temp, err := h.stage(plan.ID, i, c)
		if err != nil {
			skip(c, err)
			continue
		}
		staged[c.Path] = temp
		order = append(order, c)
	}
	if len(staged) > 0 {
		syncFiles(staged)
	}
	phase("staged")
	try := func(c Change, err error) bool {
		if err != nil {
			skip(c, err)
			if temp := staged[c.Path]; temp != "" {
				h.drop(temp)
			}
			return false
		}
		phase("changed")
		done = append(done, c)
		return true
	}
	slices.SortFunc(order, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	for _, c := range slices.Backward(order) { // what goes, from below
		if c.After.Kind == None {
			try(c, h.remove(c))
		}
	}
	for _, c := range order { // what comes, from above
		switch c.After.Kind {
		case Dir:
			try(c, h.makeDir(c))
		case File, Link:
			err := h.put(c, staged[c.Path])
			if try(c, err) && c.After.Group != 0 {
				h.relink(groups, c)
			}
		}
	}
	for _, c := range slices.Backward(done) { // a folder that may not be written gets its mode last
		if c.After.Kind == Dir {
			_ = h.chmod(c.Path, mode(c.After))
		}
	}
	slices.SortFunc(done, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return done, skipped
}

func mode(s State) fs.FileMode { return fs.FileMode(s.Mode) & modeBits }

// expect reports an error if a file is neither in the state before a change nor after it.
func (s *Store) expect(c Change) (already bool, err error) {
	now, err := s.now(c.Path)
	switch {
	case err != nil:
		return false, err
	case now.same(c.After):
		return true, nil
	case !now.same(c.Before):
		return false, errors.New("it was changed meanwhile")
	}
	return false, nil
}

// stageDir is the folder for the temporary file of a path: its own, or the deepest one above that is there.
func stageDir(path string) string {
	dir := filepath.Dir(path)
	for dir != filepath.Dir(dir) {
		at, ok := look(dir)
		if real, err := filepath.EvalSymlinks(dir); ok && !inDisguise(dir) && at.kind() == Dir && err == nil && real == dir {
			break
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

func tempName(id string, i int) string { return fmt.Sprintf("%s%s-%d", files.TempPrefix, id, i) }

// Recover finishes a restore that was cut off, if there is one. It costs one look at a file name when there is none.
func (s *Store) Recover() error {
	if _, there := look(s.marker()); !there {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.using(func() error { return nil })
}

// finishRestores finishes a restore that was cut off.
func (s *Store) finishRestores() error {
	id, err := regular.ReadFile(s.marker())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	unlock, err := s.lockRestores()
	if errors.Is(err, ErrBusy) {
		return nil // it is at work
	}
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.refresh(); err != nil {
		return err
	}
	i := slices.IndexFunc(s.records, func(r Record) bool { return r.ID == string(id) })
	if i < 0 {
		s.opt.Note("An undo of files that was cut off cannot be finished, since the snapshot store is damaged: some files " +
			"are " +
			"as before it, some as after it. lathe undo or lathe redo brings the others there; lathe snapshot verify shows " +
			"the damage.")
	}
	if i < 0 || slices.ContainsFunc(s.records, func(r Record) bool { return r.Begin == string(id) }) {
		return os.Remove(s.marker()) // it ended
	}
	plan := s.records[i]
	for i, c := range plan.Changes {
		// it was made where a folder was at the time
		for dir := filepath.Dir(c.Path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			_ = os.Remove(filepath.Join(dir, tempName(plan.ID, i)))
		}
	}
	done, skipped := s.perform(plan)
	if _, err := s.finish(plan, done); err != nil {
		return err
	}
	note := fmt.Sprintf("An %s of files that was cut off was finished: %d files are as they were to be", plan.Title,
		len(done))
	for _, l := range skipped {
		note += fmt.Sprintf("; %s was left: %s", s.rel(l.path), l.why)
	}
	s.opt.Note(note + ".")
	return nil
}
