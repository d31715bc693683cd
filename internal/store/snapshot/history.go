package snapshot

import (
	"fmt"
	"slices"
	"strings"
)

// Snapshot is one change of files in the history of a store, for people.
type Snapshot struct {
	ID    string
	Kinds []string // of its records, each once
	Where
	Records []Record // in order; with changes only
	Undone  bool
	Dropped bool // undone, and no part of its branch any more
}

// Changes joins the changes of the records by path: the state before the first and after the last.
func (n Snapshot) Changes() []Change { return chain(n.Records) }

func chain(list []Record) []Change {
	at := map[string]int{}
	var out []Change
	for _, r := range list {
		for _, c := range r.Changes {
			if i, ok := at[c.Path]; ok {
				out[i].After = c.After
				continue
			}
			at[c.Path] = len(out)
			out = append(out, c)
		}
	}
	out = slices.DeleteFunc(out, func(c Change) bool { return c.Before.same(c.After) })
	slices.SortFunc(out, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// steps are the kinds that a session undoes.
var steps = []string{Step, Background, Interrupted}

// List lists the changes of all sessions of the project and of others, the oldest first. The steps of one reply of the
// model are one.
func (s *Store) List() ([]Snapshot, error) {
	s.waitForLooks()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refresh(); err != nil {
		return nil, err
	}
	return s.list(), nil
}

func (s *Store) list() []Snapshot {
	var out []Snapshot
	undone, dropped := s.undone()
	groups := map[string]int{}
	for _, r := range s.records {
		if len(r.Changes) == 0 || r.Kind == Began || r.Kind == restoring {
			continue
		}
		key := r.Session + "\x00" + r.Message + "\x00" + r.Group
		i, ok := groups[key]
		if !ok || r.Group == "" || !slices.Contains(steps, r.Kind) {
			i = len(out)
			out = append(out, Snapshot{ID: r.ID, Where: r.Where, Undone: undone[r.ID], Dropped: dropped[r.ID]})
			if r.Group != "" {
				groups[key] = i
			}
		}
		n := &out[i]
		n.Records = append(n.Records, r)
		if !slices.Contains(n.Kinds, r.Kind) {
			n.Kinds = append(n.Kinds, r.Kind)
		}
		if len(n.Records) > 1 && !strings.Contains(n.Title, r.Title) {
			n.Title += "; " + r.Title
		}
	}
	return out
}

// undone are the records that an undo took back and no redo brought again; dropped those of them that are no part of
// their branch of the conversation any more, since the conversation did not go back with them.
func (s *Store) undone() (undone, dropped map[string]bool) {
	undone, dropped = map[string]bool{}, map[string]bool{}
	by := map[string]Record{}
	for _, r := range s.records {
		switch r.Kind {
		case Undo, Restore, Switch:
			by[r.ID] = r
			for _, id := range r.Of {
				undone[id], dropped[id] = true, !r.Kept
			}
			for _, id := range r.Again {
				delete(undone, id)
			}
		case Redo:
			for _, of := range r.Of {
				undone[of] = true
				for _, id := range by[of].Of {
					delete(undone, id)
					delete(dropped, id)
				}
				for _, id := range by[of].Again {
					undone[id] = true
				}
			}
		}
	}
	return undone, dropped
}

// History is the changes of one session, or of one with those it was forked from.
type History struct {
	Store    *Store
	Sessions []string
	// Branch reports whether a message is on the branch of the conversation that is in front; nil: all are.
	Branch func(message string) bool
}

// Steps lists the session's steps that changed files and were not undone, the oldest first.
func (h History) Steps() ([]Snapshot, error) {
	all, err := h.Store.List()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(n Snapshot) bool {
		return n.Undone || !h.has(n.Where) || !slices.Contains(steps, n.Kinds[0])
	}), nil
}

func (h History) has(w Where) bool {
	return slices.Contains(h.Sessions, w.Session) && (h.Branch == nil || w.Message == "" || h.Branch(w.Message))
}

// ids are the ids of the records of some snapshots.
func ids(list []Snapshot) []string {
	var out []string
	for _, n := range list {
		for _, r := range n.Records {
			out = append(out, r.ID)
		}
	}
	return out
}

// Undo plans to take back the last n steps.
func (h History) Undo(n int) (*Plan, error) {
	list, err := h.Steps()
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, h.Store.nothing()
	}
	return h.plan(Undo, list[max(0, len(list)-n):])
}

