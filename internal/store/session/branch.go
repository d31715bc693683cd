package session

import (
	"iter"
	"slices"
	"sync"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Branch is the head branch of a session as it was at one moment, by places from 0. It reads entries only
// when they are asked for, and stays readable until the session is closed.
type Branch struct {
	pick
	s     *Session
	known func() *knownTexts
	meta  bool
	holds []byte                // see Holding
	texts func(llm.Origin) bool // see Texts
}

// Branch returns the branch of the head as it is now.
func (s *Session) Branch() Branch {
	s.mu.Lock()
	defer s.mu.Unlock()
	msgs := s.t.msgs[:len(s.t.msgs):len(s.t.msgs)]
	return Branch{s: s, pick: s.j.branch(s.j.head), known: sync.OnceValue(func() *knownTexts { return textsOf(msgs) })}
}

// Everything is all entries, whatever their branch, in the order of the log.
func (s *Session) Everything() Branch {
	b := s.Branch()
	s.mu.Lock()
	defer s.mu.Unlock()
	b.pick = s.j.all()
	return b
}

// Since returns the end of the head's branch behind an entry, "" for all of it, in time that grows with the entries in
// it and not with those before. False when the entry is not on the branch. Texts are not shared with Messages.
func (s *Session) Since(id string) (Branch, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from, ok := int32(-1), true
	if id != "" {
		from, ok = find(&s.j.index, id)
	}
	if !ok {
		return Branch{}, false
	}
	end, ok := s.j.after(from, s.j.head)
	return Branch{s: s, pick: end}, ok
}

// Only is the branch without the entries of other kinds.
func (b Branch) Only(kinds ...string) Branch {
	b.pick = b.only(func(kind string) bool { return slices.Contains(kinds, kind) })
	return b
}

// Holding returns the branch reduced to entries whose log lines contain text, a plain name that needs no escaping.
// Other lines are skipped without decoding.
func (b Branch) Holding(text string) Branch {
	b.holds = []byte(text)
	return b
}

// Texts returns the branch with texts of these origins only; all others are empty, which saves time and memory.
func (b Branch) Texts(origins ...llm.Origin) Branch {
	b.texts = func(o llm.Origin) bool { return slices.Contains(origins, o) }
	return b
}

// WithMeta is the branch whose entries bring the structured output of results, which others leave out.
func (b Branch) WithMeta() Branch {
	b.meta = true
	return b
}

// Len is how many entries there are.
func (b Branch) Len() int { return len(b.at) }

// ID is the id of the entry at a place.
func (b Branch) ID(at int) string { return b.id(b.ref(at)) }

// Kind is the kind of the entry at a place.
func (b Branch) Kind(at int) string { return b.kind(b.ref(at)) }

// Find is the place of an entry; -1 for "", which is before the first; false when it is not on the branch.
func (b Branch) Find(id string) (int, bool) {
	if id == "" {
		return -1, true
	}
	place, ok := b.s.place(id)
	if !ok {
		return 0, false
	}
	return slices.BinarySearch(b.at, place)
}

// Entries yields the entries from a place up to another, which is not included, with their places. Entries
// that cannot be read are left out; Verify reports them. The View and Meta of a result are valid until the next
// entry. Texts that are in Messages are the same strings, so that a history costs little memory.
func (b Branch) Entries(from, to int) iter.Seq2[int, Entry] {
	return func(yield func(int, Entry) bool) {
		dec := &decoder{scan: scanner{known: b.known}, borrow: true, noMeta: !b.meta, holds: b.holds, texts: b.texts}
		part := b.pick
		part.at = b.at[from:to]
		_, _ = part.eachBody(b.s.whole(), dec, func(i int, env envelope, body Body) bool {
			return yield(from+i, env.entry(body))
		})
	}
}
