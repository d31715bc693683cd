package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/program"
)

// follow analyses the commands that a command runs. inner: the last one of its words is plain.
func (a *analysis) follow(c *call, sc *scope) (inner bool) {
	if a.mute > 0 {
		return false
	}
	a.guesses(c, sc)
	a.called(c, sc)
	a.copied(c, sc)
	inner = a.inner(c, sc)
	a.scripts(c, sc)
	a.stdin(c, sc)
	a.produced(c, sc)
	a.rerun(c, sc)
	a.embedded(c, sc)
	a.names(c, sc)
	return inner
}

// guesses reads a command as if unknown words were empty, or as if a pattern in the place of the
// program stood for a known one.
func (a *analysis) guesses(c *call, sc *scope) {
	first := c.words[0]
	if first.unknown && first.text == "" && len(c.words) > 1 {
		guess := sc.inside("an unknown word")
		guess.guess = true
		rest := c.words[1:]
		a.run(&call{words: rest, raw: c.raw, in: c.in, sub: true, wrapper: "?"}, guess)
		if !sameDirs(guess.dirs, sc.dirs) {
			sc.maybe(guess.dirs)
		}
	}
	if rest, some := emptied(c.words); some && !c.sub {
		guess := sc.inside("unknown words taken for nothing")
		guess.guess = true
		a.run(&call{words: rest, assigns: c.assigns, raw: c.raw, in: c.in, sub: true, wrapper: "?"}, guess)
		if !sameDirs(guess.dirs, sc.dirs) {
			sc.perhapsIn(guess.dirs)
		}
	}
	if c.name == "repeat" && len(c.words) > 2 {
		a.run(&call{words: c.words[2:], raw: c.raw, in: c.in, sub: true, wrapper: c.name}, sc.inside(c.name))
	}
	if !first.glob || c.wrapper == "?" {
		return
	}
	for _, name := range names("likely") {
		if ok, err := path.Match(path.Base(first.text), name); err != nil || !ok {
			continue
		}
		guess := sc.inside("a pattern for a program")
		guess.guess = true
		words := append([]word{{text: name, show: name, worked: true}}, c.words[1:]...)
		a.run(&call{words: words, raw: c.raw, in: c.in, sub: true, wrapper: "?"}, guess)
	}
}

// emptied are the words of a command with all that is unknown of them taken for nothing, as with variables
// that are not set; some is false when that says nothing new.
func emptied(words []word) (rest []word, some bool) {
	if words[0].unknown && words[0].text == "" || !slices.ContainsFunc(words,
		func(w word) bool { return w.unknown || w.glob }) {
		return nil, false
	}
	for _, w := range words {
		if plain := unbracket(w.text); w.glob && plain != w.text && !hasMeta(plain) {
			w.text, w.glob, w.worked, some = unescape(plain), false, true, true
		}
		switch {
		case !w.unknown || w.open || w.listed:
		case w.text == "":
			continue
		default:
			w.unknown, w.worked, w.guessed, some = false, true, true, true
		}
		rest = append(rest, w)
	}
	return rest, some
}

// unbracket writes the sets of one character in a pattern as that character: r[m] is rm where there is an rm.
func unbracket(pattern string) string {
	for i := 0; i+2 < len(pattern); i++ {
		if pattern[i] == '[' && pattern[i+2] == ']' {
			pattern = pattern[:i] + pattern[i+1:i+2] + pattern[i+3:]
		}
	}
	return pattern
}

// called follows functions and aliases that the line defines.
func (a *analysis) called(c *call, sc *scope) {
	if text := sc.aliases[c.name]; text != "" && a.mayInline() {
		inner := sc.inside("alias " + c.name)
		delete(inner.aliases, c.name)
		rest := make([]string, 0, len(c.words))
		for _, w := range c.words[1:] {
			rest = append(rest, quote(w.text))
		}
		a.nestedScript(text+" "+strings.Join(rest, " "), inner, "alias "+c.name, nil)
	}
	f := sc.funcs[c.name]
	if f == nil || !a.mayInline() {
		return
	}
	inner := sc.part("function " + c.name)
	inner.src, inner.args = f.src, texts(c.words)
	delete(inner.funcs, c.name)
	a.stmt(f.body, inner, c.in)
	inner.funcs[c.name] = f
	sc.dirs = inner.dirs
}

func texts(words []word) []string {
	out := make([]string, 0, len(words))
	for _, w := range words {
		out = append(out, w.text)
	}
	return out
}

// mayInline counts the functions and aliases followed, so that no line becomes endless.
func (a *analysis) mayInline() bool {
	a.inline++
	if a.inline > maxInline {
		a.saw(oddTooMuch, "functions that call functions")
		a.opaque()
		return false
	}
	return true
}

