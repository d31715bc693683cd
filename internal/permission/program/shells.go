package program

import "strings"

// shellRows are the shells: they run text, a file or their input.
func shellRows() map[string]spec {
	rows := map[string]spec{}
	for _, n := range []string{
		"bash", "sh", "zsh", "dash", "ksh", "ksh93", "mksh", "ash", "fish", "csh", "tcsh", "rbash",
		"yash", "elvish", "nu", "xonsh",
	} {
		rows[n] = spec{class: write, does: "runs shell text", raw: true, judge: judgeShell}
	}
	return rows
}

// judgeShell finds the text: after -c, alone or in a cluster of letters; options may take a word (-o, +o, -O,
// --rcfile, --init-file).
func judgeShell(c *call) {
	asks("--version|--help")(c)
	if c.Class.ReadOnly() {
		return
	}
	if len(c.args) == 2 && c.args[0].Text == "-n" && !c.args[0].Unknown && !strings.HasPrefix(c.args[1].Text, "-") &&
		!c.args[1].Unknown && !c.args[1].Glob {
		c.Class, c.Reason = read, "" // checks the syntax
		c.reads(c.args[1])
		return
	}
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
			if strings.Contains(t, "s") && !text {
				c.Stdin = true
			}
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
