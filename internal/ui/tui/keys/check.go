package keys

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/fuzzy"
)

// contexts lists all contexts in the order of the table.
func contexts() []Context {
	var out []Context
	for _, row := range table {
		if !slices.Contains(out, row.Context) {
			out = append(out, row.Context)
		}
	}
	return out
}

func contextNames() []string {
	var out []string
	for _, c := range contexts() {
		out = append(out, string(c))
	}
	return out
}

func contextNamed(name string) (Context, bool) {
	for _, c := range contexts() {
		if strings.EqualFold(string(c), name) {
			return c, true
		}
	}
	return "", false
}

// actionOf reads the name of an action; "/compact" is short for "command:compact".
func actionOf(name string) Action {
	name = strings.TrimSpace(name)
	if rest, ok := strings.CutPrefix(name, "/"); ok {
		return Action(commandPrefix + rest)
	}
	return Action(name)
}

func known(a Action) bool {
	if name, ok := strings.CutPrefix(string(a), commandPrefix); ok {
		return strings.Trim(name, " /") != ""
	}
	return slices.ContainsFunc(table, func(row Binding) bool { return row.Action == a })
}

func unknownAction(a Action) string {
	names := make([]string, len(table))
	for i, row := range table {
		names[i] = string(row.Action)
	}
	if best, _ := fuzzy.Nearest(string(a), names, len(a)/3); best != "" {
		return fmt.Sprintf("there is no action %q; did you mean %q?", a, best)
	}
	return fmt.Sprintf("there is no action %q; docs/keys.md lists them", a)
}

// refused says why a chord cannot be bound in a context.
func refused(c Context, chord []string, a Action) error {
	first := chord[0]
	switch {
	case first == "ctrl+c" && !(len(chord) == 1 && wantsInterrupt(c, a)):
		return errors.New("ctrl+c stays the way out; take another key")
	case types(first) && typing(c):
		return fmt.Errorf("%s could not be typed any more; take a key with ctrl or alt", first)
	}
	if plain := (map[string]string{"ctrl+m": "enter", "ctrl+i": "tab", "ctrl+[": "esc"})[first]; plain != "" {
		return fmt.Errorf("most terminals send the same for %s and %s; take another key", first, plain)
	}
	return nil
}

// wantsInterrupt reports the bindings of ctrl+c that the table has.
func wantsInterrupt(c Context, a Action) bool {
	return slices.ContainsFunc(table, func(row Binding) bool {
		return row.Context == c && row.Action == a && slices.Contains(row.Keys, "ctrl+c")
	})
}

// typing reports the contexts in which text is typed.
func typing(c Context) bool {
	return slices.Contains([]Context{Global, Chat, Autocomplete, HistorySearch, Task, Scroll, Select}, c)
}

// prefixes takes away the chords that cannot be reached because their beginning is bound itself.
func (l *loader) prefixes() {
	gone := map[int]bool{}
	for i, short := range l.entries {
		for j, long := range l.entries {
			if len(short.chord) >= len(long.chord) || !slices.Equal(short.chord, long.chord[:len(short.chord)]) {
				continue
			}
			if short.context != long.context && !(short.line > 0 && long.context == Global) || gone[i] || gone[j] {
				continue
			}
			if short.line == 0 { // the user wants the chord, not the default
				gone[i] = true
				l.tell(long, "%s no longer is %s: it begins this chord", short)
				continue
			}
			gone[j] = short.context == long.context
			l.tell(short, "%s (%s) cannot be reached any more: it begins with this key", long)
		}
	}
	kept := l.entries[:0:0]
	for i, e := range l.entries {
		if !gone[i] {
			kept = append(kept, e)
		}
	}
	l.entries = kept
}

func (l *loader) tell(about entry, message string, other entry) {
	l.problems = append(l.problems, Problem{
		Line:    about.line,
		Where:   fmt.Sprintf("%s %q", about.context, strings.Join(about.chord, " ")),
		Message: fmt.Sprintf(message, strings.Join(other.chord, " "), other.action),
	})
}

// wayToSend says so when no key sends the prompt.
func (l *loader) wayToSend() {
	if !slices.ContainsFunc(l.entries, func(e entry) bool { return e.action == Submit }) {
		l.problem(0, "", "no key sends the prompt any more; bind one to %s", Submit)
	}
}