// inner analyses the commands that a command runs from its own words.
func (a *analysis) inner(c *call, sc *scope) (plain bool) {
	if len(c.use.Inner) == 0 {
		return false
	}
	if c.level > maxLevel {
		a.saw(oddTooMuch, "wrappers around wrappers")
		a.opaque()
		return false
	}
	shows := map[string]word{}
	for _, w := range c.words {
		shows[w.text] = w
	}
	for _, words := range c.use.Inner {
		words = a.fed(c, words)
		next := sc.inside(c.name)
		if inList("same shell", c.name) {
			next = sc.part(c.name)
		}
		run := &call{raw: c.raw, in: c.in, sub: true}
		if !c.use.Transparent {
			run.wrapper = c.name
		}
		run.assigns, words = leading(words, c.name)
		for _, w := range words {
			run.words = append(run.words, fromProgram(w, shows))
		}
		if len(run.words) > 0 {
			plain = a.run(run, next)
			if inList("same shell", c.name) {
				sc.dirs = next.dirs
			}
		}
	}
	if !c.use.Transparent {
		a.raise(permission.ClassWrite)
	}
	return plain
}

// leading takes VAR=value words off the front of the command that env and sudo run.
func leading(words []program.Word, wrapper string) ([]assigned, []program.Word) {
	var out []assigned
	for len(words) > 0 {
		name, value, ok := strings.Cut(words[0].Text, "=")
		if !ok || !syntax.ValidName(name) {
			break
		}
		out = append(out, assigned{name: name, text: value, known: !words[0].Unknown, show: words[0].Text})
		words = words[1:]
	}
	_ = wrapper
	return out, words
}

// fromProgram turns a word of the program table back into one of the line.
func fromProgram(w program.Word, shows map[string]word) word {
	if had, ok := shows[w.Text]; ok && had.glob == w.Glob {
		had.unknown = had.unknown || w.Unknown
		return had
	}
	show := w.Text
	return word{text: w.Text, show: show, glob: w.Glob, unknown: w.Unknown, quoted: w.Quoted}
}

// scripts analyses text that a command runs as a script.
func (a *analysis) scripts(c *call, sc *scope) {
	for _, text := range c.use.Script {
		if !inList("same shell", c.name) {
			a.nestedScript(text, sc, c.name, scriptArgs(c, text))
			continue
		}
		inner := sc.part(c.name)
		a.script1(text, inner, sc.args)
		sc.dirs = inner.dirs
	}
	if c.name == "alias" {
		a.alias(c, sc)
	}
	if c.use.ScriptHides || (len(c.use.Script) > 0 && anyUnknown(c.words)) {
		a.saw(oddHidden, c.raw)
		a.raise(permission.ClassWrite)
		a.exact = false
	}
}

func anyUnknown(words []word) bool {
	for _, w := range words {
		if w.unknown {
			return true
		}
	}
	return false
}

// scriptArgs are $0, $1, ... of sh -c 'script' zero one.
func scriptArgs(c *call, script string) []string {
	for i, w := range c.words {
		if w.text == script && i > 0 {
			return texts(c.words[i+1:])
		}
	}
	return nil
}

// alias notes aliases and their texts.
func (a *analysis) alias(c *call, sc *scope) {
	for _, w := range c.words[1:] {
		name, text, ok := strings.Cut(w.text, "=")
		if !ok {
			continue
		}
		a.saw(oddShadow, w.show)
		sc.own()
		sc.aliases[name] = text
		a.nestedScript(text, sc, "alias "+name, nil)
	}
}

// stdin analyses the text that an interpreter reads from a pipe or a here-document.
func (a *analysis) stdin(c *call, sc *scope) {
	if !c.use.Stdin {
		return
	}
	in := c.in
	if !in.any {
		a.saw(oddHidden, c.raw)
		return
	}
	if len(in.upto) > 0 && !in.known {
		in.text, in.known = a.printed(in.upto, in.scope)
	}
	if interprets(c.name) && in.known && len(in.upto) == 0 { // the line shows the code, as behind -c
		a.code(in.text, sc, c.name)
		return
	}
	a.saw(oddPipedShell, c.raw)
	if in.text != "" {
		if len(in.upto) > 0 {
			a.saw(oddDecoded, in.text)
		}
		switch {
		case c.name == "xargs":
			a.nestedScript(in.text, sc, c.name, nil)
		case inList("shells", c.name) || c.name == "source" || c.name == ".":
			a.nestedScript(in.text, sc, "text for "+c.name, nil)
		default:
			a.code(in.text, sc, c.name)
		}
	}
	if !in.known {
		a.saw(oddHidden, c.raw)
	}
	a.opaque()
}

