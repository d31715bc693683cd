package program

import (
	"slices"
	"strconv"
	"strings"
)

// judgeRuns: after as many operands as skip says comes a command.
func judgeRuns(c *call, skip string) {
	n, _ := strconv.Atoi(skip)
	transparent := c.row.has("transparent")
	c.Literal = c.Literal || !transparent
	if len(c.ops) <= n {
		return
	}
	c.inner(c.ops[n:])
	c.Transparent = transparent && c.Class.ReadOnly()
}

// judgeBehind is for wrappers whose flags are not worth listing.
func judgeBehind(c *call, _ string) { c.commandAfter(c.args) }

// commandAfter finds the command in words that may begin with flags: after --, else the first word that is
// not a flag. After a flag, that word may be the flag's value, and the next one begins the command.
func (c *call) commandAfter(words []Word) {
	c.Literal = true
	for i, w := range words {
		if w.Text == "--" && !w.Unknown && i+1 < len(words) {
			c.Inner = append(c.Inner, words[i+1:])
			return
		}
		if v, ok := strings.CutPrefix(w.Text, "--run="); ok {
			c.Script = append(c.Script, v)
		}
	}
	for i, w := range words {
		if strings.HasPrefix(w.Text, "-") && !w.Unknown {
			if (w.Text == "-c" || w.Text == "--command" || w.Text == "--run") && i+1 < len(words) {
				c.script(words[i+1])
			}
			continue
		}
		if strings.Contains(w.Text, " ") {
			c.script(w)
		}
		c.Inner = append(c.Inner, words[i:])
		if i > 0 && i+1 < len(words) {
			c.Inner = append(c.Inner, words[i+1:])
		}
		return
	}
}

// judgeSomewhere is for wrappers of which only the name is known: any of the first words may begin the command, and
// any may be a whole command in one word. Only deny and ask rules use these commands.
func judgeSomewhere(c *call, _ string) {
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

// judgeXargs: the command gets words that are known only at run time.
func judgeXargs(c *call, _ string) {
	if len(c.ops) == 0 {
		return
	}
	inner, mark := slices.Clone(c.ops), ""
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
	}
	for i, w := range inner {
		if mark != "" && strings.Contains(w.Text, mark) {
			inner[i] = Word{Text: strings.ReplaceAll(w.Text, mark, ""), Unknown: true, Quoted: true}
		}
	}
	c.inner(inner)
	c.Transparent = len(c.flags)+len(c.strange)+len(c.unsure) == 0 && c.Class.ReadOnly()
}

// judgeEnv: after the variables comes a command; -S holds one in one word.
func judgeEnv(c *call, _ string) {
	c.Literal = true
	var inner []Word
	for _, w := range c.values("-S", "--split-string") {
		inner = append(inner, split(w)...)
	}
	if len(inner) > 0 {
		c.inner(append(withoutVariables(inner), c.ops...))
	} else {
		c.inner(withoutVariables(c.ops))
	}
}

// withoutVariables are the words behind those of the form NAME=value.
func withoutVariables(words []Word) []Word {
	for len(words) > 0 {
		n, _, ok := strings.Cut(words[0].Text, "=")
		if !ok || n == "" || strings.ContainsAny(n, "/ ") {
			break
		}
		words = words[1:]
	}
	return words
}

// judgeSudo: variables, then a command; sudo -e edits files.
func judgeSudo(c *call, _ string) {
	shell := c.has("-s", "-i", "--shell", "--login")
	rest := withoutVariables(c.ops)
	switch {
	case c.has("-e", "--edit"):
		for _, w := range c.ops {
			c.Writes = append(c.Writes, w.Text)
		}
	case len(rest) == 0:
		c.Stdin = shell
	default:
		if c.inner(rest); shell {
			c.Script = append(c.Script, texts(rest))
		}
	}
}

// judgeScripts: the operands, and the values of flags with that role, are shell text.
func judgeScripts(c *call, _ string) {
	c.Literal = true
	for i := 0; i < len(c.args); i++ {
		w := c.args[i]
		name, value, attached := strings.Cut(w.Text, "=")
		switch o := c.row.options[name]; {
		case o.role == "SCRIPT" && attached:
			c.script(Word{Text: value, Unknown: w.Unknown})
		case o.role == "SCRIPT": // the next word is one
		case o.role != "" && !attached:
			i++
		case !strings.HasPrefix(w.Text, "-"):
			c.script(w)
		}
	}
}

// judgeJoined: the words, joined, are shell text.
func judgeJoined(c *call, _ string) {
	ops := c.ops
	for len(ops) > 0 && slices.Contains([]string{"--recursive", "--quiet", "-q"}, ops[0].Text) && c.name != "eval" {
		ops = ops[1:]
	}
	for _, w := range ops {
		c.ScriptHides = c.ScriptHides || w.Unknown || w.Glob
	}
	if len(ops) > 0 {
		c.Script = append(c.Script, texts(ops))
	}
}

// texts joins the text of words.
func texts(words []Word) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.Text
	}
	return strings.Join(out, " ")
}

