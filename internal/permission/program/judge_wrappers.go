package program

import (
	"slices"
	"strings"
)

// behindWords is for wrappers of which only the name is known: any of the first words may begin the command, and
// any may be a whole command in one word. Only deny and ask rules use these commands.
func behindWords(c *call) {
	c.Literal = true
	for i, w := range c.args[:min(len(c.args), 6)] {
		if strings.HasPrefix(w.Text, "-") {
			continue
		}
		c.Inner = append(c.Inner, slices.Clone(c.args[i:]))
		if strings.ContainsAny(w.Text, " \t") {
			c.script(w)
		}
	}
}

// wrapper is a row of a program that runs the command after its flags and skip more words.
func wrapper(does string, flags *flagSet, skip int) spec {
	return spec{class: write, does: does, plain: true, ops: "TEXT...", flags: flags, judge: func(c *call) {
		c.Literal = true
		command(skip, false)(c)
	}}
}

// command: after skip operands comes a command.
func command(skip int, transparent bool) func(*call) {
	return func(c *call) {
		if len(c.ops) <= skip {
			return
		}
		c.inner(c.ops[skip:])
		c.Transparent = transparent && c.Class.ReadOnly()
	}
}

// judgeNice: nice -5 ls, and the old nice -n -5 ls.
func judgeNice(c *call) {
	if len(c.strange) > 0 && len(c.strange[0]) > 2 && isNumber(strings.TrimLeft(c.strange[0], "-")) && len(c.unsure) == 0 {
		c.Class, c.Reason = neutral, ""
	}
	for _, f := range c.flags {
		if f.name == "-n" && isNumber(strings.TrimPrefix(f.value.Text, "-")) {
			c.unsure = nil
		}
	}
	command(0, true)(c)
}

// judgeXargs: the command gets words that are known only at run time.
func judgeXargs(c *call) {
	if len(c.ops) == 0 {
		return
	}
	inner := slices.Clone(c.ops)
	mark := ""
	if f, ok := c.get("-I", "-J"); ok {
		mark = f.value.Text
	} else if f, ok := c.get("-i", "--replace"); ok {
		mark = f.value.Text
		if !f.filled {
			mark = "{}"
		}
	}
	if mark == "" {
		inner = append(inner, Word{Unknown: true})
	} else {
		for i, w := range inner {
			if strings.Contains(w.Text, mark) {
				inner[i] = Word{Text: strings.ReplaceAll(w.Text, mark, ""), Unknown: true, Quoted: true}
			}
		}
	}
	c.inner(inner)
	c.Transparent = len(c.flags) == 0 && len(c.strange) == 0 && len(c.unsure) == 0 && c.Class.ReadOnly()
}

// judgeEnv: after the variables comes a command; -S holds one in one word.
func judgeEnv(c *call) {
	c.Literal = true
	var inner []Word
	for _, f := range c.flags {
		if f.name == "-S" || f.name == "--split-string" {
			inner = append(inner, split(f.value)...)
		}
	}
	rest := c.ops
	for len(rest) > 0 && len(inner) == 0 && assigns(rest[0]) {
		rest = rest[1:]
	}
	for len(inner) > 0 && assigns(inner[0]) {
		inner = inner[1:]
	}
	c.inner(append(inner, rest...))
}

// assigns reports whether a word sets a variable: NAME=value.
func assigns(w Word) bool {
	n, _, ok := strings.Cut(w.Text, "=")
	return ok && n != "" && !strings.ContainsAny(n, "/ ")
}

// judgeSudo: variables, then a command; sudo -e edits files.
func judgeSudo(c *call) {
	if c.has("-e", "--edit") {
		for _, w := range c.ops {
			c.Writes = append(c.Writes, w.Text)
		}
		return
	}
	rest := c.ops
	for len(rest) > 0 && assigns(rest[0]) {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		c.Stdin = c.has("-s", "-i", "--shell", "--login")
		return
	}
	c.inner(rest)
	if c.has("-s", "-i", "--shell", "--login") {
		c.Script = append(c.Script, texts(rest))
	}
}

func judgeRunuser(c *call) {
	if c.has("-u", "--user") {
		command(0, false)(c)
	}
}

// behindFlags is for wrappers whose flags are not worth listing: the command is after --, else it begins at
// the first word that is not a flag, or, as a flag may take a word, at one after it.
func behindFlags(c *call) {
	asks("--version|-V|--help")(c)
	if c.Class.ReadOnly() {
		return
	}
	c.commandAfter(c.args)
}

// scripts is for programs whose operands, and the values of some flags, are shell text.
func scripts(running, valued string) func(*call) {
	runs, takes := strings.Fields(running), strings.Fields(valued)
	return func(c *call) {
		asks("--version|-V|--help")(c)
		if c.Class.ReadOnly() {
			return
		}
		c.Literal = true
		for i := 0; i < len(c.args); i++ {
			w := c.args[i]
			switch name, value, attached := strings.Cut(w.Text, "="); {
			case slices.Contains(runs, name) && attached:
				c.script(Word{Text: value, Unknown: w.Unknown})
			case slices.Contains(runs, w.Text):
			case slices.Contains(takes, w.Text):
				i++
			case !strings.HasPrefix(w.Text, "-"):
				c.script(w)
			}
		}
	}
}

