package snapshot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// retryUncovered is how long a root that is too large is not looked at again.
const retryUncovered = 24 * time.Hour

func indexTime(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// Begin saves the files that a step may change: those of paths, absolute with links resolved, or with nil all covered
// files of the roots. The contents are on disk when it returns; on an error the step must not run. end is to be
// called once, when the step is over; it looks at the files again, with nil paths beside the caller.
func (s *Store) Begin(ctx context.Context, w Where, paths []string) (end func(), err error) {
	s.waitForLooks()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.use(ctx); err != nil {
		return nil, unwritable(err)
	}
	if paths != nil {
		end, err = s.beginFiles(w, paths)
	} else {
		end, err = s.beginAll(ctx, w)
	}
	phase("begun")
	if err == nil {
		err = s.sync()
	}
	if err != nil {
		s.unuse()
	}
	return end, unwritable(err)
}

// unwritable says what to do about a store that cannot be written.
func unwritable(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%w; make room on the disk, or set snapshots.enabled to false to work without undo", err)
}

// beginFiles saves single files.
func (s *Store) beginFiles(w Where, names []string) (func(), error) {
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = spelled(name)
	}
	began := Record{Kind: Began, Where: w}
	var theirs []Change
	for _, path := range paths {
		before, was, err := s.file(path)
		if err != nil {
			return nil, err
		}
		if was != nil && !was.same(before) {
			theirs = append(theirs, Change{path, *was, before})
		}
		began.Changes = append(began.Changes, Change{Path: path, Before: before})
	}
	began.Changes = append(began.Changes, missing(paths)...)
	if len(s.running) == 0 {
		if err := s.between(theirs); err != nil {
			return nil, err
		}
	}
	if err := s.record(&began); err != nil {
		return nil, err
	}
	for _, path := range paths {
		s.editing[path]++
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, path := range paths {
			if s.editing[path]--; s.editing[path] == 0 {
				delete(s.editing, path)
			}
		}
		s.ended(s.endFiles(began))
		s.unuse()
	}, nil
}

// ended reports that the files could not be looked at after a step; the next look counts its changes as somebody
// else's.
func (s *Store) ended(err error) {
	if err != nil {
		s.opt.Note(fmt.Sprintf("The changes of the last step could not be recorded, so /undo does not take them back: %v",
			err))
	}
}

// missing are the folders of files that are not there yet.
func missing(paths []string) []Change {
	var out []Change
	for _, path := range paths {
		for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			_, there := look(dir)
			if there || slices.ContainsFunc(out, func(c Change) bool { return c.Path == dir }) {
				break
			}
			out = append(out, Change{Path: dir})
		}
	}
	return out
}

func (s *Store) endFiles(began Record) error {
	done := Record{Kind: Step, Where: began.Where, Begin: began.ID}
	for _, c := range began.Changes {
		after, _, err := s.file(c.Path)
		if err != nil {
			return err
		}
		if !after.same(c.Before) {
			done.Changes = append(done.Changes, Change{c.Path, c.Before, after})
		}
	}
	return s.record(&done)
}

// file is the state of a file now, stored, and the state that was known of it, or nil; s.mu is held.
func (s *Store) file(path string) (now State, was *State, err error) {
	if inDisguise(path) {
		s.note(path, stamp{}, true, State{})
		return State{}, nil, nil
	}
	for _, t := range s.trees {
		n := t.folder(filepath.Dir(path))
		if n == nil {
			continue
		}
		if i, ok := n.find(filepath.Base(path)); ok {
			e := n.entries[i]
			if e.Uncovered == notCopied {
				if now, at, sure, err := s.take(path); err != nil || at == e.at {
					postponed{t, n, e.name, 0}.settle(entry{e.name, at, sure, now})
					return now, nil, err
				}
			}
			if e.inGit {
				if e.State, err = s.fetched(t, path, e); err != nil {
					return now, nil, err
				}
			}
			if at, there := look(path); there && e.sure && e.at == at {
				return e.State, &e.State, nil
			}
			was = &e.State
		}
	}
	if e, ok := s.touched[path]; ok && was == nil {
		if at, there := look(path); there && e.sure && e.at == at {
			return e.State, &e.State, nil
		}
		was = &e.State
	}
	now, at, sure, err := s.take(path)
	if err != nil {
		return now, was, err
	}
	if !s.note(path, at, sure, now) {
		s.touched[path] = entry{path, at, sure, now}
	}
	return now, was, nil
}

// note puts a state into the tree that covers its place, if there is one.
func (s *Store) note(path string, at stamp, sure bool, st State) bool {
	for _, t := range s.trees {
		if t.put(path, at, sure, st) {
			delete(s.touched, path)
			return true
		}
	}
	return false
}

// between records changes that no step of this process made.
func (s *Store) between(changes []Change) error {
	if len(changes) == 0 {
		return nil
	}
	r := Record{Kind: Foreign, Changes: changes}
	if last := s.lastStep(); last != nil && s.opt.Background() {
		r.Kind, r.Where = Background, last.Where
	}
	return s.record(&r)
}

