package snapshot

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/gofrs/flock"
)

// refresh reads what all segments hold that was not read yet; s.mu is held.
func (s *Store) refresh() error {
	list, err := segments(s.opt.Dir)
	if err != nil {
		return err
	}
	if missingIn(list, maps.Keys(s.scanned)) {
		s.behind = true
		s.forgetContents()
	}
	s.blobs.Lock()
	defer s.blobs.Unlock()
	var total int64
	for _, path := range list {
		end, err := scanSegment(path, s.scanned[path], func(h Hash, _ int64, at place) {
			s.known[h], s.places[h] = true, at
		}, func(r Record) {
			if !s.ids[r.ID] {
				s.ids[r.ID], s.from[r.ID] = true, path
				s.records = append(s.records, r)
			}
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		s.scanned[path] = end
		total += end
	}
	s.size = total
	slices.SortStableFunc(s.records, func(a, b Record) int { return strings.Compare(a.ID, b.ID) })
	return nil
}

// alive reports whether the process that wrote a record still has its store open.
func (s *Store) alive(r Record) bool { return s.written[r.ID] || s.held(s.from[r.ID]) }

// held reports whether another process writes to a segment.
func (s *Store) held(path string) bool {
	if path == "" {
		return false
	}
	l := flock.New(path, flock.SetFlag(os.O_RDONLY))
	ok, err := l.TryRLock()
	if ok {
		_ = l.Unlock()
	}
	return err == nil && !ok
}

// offsets are the sizes of all segments.
func (s *Store) offsets() map[string]int64 {
	out := map[string]int64{}
	list, _ := segments(s.opt.Dir) // an offset that is missing costs time, and nothing else
	for _, path := range list {
		if info, err := os.Stat(path); err == nil {
			out[path] = info.Size()
		}
	}
	return out
}
