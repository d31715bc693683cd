package shell

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/program"
)

// Limits of an xargs with a known input: the commands that it may become, the names among their words, and the bytes of
// a file that the names come from.
const (
	maxKnownCommands = 100
	maxKnownNames    = 1000
	maxListFile      = 16_000
)

// knownList walks an xargs whose input is known: echo a.txt | xargs cat, or a list in a small file. Each of the
// commands that xargs makes of it is walked like one that was typed. The safe form carries the input, so that a later
// change of the file does not matter. done is false for any other, and where one of the commands does more than read.
func (a *analysis) knownList(c *call, sc *scope) (script string, done bool) {
	own := len(c.words) - xargsWords(c)
	if own < 1 || own >= len(c.words) || a.mute > 0 || a.trying || c.guess || c.sub || len(c.assigns) > 0 {
		return "", false
	}
	for _, w := range c.words {
		if !w.literal() || w.glob {
			return "", false
		}
	}
	flags, list := listFile(texts(c.words[1:own]), c, sc)
	text, known := a.listText(c, list)
	commands, ok := xargsCommands(flags, c.words[own:], text)
	if !known || !ok {
		return "", false
	}
	was := a.snapshot()
	a.trying = true
	if list != "" {
		a.place(permission.Read, list, false)
	}
	script, ok = a.runAll(c, flags, c.words[own:], commands, text, sc)
	if !ok || !a.looked(len(was.parts)) {
		*a = was
		return "", false
	}
	a.trying = false
	c.carried = true
	return script, true
}

// listFile is the file that xargs takes its input from, and its flags without that.
func listFile(flags []string, c *call, sc *scope) (rest []string, file string) {
	file = c.in.file
	for i := 0; i < len(flags); i++ {
		name := ""
		switch f := flags[i]; {
		case (f == "-a" || f == "--arg-file") && i+1 < len(flags):
			i++
			name = flags[i]
		case strings.HasPrefix(f, "--arg-file="):
			name = strings.TrimPrefix(f, "--arg-file=")
		case strings.HasPrefix(f, "-a"):
			name = f[2:]
		default:
			rest = append(rest, f)
			if among(f, "-I", "-n", "-L", "-P", "-d") && i+1 < len(flags) {
				i++
				rest = append(rest, flags[i])
			}
			continue
		}
		if name == "" || name == "-" || len(sc.dirs) != 1 || c.in.any {
			return append(rest, "-a"), "" // which is none of the plain flags: the commands read what xargs does not
		}
		file = from(name, sc.dirs[0])
	}
	return rest, file
}

// listText is the input of an xargs, where it is known.
func (a *analysis) listText(c *call, list string) (text string, known bool) {
	if list != "" {
		return a.fileText(list)
	}
	if text, known = c.in.text, c.in.any && c.in.known; len(c.in.upto) == 0 {
		return text, known
	}
	if file := a.catOf(c); file != "" {
		return a.fileText(file)
	}
	return a.printed(c.in.upto, c.in.scope)
}

// fileText is the text of a small file that may be read. The line must not write before: it might be that file.
func (a *analysis) fileText(path string) (text string, ok bool) {
	w, reads := a.world.(permission.Texts)
	if !reads || !a.class.ReadOnly() || a.writes() {
		return "", false
	}
	return w.Text(path, maxListFile)
}

