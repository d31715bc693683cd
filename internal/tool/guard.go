package tool

import (
	"crypto/sha256"
	"io/fs"
	"slices"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// guardSize is how many files the guard remembers.
const guardSize = 500

// Guard remembers which files the model has seen and in what state, so that nothing is overwritten
// blindly: a file must have been read before it is written, and must still be what was read. Safe for
// concurrent use.
type Guard struct {
	files *lru.Cache[string, Seen]
}

// Seen is what the model knows of one file.
type Seen struct {
	State          // the file when it was last read or written
	Lines   int    // how many lines it had; 0 when it was not read to its end
	Shown   []Span // the parts that were shown of this state
	Written bool   // the model wrote this state, so it knows all of it
}

// Span is a range of lines, counted from 1, both ends included, and the call whose result shows it.
type Span struct {
	First, Last int
	CallID      string
}

// Whole reports whether the model knows every line.
func (s Seen) Whole() bool {
	if s.Written || s.Lines == 0 && s.Hashed() {
		return true
	}
	if s.Lines == 0 {
		return false
	}
	next := 1
	for grown := true; grown && next <= s.Lines; {
		grown = false
		for _, sp := range s.Shown {
			if sp.First <= next && sp.Last >= next {
				next, grown = sp.Last+1, true
			}
		}
	}
	return next > s.Lines
}

// shownBy returns the call whose result shows these lines, if its result is still there.
func (s Seen) shownBy(first, last int, there func(string) bool) (string, bool) {
	for _, sp := range s.Shown {
		if sp.First <= first && sp.Last >= last && sp.CallID != "" && there(sp.CallID) {
			return sp.CallID, true
		}
	}
	return "", false
}

// State identifies the content of a file: modification time and size decide fast, the hash when they
// differ.
type State struct {
	Mtime time.Time
	Size  int64
	Hash  [sha256.Size]byte // of the whole content; zero when only a part was read
}

// NewGuard makes an empty guard.
func NewGuard() *Guard {
	c, _ := lru.New[string, Seen](guardSize) // fails only for a size below 1
	return &Guard{c}
}

// Clone makes an independent copy.
func (g *Guard) Clone() *Guard {
	c := NewGuard()
	for _, k := range g.files.Keys() { // oldest first
		if v, ok := g.files.Peek(k); ok {
			c.files.Add(k, v)
		}
	}
	return c
}

// Clear forgets everything.
func (g *Guard) Clear() { g.files.Purge() }

// Get tells what the model knows of the file at a real path.
func (g *Guard) Get(path string) (Seen, bool) { return g.files.Get(path) }

// Note remembers what the model has seen of the file at a real path. What was shown before of the same
// state is kept.
func (g *Guard) Note(path string, s Seen) {
	if old, ok := g.files.Peek(path); ok && !s.Written && old.Mtime.Equal(s.Mtime) && old.Size == s.Size {
		s.Written = old.Written
		s.Lines = max(s.Lines, old.Lines)
		if !s.Hashed() {
			s.Hash = old.Hash
		}
		s.Shown = append(slices.Clone(s.Shown), old.Shown[:min(len(old.Shown), maxSpans)]...)
	}
	g.files.Add(path, s)
}

// Wrote remembers that the model itself gave the file this content.
func (g *Guard) Wrote(path string, info fs.FileInfo, data []byte) {
	g.Note(path, Seen{State: State{info.ModTime(), info.Size(), HashOf(data)}, Written: true})
}

// maxSpans is how many earlier looks at one file are remembered.
const maxSpans = 16

// Forget drops a file.
func (g *Guard) Forget(path string) { g.files.Remove(path) }

// HashOf is the hash of a whole content.
func HashOf(data []byte) [sha256.Size]byte { return sha256.Sum256(data) }

// Same reports whether a file with this info is what was seen, as far as time and size tell.
func (s State) Same(info fs.FileInfo) bool {
	return info != nil && info.Size() == s.Size && info.ModTime().Equal(s.Mtime)
}

// Hashed reports whether the whole content was hashed.
func (s State) Hashed() bool { return s.Hash != [sha256.Size]byte{} }
