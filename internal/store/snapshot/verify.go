package snapshot

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Verified is the result of a check.
type Verified struct {
	Contents, Records int
	Size              int64
	Problems          []string
}

const elsewhere = "undo leaves the file as it is, so take it from git or a backup"

// Verify reads everything from the disk and checks it.
func (s *Store) Verify() (Verified, error) {
	s.waitForLooks()
	s.mu.Lock()
	defer s.mu.Unlock()
	disk := New(Options{Dir: s.opt.Dir, Roots: s.opt.Roots}) // knows nothing yet
	if err := disk.refresh(); err != nil {
		return Verified{}, err
	}
	v := Verified{Contents: len(disk.places), Records: len(disk.records), Size: disk.total()}
	for _, d := range disk.damaged {
		v.Problems = append(v.Problems, d.String())
	}
	for path := range disk.scanned {
		problems, err := disk.contents(path)
		if err != nil {
			return Verified{}, err
		}
		v.Problems = append(v.Problems, problems...)
	}
	v.Problems = append(v.Problems, slices.Concat(disk.missing(), disk.indexes(), disk.lostMarker())...)
	slices.Sort(v.Problems)
	return v, nil
}

// contents checks the contents of a segment, and its end.
func (s *Store) contents(path string) (problems []string, err error) {
	users := s.users()
	w := walk{record: func(Record) {}, damaged: func(int64, int64) {}, live: func() bool { return s.held(path) }}
	w.blob = func(h Hash, at place) {
		payload, err := readPlace(at)
		if err == nil {
			_, _, err = decodeBlob(payload)
		}
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s, byte %d: the content of %s cannot be read: %v; %s",
				path, at.off-frameHead, cmp.Or(users[h], "a file that no step changed"), err, elsewhere))
		}
	}
	end, err := w.read(path, 0)
	if n := w.size - end; err == nil && n > 0 && !s.held(path) {
		problems = append(problems, fmt.Sprintf("%s, byte %d: %d bytes at its end are torn: a process was killed while it "+
			"wrote "+
			"them; nothing else is lost, and nothing is to be done", path, end, n))
	}
	return problems, err
}

// users names a file, and a snapshot, for each content.
func (s *Store) users() map[Hash]string {
	out := map[Hash]string{}
	for _, r := range s.records {
		for _, c := range r.Changes {
			out[c.Before.Hash] = fmt.Sprintf("%s before snapshot %s", s.rel(c.Path), r.ID)
			out[c.After.Hash] = fmt.Sprintf("%s after snapshot %s", s.rel(c.Path), r.ID)
		}
	}
	return out
}

// missing lists the contents of records that no segment has.
func (s *Store) missing() (problems []string) {
	for _, r := range s.records {
		for _, c := range r.Changes {
			for _, st := range []State{c.Before, c.After} {
				if _, ok := s.places[st.Hash]; (st.Kind == File || st.Kind == Link) && st.kept() && !ok {
					text := "snapshot %s: a content of %s is missing; %s"
					problems = append(problems, fmt.Sprintf(text, r.ID, s.rel(c.Path), elsewhere))
				}
			}
		}
	}
	return problems
}

// indexes checks the indexes.
func (s *Store) indexes() (problems []string) {
	list, _ := filepath.Glob(filepath.Join(s.opt.Dir, "index-*")) // the pattern is valid
	for _, path := range list {
		data, err := os.ReadFile(path)
		if err == nil && !checked(data) && filepath.Ext(path) == "" {
			err = errIndex
		}
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s: %v: changes since the last conversation are not recorded; "+
				"the next command in its folder makes it again, or remove it", path, err))
		}
	}
	return problems
}

// lostMarker checks that a restore that was cut off can be finished.
func (s *Store) lostMarker() []string {
	id, err := os.ReadFile(s.marker())
	if err != nil || s.ids[string(id)] {
		return nil
	}
	return []string{fmt.Sprintf("%s: the undo that was cut off cannot be found: some files are as before it, some as "+
		"after it; lathe undo or lathe redo brings the others there", s.marker())}
}
