package tool

import (
	"crypto/sha256"
	"io/fs"
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
	State            // the file when it was seen
	Shown  []Span    // the lines that were shown, in order, apart; nil after a write means all
	Whole  bool      // all of it was shown, or the model wrote it
	CallID string    // the Read whose result shows it as it is; empty after a write
	At     time.Time // when
}

// State identifies the content of a file: modification time and size decide fast, the hash when they
// differ.
type State struct {
	Mtime time.Time
	Size  int64
	Hash  [sha256.Size]byte // of the whole content; zero when only a part was read
}

// Span is a range of lines, counted from 1, both ends included.
type Span struct{ First, Last int }

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

// Note remembers what the model has seen of the file at a real path.
func (g *Guard) Note(path string, s Seen) { g.files.Add(path, s) }

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
