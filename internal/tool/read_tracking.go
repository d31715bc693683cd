package tool

import (
	"crypto/sha256"
	"io/fs"
	"slices"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/lathe-dev/lathe/internal/machine/files"
)

// trackedFiles is how many files the tracker remembers.
const trackedFiles = 500

// ReadTracker remembers the files that the model has seen and their state, so that nothing is overwritten
// blindly: a file must have been read before it is written, and be unchanged since. Safe for
// concurrent use.
type ReadTracker struct {
	files *lru.Cache[string, Seen]
	full  *keptTexts // shown by the last full Read
	made  *keptTexts // made by the model
	noted []func(path string, s Seen)

	settled  settledFiles // of Settle and Changed, which one goroutine calls
	commands atomic.Bool  // of CommandRan, since the last Settle
}

// Watch has f called with every note from now on. Call it before the tracker is used.
func (t *ReadTracker) Watch(f func(path string, s Seen)) { t.noted = append(t.noted, f) }

// Seen is the model's knowledge of one file.
type Seen struct {
	State          // the file when it was last read or written
	Lines   int    // how many lines it had; 0 when it was not read to its end
	Shown   []Span // the parts that were shown of this state
	Written bool   // the model wrote this state
	By      string // with Written: the call that wrote it
	// With Written, of a file that was edited: Needs are the calls whose results the model needs beside By to know
	// all of it. Partial: it does not know all of it.
	Needs   []string
	Partial bool
}

// Span is a range of lines, counted from 1, both ends included, and the call whose result shows it. A result that
// gives a diff shows the lines together with the results of Needs.
type Span struct {
	First, Last int
	CallID      string
	Needs       []string
}

// there reports whether the results that show the lines are still sent.
func (s Span) there(inContext func(string) bool) bool {
	if s.CallID == "" || !inContext(s.CallID) {
		return false
	}
	for _, id := range s.Needs {
		if !inContext(id) {
			return false
		}
	}
	return true
}

// Whole reports whether the model knows every line.
func (s Seen) Whole() bool {
	if s.Written && !s.Partial {
		return true
	}
	if s.Lines == 0 {
		return s.Hashed() && !s.Written
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

// calls lists the calls whose results the model's knowledge of the file rests on.
func (s Seen) calls() []string {
	var out []string
	if s.Written {
		out = append(append(out, s.By), s.Needs...)
	}
	if !s.Written || s.Partial {
		for _, sp := range s.Shown {
			out = append(append(out, sp.CallID), sp.Needs...)
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(id string) bool { return id == "" })
}

// shows reports whether a result that is still there shows exactly these lines with their numbers.
func (s Seen) shows(first, last int, there func(string) bool) bool {
	return slices.ContainsFunc(s.Shown, func(sp Span) bool {
		return sp.First == first && sp.Last == last && len(sp.Needs) == 0 && sp.there(there)
	})
}

// State identifies the content of a file: size, times and inode decide fast, the hash when they differ. A size
// and a modification time alone do not show it: tar, mv, cp -p and touch -r keep them.
type State struct {
	Mtime   time.Time
	Size    int64
	Inode   uint64            // 0: not known
	Changed int64             // when the inode was last changed, in nanoseconds; 0: not known
	Hash    [sha256.Size]byte // of the whole content; zero when only a part was read
}

// StateOf is the state of a file of which the whole content has this hash; the zero hash for a part.
func StateOf(info fs.FileInfo, hash [sha256.Size]byte) State {
	s := State{Mtime: info.ModTime(), Size: info.Size(), Hash: hash}
	s.Inode, s.Changed = files.Change(info)
	return s
}

// NewReadTracker makes an empty tracker.
func NewReadTracker() *ReadTracker {
	c, _ := lru.New[string, Seen](trackedFiles) // fails only for a size below 1
	return &ReadTracker{files: c, full: newKeptTexts(), made: newKeptTexts()}
}

// Clone makes an independent copy for another conversation, which has none of the texts that this one shows.
func (t *ReadTracker) Clone() *ReadTracker {
	c := NewReadTracker()
	for _, k := range t.files.Keys() { // oldest first
		if v, ok := t.files.Peek(k); ok {
			c.files.Add(k, v)
		}
	}
	return c
}

// Clear forgets everything.
func (t *ReadTracker) Clear() {
	t.files.Purge()
	t.full.clear()
	t.made.clear()
}

// Get returns the model's knowledge of the file at a real path.
func (t *ReadTracker) Get(path string) (Seen, bool) { return t.files.Get(path) }

// Knows reports whether the model has seen the file at a real path. Unlike Get it does not count as use.
func (t *ReadTracker) Knows(path string) bool { return t.files.Contains(path) }

// Note remembers the lines that the model has seen of the file at a real path. Those shown before of the same
// state is kept.
func (t *ReadTracker) Note(path string, s Seen) {
	if old, ok := t.files.Peek(path); ok && !s.Written && old.sameAs(s.State) {
		s.Written, s.By, s.Needs, s.Partial = old.Written, old.By, old.Needs, old.Partial
		s.Lines = max(s.Lines, old.Lines)
		if !s.Hashed() {
			s.Hash = old.Hash
		}
		s.Shown = append(slices.Clone(s.Shown), old.Shown[:min(len(old.Shown), maxSpans)]...)
	}
	t.files.Add(path, s)
	for _, f := range t.noted {
		f(path, s)
	}
}

// Wrote remembers that the model itself gave the file this content, all of it.
func (t *ReadTracker) Wrote(path, callID string, info fs.FileInfo, data []byte) {
	s := Seen{State: StateOf(info, HashOf(data)), Written: true, By: callID}
	t.keep(path, s, data)
	t.Note(path, s)
}

// keep keeps the text of a file that the model made, to show what others change in it.
func (t *ReadTracker) keep(path string, s Seen, data []byte) {
	if len(data) <= keptBytes/4 {
		text := files.Decode(data)
		t.made.add(path, keptText{s.State, text.Encoding, text.View, s.By})
	}
}

// Edited remembers that the model changed a part of the file, which has this content now. Its knowledge of
// the rest is kept.
func (t *ReadTracker) Edited(path, callID string, info fs.FileInfo, data []byte) {
	s := Seen{State: StateOf(info, HashOf(data)), Written: true, By: callID}
	old, ok := t.files.Peek(path)
	s.Partial = !ok || !old.Whole()
	s.Needs = old.calls()
	t.keep(path, s, data)
	t.Note(path, s)
}

// maxSpans is how many earlier looks at one file are remembered.
const maxSpans = 16

// Forget drops a file.
func (t *ReadTracker) Forget(path string) {
	t.files.Remove(path)
	t.full.forget(path)
	t.made.forget(path)
}

// HashOf is the hash of a whole content.
func HashOf(data []byte) [sha256.Size]byte { return sha256.Sum256(data) }

// Same reports whether a file with this info is unchanged, as far as can be told without reading it.
func (s State) Same(info fs.FileInfo) bool {
	return info != nil && s.stamp() == StateOf(info, s.Hash).stamp()
}

// sameAs reports whether two states are of one content.
func (s State) sameAs(o State) bool {
	if s.Hashed() && o.Hashed() {
		return s.Hash == o.Hash
	}
	return s.stamp() == o.stamp()
}

// stamp is the state without the hash, which takes reading.
func (s State) stamp() [4]int64 {
	return [4]int64{s.Mtime.UnixNano(), s.Size, int64(s.Inode), s.Changed} //nolint:gosec // compared only
}

// Hashed reports whether the whole content was hashed.
func (s State) Hashed() bool { return s.Hash != [sha256.Size]byte{} }
