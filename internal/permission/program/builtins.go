package program

import (
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// judgePrintf: -v sets a variable, whose index may hold a command, and so does %n. zsh evaluates numeric arguments
// (zshbuiltins(1), printf), and with them the commands in their indices.
func judgePrintf(c *call, _ string) {
	rest := c.args
	if len(rest) > 1 && rest[0].Text == "--" {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return
	}
	format := rest[0]
	kinds := conversions(format.Text)
	if strings.HasPrefix(format.Text, "-v") || strings.Contains(kinds, "n") {
		c.refuse("printf sets a variable")
	}
	if format.Unknown && (!format.Quoted || format.Text == "") || format.Glob && c.mayBeFlag(format.Text) {
		c.unclear("words", "gets")
	}
	for _, w := range rest[1:] {
		if (format.Unknown || format.Glob || strings.Trim(kinds, "sbqc") != "") && (w.Unknown || w.Glob ||
			strings.ContainsAny(w.Text, "[$`=")) {
			c.refuse("a shell may compute " + w.Text + ", which printf takes for a number")
		}
	}
}

// conversions are the letters of a printf format's conversions, with the stars of their widths.
func conversions(format string) string {
	var out []byte
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		for i++; i < len(format) && strings.IndexByte("-+ #0123456789.'*$hlLjzt", format[i]) >= 0; i++ {
			if format[i] == '*' {
				out = append(out, '*')
			}
		}
		if i < len(format) && format[i] != '%' {
			out = append(out, format[i])
		}
	}
	return string(out)
}

// judgeTest: -v and -R test variables, whose index may hold a command; the rest compares text, numbers
// and files.
func judgeTest(c *call, _ string) {
	for i, w := range c.args {
		if strings.ContainsAny(w.Text, "$`") && strings.Contains(w.Text, "[") && w.Text != "[" {
			c.refuse(c.name + " may run what stands in " + w.Text)
		}
		if (w.Text == "-v" || w.Text == "-R") && !w.Unknown && i+1 < len(c.args) && !isVariable(c.args[i+1]) {
			c.refuse(c.name + " " + w.Text + " may run what stands in the name of the variable")
		}
		if w.Unknown && !w.Quoted {
			c.unclear("words", "gets")
		}
		if i > 0 && testsFile(c.args[i-1]) && !w.Unknown && w.Text != "]" {
			c.Reads = append(c.Reads, w.Text)
		}
	}
}

func testsFile(w Word) bool {
	return len(w.Text) == 2 && w.Text[0] == '-' && strings.IndexByte("abcdefghkLNOGprsSuwx", w.Text[1]) >= 0 && !w.Unknown
}

// isVariable reports whether a word is the name of a variable, or may only be that.
func isVariable(w Word) bool {
	return !w.Unknown && w.Text != "" && !strings.ContainsFunc(w.Text, func(r rune) bool {
		return r >= 0x80 || !isLetter(byte(r))
	})
}

// judgeCd: the caller judges the folder.
func judgeCd(c *call, _ string) {
	rest := c.args
	for len(rest) > 0 && !rest[0].Unknown && !rest[0].Glob && slices.Contains(strings.Fields("-L -P -e -n -q -s"),
		rest[0].Text) {
		rest = rest[1:]
	}
	if len(rest) > 0 && rest[0].Text == "--" && !rest[0].Unknown {
		rest = rest[1:]
	}
	switch {
	case c.name == "popd":
		c.Dir = &Word{Unknown: true}
	case len(rest) == 0 && c.name != "pushd":
		home := ""
		if c.env.World != nil {
			home = c.env.World.Home()
		}
		c.Dir = &Word{Text: home, Unknown: home == ""}
	case len(rest) != 1 || rest[0].Unknown || rest[0].Glob || strings.HasPrefix(rest[0].Text, "-") ||
		strings.HasPrefix(rest[0].Text, "+") && c.name == "pushd":
		c.Dir = &Word{Unknown: true}
		c.unclear("folder", "goes to")
	default:
		w := rest[0]
		c.Dir = &w
	}
}

