package program

import (
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// spec is a row of the table: the facts about one program or subcommand.
type spec struct {
	class permission.Class // its class unless flags or operands change it
	// for programs that are not read-only: their effect, continuing a sentence that begins with the name
	does  string
	flags *flagSet // its flags; nil where it has none
	// ops are the roles of its operands, in order; the one with ... takes any number. FILE and DIR are read,
	// OUT is written, KILL destroyed, HOST reached, TEXT just text. Operands without a role are refused.
	ops   string
	drop  string // flags that replace the first operand: grep -e
	dot   bool   // reads the working folder when no operand names another
	tame  bool   // no flag that it has, listed here or not, writes, runs, or reads outside: patterns are harmless
	plain bool   // its flags end at the first operand
	adds  string // a word for the safe form, after the name of a subcommand, see Use.Adds
	raw   bool   // judge reads the words itself
	// judge makes further checks, after flags and operands were sorted.
	judge func(*call)
}

// call is a row applied to words.
type call struct {
	Use
	name     string // as messages name it: "git log"
	row      spec
	env      Env
	args     []Word // without the program
	flags    []given
	ops      []Word
	dashes   int      // the number of operands before --; -1 without it
	dashesAt int      // the index of -- among the words
	unsure   []Word   // words that may turn out to be flags
	strange  []string // flags that the row does not have

	sedUnread bool   // a script of sed was not understood
	workTree  string // of git --work-tree
}

func (c *call) run() {
	c.Class = c.row.class
	if !c.Class.ReadOnly() {
		c.Reason = c.name + " " + c.row.does
	}
	if !c.row.raw {
		c.parse()
		c.doubts()
		c.values()
		c.roles()
	}
	if c.row.judge != nil {
		c.row.judge(c)
	}
}

// refuse marks the call as not read-only. The first reason stays.
func (c *call) refuse(reason string) {
	if c.Class.ReadOnly() || c.Class == "" {
		c.Class, c.Reason = permission.ClassWrite, reason
	}
}

// destroy marks the call as destructive; the reason names the loss.
func (c *call) destroy(reason string) {
	if c.Class != permission.ClassDestructive {
		c.Class, c.Reason = permission.ClassDestructive, reason
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
	if c.row.tame {
		return
	}
	for _, w := range c.unsure {
		if w.Glob {
			c.refuse("the unquoted pattern " + w.Text + " may become a flag of " + c.name)
		} else {
			c.refuse("only running it tells which words " + c.name + " gets")
		}
	}
}

// values goes through the flags.
func (c *call) values() {
	for _, f := range c.flags {
		c.value(f)
	}
}

func (c *call) value(f given) {
	if f.unsafe {
		c.refuse(flagReason(c.name, f))
		c.Literal = c.Literal || f.exact
	}
	if !f.filled {
		return
	}
	switch f.takes {
	case takesInput:
		c.reads(f.value)
	case takesOutput, takesTarget:
		c.Writes = append(c.Writes, f.value.Text)
	case takesScript:
		c.script(f.value)
	case takesProgram:
		c.Inner = append(c.Inner, split(f.value))
	case takesHost:
		c.Hosts = append(c.Hosts, f.value.Text)
	}
}

func flagReason(name string, f given) string {
	switch f.takes {
	case takesOutput, takesTarget:
		return "the flag " + f.name + " of " + name + " writes a file"
	case takesScript, takesProgram:
		return "the flag " + f.name + " of " + name + " runs a program"
	}
	return "the flag " + f.name + " of " + name + " is not read-only"
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
		c.refuse("only running it tells which files " + c.name + " reads")
	}
	if w.Text != "" && w.Text != "-" {
		c.Reads = append(c.Reads, w.Text)
	}
}

// roles goes through the operands.
func (c *call) roles() {
	names := fields(c.row.ops)
	if c.row.drop != "" && len(names) > 0 && c.has(fields(c.row.drop)...) {
		names = names[1:]
	}
	allText := true
	for _, n := range names {
		allText = allText && strings.TrimSuffix(n, "...") == "TEXT"
	}
	paths := 0
	for i, w := range c.ops {
		n := roleOf(names, i, len(c.ops))
		if n == "FILE" || n == "DIR" {
			paths++
		}
		if n == "TEXT" && !allText && (w.Unknown && !w.Quoted || w.Glob) {
			c.refuse("only running it tells which words " + c.name + " gets")
		}
		if (w.Glob || w.Unknown && !w.Quoted) && single(names, n) {
			// A second file becomes the next operand: uniq * writes it.
			c.refuse("only running it tells which words " + c.name + " gets")
		}
		c.role(n, w)
	}
	if c.row.dot && paths == 0 {
		c.Reads = append(c.Reads, ".")
	}
}

// single reports whether a file's role is for one word only, and another kind of role follows.
func single(names []string, n string) bool {
	return n != "TEXT" && slices.Contains(names, n) && slices.ContainsFunc(names,
		func(other string) bool { return other == "OUT" || other == "KILL" })
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

func (c *call) role(n string, w Word) {
	switch n {
	case "FILE", "DIR":
		c.reads(w)
	case "OUT":
		c.refuse(c.name + " writes " + w.Text)
		c.Writes = append(c.Writes, w.Text)
	case "KILL":
		c.destroy(c.name + " destroys " + w.Text)
		c.Kills = append(c.Kills, w.Text)
	case "HOST":
		c.refuse(c.name + " reaches " + w.Text)
		c.Hosts = append(c.Hosts, w.Text)
	case "":
		if c.row.ops != "ANY" {
			c.refuse("the word " + w.Text + " is not one that " + c.name + " is known to take")
		}
	}
}
