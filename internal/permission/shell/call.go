package shell

import (
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/program"
)

// call is one simple command as it would run.
type call struct {
	words   []word
	assigns []assigned
	name    string // base name of the program, "" when unknown
	raw     string
	use     program.Use
	dirs    []string
	in      input
	within  string
	level   int
	guess   bool
	place   int    // where its part stands among the parts, before the commands in its words
	placed  bool   // place is set
	sub     bool   // run by another command of the line: sudo, xargs, find -exec
	wrapper string // the name of that command
}

// arg returns the text of a word, "" where there is none.
func (c *call) arg(i int) string {
	if i < len(c.words) {
		return c.words[i].text
	}
	return ""
}

// call walks a simple command. writes: a redirection writes what it prints into a file.
func (a *analysis) call(c *syntax.CallExpr, sc *scope, in input, writes bool) (ok bool) {
	raw, place := a.source(c, sc), len(a.parts)
	assigns := a.assignments(c.Assigns, sc)
	if len(c.Args) == 0 {
		if a.notes(c.Assigns, assigns, raw, place, sc) {
			return true
		}
		a.assign(assigns, raw, place, sc)
		return false
	}
	a.reserved(c, sc)
	words := a.words(c.Args, sc)
	if len(words) > 0 && holdsParam(c.Args[0]) {
		words[0].worked = true // a program is to be named by its name
	}
	args, before := &syntax.CallExpr{Args: c.Args}, sc
	if sc.turning(args) != "" {
		before = sc.child()
	}
	run := &call{words: words, assigns: assigns, raw: raw, in: in, place: place, placed: true}
	ok = a.run(run, sc)
	if writes {
		a.wrote(run, sc)
	}
	a.turns(args, before, func(sc *scope) {
		a.mute++
		words := a.words(c.Args, sc)
		a.mute--
		a.run(&call{words: words, assigns: assigns, raw: raw, in: in, sub: true, wrapper: "?"}, sc)
	})
	sc.perhapsIn(before.perhaps)
	return ok
}

// noteCall keeps a call for the checks.
func (a *analysis) noteCall(c *call) {
	if a.mute == 0 {
		a.calls = append(a.calls, c)
	}
}

// part notes a part behind the others.
func (a *analysis) part(p permission.Part, sc *scope) int { return a.partAt(len(a.parts), &p, sc) }

// partAt notes a part at its place in the text: before the parts that its own words run.
func (a *analysis) partAt(place int, p *permission.Part, sc *scope) int {
	if a.mute > 0 {
		return -1
	}
	if !p.Exact || sc.guess {
		a.exact = false
	}
	a.raise(p.Class)
	if place == len(a.parts) {
		a.parts = append(a.parts, *p)
		return place
	}
	a.parts = slices.Insert(a.parts, place, *p)
	return place
}

// run analyses a command whose words are known as far as they can be. ok: it is read-only or edits files, and its words
// are what they seem.
func (a *analysis) run(c *call, sc *scope) (ok bool) {
	if len(c.words) == 0 {
		a.part(permission.Part{
			Text: c.raw, Raw: c.raw, Class: permission.ClassWrite, Within: sc.within,
			Reason: "its words only running tells",
		}, sc)
		a.noteCall(c)
		return false
	}
	c.dirs, c.within, c.level, c.guess = sc.dirs, sc.within, sc.level, sc.guess
	c.name = baseName(c.words[0])
	for _, as := range c.assigns {
		a.value(as, sc)
	}
	c.use = a.lookUp(c, sc)
	setsOptions(c)
	at := a.addPart(c, sc)
	a.noteCall(c)
	inner := a.follow(c, sc)
	a.reach(c, sc)
	if at >= 0 {
		a.parts[at].Whole = c.use.Whole
	}
	a.change(c, sc)
	a.sets(c, sc)
	if at < 0 || !a.parts[at].Class.ReadOnly() && !a.parts[at].Edits() {
		return false
	}
	return a.plain(c, inner)
}

// plain reports whether the shell leaves the words of a command as they are, so that it is what it was judged for.
// inner: the command that it runs is plain.
func (a *analysis) plain(c *call, inner bool) bool {
	words := c.words
	if len(c.use.Inner) > 0 {
		own := len(c.words) - len(c.use.Inner[0])
		if !c.use.Transparent || len(c.use.Inner) != 1 || !inner || own < 1 ||
			!inList("same shell", c.name) && inList("builtins", c.use.Inner[0][0].Text) { // it can only start a program
			return false
		}
		words = c.words[:own]
	}
	for i, w := range words {
		if w.unknown && !w.stays(c, i) || w.glob && (len(c.dirs) != 1 || len(c.assigns)+len(c.use.Inner) > 0) {
			return false
		}
	}
	return onlyLocale(c.assigns)
}

