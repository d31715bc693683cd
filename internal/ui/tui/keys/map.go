package keys

import (
	"slices"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
)

// Map gives the actions of chords in each context. It does not change once made; safe for concurrent use.
type Map struct {
	leader   string
	bindings []Binding
	tries    map[Context]*node
}

// node is where one got to in a chord: an action, or strokes that lead on.
type node struct {
	action Action
	next   map[string]*node
}

// Default is the table without any settings.
func Default() *Map {
	m, _ := Load(nil)
	return m
}

// build makes the map of the bindings in force.
func build(leader string, entries []entry) *Map {
	m := &Map{leader: leader, tries: map[Context]*node{}}
	for _, e := range entries {
		n := m.tries[e.context]
		if n == nil {
			n = &node{}
			m.tries[e.context] = n
		}
		for _, stroke := range e.chord {
			if n.next == nil {
				n.next = map[string]*node{}
			}
			if n.next[stroke] == nil {
				n.next[stroke] = &node{}
			}
			n = n.next[stroke]
		}
		n.action = e.action
	}
	m.bindings = listed(entries)
	return m
}

// listed joins the entries of one action in one context, in the order of the table.
func listed(entries []entry) []Binding {
	out := make([]Binding, 0, len(table))
	for _, row := range table {
		out = append(out, Binding{Context: row.Context, Action: row.Action, Help: row.Help})
	}
	for _, e := range entries {
		i := slices.IndexFunc(out, func(b Binding) bool { return b.Context == e.context && b.Action == e.action })
		if i < 0 {
			i = len(out)
			out = append(out, Binding{Context: e.context, Action: e.action, Help: help(e.action)})
		}
		out[i].Keys = append(out[i].Keys, strings.Join(e.chord, " "))
	}
	return out
}

func help(a Action) string {
	for _, row := range table {
		if row.Action == a {
			return row.Help
		}
	}
	name, _ := strings.CutPrefix(string(a), commandPrefix)
	return "run /" + name
}

// Leader is the leader stroke.
func (m *Map) Leader() string { return m.leader }

// Bindings lists the bindings in force, in the order of the table, also actions without a key; the user's bindings
// to commands or in other contexts come last. Leader chords are written out.
func (m *Map) Bindings() []Binding { return m.bindings }

// Keys lists the chords of an action in a context. The first is the one to show.
func (m *Map) Keys(c Context, a Action) []string {
	for _, b := range m.bindings {
		if b.Context == c && b.Action == a {
			return b.Keys
		}
	}
	return nil
}

// Key is the chord to show for an action, in whatever context it is bound first, or "".
func (m *Map) Key(a Action) string {
	for _, b := range m.bindings {
		if b.Action == a && len(b.Keys) > 0 {
			return b.Keys[0]
		}
	}
	return ""
}

// Hit is an action that a key represents in a context.
type Hit struct {
	Context Context
	Action  Action
}

// Press is the result of a key.
type Press struct {
	// Hits are the actions to try, innermost context first. A caller does the first one that applies: ctrl+d
	// deletes a character in the prompt, and leaves when there is none.
	Hits []Hit
	// Pending says that the key began or continued a chord; there are no hits.
	Pending bool
	// Unknown is the chord that led nowhere ("ctrl+x q"), to be reported to the user.
	Unknown string
	// Used says that the key ended a chord and is not to be taken for anything else.
	Used bool
}

// Resolver follows the keys of one user. Not safe for concurrent use.
type Resolver struct {
	m       *Map
	pending []string
	at      []place // where the pending chord may go on, innermost context first
}

type place struct {
	context Context
	node    *node
}

// NewResolver makes a resolver of a map.
func NewResolver(m *Map) *Resolver { return &Resolver{m: m} }

// Press takes a key. contexts are those the user is in, innermost first; Global is asked last without being
// named. A key without a binding is text to insert, or nothing. Esc ends a chord that is pending.
func (r *Resolver) Press(k uv.KeyPressEvent, contexts ...Context) Press {
	names := strokes(k)
	if len(names) == 0 {
		return Press{Pending: len(r.pending) > 0}
	}
	from := r.at
	if len(r.pending) == 0 {
		from = r.m.places(contexts)
	}
	hits, on := step(from, names)
	switch {
	case len(hits) > 0:
		r.Cancel()
		return Press{Hits: hits}
	case len(on) > 0:
		r.pending, r.at = append(r.pending, names[0]), on
		return Press{Pending: true}
	case len(r.pending) == 0:
		return Press{}
	}
	chord := strings.Join(append(r.pending, names[0]), " ")
	r.Cancel()
	if names[0] == "esc" {
		return Press{Used: true}
	}
	return Press{Used: true, Unknown: chord}
}

// Pending is the chord begun so far, for display: "ctrl+x". It is "" when there is none.
func (r *Resolver) Pending() string { return strings.Join(r.pending, " ") }

// Cancel forgets a chord begun.
func (r *Resolver) Cancel() { r.pending, r.at = nil, nil }

// places are the beginnings of the contexts.
func (m *Map) places(contexts []Context) []place {
	var out []place
	for _, c := range contexts {
		if n := m.tries[c]; n != nil && c != Global {
			out = append(out, place{c, n})
		}
	}
	if n := m.tries[Global]; n != nil {
		out = append(out, place{Global, n})
	}
	return out
}

// step follows one key from each place. The innermost context that knows the key says whether it is an action
// or the beginning of a chord; of the others only those count that agree.
func step(from []place, names []string) (hits []Hit, on []place) {
	for _, p := range from {
		n := p.node.follow(names)
		switch {
		case n == nil:
		case n.action != "" && len(on) == 0:
			hits = append(hits, Hit{p.context, n.action})
		case n.action == "" && len(hits) == 0:
			on = append(on, place{p.context, n})
		}
	}
	return hits, on
}

func (n *node) follow(names []string) *node {
	for _, name := range names {
		if next := n.next[name]; next != nil {
			return next
		}
	}
	return nil
}
