package program

import (
	"slices"
	"strings"
)

// judgeDocker takes the flags of docker itself; another daemon is another machine.
func judgeDocker(c *call, _ string) {
	c.verb("")
	for i, w := range c.args {
		for _, f := range []string{"-H", "--host"} {
			v, ok := strings.CutPrefix(w.Text, f+"=")
			if !ok && w.Text == f && i+1 < len(c.args) {
				v, ok = c.args[i+1].Text, true
			}
			if h := hostOf(v); ok && h != "" {
				c.Hosts = append(c.Hosts, h)
			}
		}
	}
}

// judgeContainer: flags, an image or a container, then a command.
func judgeContainer(c *call, _ string) {
	c.Literal = true
	i := 0
	for ; i < len(c.args); i++ {
		w := c.args[i]
		if w.Unknown || w.Glob || !strings.HasPrefix(w.Text, "-") {
			break
		}
		c.containerFlag(i)
		alone, known := c.row.options[w.Text]
		if !strings.Contains(w.Text, "=") && !(known && alone.role == "") && (strings.HasPrefix(w.Text, "--") ||
			len(w.Text) == 2) {
			i++
		}
	}
	if i+1 < len(c.args) {
		c.Inner = append(c.Inner, c.args[i+1:])
	}
}

// containerFlag notes mounted folders, files of variables, and a replaced entry point.
func (c *call) containerFlag(i int) {
	name, value, ok := strings.Cut(c.args[i].Text, "=")
	if !ok && i+1 < len(c.args) {
		value = c.args[i+1].Text
	}
	switch name {
	case "-v", "--volume":
		from, rest, _ := strings.Cut(value, ":")
		c.mounts(from, strings.HasSuffix(rest, ":ro"))
	case "--mount": // type=bind,source=FOLDER,target=...
		for field := range strings.SplitSeq(value, ",") {
			if key, from, _ := strings.Cut(field, "="); key == "source" || key == "src" {
				c.mounts(from, strings.Contains(value, ",readonly") || strings.Contains(value, ",ro"))
			}
		}
	case "--env-file":
		c.Reads = append(c.Reads, value)
	case "--entrypoint":
		c.Inner = append(c.Inner, split(Word{Text: value}))
	}
}

// mounts notes a folder of the machine that the container reads with everything in it; a name is a volume.
func (c *call) mounts(from string, readOnly bool) {
	if !strings.ContainsAny(from, "/.") {
		return
	}
	c.Reads, c.Whole = append(c.Reads, from), true
	if !readOnly {
		c.Writes = append(c.Writes, from)
	}
}

// judgeCompose takes the flags before the subcommand. One without a row does what the compose file says.
func judgeCompose(c *call, _ string) {
	i := 0
	look := &call{name: c.name, row: c.row, args: c.args}
	for i < len(c.args) && strings.HasPrefix(c.args[i].Text, "-") && !c.args[i].Unknown && !c.args[i].Glob {
		i = look.flag(i) + 1
	}
	sub := i < len(c.args) && known("docker compose "+c.args[i].Text) && !c.args[i].Unknown
	if sub {
		c.Use = Use{Class: write} // words of the command in the container destroy nothing
	}
	for _, f := range look.flags {
		c.value(f)
	}
	if sub {
		c.subcommand("docker compose", i, 1)
	}
}

// cloudRemoves are the verbs by which programs of clouds remove.
var cloudRemoves = strings.Fields("delete rm rb terminate destroy remove purge deregister")

// judgeCloud: verbs that remove, also with something behind a dash or before a colon.
func judgeCloud(c *call, _ string) {
	for i, w := range c.ops {
		verb, _, _ := strings.Cut(w.Text, "-")
		_, after, colon := strings.Cut(w.Text, ":")
		if colon {
			verb = after
		}
		if slices.Contains(cloudRemoves, verb) && (i > 0 || colon) {
			c.destroy(c.name + " " + texts(c.ops[:i+1]) + " removes something far away")
			return
		}
	}
}

// sqliteOutputs are the commands of sqlite3's shell that write a file.
var sqliteOutputs = []string{".output", ".once", ".backup", ".save", ".clone", ".log", ".trace"}

// judgeSQL: statements that destroy, and the shells' own commands.
func judgeSQL(c *call, _ string) {
	statements := slices.Clone(c.ops)
	if c.has("-readonly", "--readonly") {
		c.Reads, c.Writes = append(c.Reads, c.Writes...), nil
	}
	for _, f := range c.flags {
		if f.role == "CODE" {
			statements = append(statements, f.value)
		}
	}
	for _, w := range statements {
		text := strings.TrimSpace(w.Text)
		upper := strings.ToUpper(text)
		run, ok := strings.CutPrefix(text, `\!`)
		for _, word := range []string{".shell ", ".system "} {
			if rest, found := strings.CutPrefix(text, word); found {
				run, ok = rest, true
			}
		}
		if to := strings.Fields(text); len(to) > 1 && slices.Contains(sqliteOutputs, to[0]) {
			c.Writes = append(c.Writes, strings.Trim(to[len(to)-1], `'"`))
		}
		switch {
		case ok:
			c.Script = append(c.Script, strings.TrimSpace(run))
			c.Literal = true
		case holdsWord(upper, "DROP"), holdsWord(upper, "TRUNCATE"), holdsWord(upper, "DELETE"),
			strings.Contains(text, "drop(") || strings.Contains(text, "dropDatabase"):
			c.destroy(c.name + " removes data: " + w.Text)
		}
	}
}

// judgeDebugger: -ex 'shell text'.
func judgeDebugger(c *call, _ string) {
	for i, w := range c.args {
		if i > 0 && slices.Contains([]string{"-ex", "--ex", "-iex", "-o", "--eval-command"}, c.args[i-1].Text) {
			c.debuggerCommand(w.Text)
		}
		if v, ok := strings.CutPrefix(w.Text, "-ex="); ok {
			c.debuggerCommand(v)
		}
		if w.Text == "--args" && i+1 < len(c.args) {
			c.Inner = append(c.Inner, c.args[i+1:])
		}
	}
}

func (c *call) debuggerCommand(s string) {
	c.Literal = true
	for _, p := range []string{"shell ", "!", "platform shell ", "pipe "} {
		if text, ok := strings.CutPrefix(strings.TrimSpace(s), p); ok {
			c.Script = append(c.Script, text)
		}
	}
}

// judgeVim: -c and + hold commands of the editor, some of which run shell text.
func judgeVim(c *call, _ string) {
	for i, w := range c.args {
		command, ok := strings.CutPrefix(w.Text, "+")
		if i > 0 && (c.args[i-1].Text == "-c" || c.args[i-1].Text == "--cmd") {
			command, ok = w.Text, true
		}
		switch {
		case ok:
			c.Literal = true
			if text, shell := strings.CutPrefix(strings.TrimLeft(command, ": "), "!"); shell {
				c.Script = append(c.Script, text)
			}
		case !strings.HasPrefix(w.Text, "-"):
			c.Writes = append(c.Writes, w.Text)
		}
	}
}
