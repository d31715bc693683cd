package shell

import "strings"

// maxKnown is how many commands an xargs with a known input may become.
const maxKnown = 30

// knownList walks an xargs whose input the line shows: echo a.txt | xargs cat. It is the commands that xargs runs then.
// done is false for any other, and where one of them does more than read.
func (a *analysis) knownList(c *call, sc *scope) (script string, done bool) {
	own := len(c.words) - xargsWords(c)
	if own < 1 || a.mute > 0 || a.trying || c.guess || c.sub || len(c.assigns) > 0 {
		return "", false
	}
	for _, w := range c.words {
		if !w.literal() || w.glob {
			return "", false
		}
	}
	text, known := c.in.text, c.in.any && c.in.known
	if len(c.in.upto) > 0 {
		text, known = a.printed(c.in.upto, c.in.scope)
	}
	commands, ok := xargsCommands(texts(c.words[1:own]), c.words[own:], text)
	if !known || !ok {
		return "", false
	}
	was := a.snapshot()
	a.trying = true
	script, ok = a.runAll(c, commands, sc)
	if !ok || !a.looked(len(was.parts)) {
		*a = was
		return "", false
	}
	a.trying = false
	return script, true
}

// xargsWords is how many of the words of an xargs are the command that it runs.
func xargsWords(c *call) int {
	if c.name != "xargs" || len(c.use.Inner) != 1 {
		return len(c.words)
	}
	inner := c.use.Inner[0]
	if last := inner[len(inner)-1]; last.Unknown && last.Text == "" && !last.Quoted {
		return len(inner) - 1
	}
	return len(inner)
}

// runAll walks the commands one after the other. None of them has an input.
func (a *analysis) runAll(c *call, commands [][]word, sc *scope) (script string, ok bool) {
	head := *c
	head.use.Inner = nil
	if at := a.addPart(&head, sc); at < 0 || !a.parts[at].Class.ReadOnly() {
		return "", false
	}
	a.calls = a.noteCall(&head)
	scripts := []string{"builtin ':'"}
	for _, words := range commands {
		run := &call{words: words, raw: c.raw, in: input{any: true, known: true}, sub: true}
		text, ok := a.run(run, sc.inside(c.name))
		if !ok || run.use.Dir != nil || a.builtinOnly(words[0].text) {
			return "", false
		}
		scripts = append(scripts, text+" </dev/null")
	}
	return "{ " + strings.Join(scripts, "; ") + "; }", true
}

// builtinOnly reports whether a name is one that only the shell knows, so that xargs finds no program.
func (a *analysis) builtinOnly(name string) bool {
	return builtins.has(name) && !among(name, "echo", "printf", "pwd", "true", "false", "test", "[")
}

// xargsCommands are the commands that xargs makes of its input, ok where its flags are among the plain ones and the
// input has no quotes.
func xargsCommands(flags []string, command []word, text string) (commands [][]word, ok bool) {
	mark, each, lines, nul, empty := "", 0, false, false, true
	for i := 0; i < len(flags); i++ {
		switch f := flags[i]; {
		case f == "-r", f == "--no-run-if-empty":
			empty = false
		case f == "-0", f == "--null":
			nul = true
		case f == "-t", f == "-x":
		case f == "-i", f == "-I{}":
			mark = "{}"
		case f == "-d" && i+1 < len(flags) && flags[i+1] == `\n`, f == "-d" && i+1 < len(flags) && flags[i+1] == "\n":
			lines = true
			i++
		case (f == "-I" || f == "-n" || f == "-L" || f == "-P") && i+1 < len(flags):
			i++
			if each, ok = count(f, flags[i], each); f == "-I" {
				mark, ok = flags[i], flags[i] != ""
			}
			if !ok {
				return nil, false
			}
		case len(f) > 2 && (f[:2] == "-n" || f[:2] == "-P"):
			if each, ok = count(f[:2], f[2:], each); !ok {
				return nil, false
			}
		default:
			return nil, false
		}
	}
	names, ok := xargsNames(text, nul, lines || mark != "")
	if !ok {
		return nil, false
	}
	return grouped(command, names, mark, each, empty)
}

// count is the number behind -n, -L and -P; that of -P does not matter.
func count(flag, text string, was int) (int, bool) {
	if !decimal.MatchString(text) || len(text) > 3 || text == "0" || text[0] == '-' {
		return 0, flag == "-P" && text == "0"
	}
	if flag == "-P" {
		return was, true
	}
	n := 0
	for _, digit := range text {
		n = 10*n + int(digit-'0')
	}
	return n, flag != "-L" || n == 1
}

// xargsNames are the items of the input.
func xargsNames(text string, nul, lines bool) (names []string, ok bool) {
	switch {
	case nul:
		names = strings.Split(strings.TrimSuffix(text, "\x00"), "\x00")
	case strings.ContainsAny(text, "\"'\\\x00"):
		return nil, false
	case lines:
		for line := range strings.SplitSeq(text, "\n") {
			if line = strings.TrimLeft(line, " \t"); line != "" {
				names = append(names, line)
			}
		}
	default:
		names = strings.Fields(text)
	}
	if nul && text == "" {
		names = nil
	}
	return names, len(names) <= maxKnown
}

// grouped are the commands with the names in their places: each of them in the place of mark, or some behind each command.
func grouped(command []word, names []string, mark string, each int, empty bool) (commands [][]word, ok bool) {
	if mark != "" {
		for _, name := range names {
			words := make([]word, len(command))
			for i, w := range command {
				words[i] = plainTest(strings.ReplaceAll(w.text, mark, name))
				words[i].quoted = true
			}
			commands = append(commands, words)
		}
		return commands, true
	}
	if len(names) == 0 && empty {
		return [][]word{command}, true
	}
	for len(names) > 0 {
		n := len(names)
		if each > 0 {
			n = min(each, n)
		}
		words := command[:len(command):len(command)]
		for _, name := range names[:n] {
			words = append(words, word{text: name, show: name, quoted: true})
		}
		commands, names = append(commands, words), names[n:]
	}
	return commands, true
}
