package program

import (
	"slices"
	"strings"
)

// verbs is for programs with subcommands: it takes the program's own flags, then applies the row of the
// subcommand. The flags are those of the program's row that stand before the subcommand and change nothing
// but the output; asking lists further words that make the program no longer read-only.
func verbs(asking string) func(*call) {
	words := strings.Fields(asking)
	return func(c *call) { c.verb(words) }
}

func (c *call) verb(asking []string) {
	g := c.row.flags.grammar()
	look := newCall(c.name, spec{}, Env{}, c.args)
	defer look.release()
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
		name, _, _ := strings.Cut(w.Text, "=")
		if i == 0 && len(c.args) == 1 && slices.Contains([]string{"--version", "--help", "-h"}, name) {
			c.Class, c.Reason = neutral, ""
			return
		}
		if slices.Contains(asking, name) {
			c.exact("the flag " + name + " of " + c.name + " is not known to be read-only")
		}
		i = look.flag(g, i)
	}
	for _, s := range look.strange {
		c.refuse("the flag " + s + " of " + c.name + " is not known to be read-only")
	}
	for _, f := range look.flags {
		c.value(f)
	}
	if i < len(c.args) {
		c.subcommand(i)
	}
}

// subcommand looks up the row of the words from args[i] on: up to three of them name it.
func (c *call) subcommand(i int) {
	name, best, at := c.name, "", 0
	for j := i; j < len(c.args) && j < i+3; j++ {
		w := c.args[j]
		if w.Unknown || w.Glob || strings.Contains(w.Text, " ") {
			break
		}
		name += " " + w.Text
		if _, ok := rows()[name]; ok {
			best, at = name, j+1
		}
	}
	if best == "" {
		c.refuse(c.name + " " + c.args[i].Text + " is not known to be read-only")
		return
	}
	sub := newCall(best, rows()[best], c.env, c.args[at:])
	defer sub.release()
	sub.run()
	c.merge(sub.Use)
}

// asks is for programs that are read-only only when their words are exactly one of the given phrases (separated
// by |), such as --version.
func asks(phrases string) func(*call) {
	return func(c *call) {
		var words []string
		for _, w := range c.args {
			if w.Unknown || w.Glob {
				return
			}
			words = append(words, w.Text)
		}
		if slices.Contains(strings.Split(phrases, "|"), strings.Join(words, " ")) && len(words) > 0 {
			c.Use = Use{Class: neutral}
		}
	}
}

// runner is a row of a program that runs something; it is read-only when its words are one of the phrases.
func runner(does, phrases string) spec {
	return spec{class: write, does: does, raw: true, judge: asks(phrases)}
}
