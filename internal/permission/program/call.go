package program

import (
	"cmp"
	"slices"
	"strings"
)

// call is a row applied to words.
type call struct {
	Use
	name     string // as messages name it: "git log"
	row      *row
	env      Env
	args     []Word // without the program
	flags    []given
	ops      []Word
	dashes   int      // the number of operands before --; -1 without it
	dashesAt int      // the index of -- among the words
	unsure   []Word   // words that may turn out to be flags
	strange  []string // flags that the row does not have
}

func (c *call) run() {
	r := c.row
	c.Class, c.dashes = r.class, -1
	switch {
	case c.Class.ReadOnly():
	case r.does != "":
		c.Reason = c.name + " " + r.does
	default:
		c.Class = "" // a doubt gives a better reason
	}
	if r.has("raw") {
		c.ops = c.args
	} else {
		c.parse()
		c.doubts()
		for _, f := range c.flags {
			c.value(f)
		}
		c.roles()
	}
	c.marks()
	for _, judge := range r.judges {
		name, arg, _ := strings.Cut(judge, "=")
		judges[name](c, arg)
	}
	if c.Class == "" {
		c.Class, c.Reason = write, c.name+" is not one of the read-only programs"
	}
	if c.Class == destructive && len(c.Kills) > 0 && r.class == destructive {
		c.Reason += ": " + strings.Join(c.Kills, " ")
	}
	c.Changes = c.Changes && !c.Class.ReadOnly()
}

// marks does what properties and groups of words say.
func (c *call) marks() {
	c.changes()
	c.Literal = c.Literal || c.row.has("literal")
	if c.row.has("atfile") {
		c.atFiles()
	}
	verb := len(c.ops) > 0 && known(c.name+" "+c.ops[0].Text) // the row of the subcommand says more
	for _, w := range c.row.lists["destroys"] {
		if c.holds(w) && !(verb && w[0] != '-') {
			c.destroy(c.name + " " + w + " " + c.row.loss)
			break
		}
	}
	if after := c.row.lists["after"]; after != nil {
		for i, w := range c.args {
			if !w.Unknown && slices.Contains(after, w.Text) {
				c.commandAfter(c.args[i+1:])
				break
			}
		}
	}
}

// changes notes whether the words plainly say that the program changes something.
func (c *call) changes() {
	c.Changes = c.row.has("changes") && !c.has(c.row.lists["prints"]...)
	first := slices.IndexFunc(c.ops, func(w Word) bool { return !strings.HasPrefix(w.Text, "-") })
	for _, w := range c.row.lists["changes"] {
		c.Changes = c.Changes || w[0] == '-' && c.holds(w) || first >= 0 && c.ops[first].Text == w
	}
}

// atFiles notes the words that stand for those in a file (GCC manual, "@file"; javac(1)): nobody has checked them.
func (c *call) atFiles() {
	for _, w := range c.args {
		file, ok := strings.CutPrefix(w.Text, "@")
		if !ok || w.Glob {
			continue
		}
		c.exact(c.name + " takes more words from the file " + file)
		c.Reads = slices.DeleteFunc(c.Reads, func(s string) bool { return s == w.Text })
		if file != "" {
			c.Reads = append(c.Reads, file)
		}
	}
}

// holds reports whether a flag was given, or a word is among the operands.
func (c *call) holds(word string) bool {
	return c.has(word) || slices.Contains(c.strange, word) ||
		slices.ContainsFunc(c.ops, func(w Word) bool { return w.Text == word && !w.Unknown })
}

// refuse marks the call as not read-only. The first reason stays.
func (c *call) refuse(reason string) {
	if c.Class.ReadOnly() || c.Class == "" {
		c.Class, c.Reason = write, reason
	}
}

// destroy marks the call as destructive; the reason names the loss.
func (c *call) destroy(reason string) {
	if c.Class != destructive {
		c.Class, c.Reason = destructive, reason
	}
}

// exact is refuse for a call that only an exact rule may allow.
func (c *call) exact(reason string) {
	c.refuse(reason)
	c.Literal = true
}

