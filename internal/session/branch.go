package session

import (
	"iter"
	"slices"
)

// Branch is the head branch of a session as it was at one moment, by places from 0. It reads entries only
// when they are asked for, and stays readable until the session is closed.
type Branch struct {
	s    *Session
	refs []ref
}

// Branch notes what the head branch is.
func (s *Session) Branch() Branch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Branch{s, s.pick(s.j.branch(s.j.head))}
}

// Len is how many entries there are.
func (b Branch) Len() int { return len(b.refs) }

// ID is the id of the entry at a place.
func (b Branch) ID(at int) string { return b.refs[at].id }

// Kind is the kind of the entry at a place.
func (b Branch) Kind(at int) string { return b.refs[at].kind }

// Find is the place of an entry; -1 for "", which is before the first; false when it is not on the branch.
func (b Branch) Find(id string) (int, bool) {
	if id == "" {
		return -1, true
	}
	for at := range slices.Backward(b.refs) {
		if b.refs[at].id == id {
			return at, true
		}
	}
	return 0, false
}

// Entries yields the entries from a place up to another, which is not included, with their places. What
// cannot be read is left out; Verify tells about it.
func (b Branch) Entries(from, to int) iter.Seq2[int, Entry] {
	return func(yield func(int, Entry) bool) {
		at := from
		b.s.entries(b.refs[from:to], func(e Entry) bool {
			for b.refs[at].id != e.ID {
				at++
			}
			return yield(at, e)
		})
	}
}