// Since plans to take back all steps that serve one of some messages.
func (h History) Since(messages []string) (*Plan, error) {
	list, err := h.Steps()
	if err != nil {
		return nil, err
	}
	if err := h.lost(messages); err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(n Snapshot) bool { return !slices.Contains(messages, n.Message) })
	if len(list) == 0 {
		return nil, ErrNothing
	}
	p, err := h.plan(Undo, list)
	if p != nil {
		p.kept = true
	}
	return p, err
}

// lost is an error if a step that serves one of some messages may be lost.
func (h History) lost(messages []string) error {
	h.Store.mu.Lock()
	defer h.Store.mu.Unlock()
	return h.Store.lostBeside(func(r Record) bool {
		return slices.Contains(h.Sessions, r.Session) && slices.Contains(messages, r.Message)
	})
}

// Redo plans to bring back what the last undo took back. After a new step there is nothing to redo.
func (h History) Redo() (*Plan, error) {
	all, err := h.Store.List()
	if err != nil {
		return nil, err
	}
	for _, n := range slices.Backward(all) {
		switch {
		case !slices.Contains(h.Sessions, n.Session) || n.Undone || n.Kinds[0] == Redo:
		case n.Kinds[0] == Undo || n.Kinds[0] == Restore || n.Kinds[0] == Switch:
			return h.plan(Redo, []Snapshot{n})
		case slices.Contains(steps, n.Kinds[0]):
			return nil, ErrNothing
		}
	}
	return nil, h.Store.nothing()
}

// plan makes the plan that reverses snapshots.
func (h History) plan(kind string, list []Snapshot) (*Plan, error) {
	p := &Plan{Kind: kind, Of: ids(list), Steps: list, store: h.Store}
	if len(h.Sessions) > 0 {
		p.Session = h.Sessions[len(h.Sessions)-1]
	}
	return p, p.look(inOrder(list))
}

// Joined are the changes of several snapshots by path: the state before the first and after the last.
func Joined(list []Snapshot) []Change {
	var records []Record
	for _, n := range list {
		records = append(records, n.Records...)
	}
	return chain(records)
}

// Theirs lists the changes that somebody else made since the session's first step, the oldest first.
func (h History) Theirs() ([]Snapshot, error) {
	all, err := h.Store.List()
	if err != nil {
		return nil, err
	}
	first := slices.IndexFunc(all, func(n Snapshot) bool { return slices.Contains(h.Sessions, n.Session) })
	if first < 0 {
		return nil, nil
	}
	return slices.DeleteFunc(all[first:], func(n Snapshot) bool { return n.Kinds[0] != Foreign }), nil
}

// Find is the snapshot whose id begins with a name.
func (s *Store) Find(name string) (Snapshot, error) {
	all, err := s.List()
	if err != nil {
		return Snapshot{}, err
	}
	var found []Snapshot
	for _, n := range all {
		if strings.HasPrefix(n.ID, name) {
			found = append(found, n)
		}
	}
	if len(found) != 1 {
		return Snapshot{}, fmt.Errorf("%d snapshots begin with %q; lathe snapshot list shows them", len(found), name)
	}
	return found[0], nil
}

// Restore plans a restore of all files to their state before a snapshot, regardless of who changed them since. With
// paths (absolute, or relative to a root) it covers only these.
func (s *Store) Restore(n Snapshot, paths []string) (*Plan, error) {
	all, err := s.List()
	if err != nil {
		return nil, err
	}
	from := slices.IndexFunc(all, func(o Snapshot) bool { return o.ID == n.ID })
	if from < 0 {
		return nil, ErrNothing
	}
	p, err := History{Store: s, Sessions: []string{n.Session}}.plan(Restore, all[from:])
	if err != nil || len(paths) == 0 {
		return p, err
	}
	p.Of = nil // the steps are taken back in part only
	p.Files = slices.DeleteFunc(p.Files, func(f PlannedFile) bool {
		return !slices.ContainsFunc(paths, func(path string) bool {
			return f.Path == path || p.Rel(f) == path || strings.HasPrefix(p.Rel(f), strings.TrimSuffix(path, "/")+"/")
		})
	})
	return p, nil
}