// produced analyses the output of <( ) where a shell reads it as a script.
func (a *analysis) produced(c *call, sc *scope) {
	if !inList("shells", c.name) && c.name != "source" && c.name != "." {
		return
	}
	for _, w := range c.words[1:] {
		if w.produced == nil {
			continue
		}
		text, known := a.output(w.produced.Stmts, sc)
		if text != "" {
			a.saw(oddDecoded, text)
			a.nestedScript(text, sc, "text for "+c.name, nil)
		}
		if !known {
			a.saw(oddHidden, c.raw)
		}
		a.opaque()
	}
}

// names looks for substitutions in the names that builtins evaluate: test -v 'a[$(x)]'.
func (a *analysis) names(c *call, sc *scope) {
	if !inList("evaluators", c.name) {
		return
	}
	for _, w := range c.words[1:] {
		open := strings.IndexByte(w.text, '[')
		if open < 0 || !strings.ContainsAny(w.text[open:], "$`") {
			continue
		}
		if (c.name == "printf" || c.name == "[" || c.name == "test") && !hasFlag(c.words, "-v") && !hasFlag(c.words, "-R") {
			continue
		}
		a.saw(oddEvaluated, w.show)
		a.prompt(w.text, sc, "a subscript")
		a.raise(permission.ClassWrite)
	}
}

func hasFlag(words []word, prefix string) bool {
	for _, w := range words[1:] {
		if strings.HasPrefix(w.text, prefix) {
			return true
		}
	}
	return false
}

// reach notes the files and hosts that a command names.
func (a *analysis) reach(c *call, sc *scope) {
	if a.mute > 0 || anyGuessed(c.words) {
		return // a guess names no files
	}
	var patterns map[string]bool
	for _, w := range c.words {
		if w.glob {
			if patterns == nil {
				patterns = map[string]bool{}
			}
			patterns[w.text] = true
		}
	}
	if c.use.Whole {
		a.readsWhole(c, patterns, sc)
	}
	a.readsPast(c, patterns, sc)
	for _, name := range c.use.Reads {
		if name == processFile || c.use.Whole {
			continue
		}
		a.files(permission.Read, name, patterns, sc)
	}
	for _, name := range c.use.Writes {
		if c.name == "git" && ownState(name) {
			continue // git's own files are judged by the key that is set
		}
		a.files(permission.Write, name, patterns, sc)
	}
	for _, name := range c.use.Kills {
		a.files(permission.Write, name, patterns, sc)
	}
	a.spreads(c, sc)
	a.lands(c, sc)
	for _, host := range c.use.Hosts {
		a.access(permission.Access{Kind: permission.Net, Target: host})
	}
}

// ownState reports whether a path is one that git writes in the course of its work.
func ownState(name string) bool {
	return name == ".git/config" || name == "~/.gitconfig" || path.Base(name) == ".gitconfig" || strings.HasSuffix(name,
		"/.git/config")
}

func anyGuessed(words []word) bool {
	return slices.ContainsFunc(words, func(w word) bool { return w.guessed })
}

// files notes a path or, for a pattern, the files that it stands for now.
func (a *analysis) files(kind permission.Kind, name string, patterns map[string]bool, sc *scope) {
	if !patterns[name] {
		a.path(kind, name, sc.places(), false)
		return
	}
	for _, d := range sc.places() {
		found, more := a.world.Glob(name, d, maxGlob)
		for _, f := range found {
			a.place(kind, f, false)
		}
		if more {
			a.saw(oddTooMuch, "files that "+name+" stands for")
		}
		if len(found) == 0 || a.landsIn(from(plainFolder(name), d)) {
			a.path(kind, unescape(name), []string{d}, false)
		}
	}
}

// parameters are $0, $1, ... after set -- one two.
func parameters(words []word) []string {
	for i, w := range words {
		if w.text == "--" || i > 0 && !strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "+") {
			if w.text != "--" {
				i--
			}
			return append([]string{"bash"}, texts(words[i+1:])...)
		}
	}
	return nil
}

// change notes how a command changes the shell itself: its folder, its parameters.
func (a *analysis) change(c *call, sc *scope) {
	if c.name == "set" {
		sc.args = parameters(c.words)
	}
	if c.use.Dir == nil {
		return
	}
	to := *c.use.Dir
	sc.perhapsIn(sc.dirs)
	switch {
	case to.Unknown:
		sc.dirs = nil
	case to.Text != "":
		a.path(permission.Read, to.Text, sc.dirs, false)
		sc.enter(to.Text)
	}
}
