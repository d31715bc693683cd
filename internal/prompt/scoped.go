package prompt

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Scoped gives memory when work reaches the files that it is for: rules with patterns, and the memory files of
// folders below the working one. Each is given once, until Reset, and again when Reload found it changed. It is safe
// for concurrent use.
type Scoped struct {
	o ContextOptions

	mu     sync.Mutex
	l      *loader           // nil until the first file is touched
	given  map[string]string // the texts that the conversation has, by path
	opened map[string]bool   // folders whose memory files were read
}

// scopedLimit is how many bytes of memory one touched file brings; the rest is named.
const scopedLimit = 20_000

// NewScoped makes the scoped memory of a session. Nothing is read yet.
func NewScoped(o ContextOptions) *Scoped {
	return &Scoped{o: o, given: map[string]string{}, opened: map[string]bool{}}
}

// Reset forgets the memory given and the files read, because they are no longer in the conversation.
func (s *Scoped) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.l, s.given, s.opened = nil, map[string]string{}, map[string]bool{}
}

// Reload makes the next use read the files again. A text that is already in the conversation is repeated only if it
// changed.
func (s *Scoped) Reload() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.l, s.opened = nil, map[string]bool{}
}

// For returns the memory for a file or folder that the conversation does not have yet, as text for the model, or
// an empty string.
func (s *Scoped) For(path string) string {
	if s.o.NoMemory || s.o.NoProject && s.o.NoUser {
		return ""
	}
	path = resolved(path)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open()
	notes := len(s.l.Notes)
	entries := s.fresh(s.enter(path))
	s.o.loaded(entries, "nested_traversal", path)
	var rules []Entry
	for _, r := range s.l.rules {
		if r.matches(path) {
			rules = append(rules, r.Entry)
		}
	}
	rules = s.fresh(rules)
	s.o.loaded(rules, byPattern, path)
	return scopedText(append(entries, rules...), s.l.Notes[notes:])
}

// fresh leaves out the entries that the conversation has, and notes the others.
func (s *Scoped) fresh(entries []Entry) (out []Entry) {
	for _, e := range entries {
		if old, ok := s.given[e.Path]; ok && old == e.Text {
			continue
		}
		s.given[e.Path] = e.Text
		out = append(out, e)
	}
	return out
}

// resolved follows the links of the part of a path that exists, since patterns and folders are compared by it.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if real, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(real, filepath.Base(path))
	}
	return filepath.Clean(path)
}

// open reads the memory that the conversation began with, so that none of it is given again.
func (s *Scoped) open() {
	if s.l != nil {
		return
	}
	s.o.Dir, s.o.Root = resolved(s.o.Dir), resolved(s.top())
	s.l = newLoader(s.o)
	s.l.all()
	for _, dir := range ancestors(s.o.Dir) {
		s.opened[dir] = true
	}
}

func (s *Scoped) top() string {
	if s.o.Root != "" {
		return s.o.Root
	}
	return s.o.Dir
}

// enter loads the memory files of the folders of the project on the way to a path.
func (s *Scoped) enter(path string) []Entry {
	if !within(s.o.Root, path) && !within(s.o.Dir, path) {
		return nil
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		path = filepath.Dir(path)
	}
	before := len(s.l.Entries)
	for _, dir := range ancestors(path) {
		if !s.opened[dir] && (within(s.o.Root, dir) || within(s.o.Dir, dir)) {
			s.opened[dir] = true
			s.l.project(dir)
		}
	}
	return slices.Clone(s.l.Entries[before:])
}

func scopedText(entries []Entry, notes []string) string {
	if len(entries) == 0 && len(notes) == 0 {
		return ""
	}
	var b strings.Builder
	room := scopedLimit
	for _, e := range entries {
		if len(e.Text) > room {
			fmt.Fprintf(&b, "Instructions for files like this one are in %s; read it before you change them.\n",
				oneLine(e.Path, 1000))
			continue
		}
		room -= len(e.Text)
		fmt.Fprintf(&b, "Instructions for files like this one, from %s (%s):\n\n%s\n\n", oneLine(e.Path, 1000), e.Source,
			e.Text)
	}
	for _, n := range notes[:min(len(notes), 5)] {
		b.WriteString("Note: " + oneLine(n, 1000) + "\n")
	}
	return reminder(strings.TrimSpace(b.String()))
}