func judgeEntr(c *call) {
	c.Literal = true
	if c.has("-s") && len(c.ops) > 0 {
		c.script(c.ops[0])
		return
	}
	command(0, false)(c)
}

// judgeWatch: watch joins its words to a shell command.
func judgeWatch(c *call) {
	c.Literal = true
	if len(c.ops) == 0 {
		return
	}
	if c.has("-x", "--exec") {
		command(0, false)(c)
		return
	}
	for _, w := range c.ops {
		c.ScriptHides = c.ScriptHides || w.Unknown || w.Glob
	}
	c.Script = append(c.Script, texts(c.ops))
}

// judgeFlock: flock FILE cmd, flock FILE -c 'text'.
func judgeFlock(c *call) {
	c.Literal = true
	if len(c.ops) < 2 {
		return
	}
	c.Writes = append(c.Writes, c.ops[0].Text)
	if c.ops[1].Text == "-c" || c.ops[1].Text == "--command" {
		for _, w := range c.ops[2:] {
			c.script(w)
		}
		return
	}
	command(1, false)(c)
}

// judgeApplet: busybox rm x.
func judgeApplet(c *call) {
	if len(c.args) == 0 || len(c.args) == 1 && strings.HasPrefix(c.args[0].Text, "--") {
		return
	}
	c.Inner = append(c.Inner, slices.Clone(c.args))
}

// judgeCoreutils: coreutils --coreutils-prog=rm x.
func judgeCoreutils(c *call) {
	for i, w := range c.args {
		if p, ok := strings.CutPrefix(w.Text, "--coreutils-prog="); ok {
			c.Inner = append(c.Inner, append([]Word{{Text: p, Unknown: w.Unknown}}, c.args[i+1:]...))
			return
		}
	}
	judgeApplet(c)
}

func judgeLater(c *call) {
	c.ScriptHides, c.Literal = true, true
	c.Stdin = !c.has("-f")
}

// judgeCrontab: -l lists, -r removes all.
func judgeCrontab(c *call) {
	switch {
	case c.has("-r"):
		c.destroy("crontab -r removes all scheduled commands")
	case c.has("-l") && len(c.flags) == 1 && len(c.ops) == 0 && len(c.strange) == 0 && len(c.unsure) == 0:
		c.Class, c.Reason = read, ""
	default:
		c.Literal, c.ScriptHides = true, true
	}
}

// judgeTmux: some subcommands list; others type into a terminal or run shell text.
func judgeTmux(c *call) {
	if len(c.args) == 1 && !c.args[0].Unknown {
		switch c.args[0].Text {
		case "ls", "list-sessions", "list-windows", "list-panes", "lsw", "lsp", "list-clients", "-V":
			c.Class, c.Reason = list, ""
			return
		}
	}
	c.Literal = true
	for i, w := range c.args {
		switch w.Text {
		case "kill-server", "kill-session", "kill-window", "kill-pane":
			c.destroy("tmux " + w.Text + " ends what runs in it")
		}
		if i > 0 && (strings.Contains(w.Text, " ") || w.Unknown) || i == len(c.args)-1 && i > 0 {
			c.script(w)
		}
	}
	for i, w := range c.args {
		if i > 0 && (c.args[i-1].Text == "-d" || c.args[i-1].Text == "run-shell" || c.args[i-1].Text == "--") &&
			!strings.HasPrefix(w.Text, "-") {
			c.Inner = append(c.Inner, c.args[i:])
		}
		if i > 0 && strings.HasPrefix(c.args[i-1].Text, "send") {
			c.Script = append(c.Script, texts(c.args[i:]))
		}
	}
}

func judgeScreen(c *call) {
	if len(c.args) == 1 && !c.args[0].Unknown && (c.args[0].Text == "-ls" || c.args[0].Text == "-list" ||
		c.args[0].Text == "-v") {
		c.Class, c.Reason = list, ""
		return
	}
	c.Literal = true
	for i, w := range c.args {
		if strings.Contains(w.Text, " ") || w.Unknown {
			c.script(w)
		}
		if i > 0 && strings.HasPrefix(c.args[i-1].Text, "-") && !strings.HasPrefix(w.Text, "-") || i > 1 &&
			strings.HasPrefix(c.args[i-2].Text, "-") {
			c.Inner = append(c.Inner, c.args[i:])
		}
	}
}

// judgeCmd: cmd /c del x.
func judgeCmd(c *call) {
	for i, w := range c.args {
		if t := strings.ToLower(w.Text); t == "/c" || t == "/k" || t == "//c" {
			c.Inner = append(c.Inner, c.args[i+1:])
			return
		}
	}
	c.Stdin = true
}

// judgePowershell: its commands are not shell text that could be parsed.
func judgePowershell(c *call) {
	asks("--version|-Version|-v")(c)
	if !c.Class.ReadOnly() {
		c.ScriptHides = true
		c.Stdin = len(c.args) == 0
	}
}