// setsOptions makes a set neutral that only stops the shell at a failure or changes its output.
func setsOptions(c *call) {
	if c.name != "set" || len(c.words) < 2 || len(c.assigns) > 0 {
		return
	}
	for i, w := range c.words[1:] {
		named := i > 0 && strings.HasSuffix(c.words[i].text, "o")
		switch {
		case !w.literal() || w.glob:
			return
		case named && among(w.text, "pipefail", "errexit", "nounset", "verbose", "xtrace"):
		case !named && len(w.text) > 1 && (w.text[0] == '-' || w.text[0] == '+') && strings.Trim(w.text[1:],
			"euvxo") == "" && strings.IndexByte(w.text[:len(w.text)-1], 'o') < 0:
		default:
			return
		}
	}
	if strings.HasSuffix(c.words[len(c.words)-1].text, "o") && len(c.words[len(c.words)-1].text) > 1 &&
		c.words[len(c.words)-1].text[0] != 'p' {
		return // set -o prints the options
	}
	c.use.Class, c.use.Reason = permission.ClassNeutral, ""
}

// baseName is the program's name, "" when it is not known.
func baseName(w word) string {
	if w.text == "" || w.glob {
		return ""
	}
	return filepath.Base(filepath.ToSlash(w.text))
}

// lookUp asks the program table. Words of which only a part is known are looked up by that part,
// because a guess serves deny rules; that they count as harmless is ruled out elsewhere.
func (a *analysis) lookUp(c *call, sc *scope) program.Use {
	words := programWords(c.words)
	words[0].Unknown = words[0].Unknown && words[0].Text == ""
	return program.Analyze(words, program.Env{Dir: sc.dir(), World: a.world})
}

// readsKnown reports whether a command is read-only by those of its words that are known.
func (a *analysis) readsKnown(words []program.Word) bool {
	var known, filled []program.Word
	for _, w := range words {
		if w.Unknown {
			filled = append(filled, program.Word{Text: "x", Quoted: true})
			continue
		}
		known, filled = append(known, w), append(filled, w)
	}
	env := program.Env{World: a.world}
	return program.Analyze(known, env).Class.ReadOnly() || program.Analyze(filled, env).Class.ReadOnly()
}

// addPart notes the part for a call, with its texts for rules.
func (a *analysis) addPart(c *call, sc *scope) int {
	p := permission.Part{
		Raw: c.raw, Program: c.name, Class: c.use.Class, Reason: c.use.Reason, Within: sc.within,
		Literal: c.use.Literal, InPlace: c.use.InPlace, Exact: !sc.guess,
		Changes: c.use.Changes, Beyond: c.use.Beyond,
	}
	p.Text, p.Deep = a.texts(c)
	for i, w := range c.words {
		if !w.literal() && !w.stays(c, i) || (w.glob && (i == 0 || a.risky(c, w))) ||
			(w.braced && (i == 0 || strings.HasPrefix(w.text, "-"))) {
			p.Exact = false
		}
	}
	first := c.words[0]
	if first.text != "[" && strings.ContainsAny(first.text, " \t\n;&|<>()$`\"'\\*?[]{}=") || !first.tilde &&
		strings.HasPrefix(first.text, "~") {
		p.Exact = false
	}
	for _, as := range c.assigns {
		if !cosmetic(as) && (!safeVariable(as.name) || !as.known || strings.ContainsAny(as.show, "$`")) {
			p.Literal, p.InPlace = true, false
			a.soften(&p, "it sets the variable "+as.name)
		}
	}
	if len(c.assigns) > 0 && !onlyLocale(c.assigns) {
		a.soften(&p, "it sets the variable "+c.assigns[0].name)
	}
	if (c.use.Transparent && len(c.use.Inner) > 0) || (c.sub && !a.transparent(c)) {
		p.Covered = true
	}
	a.harden(c, &p, sc)
	if c.placed {
		return a.partAt(c.place, &p, sc)
	}
	return a.partAt(len(a.parts), &p, sc)
}

// soften takes the harmless class from a part, with the reason.
func (a *analysis) soften(p *permission.Part, why string) {
	if p.Class.ReadOnly() {
		p.Class, p.Reason = permission.ClassWrite, why
	}
}

// transparent reports whether the wrapper that runs c lets it stand for the whole.
func (a *analysis) transparent(c *call) bool { return c.wrapper == "" }

// harden takes the harmless class from a command that is harmless by its words alone.
func (a *analysis) harden(c *call, p *permission.Part, sc *scope) {
	first := c.words[0]
	if !inList("builtins", first.text) && !first.unknown && a.mute == 0 {
		p.Path = a.world.Program(first.text, sc.dir())
	}
	if !p.Class.ReadOnly() {
		p.Class = stronger(p.Class, permission.ClassNeutral)
		return
	}
	for i, w := range c.words {
		if w.unknown && !w.stays(c, i) {
			a.soften(p, "only running tells what "+w.show+" is")
		}
	}
	switch {
	case c.use.ScriptHides || c.use.Stdin || len(c.use.Script) > 0:
		a.soften(p, "it runs text as a script")
	case len(c.use.Writes) > 0 || len(c.use.Kills) > 0:
		a.soften(p, "it writes files")
	case len(c.use.Hosts) > 0:
		a.soften(p, "it reaches another machine")
	case sc.dirs == nil:
		a.saw(oddUnknownDir, c.raw)
		a.soften(p, "it is not known in which folder it would run")
	case a.defined(c, sc):
		a.soften(p, "the line itself defines "+c.name)
	case c.name == "bc" && a.escapesToShell(c.in):
		a.soften(p, "some bc run a line that begins with ! in a shell")
	}
	a.git(c, p, sc)
	a.locate(c, p, sc)
}

