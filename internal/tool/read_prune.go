package tool

import "slices"

// Prune forgets the lines shown by calls whose results are no longer sent. A file of which
// nothing is left has to be read again before it is changed.
func (t *ReadTracker) Prune(there func(callID string) bool) {
	for _, path := range t.files.Keys() {
		seen, ok := t.files.Peek(path)
		if !ok {
			continue
		}
		if base, ok := t.full.get(path); ok && !there(base.callID) {
			t.full.forget(path)
		}
		if seen, ok = seen.prune(there); ok {
			t.files.Add(path, seen)
		} else {
			t.files.Remove(path)
		}
	}
}

// prune is the knowledge that the results still sent give; false when that is none.
func (s Seen) prune(there func(callID string) bool) (Seen, bool) {
	s.Shown = slices.DeleteFunc(slices.Clone(s.Shown), func(sp Span) bool { return sp.CallID != "" && !sp.there(there) })
	gone := func(id string) bool { return !there(id) }
	s.Partial = s.Partial || slices.ContainsFunc(s.Needs, gone)
	if s.Written && gone(s.By) {
		s.Written, s.Partial, s.Needs = false, false, nil
	}
	return s, len(s.Shown) > 0 || s.Written
}

// Lost is a file whose full text a compaction removed from the conversation.
type Lost struct {
	Path    string // real
	Written bool   // the model changed it
}

// Lost lists the files whose full text the model has now, but not in the results that remain; most recently used first.
func (t *ReadTracker) Lost(there func(callID string) bool) []Lost {
	var out []Lost
	for _, path := range slices.Backward(t.files.Keys()) {
		seen, ok := t.files.Peek(path)
		if !ok || !seen.Whole() || seen.Lines == 0 && !seen.Written {
			continue
		}
		if left, some := seen.prune(there); !some || !left.Whole() {
			out = append(out, Lost{path, seen.Written})
		}
	}
	return out
}
