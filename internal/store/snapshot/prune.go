package snapshot

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Pruned is what was let go.
type Pruned struct {
	Records int
	Freed   int64 // bytes
	Size    int64 // bytes that are left
}

// ErrInUse means that another process writes to the store, so nothing can be let go.
var ErrInUse = errors.New("another process of this project is using the snapshots; they are pruned when it ends")

// Prune lets the oldest snapshots go until the store takes less than limit bytes; 0 is the limit of the options. The
// contents of the files as they are now stay. Damage goes too, with the steps that cannot be taken back because of it.
func (s *Store) Prune(limit int64) (Pruned, error) {
	s.waitForLooks()
	s.mu.Lock()
	defer s.mu.Unlock()
	if limit <= 0 {
		limit = s.opt.Limit
	}
	var done Pruned
	err := s.using(func() error {
		err := s.refresh()
		if err == nil {
			done, err = s.pruneTo(limit)
		}
		return err
	})
	return done, err
}

// prune keeps the store below its limit; s.mu is held.
func (s *Store) prune() error {
	if s.seg != nil && s.seg.end > s.opt.Limit/8 && s.uses == 1 {
		if err := errors.Join(s.sync(), s.leaveSegment()); err != nil {
			return err
		}
	}
	if s.total() <= s.opt.Limit {
		return nil
	}
	done, err := s.pruneTo(s.opt.Limit)
	if errors.Is(err, ErrInUse) {
		return nil // the next step to end tries again
	}
	if err == nil && done.Records > 0 {
		s.opt.Note(fmt.Sprintf("The oldest snapshots (%d steps and changes) were let go: those of a project may take %s.",
			done.Records, size(s.opt.Limit)))
	}
	return err
}

func (s *Store) total() int64 {
	var n int64
	for _, size := range s.offsets() {
		n += size
	}
	return n
}

func (s *Store) pruneTo(limit int64) (done Pruned, err error) {
	if before := s.total(); before <= limit && len(s.damaged) == 0 {
		return Pruned{Size: before}, nil
	}
	err = s.alone(func() error { done, err = s.rewriteTo(limit); return err })
	return done, err
}

// rewriteTo puts what is to stay into a new segment, but for the segments that other processes write to.
func (s *Store) rewriteTo(limit int64) (Pruned, error) {
	if err := errors.Join(s.sync(), s.refresh()); err != nil {
		return Pruned{}, err
	}
	before, records := s.total(), len(s.records)
	old, err := segments(s.opt.Dir)
	if err != nil {
		return Pruned{}, err
	}
	held := map[string]bool{}
	for _, path := range old {
		held[path] = (s.seg == nil || s.seg.f.Name() != path) && s.held(path)
	}
	s.dropDamage(held)
	old = slices.DeleteFunc(old, func(path string) bool { return held[path] })
	live, keep := s.survivors(limit-limit/5, held)
	if err := s.rewrite(live, keep, held); err != nil {
		return Pruned{}, err
	}
	phase("renamed")
	for _, path := range old {
		phase("dropping")
		if err := os.Remove(path); err != nil {
			return Pruned{}, err
		}
	}
	s.forgetContents()
	err = s.refresh()
	s.listed, _ = segments(s.opt.Dir) // safe under the lock; an error shows at the next use, which lists them again
	done := Pruned{Records: records - len(s.records), Size: s.total()}
	done.Freed = before - done.Size
	if err == nil && len(s.damaged) > 0 {
		err = ErrInUse
	}
	return done, err
}

// survivors are the contents and the records to keep within a number of bytes, the newest records first. Those in
// segments that other processes write to stay in any case.
func (s *Store) survivors(room int64, held map[string]bool) (map[Hash]bool, []Record) {
	live := s.current()
	for h := range live {
		room -= int64(s.places[h].size)
	}
	for path := range held {
		if held[path] {
			room -= s.scanned[path]
		}
	}
	full := false
	var keep []Record
	for _, r := range slices.Backward(s.records) {
		theirs := held[s.from[r.ID]]
		if full && !theirs {
			continue
		}
		cost := int64(512)
		add := map[Hash]bool{}
		for _, c := range r.Changes {
			cost += 256
			for _, st := range []State{c.Before, c.After} {
				if h := st.Hash; st.kept() && !live[h] && !add[h] {
					add[h] = true
					if !held[s.places[h].file] {
						cost += int64(s.places[h].size)
					}
				}
			}
		}
		if !theirs {
			if room -= cost; room < 0 {
				full = true
				continue
			}
		}
		for h := range add {
			live[h] = true
		}
		keep = append(keep, r)
	}
	slices.Reverse(keep)
	return live, keep
}

// current are the contents of the covered files as they are now, of all roots.
func (s *Store) current() map[Hash]bool {
	live := map[Hash]bool{}
	add := func(_ string, st State) {
		if st.kept() {
			live[st.Hash] = true
		}
	}
	for _, t := range s.trees {
		t.root.all(add)
	}
	for path, e := range s.touched {
		add(path, e.State)
	}
	list, _ := filepath.Glob(filepath.Join(s.opt.Dir, "index-*"))
	for _, path := range list {
		if root, err := rootOf(path); err == nil && s.trees[root] == nil {
			if t, _, err := s.readTree(root); err == nil {
				t.watch.close()
				t.root.all(add)
			}
		}
	}
	return live
}

// rootOf is the root that an index file belongs to.
func rootOf(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	body, ok := bytes.CutPrefix(data, []byte(indexMagic))
	if !ok || !checked(data) {
		return "", errIndex
	}
	r := &indexReader{buf: body}
	root := r.text()
	if r.fail {
		return "", errIndex
	}
	return root, nil
}

// rewrite puts what survives into one new segment. The old ones are still there when it fails.
func (s *Store) rewrite(live map[Hash]bool, keep []Record, held map[string]bool) error {
	path := filepath.Join(s.opt.Dir, s.nextID()+".tmp")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	seg := &segment{f: f}
	err = func() error {
		for h := range live {
			at, ok := s.places[h]
			if !ok || held[at.file] {
				continue
			}
			payload, err := readPlace(at)
			if errors.Is(err, errDamaged) {
				continue
			}
			if err == nil {
				_, err = seg.append(frameBlob, payload)
			}
			if err != nil {
				return err
			}
		}
		for _, r := range keep {
			if held[s.from[r.ID]] {
				continue
			}
			if _, err := seg.record(r); err != nil {
				return err
			}
		}
		return seg.finish(s.nextID())
	}()
	for _, t := range s.trees { // what they know is what stays
		err = errors.Join(err, s.writeTree(t))
	}
	phase("rewritten")
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(path, strings.TrimSuffix(path, ".tmp")+segmentExt)
	}
	if err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return errors.Join(err, s.leaveSegment())
}

// leaveSegment ends the own segment, so that other processes may let its contents go; the next content begins a new
// one.
func (s *Store) leaveSegment() error {
	s.blobs.Lock()
	defer s.blobs.Unlock()
	if s.seg == nil {
		return nil
	}
	err := errors.Join(s.seg.finish(s.nextID()), s.seg.f.Close(), s.own.Unlock())
	s.seg, s.own = nil, nil
	return err
}

func hashOf(data []byte) Hash { return sha256.Sum256(data) }