// escapesToShell reports whether a line of the input begins with an exclamation mark, as far as it is known.
func (a *analysis) escapesToShell(in input) bool {
	if len(in.upto) > 0 && !in.known {
		in.text, _ = a.printed(in.upto, in.scope)
	}
	for line := range strings.SplitSeq(in.text, "\n") {
		if strings.HasPrefix(strings.TrimLeft(line, " \t"), "!") {
			return true
		}
	}
	return false
}

func (a *analysis) defined(c *call, sc *scope) bool {
	return sc.funcs[c.name] != nil || sc.aliases[c.name] != ""
}

// git looks at the repository whose configuration a git command would follow.
func (a *analysis) git(c *call, p *permission.Part, sc *scope) {
	if !c.use.Git || !p.Class.ReadOnly() {
		return
	}
	dirs := gitDirs(c, sc.dirs)
	if !a.ownRepository(c, sc.dirs) {
		a.soften(p, "another folder's repository may name programs that git runs")
		return
	}
	keys, err := a.world.GitKeys(dirs[0], permission.ProgramKeys)
	switch {
	case err != nil:
		a.soften(p, "what the repository's configuration would run cannot be told: "+err.Error())
	case len(keys) > 0:
		a.soften(p, "the repository's configuration names a program: "+strings.Join(keys, ", "))
	}
}

// gitDirs are the folders in which git may look for its repository: those that may be the current one, or that of -C.
func gitDirs(c *call, dirs []string) []string {
	if c.use.GitDir == "" {
		return dirs
	}
	if len(dirs) != 1 || !filepath.IsAbs(c.use.GitDir) {
		return nil
	}
	return []string{c.use.GitDir}
}

// ownRepository reports whether git works in the repository of the start. In a folder of -C that is missing, and that
// nothing in the line could make, it fails.
func (a *analysis) ownRepository(c *call, dirs []string) bool {
	at := gitDirs(c, dirs)
	if c.use.GitDir != "" && len(at) == 1 && below(at[0], a.start) && a.world.Stat(at[0]).Kind == permission.Missing &&
		a.class.ReadOnly() {
		return true
	}
	return a.sameRepository(at)
}

// sameRepository reports whether git finds the repository of the start in each of these folders: they lie below it,
// none is a link, and on the way there is nothing that git takes for a repository.
func (a *analysis) sameRepository(dirs []string) bool {
	for _, dir := range dirs {
		if dir == a.start {
			continue
		}
		if !below(dir, a.start) || a.world.Stat(dir).Kind != permission.Folder || a.world.Stat(dir).Real != dir {
			return false
		}
		for ; dir != a.start; dir = filepath.Dir(dir) {
			if a.world.Stat(dir+"/.git").Kind != permission.Missing || a.world.Stat(dir+"/HEAD").Kind != permission.Missing {
				return false
			}
		}
	}
	return dirs != nil
}

// locate finds the program: it must be where programs of the system are, not in a folder that is worked in.
func (a *analysis) locate(c *call, p *permission.Part, sc *scope) {
	if inList("builtins", c.words[0].text) {
		return
	}
	switch {
	case p.Path == "" && strings.ContainsAny(c.words[0].text, `/\`):
		a.soften(p, "there is no program "+c.words[0].text)
	case p.Path == "": // it fails: the clean environment looks in the same folders
	case a.rooted(p.Path):
		a.soften(p, c.name+" is a program of the folder that is worked in: "+p.Path)
	case strings.ContainsAny(c.words[0].text, `/\`) && !trusted(c.words[0].text):
		a.soften(p, c.words[0].text+" is not where the system keeps its programs")
	}
}

// trusted reports whether a program named by its path lies where the system keeps programs.
func trusted(path string) bool {
	switch filepath.Dir(path) {
	case "/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/opt/homebrew/bin":
		return filepath.Clean(path) == path
	}
	return false
}

// risky reports whether a pattern could stand for a file whose name is a flag: one is there, or the program has
// dangerous flags.
func (a *analysis) risky(c *call, w word) bool {
	if w.text != "" && !strings.ContainsRune(`*?[-`, rune(w.text[0])) {
		return false
	}
	if among(c.name, "find", "sort", "sed", "git", "tar", "rsync", "xargs", "rg", "fd", "env", "zip", "ssh", "scp", "tree") {
		return true
	}
	for _, dir := range c.dirs {
		found, more := a.world.Glob(w.text, dir, maxGlob)
		if more || slices.ContainsFunc(found, func(f string) bool { return strings.IndexByte("-@", filepath.Base(f)[0]) >= 0 }) {
			return true
		}
	}
	return false
}
