package program

import (
	"maps"
	"strings"
	"sync"
)

// flagSet lists the flags of a program or subcommand by effect: each field is a list, separated by blanks. Short and
// long names are separate flags. A name with a question mark (--color?) has its value attached (--color=x) or none;
// every other flag with a value takes it attached or as the next word. A flag in no field is not known to be
// read-only. TestEveryFlagOfTheTableIsTakenForWhatItIs checks the effect of every field.
type flagSet struct {
	with    []*flagSet // the flags of these too; a later set, and last the fields below, win where two name the same flag
	oneDash bool       // its long flags have one dash (-name), so that short ones cannot be joined
	joined  bool       // with oneDash: a number may be joined to a short flag all the same (xxd -l16)
	apart   bool       // the value of a short flag is the next word; only digits or more flags are joined to it (tree)
	number  bool       // a number is a flag: -5

	// The program stays read-only with these.
	letters string // short flags without a value, which may be joined: "al" for -a, -l and -al; blanks only group them
	alone   string // others without a value
	value   string // the value is a number or a name, nothing that is opened or run
	text    string // the same, where it may begin with a dash: a pattern, a text, a format
	code    string // the value is text in a language of the program, which judge checks
	reads   string // the value is a file or folder that it reads
	hosts   string // the value is a machine that it reaches

	// With these it is no longer read-only.
	unsafe      string // without a value
	unsafeValue string // with a value
	target      string // the value is a file to write, as everybody expects of this program

	// With these it is no longer read-only, and only a rule with the exact text of the command may allow it.
	exact   string // without a value
	writes  string // the value is a file to write
	script  string // the value is shell text to run
	program string // the value is a program to run, with its words

	once   sync.Once
	parsed grammar
}

// takes is the kind of a flag's value.
type takes uint8

const (
	takesNothing takes = iota
	takesValue
	takesText
	takesCode
	takesInput // a file or folder that is read
	takesHost
	takesTarget
	takesOutput
	takesScript
	takesProgram
)

// option is one flag of a row.
type option struct {
	name     string // with dashes
	takes    takes
	optional bool // its value is attached or absent
	unsafe   bool // with it the program is not read-only
	exact    bool // and only an exact rule may allow it
}

// grammar is a flagSet made ready for looking flags up by name.
type grammar struct {
	options map[string]option
	number  bool
	oneDash bool
	joined  bool
	apart   bool
}

var noFlags grammar

// grammar parses the set when it is first needed. A nil set has no flags.
func (f *flagSet) grammar() *grammar {
	if f == nil {
		return &noFlags
	}
	f.once.Do(func() {
		f.parsed = grammar{
			options: map[string]option{}, number: f.number, oneDash: f.oneDash, joined: f.joined,
			apart: f.apart,
		}
		for _, other := range f.with {
			g := other.grammar()
			maps.Copy(f.parsed.options, g.options)
			f.parsed.number = f.parsed.number || g.number
		}
		for _, field := range f.fields() {
			for name := range strings.FieldsSeq(field.names) {
				o := field.option
				o.name, o.optional = strings.CutSuffix(name, "?")
				f.parsed.options[o.name] = o
			}
		}
		for _, letter := range strings.ReplaceAll(f.letters, " ", "") {
			f.parsed.options["-"+string(letter)] = option{name: "-" + string(letter)}
		}
	})
	return &f.parsed
}

// flagField is a field of a flagSet, with the properties that its flags share.
type flagField struct {
	names string
	option
}

func (f *flagSet) fields() []flagField {
	return []flagField{
		{f.alone, option{}},
		{f.value, option{takes: takesValue}},
		{f.text, option{takes: takesText}},
		{f.code, option{takes: takesCode}},
		{f.reads, option{takes: takesInput}},
		{f.hosts, option{takes: takesHost}},
		{f.unsafe, option{unsafe: true}},
		{f.unsafeValue, option{takes: takesValue, unsafe: true}},
		{f.target, option{takes: takesTarget, unsafe: true}},
		{f.exact, option{unsafe: true, exact: true}},
		{f.writes, option{takes: takesOutput, unsafe: true, exact: true}},
		{f.script, option{takes: takesScript, unsafe: true, exact: true}},
		{f.program, option{takes: takesProgram, unsafe: true, exact: true}},
	}
}

// abbreviates finds the flag that the name shortens; among several the one that needs most care.
func (g *grammar) abbreviates(name string) (option, bool) {
	var found option
	if len(name) < 3 {
		return found, false
	}
	for n, o := range g.options {
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
	case o.unsafe:
		return 1
	}
	return 0
}

// given is one flag as it stood in the command.
type given struct {
	option
	value  Word
	filled bool // it has a value
}

// parse sorts the words of a call into flags and operands.
func (c *call) parse() {
	g := c.row.flags.grammar()
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
		return !ok || o.takes == takesNothing || i < 2
	}
	return i == 0 || i == 1 && strings.ContainsRune("@+!?*", rune(pattern[0]))
}

// flag takes the flag at args[i] and gives back the index of the last word that it used.
func (c *call) flag(g *grammar, i int) int {
	w := c.args[i]
	if g.number && isNumber(w.Text[1:]) {
		return i
	}
	if strings.HasPrefix(w.Text, "--") || g.oneDash {
		return c.longFlag(g, i)
	}
	last := i
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
		if o.takes == takesNothing {
			c.flags = append(c.flags, given{option: o})
			continue
		}
		if digits := len(w.Text[j+1:]) - len(strings.TrimLeft(w.Text[j+1:], "0123456789")); g.apart && digits == 0 {
			last = c.valued(o, last)
			continue
		} else if g.apart {
			j += digits
			continue
		}
		rest := w
		rest.Text = w.Text[j+1:]
		if rest.Text != "" || o.optional {
			c.flags = append(c.flags, given{option: o, value: rest, filled: rest.Text != ""})
			return i
		}
		return c.valued(o, i)
	}
	return last
}

// suspect: after a letter that is not known, further letters may be flags or its value.
func (c *call) suspect(g *grammar, letters string) {
	for _, l := range letters {
		if o, ok := g.options["-"+string(l)]; ok && o.exact {
			c.Literal = true
		}
	}
}

func (c *call) longFlag(g *grammar, i int) int {
	w := c.args[i]
	name, value, attached := strings.Cut(w.Text, "=")
	if g.oneDash {
		name = "-" + strings.TrimLeft(name, "-")
	}
	o, ok := g.options[name]
	if g.joined && !ok && len(name) > 2 && isNumber(name[2:]) && g.options[name[:2]] == (option{
		name:  name[:2],
		takes: takesValue,
	}) {
		return i
	}
	if !ok {
		c.strange = append(c.strange, name)
		if o, ok := g.abbreviates(name); ok && o.unsafe {
			v := w
			v.Text = value
			if !attached && o.takes != takesNothing && !o.optional && i+1 < len(c.args) {
				v, attached = c.args[i+1], true // deny rules check the value that it would have
			}
			c.flags = append(c.flags, given{option: o, value: v, filled: attached})
		}
		return i
	}
	v := w
	v.Text = value
	switch {
	case attached && o.takes == takesNothing:
		c.strange = append(c.strange, w.Text)
	case attached:
		c.flags = append(c.flags, given{option: o, value: v, filled: true})
	case o.takes == takesNothing || o.optional:
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
	if len(v.Text) > 1 && v.Text[0] == '-' && !isNumber(v.Text[1:]) && o.takes != takesText {
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