func (s *Store) lastStep() *Record {
	for i := len(s.records) - 1; i >= 0; i-- {
		if s.records[i].Kind == Step {
			return &s.records[i]
		}
	}
	return nil
}

// beginAll saves all covered files of the roots.
func (s *Store) beginAll(ctx context.Context, w Where) (func(), error) {
	began := Record{Kind: Began, Where: w}
	if len(s.running) == 0 {
		if err := s.lookAtAll(ctx); err != nil {
			return nil, err
		}
	}
	if err := s.catchUp(ctx, w.Named); err != nil {
		return nil, err
	}
	s.copyBeside()
	if err := s.record(&began); err != nil {
		return nil, err
	}
	s.running = append(s.running, &began)
	return func() {
		s.lookAfter(func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.ended(s.endAll(&began))
			s.unuse()
		})
	}, nil
}

// lookAfter runs the look after a step beside the caller, once those after the steps that ended before are over.
func (s *Store) lookAfter(look func()) {
	over := make(chan struct{})
	before := s.tail.Swap(&over)
	go func() {
		defer close(over)
		<-*before
		look()
	}()
}

// waitForLooks waits for the looks after all steps that have ended. A step of another agent may end meanwhile, so it
// waits for the last look so far: a WaitGroup must not start again while one waits for it.
func (s *Store) waitForLooks() { <-*s.tail.Load() }

// endAll ends a step; the changes of steps that ran beside each other are those of the last one to end.
func (s *Store) endAll(began *Record) error {
	s.running = slices.DeleteFunc(s.running, func(r *Record) bool { return r == began })
	done := Record{Kind: Step, Where: began.Where, Begin: began.ID}
	if len(s.running) == 0 {
		changes, err := s.updateAll(context.Background())
		if err != nil {
			return err
		}
		done.Changes = s.notTheirs(began.ID, changes)
	}
	phase("ending")
	if err := s.record(&done); err != nil || len(s.running) > 0 {
		return err
	}
	return s.prune()
}

// updateAll scans all roots, as update does, and the files that steps named outside of them.
func (s *Store) updateAll(ctx context.Context) ([]Change, error) {
	var out []Change
	for _, root := range s.outerRoots() {
		t, err := s.load(root)
		if err != nil {
			return nil, err
		}
		fresh := t.fresh
		changes, err := s.update(ctx, t)
		if err != nil {
			return nil, err
		}
		if fresh {
			if err := s.writeTree(t); err != nil {
				return nil, err
			}
		}
		out = append(out, changes...)
	}
	for path := range s.touched {
		now, was, err := s.file(path)
		if err != nil {
			return nil, err
		}
		if was != nil && !was.same(now) {
			out = append(out, Change{path, *was, now})
		}
	}
	return joined(out), nil
}

// outerRoots are the roots that are in no other one.
func (s *Store) outerRoots() []string {
	var out []string
	roots := s.opt.Roots()
	for i, r := range roots {
		inside := slices.ContainsFunc(roots, func(o string) bool {
			return o != r && strings.HasPrefix(r, strings.TrimSuffix(o, "/")+"/")
		})
		if !inside && !slices.Contains(roots[:i], r) {
			out = append(out, r)
		}
	}
	return out
}

// sinceLast records the changes since the last process of the project looked: those of a step that died with its
// process, else of somebody else.
func (s *Store) sinceLast(changes []Change) error {
	if len(changes) == 0 {
		return nil
	}
	if err := s.refresh(); err != nil {
		return err
	}
	r := Record{Kind: Foreign, Changes: changes}
	if open := s.interrupted(); open != nil {
		r.Kind, r.Where, r.Begin = Interrupted, open.Where, open.ID
	}
	return s.record(&r)
}

// interrupted is the last step that began in a process that is gone, and never ended. One whose end may be lost does
// not count.
func (s *Store) interrupted() *Record {
	ended := map[string]bool{}
	for _, r := range s.records {
		ended[r.Begin] = true
	}
	for i := len(s.records) - 1; i >= 0; i-- {
		r := &s.records[i]
		if r.Kind == Began && !ended[r.ID] && !s.alive(*r) && s.lostSince(r.ID) == nil {
			return r
		}
	}
	return nil
}

// notTheirs leaves out the changes that other processes made since a record by edits and restores. Those that a command
// made beside are recorded by both steps, since it cannot be told which of them made them.
func (s *Store) notTheirs(since string, changes []Change) []Change {
	if len(changes) == 0 || s.refresh() != nil {
		return changes
	}
	named := map[string]bool{} // the beginnings of edits
	for _, r := range s.records {
		named[r.ID] = r.Kind == Began && len(r.Changes) > 0
		if r.ID <= since || s.written[r.ID] || r.Kind == Foreign || r.Kind == Step && !named[r.Begin] {
			continue
		}
		for _, c := range r.Changes {
			changes = slices.DeleteFunc(changes, func(o Change) bool { return o.Path == c.Path && o.After.same(c.After) })
		}
	}
	return changes
}