// catOf is the file that a pipe of one cat feeds to a command, "" for another pipe.
func (a *analysis) catOf(c *call) string {
	if !c.in.piped || len(c.in.upto) != 1 || c.in.from != len(a.calls)-1 {
		return ""
	}
	cat := a.calls[c.in.from]
	if cat.name != "cat" || len(cat.words) != 2 || !cat.use.Class.ReadOnly() || len(cat.use.Reads) != 1 ||
		len(cat.dirs) != 1 || len(cat.assigns) > 0 {
		return ""
	}
	if w := cat.words[1]; !w.literal() || w.glob || w.text == "-" {
		return ""
	}
	return from(cat.words[1].text, cat.dirs[0])
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

// runAll walks the commands one after the other. None of them has an input. Where the safe form of each is nothing but
// its words, xargs itself runs them; else they stand in its place.
func (a *analysis) runAll(c *call, flags []string, command []word, commands [][]word, text string, sc *scope) (
	script string, ok bool,
) {
	head := *c
	words := []program.Word{c.words[0].program()}
	for _, f := range flags {
		words = append(words, program.Word{Text: f, Quoted: true})
	}
	for _, w := range command {
		words = append(words, w.program())
	}
	head.use = program.Analyze(words, program.Env{Dir: sc.dir(), World: a.world})
	head.use.Inner = nil
	if at := a.addPart(&head, sc); at < 0 || !a.parts[at].Class.ReadOnly() {
		return "", false
	}
	a.calls = a.noteCall(&head)
	full, plain := a.programPath(command[0].text, sc)
	plain = plain && !strings.Contains(text, "\x00")
	var scripts []string
	for _, words := range commands {
		run := &call{words: words, raw: c.raw, in: input{any: true, known: true}, sub: true}
		text, ok := a.run(run, sc.inside(c.name))
		if !ok || run.use.Dir != nil || a.builtinOnly(words[0].text) {
			return "", false
		}
		plain = plain && (text == quote(full)+quotedWords(words[1:]) || text == "builtin "+quote(words[0].text)+
			quotedWords(words[1:]))
		scripts = append(scripts, text)
	}
	if self, found := a.programPath(c.words[0].text, sc); plain && found {
		script = quote(self) + quoted(flags) + " " + quote(full) + quotedWords(command[1:]) + " <<<" +
			quote(strings.TrimSuffix(text, "\n"))
		return a.drained(c, script), !slices.Contains(flags, "-0") && !slices.Contains(flags, "--null") ||
			strings.HasSuffix(text, "\n")
	}
	return a.drained(c, a.oneByOne(scripts)), true
}

// oneByOne runs commands as xargs does: each without input, and one that fails makes 123 of the exit code.
func (a *analysis) oneByOne(scripts []string) string {
	a.kept++
	code := "kept_" + strconv.Itoa(a.kept)
	var b strings.Builder
	b.WriteString("{ " + code + "=0; ")
	for _, script := range scripts {
		b.WriteString(script + " </dev/null || " + code + "=123; ")
	}
	return b.String() + "( builtin exit ${" + code + "} ); }"
}

// drained reads the pipe before a command that does not, so that the commands in it do not fail.
func (a *analysis) drained(c *call, script string) string {
	if len(c.in.upto) == 0 {
		return script
	}
	return "{ while builtin read -r turn_; do builtin ':'; done; " + script + "; }"
}

// quotedWords are words as text for the script, each with a blank before it.
func quotedWords(words []word) string { return quoted(texts(words)) }

// builtinOnly reports whether a name is one that only the shell knows, so that xargs finds no program.
func (a *analysis) builtinOnly(name string) bool {
	return builtins.has(name) && !among(name, "echo", "printf", "pwd", "true", "false", "test", "[")
}

// splitting is how xargs makes items of its input.
type splitting int

const (
	atBlanks splitting = iota // quotes and backslashes count
	atNUL
	atLineEnd  // -d '\n': each line is an item as it is
	wholeLines // -I: without blanks before them, and without empty ones
	oneWords   // -L 1: lines of one word
)

// xargsCommands are the commands that xargs makes of its input, ok where its flags are among the plain ones and the
// input has no quotes.
func xargsCommands(flags []string, command []word, text string) (commands [][]word, ok bool) {
	mark, each, split, empty, ways := "", 0, atBlanks, true, 0
	for i := 0; i < len(flags); i++ {
		f := flags[i]
		if short := longFlags[f[:strings.IndexByte(f+"=", '=')]]; short != "" && strings.Contains(f, "=") {
			f = short + f[strings.IndexByte(f, '=')+1:]
		}
		value := ""
		if len(f) > 1 && strings.IndexByte("InLPd", f[1]) >= 0 && f[0] == '-' {
			if value = f[2:]; value == "" && i+1 < len(flags) {
				i++
				value = flags[i]
			}
			f = f[:2]
		}
		if among(f, "-0", "--null", "-i", "-I", "-d", "-L") {
			ways++
		}
		switch f {
		case "-r", "--no-run-if-empty":
			empty = false
		case "-0", "--null":
			split = atNUL
		case "-t", "-x":
		case "-i":
			mark, split = "{}", wholeLines
		case "-I":
			if mark, split = value, wholeLines; mark == "" {
				return nil, false
			}
		case "-d":
			if split = atLineEnd; value != `\n` && value != "\n" {
				return nil, false
			}
		case "-n", "-L", "-P":
			if each > 0 && f != "-P" {
				return nil, false
			}
			if each, ok = count(f, value, each); !ok {
				return nil, false
			}
			if f == "-L" {
				split = oneWords
			}
		default:
			return nil, false
		}
	}
	if ways > 1 || mark != "" && (each > 0 || strings.Contains(command[0].text, mark)) {
		return nil, false
	}
	names, ok := xargsNames(text, split)
	if !ok || len(names) > maxKnownNames || each > 0 && len(names)/each >= maxKnownCommands || mark != "" &&
		len(names) > maxKnownCommands {
		return nil, false
	}
	return grouped(command, names, mark, each, empty)
}

// longFlags are other names of flags with a value.
var longFlags = map[string]string{"--max-args": "-n", "--max-procs": "-P", "--delimiter": "-d", "--replace": "-I"}

// count is the number behind -n, -L and -P; that of -P does not matter.
func count(flag, text string, was int) (int, bool) {
	if !decimal.MatchString(text) || len(text) > 3 || text == "0" || text[0] == '-' {
		return was, flag == "-P" && text == "0"
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

// xargsNames are the items of the input. Quotes are not followed.
func xargsNames(text string, split splitting) (names []string, ok bool) {
	if split != atNUL && strings.ContainsAny(text, "\"'\\\x00") {
		return nil, false
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	switch split {
	case atNUL:
		if text == "" {
			return nil, true
		}
		return strings.Split(strings.TrimSuffix(text, "\x00"), "\x00"), true
	case atLineEnd:
		if text == "" {
			return nil, true
		}
		return lines, !slices.Contains(lines, "")
	case wholeLines:
		for _, line := range lines {
			if line = strings.TrimLeft(line, " \t"); line != "" {
				names = append(names, line)
			}
		}
		return names, true
	case oneWords:
		if strings.ContainsAny(text, " \t") {
			return nil, false
		}
	}
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n", r) }), true
}

// grouped are the commands with the names in their places: each of them in the place of mark, or some behind each
// command.
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
