package program

import (
	"slices"
	"strings"
)

// given is one flag as it stood in the command.
type given struct {
	option
	value  Word
	filled bool // it has a value
}

// abbreviates finds the flag that the name shortens; among several the one that needs most care.
func (r *row) abbreviates(name string) (option, bool) {
	var found option
	if len(name) < 3 {
		return found, false
	}
	for n, o := range r.options {
		if !strings.HasPrefix(n, name) || !strings.HasPrefix(n, "--") {
			continue
		}
		if d := o.care() - found.care(); found.name == "" || d > 0 || d == 0 && n < found.name {
			found = o
		}
	}
	return found, found.name != ""
}

// care orders flags by how strictly they are judged.
func (o option) care() int {
	switch {
	case o.exact:
		return 2
	case o.ask:
		return 1
	}
	return 0
}

// parse sorts the words of a call into flags and operands.
func (c *call) parse() {
	for i := 0; i < len(c.args); i++ {
		w := c.args[i]
		switch {
		case c.dashes >= 0 || c.row.has("plain") && len(c.ops) > 0:
			c.ops = append(c.ops, w)
		case w.Text == "--" && !w.Unknown && !w.Glob:
			c.dashes, c.dashesAt = len(c.ops), i
		case w.Unknown || w.Glob && c.mayBeFlag(w.Text):
			c.unsure = append(c.unsure, w)
			c.ops = append(c.ops, w)
		case len(w.Text) > 1 && w.Text[0] == '-':
			i = c.flag(i)
		default:
			c.ops = append(c.ops, w)
		}
	}
}

// mayBeFlag reports whether a pattern can stand for a word that begins with a dash. A flag whose value holds
// the pattern (--include=*.go) stays that flag, whatever files there are.
func (c *call) mayBeFlag(pattern string) bool {
	i := strings.IndexAny(pattern, "*?[(")
	if i < 0 {
		return true
	}
	if strings.HasPrefix(pattern, "--") {
		return !strings.Contains(pattern[:i], "=")
	}
	if pattern[0] == '-' {
		o, ok := c.row.options[pattern[:min(2, i)]]
		return !ok || o.role == "" || i < 2
	}
	return i == 0 || i == 1 && strings.ContainsRune("@+!?*", rune(pattern[0]))
}

// flag takes the flag at args[i] and gives back the index of the last word that it used.
func (c *call) flag(i int) int {
	w := c.args[i]
	number := c.row.has("number")
	if number && isNumber(w.Text[1:]) {
		return i
	}
	if strings.HasPrefix(w.Text, "--") || c.row.has("onedash") {
		return c.longFlag(i)
	}
	last := i
	for j := 1; j < len(w.Text); j++ {
		o, ok := c.row.options["-"+w.Text[j:j+1]]
		if !ok {
			if number && w.Text[j] >= '0' && w.Text[j] <= '9' {
				continue
			}
			c.strange = append(c.strange, w.Text)
			c.suspect(w.Text[j:])
			return i
		}
		if o.role == "" {
			c.flags = append(c.flags, given{option: o})
			continue
		}
		rest := w
		rest.Text = w.Text[j+1:]
		if c.row.has("apart") {
			digits := len(rest.Text) - len(strings.TrimLeft(rest.Text, "0123456789"))
			if digits == 0 {
				last = c.valued(o, last)
			}
			j += digits
			continue
		}
		if rest.Text != "" || o.optional {
			c.flags = append(c.flags, given{option: o, value: rest, filled: rest.Text != ""})
			return i
		}
		return c.valued(o, i)
	}
	return last
}

// suspect: after a letter that is not known, further letters may be flags or its value.
func (c *call) suspect(letters string) {
	for _, l := range letters {
		if o, ok := c.row.options["-"+string(l)]; ok && o.exact {
			c.Literal = true
		}
	}
}

func (c *call) longFlag(i int) int {
	w := c.args[i]
	name, value, attached := strings.Cut(w.Text, "=")
	if c.row.has("onedash") {
		name = "-" + strings.TrimLeft(name, "-")
	}
	o, ok := c.row.options[name]
	if !ok && c.row.has("joined") && len(name) > 2 && isNumber(name[2:]) && c.row.options[name[:2]].role == "N" {
		return i
	}
	v := w
	v.Text = value
	if !ok {
		c.strange = append(c.strange, name)
		if o, ok := c.row.abbreviates(name); ok && o.ask {
			if !attached && o.role != "" && !o.optional && i+1 < len(c.args) {
				v, attached = c.args[i+1], true // deny rules check the value that it would have
			}
			c.flags = append(c.flags, given{option: o, value: v, filled: attached})
		}
		return i
	}
	switch {
	case attached && o.role == "":
		c.strange = append(c.strange, w.Text)
	case attached:
		c.flags = append(c.flags, given{option: o, value: v, filled: true})
	case o.role == "" || o.optional:
		c.flags = append(c.flags, given{option: o})
	default:
		return c.valued(o, i)
	}
	return i
}

// valued takes the next word as the value of a flag.
func (c *call) valued(o option, i int) int {
	if i+1 >= len(c.args) {
		c.strange = append(c.strange, o.name)
		c.Literal = c.Literal || o.exact
		return i
	}
	v := c.args[i+1]
	if v.Glob || v.Unknown && !v.Quoted {
		c.unsure = append(c.unsure, v)
	}
	if len(v.Text) > 1 && v.Text[0] == '-' && !isNumber(v.Text[1:]) && o.role != "TEXT" {
		c.strange = append(c.strange, v.Text) // whether it is a value or a flag is for the program to say
	}
	c.flags = append(c.flags, given{option: o, value: v, filled: true})
	return i + 1
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// has reports whether any of the flags was given.
func (c *call) has(names ...string) bool {
	_, ok := c.get(names...)
	return ok
}

// get finds the first of the flags that was given.
func (c *call) get(names ...string) (given, bool) {
	for _, f := range c.flags {
		for _, n := range names {
			if f.name == n {
				return f, true
			}
		}
	}
	return given{}, false
}

// values are those of flags, known or not.
func (c *call) values(names ...string) []Word {
	var out []Word
	for _, f := range c.flags {
		for _, n := range names {
			if f.name == n && f.filled {
				out = append(out, f.value)
			}
		}
	}
	return out
}

// count is the number of times a flag was given, under any of its names.
func (c *call) count(names ...string) int {
	n := 0
	for _, f := range c.flags {
		if slices.Contains(names, f.name) {
			n++
		}
	}
	return n
}
