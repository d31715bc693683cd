package keys

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Problem is something in the user's keybindings that does not hold, or that takes something else away.
type Problem struct {
	Line    int    // in the text that was loaded, from 1; 0 when that has only one
	Where   string // the context and key: Chat "ctrl+k"
	Message string // the problem, and the next move
}

func (p Problem) String() string {
	var at []string
	if p.Line > 0 {
		at = append(at, fmt.Sprintf("line %d", p.Line))
	}
	if p.Where != "" {
		at = append(at, p.Where)
	}
	if len(at) == 0 {
		return p.Message
	}
	return strings.Join(at, ", ") + ": " + p.Message
}

// entry is one chord of one context.
type entry struct {
	context Context
	chord   []string
	action  Action
	line    int // of the user's settings; 0: from the table
}

// loader applies the user's keybindings to the table.
type loader struct {
	text     []byte
	leader   string
	entries  []entry
	problems []Problem
}

const commandPrefix = "command:"

// Load makes a map of the table and the user's keybindings, which are JSON (comments and trailing commas are
// fine) in one of these forms, or nothing:
//
//	{"bindings": [{"context": "Chat", "bindings": {"ctrl+k": "edit:yank", "ctrl+x ctrl+e": null}}]}
//	[{"context": "Chat", "bindings": {"ctrl+k": "edit:yank"}}]
//	{"ctrl+k": "edit:yank", "ctrl+g": null, "chat:submit": ["ctrl+enter"], "leader": "ctrl+space"}
//
// The first is Claude Code's keybindings.json (code.claude.com/docs/en/keybindings). In the last one a key is
// bound where its action is at home, and null takes it off everywhere. The problems are in the order of the
// text; all the rest holds.
func Load(settings json.RawMessage) (*Map, []Problem) { return LoadAll(nil, settings) }

// LoadAll is Load for bindings from several places, each stronger than the one before. The commands are those of
// plugins, by key: they hold where the prompt is, on keys that have no meaning yet.
func LoadAll(commands map[string]string, settings ...json.RawMessage) (*Map, []Problem) {
	l := &loader{leader: DefaultLeader}
	if len(settings) == 0 {
		settings = []json.RawMessage{nil}
	}
	var roots []value
	for _, text := range settings {
		l.text = text
		root, err := parse(text)
		if err != nil {
			l.problem(0, "", "not JSON: "+err.Error()+"; the keys of the other places hold")
			root = value{}
		}
		l.readLeader(root)
		roots = append(roots, root)
	}
	l.defaults()
	l.readCommands(commands)
	var all []Problem
	for i, root := range roots {
		l.text = settings[i]
		l.read(root)
		if i == len(roots)-1 {
			l.prefixes()
			l.wayToSend()
		}
		all = append(all, l.inOrder()...)
		if i < len(roots)-1 {
			for n := range l.entries {
				l.entries[n].line = 0 // the next place may bind the key to something else
			}
		}
	}
	return build(l.leader, l.entries), all
}

// inOrder takes the problems of one text.
func (l *loader) inOrder() []Problem {
	out := l.problems
	l.problems = nil
	if !strings.Contains(strings.TrimSpace(string(l.text)), "\n") {
		for i := range out {
			out[i].Line = 0
		}
	}
	slices.SortStableFunc(out, func(a, b Problem) int { return a.Line - b.Line })
	return out
}

// readCommands binds the keys of plugins to their commands.
func (l *loader) readCommands(commands map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(commands)) {
		chord, err := parseChord(key, l.leader)
		where, a := fmt.Sprintf("%s %q of a plugin", Chat, key), Action(commandPrefix+commands[key])
		if err == nil {
			err = refused(Chat, chord, a)
		}
		if err == nil && slices.ContainsFunc(l.entries,
			func(e entry) bool { return startsWith(e.chord, chord) || startsWith(chord, e.chord) }) {
			err = errors.New("the key has a meaning already, which holds")
		}
		if err != nil {
			l.problem(0, where, err.Error())
			continue
		}
		l.entries = append(l.entries, entry{Chat, chord, a, 0})
	}
}

func startsWith(chord, first []string) bool {
	return len(first) <= len(chord) && slices.Equal(chord[:len(first)], first)
}

func (l *loader) problem(offset int, where, message string, args ...any) {
	if len(args) > 0 {
		message = fmt.Sprintf(message, args...)
	}
	l.problems = append(l.problems, Problem{l.line(offset), where, message})
}

func (l *loader) line(offset int) int {
	return 1 + strings.Count(string(l.text[:min(offset, len(l.text))]), "\n")
}

func (l *loader) readLeader(root value) {
	for _, m := range root.members {
		if m.name != "leader" {
			continue
		}
		chord, err := parseChord(m.value.text, DefaultLeader)
		switch {
		case m.value.kind != text || err == nil && len(chord) != 1:
			l.problem(m.offset, "leader", `the leader is one key, such as "ctrl+x"`)
		case err != nil:
			l.problem(m.offset, "leader", err.Error())
		case types(chord[0]) || chord[0] == "ctrl+c":
			l.problem(m.offset, "leader", "%s has its own meaning in the prompt; take a key with ctrl or alt", chord[0])
		default:
			l.leader = chord[0]
		}
	}
}

// defaults fills in the table.
func (l *loader) defaults() {
	for _, row := range table {
		for _, k := range row.Keys {
			if chord, err := parseChord(k, l.leader); err == nil {
				l.entries = append(l.entries, entry{row.Context, chord, row.Action, 0})
			}
		}
	}
}

