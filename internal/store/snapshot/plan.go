package snapshot

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrNothing means that there is no step to undo or redo.
var ErrNothing = errors.New("there is nothing to undo or redo: no step changed a covered file since")

// Choice is what happens to a file that somebody else changed since.
type Choice string

// The choices. Keep is the default.
const (
	Keep  Choice = "keep"  // theirs
	Take  Choice = "take"  // the snapshot's; theirs is kept in the store
	Merge Choice = "merge" // three ways; a file with conflicts is kept
)

// Plan is a set of files to bring back, before anything is done.
type Plan struct {
	Kind    string // Undo, Redo, Restore or Switch
	Session string
	Of      []string
	Again   []string // records that it does again
	Steps   []Snapshot
	Files   []PlannedFile

	store *Store
	kept  bool // the steps stay part of their branch of the conversation
}

// PlannedFile is one file of a plan.
type PlannedFile struct {
	Path string
	Now  State
	To   State
	// Foreign: somebody else changed it since. Without a choice it is left alone.
	Foreign bool
	// Blocked is the reason why the file cannot be brought back at all, or empty.
	Blocked string

	back []Change // the steps' changes, in order
}

// Ready reports whether the file changes without a choice.
func (f PlannedFile) Ready() bool { return !f.Foreign && f.Blocked == "" }

// Kept reports, of a redo, whether the steps that it brings back stayed part of their branch of the conversation, which
// went back too.
func (p *Plan) Kept() bool {
	return slices.ContainsFunc(p.Steps, func(n Snapshot) bool {
		return slices.ContainsFunc(n.Records, func(r Record) bool { return r.Kept })
	})
}

// Conflicts are the files that somebody else changed since.
func (p *Plan) Conflicts() []PlannedFile {
	return slices.DeleteFunc(slices.Clone(p.Files), func(f PlannedFile) bool { return !f.Foreign })
}

// look fills in the files from the records to reverse, as they are now.
func (p *Plan) look(records []Record) error {
	s := p.store
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.lostBeside(func(r Record) bool {
		return slices.ContainsFunc(records, func(o Record) bool {
			return r.ID == o.ID || r.ID == o.Begin || r.Group != "" && r.Group == o.Group && r.Session == o.Session
		})
	})
	if err != nil {
		return err
	}
	at := map[string]int{}
	for _, r := range records {
		beside := s.beside(r)
		for _, c := range r.Changes {
			i, ok := at[c.Path]
			if !ok {
				i = len(p.Files)
				at[c.Path] = i
				p.Files = append(p.Files, PlannedFile{Path: c.Path, To: c.Before})
			}
			f := &p.Files[i]
			f.Foreign = f.Foreign || beside[c.Path]
			if n := len(f.back); n > 0 && !f.back[n-1].After.same(c.Before) {
				f.Foreign = true // somebody changed it between two of the steps
			}
			f.back = append(f.back, c)
		}
	}
	for i := range p.Files {
		f := &p.Files[i]
		now, err := s.now(f.Path)
		if err != nil {
			return err
		}
		last := f.back[len(f.back)-1].After
		f.Now = now
		if !now.same(last) {
			f.Foreign = true
		}
		f.Blocked = s.blocked(now, f.To)
	}
	p.Files = slices.DeleteFunc(p.Files, func(f PlannedFile) bool { return f.Now.same(f.To) })
	slices.SortFunc(p.Files, func(a, b PlannedFile) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

// beside are the files that steps of other conversations changed while the step of a record ran: it cannot be told
// which of them made a change.
func (s *Store) beside(r Record) map[string]bool {
	if r.Kind != Step || r.Begin == "" {
		return nil
	}
	out := map[string]bool{}
	for _, o := range s.records {
		step := o.Kind == Began || o.Kind == Step
		if step && o.Session != r.Session && o.ID > r.Begin && cmp.Or(o.Begin, o.ID) < r.ID {
			for _, c := range o.Changes {
				out[c.Path] = true
			}
		}
	}
	return out
}

// blocked is the reason why a file cannot go from one state to another without a loss, or empty.
func (s *Store) blocked(now, to State) string {
	switch {
	case to.Kind == Unknown:
		return "it was not covered before the step"
	case to.Uncovered != "":
		return "its content before the step was not kept: " + to.Uncovered
	case now.Kind == Unknown:
		return "what is there now is neither a file, a link nor a folder"
	case now.Uncovered != "" && !(to.Kind == now.Kind && to.Hash == now.Hash):
		return "its content now could not be kept: " + now.Uncovered
	}
	if to.Kind == File || to.Kind == Link {
		s.blobs.Lock()
		_, ok := s.places[to.Hash]
		s.blobs.Unlock()
		if !ok {
			return "its content before the step is no longer kept"
		}
	}
	return ""
}

// now is a file's state, without storing its content.
func (s *Store) now(path string) (State, error) {
	if inDisguise(path) {
		return State{}, nil
	}
	st, _, _, err := s.inspect(path, func(Hash, []byte) error { return nil })
	return st, err
}

// Rel is the path of a file for people.
func (p *Plan) Rel(f PlannedFile) string { return p.store.rel(f.Path) }

// Merged merges three ways: the file as it is now, with the changes of the steps taken out. conflicts counts the places
// where both changed the same lines.
func (p *Plan) Merged(f PlannedFile) (merged []byte, conflicts int, err error) {
	if f.Now.Kind != File || f.To.Kind != File {
		return nil, 0, errors.New("only texts can be merged")
	}
	text, err := p.store.text(f.Path, f.Now)
	if err != nil {
		return nil, 0, err
	}
	for _, c := range slices.Backward(f.back) {
		base, err := p.store.textOf(c.After)
		if err != nil {
			return nil, 0, err
		}
		before, err := p.store.textOf(c.Before)
		if err != nil {
			return nil, 0, err
		}
		var n int
		text, n = merge3(base, before, text)
		conflicts += n
	}
	return []byte(text), conflicts, nil
}

func (s *Store) textOf(st State) (string, error) {
	if st.Kind != File {
		return "", errors.New("only texts can be merged")
	}
	data, err := s.content(st.Hash)
	if err != nil {
		return "", err
	}
	return checkText(data)
}

func (s *Store) text(path string, st State) (string, error) {
	if st.Kind == None {
		return "", nil
	}
	data, err := readFile(path, s.opt.MaxFile)
	if err != nil {
		return "", fmt.Errorf("%s: %w", s.rel(path), err)
	}
	return checkText(data)
}

func checkText(data []byte) (string, error) {
	if slices.Contains(data[:min(len(data), 8000)], 0) {
		return "", errors.New("only texts can be merged")
	}
	return string(data), nil
}
