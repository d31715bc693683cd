package program

import (
	"strings"
	"sync"
)

// option is one flag of a row.
type option struct {
	name string // with dashes
	kind string // what its value is, "" when it takes none
	may  bool   // the value is optional: attached or none
	bad  bool   // it is not read-only
	hard bool   // and only an exact rule may allow it
}

// grammar is a parsed flag list: how one program takes its words.
//
// A flag list is text, blanks between the entries:
//
//	-abc       three flags without value
//	-n:N       a short flag with a value, attached (-n5) or the next word
//	-U?N       a short flag whose value is attached or absent
//	--max=N    a long flag with a value, attached with = or the next word
//	--color?W  a long flag whose value is attached with = or absent
//	-#         a number as a flag: -5
//	-i!        a flag that is not read-only;  -i!! which only an exact rule may allow
//
// What stands for the value says what it is: FILE and DIR are read; OUT is written, which only an exact rule may
// allow; TO is written, by a program that is there to write; RUN is shell text that is run, PROG a program that
// is run, HOST a machine, BAD a value that makes it no longer read-only; any other word is just a name for readers.
type grammar struct {
	options map[string]option
	number  bool
	long    bool // long flags with one dash: -name
}

var grammars sync.Map // flag list -> *grammar

func grammarOf(list string, long bool) *grammar {
	key := list
	if long {
		key = "1 " + list
	}
	if g, ok := grammars.Load(key); ok {
		return g.(*grammar)
	}
	g := &grammar{options: map[string]option{}, long: long}
	for entry := range strings.FieldsSeq(list) {
		g.add(entry)
	}
	grammars.Store(key, g)
	return g
}

func (g *grammar) add(entry string) {
	if entry == "-#" {
		g.number = true
		return
	}
	var o option
	if cut, ok := strings.CutSuffix(entry, "!!"); ok {
		entry, o.bad, o.hard = cut, true, true
	} else if cut, ok := strings.CutSuffix(entry, "!"); ok {
		entry, o.bad = cut, true
	}
	name, kind := entry, ""
	if i := strings.IndexAny(entry[2:], ":=?"); i >= 0 {
		i += 2
		name, kind, o.may = entry[:i], entry[i+1:], entry[i] == '?'
	}
	o.kind = kind
	switch kind {
	case "OUT", "RUN", "PROG":
		o.bad, o.hard = true, true
	case "BAD", "TO":
		o.bad = true
	}
	if g.long {
		name = "-" + strings.TrimLeft(name, "-")
	}
	if strings.HasPrefix(name, "--") || g.long || kind != "" {
		o.name = name
		g.options[name] = o
		return
	}
	for _, letter := range name[1:] {
		o.name = "-" + string(letter)
		g.options[o.name] = o
	}
}

// abbreviates finds a flag that the name shortens, one that is not read-only if there is one.
func (g *grammar) abbreviates(name string) (option, bool) {
	var found option
	ok := false
	if len(name) < 3 {
		return found, false
	}
	for n, o := range g.options {
		if strings.HasPrefix(n, name) && strings.HasPrefix(n, "--") && (!ok || o.hard || o.bad && !found.hard) {
			found, ok = o, true
		}
	}
	return found, ok
}

// given is one flag as it stood in the command.
type given struct {
	option
	value  Word
	filled bool // it has a value
}

// parse sorts the words of a call into flags and operands.
func (c *call) parse() {
	g := grammarOf(c.row.flags, c.row.long)
	c.dashes = -1
	for i := 0; i < len(c.args); i++ {
		w := c.args[i]
		switch {
		case c.dashes >= 0 || c.row.plain && len(c.ops) > 0:
			c.ops = append(c.ops, w)
		case w.Text == "--" && !w.Unknown && !w.Glob:
			c.dashes, c.dashesAt = len(c.ops), i
		case w.Unknown || w.Glob && mayBeFlag(w.Text, g):
			c.unsure = append(c.unsure, w)
			c.ops = append(c.ops, w)
		case len(w.Text) > 1 && w.Text[0] == '-':
			i = c.flag(g, i)
		default:
			c.ops = append(c.ops, w)
		}
	}
}

// mayBeFlag reports whether a pattern can stand for a word that begins with a dash. A flag whose value holds
// the pattern (--include=*.go) stays that flag, whatever files there are.
func mayBeFlag(pattern string, g *grammar) bool {
	i := strings.IndexAny(pattern, "*?[(")
	if i < 0 {
		return true
	}
	if strings.HasPrefix(pattern, "--") {
		return !strings.Contains(pattern[:i], "=")
	}
	if pattern[0] == '-' {
		o, ok := g.options[pattern[:min(2, i)]]
		return !ok || o.kind == "" || i < 2
	}
	return i == 0 || i == 1 && strings.ContainsRune("@+!?*", rune(pattern[0]))
}

// flag takes the flag at args[i] and gives back the index of the last word that it used.
func (c *call) flag(g *grammar, i int) int {
	w := c.args[i]
	if g.number && isNumber(w.Text[1:]) {
		return i
	}
	if strings.HasPrefix(w.Text, "--") || g.long {
		return c.longFlag(g, i)
	}
	for j := 1; j < len(w.Text); j++ {
		o, ok := g.options["-"+w.Text[j:j+1]]
		if !ok {
			if g.number && w.Text[j] >= '0' && w.Text[j] <= '9' {
				continue
			}
			c.strange = append(c.strange, w.Text)
			c.suspect(g, w.Text[j:])
			return i
		}
		if o.kind == "" {
			c.flags = append(c.flags, given{option: o})
			continue
		}
		rest := w
		rest.Text = w.Text[j+1:]
		if rest.Text != "" || o.may {
			c.flags = append(c.flags, given{option: o, value: rest, filled: rest.Text != ""})
			return i
		}
		return c.valued(o, i)
	}
	return i
}

// suspect: behind a letter that is not known, further letters may be flags or its value.
func (c *call) suspect(g *grammar, letters string) {
	for _, l := range letters {
		if o, ok := g.options["-"+string(l)]; ok && o.hard {
			c.Literal = true
		}
	}
}

func (c *call) longFlag(g *grammar, i int) int {
	w := c.args[i]
	name, value, attached := strings.Cut(w.Text, "=")
	if g.long {
		name = "-" + strings.TrimLeft(name, "-")
	}
	o, ok := g.options[name]
	if g.long && !ok && len(name) > 2 && g.options[name[:2]].kind == "N" && isNumber(name[2:]) {
		return i // xxd -l16
	}
	if !ok {
		c.strange = append(c.strange, name)
		if o, ok := g.abbreviates(name); ok && o.bad {
			v := w
			v.Text = value
			if !attached && o.kind != "" && !o.may && i+1 < len(c.args) {
				v, attached = c.args[i+1], true // deny rules want to know what it would be
			}
			c.flags = append(c.flags, given{option: o, value: v, filled: attached})
		}
		return i
	}
	v := w
	v.Text = value
	switch {
	case attached && o.kind == "":
		c.strange = append(c.strange, w.Text)
	case attached:
		c.flags = append(c.flags, given{option: o, value: v, filled: true})
	case o.kind == "" || o.may:
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
		return i
	}
	v := c.args[i+1]
	if v.Glob || v.Unknown && !v.Quoted {
		c.unsure = append(c.unsure, v)
	}
	if len(v.Text) > 1 && v.Text[0] == '-' && !isNumber(v.Text[1:]) && o.kind != "RE" && o.kind != "TEXT" && o.kind != "FORMAT" {
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