// judgeWatch: watch joins its words to a shell command, but with -x.
func judgeWatch(c *call, _ string) {
	c.Literal = true
	if c.has("-x", "--exec") {
		judgeRuns(c, "")
	} else {
		judgeJoined(c, "")
	}
}

// judgeFlock: flock FILE cmd, flock FILE -c 'text'.
func judgeFlock(c *call, _ string) {
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
	judgeRuns(c, "1")
}

// judgeCoreutils: coreutils --coreutils-prog=rm x.
func judgeCoreutils(c *call, _ string) {
	for i, w := range c.args {
		if p, ok := strings.CutPrefix(w.Text, "--coreutils-prog="); ok {
			c.Inner = append(c.Inner, append([]Word{{Text: p, Unknown: w.Unknown}}, c.args[i+1:]...))
			return
		}
	}
	judgeRuns(c, "")
}

func judgeLater(c *call, _ string) {
	c.ScriptHides, c.Literal = true, true
	c.Stdin = !c.has("-f")
}

// judgeCrontab: -l lists, -r removes all.
func judgeCrontab(c *call, _ string) {
	if !c.has("-r") && !(c.has("-l") && len(c.flags) == 1 && len(c.ops)+len(c.strange)+len(c.unsure) == 0) {
		c.Literal, c.ScriptHides = true, true
	}
}

// judgeTmux: some subcommands type into a terminal or run shell text.
func judgeTmux(c *call, _ string) {
	c.Literal = true
	for i, w := range c.args {
		if i == 0 {
			continue
		}
		if strings.Contains(w.Text, " ") || w.Unknown || i == len(c.args)-1 {
			c.script(w)
		}
		before := c.args[i-1].Text
		if (before == "-d" || before == "run-shell" || before == "--") && !strings.HasPrefix(w.Text, "-") {
			c.Inner = append(c.Inner, c.args[i:])
		}
		if strings.HasPrefix(before, "send") {
			c.Script = append(c.Script, texts(c.args[i:]))
		}
	}
}

func judgeScreen(c *call, _ string) {
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
func judgeCmd(c *call, _ string) {
	for i, w := range c.args {
		if t := strings.ToLower(w.Text); t == "/c" || t == "/k" || t == "//c" {
			c.Inner = append(c.Inner, c.args[i+1:])
			return
		}
	}
	c.Stdin = true
}

// judgeHides is for shells whose commands are not text that could be parsed.
func judgeHides(c *call, _ string) {
	c.ScriptHides, c.Stdin = true, len(c.args) == 0
}

// judgeHub: hub passes its words to git, except for its own subcommands.
func judgeHub(c *call, _ string) {
	c.Inner = append(c.Inner, slices.Concat([]Word{{Text: "git"}}, c.args))
}

// judgeInterpreter: it runs code, from its words, a file or its input.
func judgeInterpreter(c *call, _ string) {
	for i := 0; i < len(c.args); i++ {
		w := c.args[i]
		switch {
		case w.Unknown || w.Glob:
			return
		case c.row.options[w.Text].role != "":
			i++
		case w.Text == "-":
			c.Stdin = true
			return
		case !strings.HasPrefix(w.Text, "-"):
			c.Reads = append(c.Reads, w.Text)
			return
		case w.Text == "-p" || w.Text == "--eval" || w.Text == "--print", w.Text[min(1, len(w.Text)-1)] != '-' &&
			strings.ContainsAny(w.Text, "ceEm"):
			return
		}
	}
	c.Stdin = true
}

// judgeShell finds the text: after -c, alone or in a cluster of letters; options may take a word (-o, +o, -O,
// --rcfile, --init-file).
func judgeShell(c *call, _ string) {
	text := false
	for i := 0; i < len(c.args); i++ {
		w := c.args[i]
		t := w.Text
		switch {
		case w.Unknown || w.Glob:
			c.ScriptHides = true
			if text {
				c.script(w)
			}
			return
		case t == "--command" && c.name == "fish":
			text = true
		case strings.HasPrefix(t, "--command=") && c.name == "fish":
			c.script(Word{Text: t[len("--command="):]})
			return
		case t == "--rcfile" || t == "--init-file" || t == "--emulate":
			i++
			c.ScriptHides = true
		case t == "--" || t == "-":
			c.shellOperand(c.args[i+1:], text)
			return
		case strings.HasPrefix(t, "--"):
		case len(t) > 1 && (t[0] == '-' || t[0] == '+'):
			text = text || t[0] == '-' && strings.Contains(t, "c")
			c.ScriptHides = c.ScriptHides || strings.ContainsAny(t, "il")
			if strings.HasSuffix(t, "o") || strings.HasSuffix(t, "O") || c.name == "fish" && strings.HasSuffix(t, "C") {
				i++
			}
			c.Stdin = c.Stdin || strings.Contains(t, "s") && !text
		default:
			c.shellOperand(c.args[i:], text)
			return
		}
	}
	c.Stdin = !text
}

// shellOperand: the first operand is the text, or a file.
func (c *call) shellOperand(ops []Word, text bool) {
	switch {
	case len(ops) == 0:
		c.Stdin = !text
	case text:
		c.script(ops[0])
	case !c.Stdin:
		c.ScriptHides = true
		c.Reads = append(c.Reads, ops[0].Text)
	}
}