func judgeSource(c *call, _ string) {
	c.ScriptHides = true
	if len(c.args) > 0 && !c.args[0].Unknown {
		c.Reads = append(c.Reads, c.args[0].Text)
	}
}

// judgeTrap: the first word is a script, unless it prints or takes one back.
func judgeTrap(c *call, _ string) {
	args := c.args
	if len(args) > 0 && args[0].Text == "--" {
		args = args[1:]
	}
	if len(args) > 0 && args[0].Text != "-" && args[0].Text != "" && args[0].Text != "-p" && args[0].Text != "-l" {
		c.script(args[0])
	}
}

// judgeCommand: -v and -V print, everything else runs.
func judgeCommand(c *call, _ string) {
	for i, w := range c.args {
		if w.Unknown || w.Glob || !strings.HasPrefix(w.Text, "-") || w.Text == "--" {
			if w.Text == "--" {
				i++
			}
			if i < len(c.args) {
				c.Inner = append(c.Inner, slices.Clone(c.args[i:]))
				c.Transparent = true
			}
			return
		}
		switch w.Text {
		case "-v", "-V", "-pv", "-pV", "-vp":
			c.Class = permission.ClassList
			return
		case "-p":
		default:
			c.refuse("the flag " + w.Text + " of command is not known to be read-only")
		}
	}
}

// judgeKill: kill -l lists signals, kill -0 asks whether a process is there.
func judgeKill(c *call, _ string) {
	first, more := Word{}, c.args[min(1, len(c.args)):]
	if len(c.args) > 0 {
		first = c.args[0]
	}
	unsure := slices.ContainsFunc(more, func(w Word) bool { return w.Unknown || w.Glob || strings.HasPrefix(w.Text, "-") })
	if !first.Unknown && (first.Text == "-l" || first.Text == "-L" || first.Text == "-0" && len(more) > 0 && !unsure) {
		c.Class, c.Reason = permission.ClassList, ""
		return
	}
	c.Reason = "kill ends the processes " + texts(c.args)
}

// judgeDate: an operand that does not begin with + sets the clock.
func judgeDate(c *call, _ string) {
	for _, w := range c.ops {
		if !strings.HasPrefix(w.Text, "+") || w.Unknown && !w.Quoted {
			c.refuse("date with a time sets the clock")
		}
	}
}

// judgeSleep: up to a minute needs no question.
func judgeSleep(c *call, _ string) {
	for _, w := range c.ops {
		whole, _, _ := strings.Cut(strings.TrimSuffix(w.Text, "s"), ".")
		if w.Unknown || strings.Trim(whole, "0123456789") != "" || len(whole) > 2 || len(whole) == 2 && whole > "60" {
			c.refuse("sleep waits for longer than a minute")
		}
	}
}

// judgePs knows the usual words of ps: others may show the environment of processes. When anything is wrong in the
// words, ps reads all of them again as if they had no dash, -e as e, which shows it too; so -e goes with nothing.
func judgePs(c *call, _ string) {
	everything, format, letters := false, false, 0
	for _, w := range c.args {
		name, _, _ := strings.Cut(w.Text, "=")
		o, ok := c.row.options[name]
		switch {
		case w.Unknown || w.Glob || strings.Contains(strings.ToLower(w.Text), "env"):
			c.unclear("words", "gets")
			return
		case format: // the value of a flag
			format = false
		case ok && strings.HasPrefix(name, "--"):
		case ok, slices.Contains(strings.Fields("a x u ax aux auxw auxww auxf"), w.Text):
			letters++
			format, everything = o.role != "", everything || strings.Contains(w.Text, "e")
		default:
			c.refuse("the word " + w.Text + " of ps may show the environment of processes")
		}
	}
	if everything && letters > 1 {
		c.refuse("ps may take -e for e, which shows the environment of processes")
	}
}
