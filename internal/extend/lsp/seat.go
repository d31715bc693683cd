package lsp

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Seat is a session's view: which diagnostics it knows. A nil Seat reports nothing. It is safe for concurrent use.
type Seat struct {
	p   *Pool
	rel func(path string) string

	mu      sync.Mutex
	known   map[*run]map[string][]Diagnostic // by path
	pending map[*run]time.Time               // servers that had not answered in time
	edited  map[string]bool                  // files of the changes that are pending
}

// Seat makes a session's view. rel writes a path for the model.
func (p *Pool) Seat(rel func(path string) string) *Seat {
	return &Seat{
		p: p, rel: rel, pending: map[*run]time.Time{}, edited: map[string]bool{},
		known: map[*run]map[string][]Diagnostic{},
	}
}

const (
	maxShown = 10
	// lateFor is how long the answer to a change counts as its consequence.
	lateFor = 2 * time.Minute
	// dependFor is the same for dependants of a file whose own diagnostics have come.
	dependFor = 5 * time.Second
)

// Pool has the servers.
func (s *Seat) Pool() *Pool { return s.p }

// Edited has the servers read files that the session changed and returns the diagnostics that are new, as lines for the
// model, "" for none. It waits as long as the settings say.
func (s *Seat) Edited(ctx context.Context, list []File) string {
	if s == nil || len(list) == 0 {
		return ""
	}
	set := s.p.o.Settings()
	if !set.Enabled {
		return ""
	}
	targets := map[*run][]string{}
	for _, f := range list {
		for _, server := range s.p.serve(f) {
			if r := server.current(); r != nil {
				targets[r] = append(targets[r], f.Path)
			}
		}
	}
	if len(targets) == 0 {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range list {
		s.edited[f.Path] = true
	}
	ctx, cancel := context.WithTimeout(ctx, ms(set.WaitMs))
	defer cancel()
	s.change(ctx, targets)
	return s.fresh(set, slices.Collect(maps.Keys(targets)))
}

// change syncs the files and waits for the answers of all servers. s.mu is held.
func (s *Seat) change(ctx context.Context, targets map[*run][]string) {
	var wg sync.WaitGroup
	for r, paths := range targets {
		if _, waits := s.pending[r]; !waits {
			s.baseline(r)
		}
		s.pending[r] = time.Now()
		wg.Go(func() { r.update(ctx, paths) })
	}
	wg.Wait()
}

// update sends the texts and waits for their diagnostics.
func (r *run) update(ctx context.Context, paths []string) {
	if r.wait(ctx) != nil {
		for _, p := range paths {
			r.openLater(p)
		}
		return
	}
	r.catchUp()
	var open []string
	for _, p := range paths {
		if _, err := r.sync(p); err == nil {
			open = append(open, p)
		}
	}
	r.diagnose(ctx, open)
}

// openLater opens a document once the server is there.
func (r *run) openLater(path string) {
	r.s.p.background(func() { r.s.open(path) })
}

// baseline notes the diagnostics before a change. s.mu is held.
func (s *Seat) baseline(r *run) {
	if !r.isReady() || !r.warm() {
		delete(s.known, r)
		return
	}
	list, _ := r.current()
	s.known[r] = list
}

// Late returns diagnostics of earlier changes that came too late for their result, "" for none. It does not wait.
func (s *Seat) Late() string {
	if s == nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pending) == 0 {
		return ""
	}
	return s.fresh(s.p.o.Settings(), nil)
}

// fresh returns the text of the new diagnostics of servers, and of those that are pending, and notes them. s.mu is
// held.
func (s *Seat) fresh(set Settings, of []*run) string {
	var found []Diagnostic
	for r := range s.pending {
		if !slices.Contains(of, r) {
			of = append(of, r)
		}
	}
	for _, r := range of {
		if !r.isReady() {
			delete(s.known, r)
			continue
		}
		before, warm := s.known[r]
		now, old := r.current()
		for path, list := range now {
			if !warm && !s.edited[path] {
				continue // there before the change, as far as anyone knows
			}
			found = append(found, added(before[path], list)...)
		}
		for path := range old { // not up to date: what was known stays known
			now[path] = before[path]
		}
		s.known[r] = now
	}
	defer s.answered()
	found = slices.DeleteFunc(found, func(d Diagnostic) bool {
		return d.Severity > Error && !(set.Warnings && d.Severity == Warning)
	})
	return s.report(found)
}

// answered forgets the servers that have answered, that ended or that took too long. s.mu is held.
func (s *Seat) answered() {
	for r, since := range s.pending {
		ready := r.isReady()
		r.mu.Lock()
		waits := true
		if ready {
			waits = slices.ContainsFunc(slices.Collect(maps.Keys(s.edited)),
				func(p string) bool { return r.docs[p] != nil && !r.answered(p) }) || !r.warmed
		}
		r.mu.Unlock()
		if age := time.Since(since); r.gone() || age > lateFor || !waits && age > dependFor {
			delete(s.pending, r)
		}
	}
	if len(s.pending) == 0 {
		clear(s.edited)
	}
}

// added returns the diagnostics of now that before has not: by their texts, since edits move lines.
func added(before, now []Diagnostic) (out []Diagnostic) {
	count := map[string]int{}
	for _, d := range before {
		count[d.key()]++
	}
	for _, d := range now {
		count[d.key()]--
	}
	for _, d := range slices.Backward(now) {
		if k := d.key(); count[k] < 0 && !slices.ContainsFunc(before,
			func(o Diagnostic) bool { return o.Line == d.Line && o.key() == k }) {
			count[k]++
			out = append(out, d)
		}
	}
	for _, d := range now { // those at the line of an old one, where nothing else explains the surplus
		if k := d.key(); count[k] < 0 && !slices.ContainsFunc(out,
			func(o Diagnostic) bool { return o.Line == d.Line && o.Column == d.Column && o.key() == k }) {
			count[k]++
			out = append(out, d)
		}
	}
	slices.Reverse(out)
	return out
}

// report writes diagnostics for the model: errors first, those of the edited files first, at most maxShown.
func (s *Seat) report(list []Diagnostic) string {
	if len(list) == 0 {
		return ""
	}
	slices.SortStableFunc(list, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), -compareBool(s.edited[a.Path], s.edited[b.Path]),
			strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	list = slices.CompactFunc(list, func(a, b Diagnostic) bool {
		return a.Path == b.Path && a.Line == b.Line && a.Column == b.Column && a.Message == b.Message
	})
	var b strings.Builder
	b.WriteString("New diagnostics:")
	for _, d := range list[:min(len(list), maxShown)] {
		fmt.Fprintf(&b, "\n%s:%s", s.rel(d.Path), d)
	}
	if more := len(list) - maxShown; more > 0 {
		fmt.Fprintf(&b, "\n[%d more]", more)
	}
	return b.String()
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
