package keys

import (
	"encoding/json"

	tea "charm.land/bubbletea/v2"
)

// Map is which chord does what, in which context. It does not change once made; safe for concurrent use.
type Map struct {
	leader   string
	bindings []Binding
	tries    map[Context]*node
}

// node is where one got to in a chord.
type node struct {
	action Action // "": a chord goes on, or nothing
	next   map[string]*node
}

// Problem is something in the user's keybindings that does not hold.
type Problem struct {
	Line    int    // in the text that was loaded, from 1
	Where   string // the context and key: Chat "ctrl+k"
	Message string // what is wrong, and the next move
}

// Default is the table with no settings.
func Default() *Map { m, _ := Load(nil); return m }

// Load makes a map of the table and the user's keybindings: Claude Code's form or an object. See docs/keys.md.
func Load(settings json.RawMessage) (*Map, []Problem) { return nil, nil }

// Leader is the leader stroke.
func (m *Map) Leader() string { return m.leader }

// Bindings lists what holds, in the order of the table; what the user bound to commands comes last. Chords
// are written out (no <leader>).
func (m *Map) Bindings() []Binding { return m.bindings }

// Keys lists the chords of an action in a context, the first one being what to show.
func (m *Map) Keys(c Context, a Action) []string { return nil }

// Key is the chord to show for an action, in any context, or "".
func (m *Map) Key(a Action) string { return "" }

// Hit is an action that a key stands for in a context.
type Hit struct {
	Context Context
	Action  Action
}

// Press is what a key came to.
type Press struct {
	// Hits are the actions to try, innermost context first. A caller does the first one that applies: ctrl+d
	// deletes a character in the prompt, and leaves when there is none.
	Hits []Hit
	// Pending says that the key began or continued a chord; there are no hits.
	Pending bool
	// Unknown is the chord that led nowhere ("ctrl+x q"), to be told to the user. The key is used up.
	Unknown string
}

// Resolver follows the keys of one user. The zero value has no map; not safe for concurrent use.
type Resolver struct {
	m       *Map
	pending []string
}

// NewResolver makes a resolver.
func NewResolver(m *Map) *Resolver { return &Resolver{m: m} }

// Press takes a key. contexts are those the user is in, innermost first; Global is asked last without being
// named. A key with no hits that is not Pending and not Unknown is text to insert, or nothing.
func (r *Resolver) Press(k tea.KeyPressMsg, contexts ...Context) Press { return Press{} }

// Pending is the chord begun so far, for display: "ctrl+x". It is "" when there is none.
func (r *Resolver) Pending() string { return "" }

// Cancel forgets a chord begun.
func (r *Resolver) Cancel() { r.pending = nil }

// Stroke is the name of a key as settings write it, "" for one that has none (a modifier alone).
func Stroke(k tea.KeyPressMsg) string { return "" }