func (c *call) doubts() {
	for _, f := range c.strange {
		c.refuse("the flag " + f + " of " + c.name + " is not known to be read-only")
	}
	if c.row.has("tame") {
		return
	}
	for _, w := range c.unsure {
		if w.Glob {
			c.refuse("the unquoted pattern " + w.Text + " may become a flag of " + c.name)
		} else {
			c.unclear("words", "gets")
		}
	}
}

// unclear refuses what only running the program tells.
func (c *call) unclear(what, does string) {
	c.refuse("only running it tells which " + what + " " + c.name + " " + does)
}

// value judges a flag.
func (c *call) value(f given) {
	if f.filled {
		c.role(f.role, f.value)
	}
	if f.ask {
		c.refuse("the flag " + f.name + " of " + c.name + effects[f.role])
		c.Literal = c.Literal || f.exact
	}
}

// effects are those of flags by the role of their value.
var effects = map[string]string{
	"": " is not read-only", "N": " is not read-only", "TEXT": " is not read-only", "HOST": " is not read-only",
	"FILE": " takes settings or names from a file", "OUT": " writes a file", "SCRIPT": " runs a program",
	"PROGRAM": " runs a program", "CODE": " runs code",
}

// split cuts a flag's value, which names a program with its words, at blanks outside of quotes.
func split(w Word) []Word {
	if w.Unknown {
		return []Word{w}
	}
	var out []Word
	var text strings.Builder
	quote, in := rune(0), false
	for _, r := range w.Text + " " {
		switch {
		case quote == 0 && strings.ContainsRune(" \t\n", r):
			if in {
				out = append(out, Word{Text: text.String(), Quoted: true})
				text.Reset()
				in = false
			}
			continue
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case r == quote:
			quote = 0
		default:
			text.WriteRune(r)
		}
		in = true
	}
	if in {
		out = append(out, Word{Text: strings.TrimSuffix(text.String(), " "), Quoted: true})
	}
	return out
}

// inner adds a command that it runs. Behind a flag that is not known, which may take a word, the command may
// begin one word later; deny rules see both.
func (c *call) inner(words []Word) {
	if len(words) == 0 {
		return
	}
	c.Inner = append(c.Inner, slices.Clone(words))
	if len(c.strange) > 0 && len(words) > 1 {
		c.Inner = append(c.Inner, slices.Clone(words[1:]))
	}
}

// script adds shell text that it runs.
func (c *call) script(w Word) {
	if w.Unknown || w.Glob {
		c.ScriptHides = true
	}
	c.Script = append(c.Script, w.Text)
}

// reads adds a file that it reads.
func (c *call) reads(w Word) {
	if w.Unknown {
		c.unclear("files", "reads")
	}
	if w.Text != "" && w.Text != "-" {
		c.Reads = append(c.Reads, w.Text)
	}
}

// roles goes through the operands.
func (c *call) roles() {
	names := c.row.ops
	if drop := c.row.lists["drop"]; len(names) > 0 && c.has(drop...) {
		names = names[1:]
	}
	text := !slices.ContainsFunc(names, func(n string) bool { return n != "TEXT" && n != "TEXT..." })
	writes := slices.ContainsFunc(names, func(n string) bool { return n == "OUT" || n == "KILL" })
	paths := 0
	for i, w := range c.ops {
		n := roleOf(names, i, len(c.ops))
		if n == "FILE" || n == "DIR" {
			paths++
		}
		// A second word would become the next operand: uniq * writes it.
		one := n != "TEXT" && writes && slices.Contains(names, n)
		if n == "TEXT" && !text && (w.Unknown && !w.Quoted || w.Glob) || one && (w.Unknown && !w.Quoted || w.Glob) {
			c.unclear("words", "gets")
		}
		switch n {
		case "":
			c.refuse("the word " + w.Text + " is not one that " + c.name + " is known to take")
		case "OUT":
			c.refuse(c.name + " writes " + w.Text)
		case "KILL":
			c.destroy(c.name + " destroys " + w.Text)
		case "HOST":
			c.refuse(c.name + " reaches " + w.Text)
		}
		c.role(n, w)
	}
	if c.row.has("dot") && paths == 0 {
		c.Reads = append(c.Reads, ".")
	}
}