func (l *loader) read(root value) {
	switch {
	case root.kind == nothing:
	case root.kind == list:
		l.readContexts(root)
	case root.kind != object:
		l.problem(root.offset, "", "keybindings are an object or a list; see docs/keys.md")
	case slices.ContainsFunc(root.members, func(m member) bool { return m.name == "bindings" }):
		for _, m := range root.members {
			switch m.name {
			case "bindings":
				l.readContexts(m.value)
			case "leader", "$schema", "$docs":
			default:
				l.problem(m.offset, fmt.Sprintf("%q", m.name), "not known here; keys go into one of the bindings")
			}
		}
	default:
		l.readFlat(root)
	}
}

// readContexts reads Claude Code's form.
func (l *loader) readContexts(v value) {
	if v.kind != list {
		l.problem(v.offset, "bindings", `a list of {"context": ..., "bindings": {...}} is expected`)
		return
	}
	for _, block := range v.elems {
		name, bindings := block.member("context"), block.member("bindings")
		if name.kind != text || bindings.kind != object {
			l.problem(block.offset, "", `a block needs a "context" and "bindings", which is an object`)
			continue
		}
		c, ok := contextNamed(name.text)
		if !ok {
			l.problem(name.offset, "", "there is no context %q; there are %s", name.text, strings.Join(contextNames(), ", "))
			continue
		}
		for _, m := range bindings.members {
			l.bindOne([]Context{c}, m)
		}
	}
}

// readFlat reads one object of keys and actions.
func (l *loader) readFlat(root value) {
	for _, m := range root.members {
		switch {
		case m.name == "leader" || m.name == "$schema" || m.name == "$docs":
		case known(Action(m.name)) && strings.Contains(m.name, ":"):
			l.setKeys(Action(m.name), m)
		case m.value.kind == null:
			l.bindOne(contexts(), m)
		default:
			l.bindOne(homes(actionOf(m.value.text)), m)
		}
	}
}

// homes are the contexts that an action is bound in by the table, else where the prompt is.
func homes(a Action) []Context {
	for _, row := range table {
		if row.Action == a {
			return []Context{row.Context}
		}
	}
	return []Context{Chat}
}

// setKeys replaces all keys of an action.
func (l *loader) setKeys(a Action, m member) {
	chords := m.value.elems
	switch m.value.kind {
	case text:
		chords = []value{m.value}
	case null, list:
	default:
		l.problem(m.offset, fmt.Sprintf("%q", a), "a key, a list of keys, or null is expected")
		return
	}
	l.entries = slices.DeleteFunc(l.entries, func(e entry) bool { return e.action == a && !wayOut(e) })
	for _, c := range chords {
		if c.kind != text {
			l.problem(c.offset, fmt.Sprintf("%q", a), "a key is a text")
			continue
		}
		for _, home := range homes(a) {
			l.bind(home, c.text, a, m.offset)
		}
	}
}

// bindOne applies "key": "action" or "key": null in contexts.
func (l *loader) bindOne(in []Context, m member) {
	where := fmt.Sprintf("%q", m.name)
	if len(in) == 1 {
		where = string(in[0]) + " " + where
	}
	switch m.value.kind {
	case null:
		l.unbind(in, m, where)
	case text:
		a := actionOf(m.value.text)
		if !known(a) {
			l.problem(m.offset, where, unknownAction(a))
			return
		}
		for _, c := range in {
			l.bind(c, m.name, a, m.offset)
		}
	default:
		l.problem(m.offset, where, "the name of an action, or null, is expected")
	}
}

func (l *loader) unbind(in []Context, m member, where string) {
	chord, err := parseChord(m.name, l.leader)
	if err != nil {
		l.problem(m.offset, where, err.Error())
		return
	}
	l.entries = slices.DeleteFunc(l.entries, func(e entry) bool {
		return slices.Contains(in, e.context) && slices.Equal(e.chord, chord) && !wayOut(e)
	})
	if slices.Contains(in, Global) && slices.Equal(chord, []string{"ctrl+c"}) {
		l.problem(m.offset, where, "ctrl+c stays: it is the way out")
	}
}

// wayOut reports the binding that no setting takes away.
func wayOut(e entry) bool {
	return e.context == Global && e.action == Interrupt && slices.Equal(e.chord, []string{"ctrl+c"})
}

func (l *loader) bind(c Context, key string, a Action, offset int) {
	where := fmt.Sprintf("%s %q", c, key)
	chord, err := parseChord(key, l.leader)
	if err == nil {
		err = refused(c, chord, a)
	}
	if err != nil {
		l.problem(offset, where, err.Error())
		return
	}
	line := l.line(offset)
	i := slices.IndexFunc(l.entries, func(e entry) bool { return e.context == c && slices.Equal(e.chord, chord) })
	if i >= 0 {
		if old := l.entries[i]; old.line > 0 && old.action != a {
			l.problem(offset, where, "bound twice, first to %s and here to %s, which holds", old.action, a)
		}
		l.entries = slices.Delete(l.entries, i, i+1)
	}
	// The user's own binding is the one to show for an action, so it goes before the defaults.
	at := slices.IndexFunc(l.entries, func(e entry) bool { return e.context == c && e.action == a && e.line == 0 })
	if at < 0 {
		at = len(l.entries)
	}
	l.entries = slices.Insert(l.entries, at, entry{c, chord, a, line})
}
