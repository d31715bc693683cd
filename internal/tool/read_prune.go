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
		seen.Shown = slices.DeleteFunc(slices.Clone(seen.Shown), func(s Span) bool { return s.CallID != "" && !s.there(there) })
		gone := func(id string) bool { return !there(id) }
		seen.Partial = seen.Partial || slices.ContainsFunc(seen.Needs, gone)
		if seen.Written && gone(seen.By) {
			seen.Written, seen.Partial, seen.Needs = false, false, nil
		}
		if len(seen.Shown) == 0 && !seen.Written {
			t.files.Remove(path)
			continue
		}
		t.files.Add(path, seen)
	}
}