// role takes a word for what it is: an operand, or the value of a flag.
func (c *call) role(role string, w Word) {
	switch role {
	case "FILE", "DIR":
		c.reads(w)
	case "PATH":
		if strings.ContainsAny(w.Text, "/~") || w.Text == ".." {
			c.Reads = append(c.Reads, strings.TrimSuffix(strings.TrimSuffix(w.Text, "..."), "/"))
		}
	case "OUT":
		c.Writes = append(c.Writes, w.Text)
	case "KILL":
		c.Kills = append(c.Kills, w.Text)
	case "HOST":
		c.Hosts = append(c.Hosts, w.Text)
	case "SCRIPT":
		c.script(w)
	case "PROGRAM":
		c.Inner = append(c.Inner, split(w))
	}
}

// roleOf gives the role of operand i of n, "" when there is none for it.
func roleOf(names []string, i, n int) string {
	for j, name := range names {
		cut, many := strings.CutSuffix(name, "...")
		if !many {
			if j == i {
				return name
			}
			continue
		}
		tail := len(names) - 1 - j
		if back := n - 1 - i; back < tail && i > j {
			return names[len(names)-1-back]
		}
		return cut
	}
	return ""
}

// verb takes the program's own flags, then applies the row of the subcommand.
func (c *call) verb(string) {
	look := &call{name: c.name, row: c.row, args: c.args, dashes: -1}
	i := 0
	for ; i < len(c.args); i++ {
		w := c.args[i]
		if w.Unknown || w.Glob {
			c.exact("only running it tells what " + c.name + " does")
			return
		}
		if len(w.Text) < 2 || w.Text[0] != '-' {
			break
		}
		i = look.flag(i)
	}
	for _, s := range look.strange {
		c.refuse("the flag " + s + " of " + c.name + " is not known to be read-only")
	}
	for _, f := range look.flags {
		c.value(f)
	}
	c.Literal = c.Literal || look.Literal
	c.subcommand(c.base(), i, 3)
}

// base is the name that the table has the subcommands under.
func (c *call) base() string { return cmp.Or(c.row.property["as"], c.name) }

// subcommand looks up the row of the words from args[i] on, behind those of name: as many as most name it.
func (c *call) subcommand(name string, i, most int) {
	var best *row
	at, full := 0, ""
	for j := i; j < len(c.args) && j < i+most; j++ {
		w := c.args[j]
		if w.Unknown || w.Glob || strings.Contains(w.Text, " ") {
			break
		}
		name += " " + w.Text
		if known(name) {
			best, at, full = find(name), j+1, name
		}
	}
	if best == nil {
		if i < len(c.args) {
			c.refuse(c.name + " " + c.args[i].Text + " is not known to be read-only")
		}
		return
	}
	sub := &call{name: full, row: best, env: c.env, args: c.args[at:]}
	sub.run()
	c.merge(sub.Use)
}

// merge takes over the use of a subcommand and keeps the findings made before it.
func (c *call) merge(u Use) {
	before := c.Use
	c.Use = u
	c.Git, c.GitDir = before.Git, before.GitDir
	c.Literal, c.Beyond = c.Literal || before.Literal, c.Beyond || before.Beyond
	c.Changes = c.Changes || before.Changes
	c.Inner = slices.Concat(before.Inner, c.Inner)
	c.Script = slices.Concat(before.Script, c.Script)
	c.ScriptHides = c.ScriptHides || before.ScriptHides
	c.Reads = slices.Concat(before.Reads, c.Reads)
	c.Writes = slices.Concat(before.Writes, c.Writes)
	c.Hosts = slices.Concat(before.Hosts, c.Hosts)
	switch before.Class {
	case destructive:
		c.destroy(before.Reason)
	case write:
		c.refuse(before.Reason)
	}
}
