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
	place   int      // where its part stands among the parts, before what its words run
	placed  bool     // place is set
	sub     bool     // run by another command of the line: sudo, xargs, find -exec
	wrapper string   // the name of that command
	except  []string // words that are added, so that it leaves out what may not be read
	listed  int      // the word that holds names out of a list, 0 for none
}

// assigned is one assignment before a command or alone.
type assigned struct {
	name, text string
	known      bool
	show       string
	code       string // for a script: the read-only command whose output it is, as $( )
}

// arg returns the text of a word, "" where there is none.
func (c *call) arg(i int) string {
	if i < len(c.words) {
		return c.words[i].text
	}
	return ""
}

// call walks a simple command.
func (a *analysis) call(c *syntax.CallExpr, sc *scope, in input, rd redirected) (script string, ok bool) {
	raw, place := a.source(c, sc), len(a.parts)
	assigns := a.assignments(c.Assigns, sc)
	if len(c.Args) == 0 {
		if a.notes(c.Assigns, assigns, raw, place, sc) {
			return "builtin ':'", true
		}
		a.assign(assigns, raw, place, sc)
		return "", false
	}
	a.reserved(c, sc)
	words := a.words(c.Args, sc)
	if len(words) > 0 && holdsParam(c.Args[0]) {
		words[0].worked = true // a program is to be named by its name
	}
	run := &call{words: words, assigns: assigns, raw: raw, in: in, place: place, placed: true}
	script, ok = a.run(run, sc)
	if rd.write {
		a.wrote(c, run, sc)
	}
	if rd.script != "" {
		script += rd.script
	}
	return script, ok
}

// assignments expands assignments without making them.
func (a *analysis) assignments(list []*syntax.Assign, sc *scope) []assigned {
	var out []assigned
	for _, as := range list {
		if as.Index != nil {
			a.saw(oddSubscript, a.source(as, sc))
			a.arithmetic(as.Index, sc)
		}
		got := assigned{show: a.source(as, sc), known: true}
		if as.Name != nil {
			got.name = as.Name.Value
		}
		if as.Value != nil {
			w := a.expandOne(as.Value, sc)
			got.text, got.known = w.text, !w.unknown
			if w.unknown && w.printed && onlySubst(as.Value) {
				got.code = bareCode(w.code)
			}
		}
		if as.Array != nil {
			got.text, got.known = a.array(as.Array, sc)
		}
		if as.Append {
			had, known := a.variable(got.name, sc)
			got.text, got.known = had+got.text, known && got.known
		}
		if as.Index != nil {
			got.known = false
			a.renames(got.name, as.Index, got.text, sc)
		}
		if len(got.text) > maxLine {
			got.text, got.known = got.text[:maxLine], false // a=$a$a, again and again
		}
		out = append(out, got)
	}
	return out
}

// holdsParam reports whether a variable is a part of a word.
func holdsParam(w *syntax.Word) bool {
	return slices.ContainsFunc(w.Parts, func(part syntax.WordPart) bool {
		if q, ok := part.(*syntax.DblQuoted); ok {
			return holdsParam(&syntax.Word{Parts: q.Parts})
		}
		_, ok := part.(*syntax.ParamExp)
		return ok
	})
}

// bareCode takes the quotes off a $( ) that is written as a whole word, "" when that is not all there is.
func bareCode(code string) string {
	code = strings.TrimSuffix(strings.TrimPrefix(code, "''"), "''")
	code = strings.TrimSuffix(strings.TrimPrefix(code, `"`), `"`)
	if !strings.HasPrefix(code, "$( ") || !strings.HasSuffix(code, " )") {
		return ""
	}
	return code
}

// onlySubst reports whether a word is one $( ), in quotes or not.
func onlySubst(w *syntax.Word) bool {
	if len(w.Parts) != 1 {
		return false
	}
	part := w.Parts[0]
	if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 && !q.Dollar {
		part = q.Parts[0]
	}
	_, ok := part.(*syntax.CmdSubst)
	return ok
}

// array is the text of (a b c), words joined by blanks.
func (a *analysis) array(x *syntax.ArrayExpr, sc *scope) (string, bool) {
	var texts []string
	known := true
	for _, e := range x.Elems {
		a.arithmetic(e.Index, sc)
		if e.Value == nil {
			continue
		}
		for _, w := range a.expand(e.Value, sc) {
			texts = append(texts, w.text)
			known = known && !w.unknown
		}
	}
	return strings.Join(texts, " "), known
}

// notes makes assignments that do nothing but give a name to a text that the line shows, or to the output of a
// read-only command. The safe form has that text, or the command again, wherever the name is used, so that nothing is
// assigned when it runs.
func (a *analysis) notes(list []*syntax.Assign, got []assigned, raw string, place int, sc *scope) bool {
	for i, as := range list {
		if as.Name == nil || as.Array != nil || as.Index != nil || as.Append || !got[i].known && got[i].code == "" || !ordinaryName(as.Name.Value) {
			return false
		}
		if strings.ContainsAny(got[i].text, "$`") || len(list) > 1 && as.Value != nil && holdsParam(as.Value) {
			return false // something may evaluate it again, or it speaks of what the same command sets
		}
	}
	for _, as := range got {
		sc.assign(as.name, binding{text: as.text, known: as.known, turn: true, code: as.code})
	}
	a.calls = a.noteCall(&call{assigns: got, raw: raw, dirs: sc.dirs, within: sc.within, level: sc.level, use: program.Use{Class: permission.ClassNeutral}})
	a.partAt(place, permission.Part{Text: raw, Raw: raw, Class: permission.ClassNeutral, Within: sc.within, Exact: true}, sc)
	return true
}

// ordinaryName reports whether no shell and no program looks at a variable of this name.
func ordinaryName(name string) bool {
	return ownName(name) || len(name) <= 2 && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" && name != "TZ" && name != "CC"
}

// assign makes assignments that stand alone.
func (a *analysis) assign(list []assigned, raw string, place int, sc *scope) {
	for _, as := range list {
		sc.assign(as.name, binding{text: as.text, known: as.known})
		a.value(as, sc)
	}
	a.calls = a.noteCall(&call{assigns: list, raw: raw, dirs: sc.dirs, within: sc.within, level: sc.level})
	a.partAt(place, permission.Part{
		Text: raw, Raw: raw, Class: permission.ClassWrite, Within: sc.within, Exact: true, Literal: true,
		Reason: "it sets variables",
	}, sc)
}

// value looks at a value that bash may run later: PS4, PROMPT_COMMAND and all that holds a substitution.
func (a *analysis) value(as assigned, sc *scope) {
	switch as.name {
	case "PROMPT_COMMAND", "PAGER", "GIT_PAGER", "MANPAGER", "BAT_PAGER", "GH_PAGER", "EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR",
		"GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_ASKPASS", "SSH_ASKPASS", "BROWSER", "FZF_DEFAULT_COMMAND":
		a.nestedScript(as.text, sc, as.name, nil)
	default:
		a.prompt(as.text, sc, "the value of "+as.name)
	}
}

// noteCall keeps a call for the checks.
func (a *analysis) noteCall(c *call) []*call {
	if a.mute > 0 {
		return a.calls
	}
	return append(a.calls, c)
}

// declare walks export, declare, local, readonly and typeset.
func (a *analysis) declare(c *syntax.DeclClause, sc *scope) {
	raw := a.source(c, sc)
	var plain []*syntax.Assign
	words := []word{{text: c.Variant.Value, show: c.Variant.Value}}
	for _, as := range c.Args {
		if as.Name != nil {
			plain = append(plain, as)
			words = append(words, word{text: as.Name.Value, show: a.source(as, sc), worked: as.Value != nil})
			continue
		}
		if as.Value == nil {
			continue
		}
		for _, w := range a.expand(as.Value, sc) {
			words = append(words, w)
			a.prompt(w.text, sc, c.Variant.Value)
			if name, text, ok := strings.Cut(w.text, "="); ok {
				sc.assign(name, binding{text: text, known: !w.unknown})
			}
		}
	}
	for _, w := range words[1:] {
		if len(w.text) > 1 && (w.text[0] == '-' || w.text[0] == '+') && strings.Contains(w.text, "n") || w.unknown {
			a.loose = true // one name stands for another from here on
		}
	}
	list := a.assignments(plain, sc)
	for i, as := range list {
		if !plain[i].Naked {
			sc.assign(as.name, binding{text: as.text, known: as.known})
			a.value(as, sc)
		}
	}
	run := &call{words: words, assigns: list, raw: raw, name: c.Variant.Value, dirs: sc.dirs, within: sc.within, level: sc.level}
	run.use = program.Use{Class: permission.ClassWrite, Reason: "it sets or prints variables"}
	a.calls = a.noteCall(run)
	text, deep := a.texts(run)
	a.part(permission.Part{
		Text: text, Raw: raw, Deep: deep, Program: run.name, Class: permission.ClassWrite, Within: sc.within,
		Reason: run.use.Reason,
	}, sc)
	a.opaque()
}

// part notes a part behind the others.
func (a *analysis) part(p permission.Part, sc *scope) int { return a.partAt(len(a.parts), p, sc) }

// partAt notes a part at its place in the text: before the parts that its own words run.
func (a *analysis) partAt(place int, p permission.Part, sc *scope) int {
	if a.mute > 0 {
		return -1
	}
	if !p.Exact || sc.guess {
		a.exact = false
	}
	a.raise(p.Class)
	a.parts = slices.Insert(a.parts, place, p)
	a.levels = slices.Insert(a.levels, place, sc.level)
	return place
}

// run analyses a command whose words are known as far as they can be.
func (a *analysis) run(c *call, sc *scope) (script string, ok bool) {
	if len(c.words) == 0 {
		a.part(permission.Part{Text: c.raw, Raw: c.raw, Class: permission.ClassWrite, Within: sc.within, Reason: "its words only running tells"}, sc)
		a.calls = a.noteCall(c)
		return "", false
	}
	c.dirs, c.within, c.level, c.guess = sc.dirs, sc.within, sc.level, sc.guess
	c.name = baseName(c.words[0])
	for _, as := range c.assigns {
		a.value(as, sc)
	}
	c.use = a.lookUp(c, sc)
	if c.name == "xargs" || c.name == "find" && len(c.use.Inner) == 1 {
		if script, ok := a.runListed(c, sc); ok {
			return script, true
		}
	}
	a.takesNames(c, sc)
	at := a.addPart(c, sc)
	a.calls = a.noteCall(c)
	inner := a.follow(c, sc)
	if why := a.reach(c, sc); why != "" && at >= 0 {
		a.soften(&a.parts[at], why)
		a.raise(a.parts[at].Class)
	}
	a.change(c, sc)
	a.sets(c, sc)
	if at < 0 || !a.parts[at].Class.Looks() && !a.parts[at].Edits() {
		return "", false
	}
	return a.rewrite(c, &a.parts[at], inner)
}

// baseName is the program's name, "" when it is not known.
func baseName(w word) string {
	if w.text == "" || w.glob {
		return ""
	}
	return filepath.Base(filepath.ToSlash(w.text))
}

// lookUp asks the program table. Words of which only a part is known are asked for with what is known,
// because a guess serves deny rules; that they count as harmless is ruled out elsewhere.
func (a *analysis) lookUp(c *call, sc *scope) program.Use {
	words := make([]program.Word, len(c.words))
	for i, w := range c.words {
		words[i] = w.program()
	}
	words[0].Unknown = words[0].Unknown && words[0].Text == ""
	return program.Look(words, program.Env{Dir: sc.dir(), World: a.world})
}

// addPart notes the part for a call, with its texts for rules.
func (a *analysis) addPart(c *call, sc *scope) int {
	p := permission.Part{
		Raw: c.raw, Program: c.name, Class: c.use.Class, Reason: c.use.Reason, Within: sc.within,
		Literal: c.use.Literal, Exact: !sc.guess,
	}
	p.Text, p.Deep = a.texts(c)
	for i, w := range c.words {
		if !w.literal() && !w.stays(c, i) || (w.glob && (i == 0 || risky(c, w))) || (w.braced && (i == 0 || strings.HasPrefix(w.text, "-"))) {
			p.Exact = false
		}
	}
	first := c.words[0]
	if first.text != "[" && strings.ContainsAny(first.text, " \t\n;&|<>()$`\"'\\*?[]{}=") || !first.tilde && strings.HasPrefix(first.text, "~") {
		p.Exact = false
	}
	for _, as := range c.assigns {
		if !safeVariable(as.name) || !as.known || strings.ContainsAny(as.show, "$`") {
			p.Literal = true
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
		return a.partAt(c.place, p, sc)
	}
	return a.part(p, sc)
}

// soften takes the harmless class from a part, with the reason.
func (a *analysis) soften(p *permission.Part, why string) {
	if p.Class.Looks() {
		p.Class, p.Reason = permission.ClassWrite, why
	}
}

// transparent reports whether the wrapper that runs c lets it stand for the whole.
func (a *analysis) transparent(c *call) bool { return c.wrapper == "" }

// harden takes the harmless class from what looks harmless by its words alone.
func (a *analysis) harden(c *call, p *permission.Part, sc *scope) {
	first := c.words[0]
	if !builtins.has(first.text) && !first.unknown && a.mute == 0 {
		p.Path = a.world.Program(first.text, sc.dir())
	}
	if !p.Class.Looks() {
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
	}
	a.git(c, p, sc)
	a.locate(c, p, sc)
}

func (a *analysis) defined(c *call, sc *scope) bool {
	return sc.funcs[c.name] != nil || sc.aliases[c.name] != ""
}

// git looks at the repository whose configuration a git command would follow.
func (a *analysis) git(c *call, p *permission.Part, sc *scope) {
	if !c.use.Git || !p.Class.Looks() {
		return
	}
	if c.use.GitDir != "" || sc.moved(a.start) {
		a.soften(p, "another folder's repository may name programs that git runs")
		return
	}
	if c.use.GitValues {
		keys, err := a.world.GitKeys(sc.dir(), permission.SecretKeys)
		switch {
		case err != nil:
			a.soften(p, "whether git's configuration holds secrets cannot be told: "+err.Error())
		case len(keys) > 0:
			a.soften(p, "it would show a secret of git's configuration: "+strings.Join(keys, ", "))
		}
	}
	keys, err := a.world.GitKeys(sc.dir(), permission.ProgramKeys)
	switch {
	case err != nil:
		a.soften(p, "what the repository's configuration would run cannot be told: "+err.Error())
	case len(keys) > 0:
		a.soften(p, "the repository's configuration names a program: "+strings.Join(keys, ", "))
	}
}

// locate finds the program: it must be where programs of the system are, not in a folder that is worked in.
func (a *analysis) locate(c *call, p *permission.Part, sc *scope) {
	if builtins.has(c.words[0].text) {
		return
	}
	switch {
	case p.Path == "":
		a.soften(p, "there is no program "+c.words[0].text)
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

// builtins are the commands that bash runs itself and that may count as harmless.
var builtins = set{
	"echo", "printf", "pwd", "true", "false", ":", "test", "[", "cd", "type", "command", "help", "times", "jobs", "wait", "dirs",
	"umask", "exit", "return", "pushd", "popd", "compgen",
}

// risky reports whether a pattern could stand for a file whose name is a flag of a program that has
// dangerous ones.
func risky(c *call, w word) bool {
	if w.text != "" && !strings.ContainsRune(`*?[-`, rune(w.text[0])) {
		return false
	}
	switch c.name {
	case "find", "sort", "sed", "git", "tar", "rsync", "xargs", "rg", "fd", "env", "zip", "ssh", "scp":
		return true
	}
	return false
}

// safeVariables may stand before a command without changing what it runs. LC_* belong to them.
var safeVariables = set{
	"NODE_ENV", "RAILS_ENV", "RACK_ENV", "APP_ENV", "FLASK_ENV", "DJANGO_ENV", "LANG", "LANGUAGE", "TZ", "TERM", "COLORTERM",
	"NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES", "CI", "DEBUG", "VERBOSE", "RUST_BACKTRACE",
	"RUST_LOG", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "CARGO_TERM_COLOR", "GOOS", "GOARCH", "CGO_ENABLED", "GO111MODULE",
	"PORT",
}

// safeVariable reports whether a variable is one of those that allow rules look through.
func safeVariable(name string) bool {
	return safeVariables.has(name) || (strings.HasPrefix(name, "LC_") && syntax.ValidName(name))
}

// onlyLocale reports whether assignments only choose how output looks: a language that every system has, LC_ALL=C,
// colours, a width, that nobody watches.
func onlyLocale(list []assigned) bool {
	for _, as := range list {
		if !as.known || as.show != as.name+"="+as.text {
			return false
		}
		switch {
		case as.name == "LANG", strings.HasPrefix(as.name, "LC_") && safeVariable(as.name):
			if !among(as.text, "C", "POSIX", "C.UTF-8", "en_US.UTF-8") {
				return false
			}
		case among(as.name, "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES", "CI"):
			if !among(as.text, "", "true", "false") && strings.Trim(as.text, "0123456789") != "" {
				return false
			}
		case as.name == "TZ" && as.text == "UTC", as.name == "TERM" && among(as.text, "dumb", "xterm", "xterm-256color"):
		default:
			return false
		}
	}
	return true
}

// texts are the text of a call as rules see it, and more for deny and ask rules.
func (a *analysis) texts(c *call) (text string, deep []string) {
	var shown, plain, known []string
	for _, w := range c.words {
		show := w.show
		if show == "" && w.text == "" && !w.unknown {
			show = "''"
		}
		shown = append(shown, show)
		plain = append(plain, w.text)
		if w.text != "" || !w.unknown {
			known = append(known, w.text)
		}
	}
	text = strings.Join(shown, " ")
	if c.name != "export" && c.name != "declare" {
		var kept []string
		for _, as := range c.assigns {
			if !safeVariable(as.name) || !as.known || strings.ContainsAny(as.show, "$`") {
				kept = append(kept, as.show)
			}
		}
		if len(kept) > 0 {
			deep = add(deep, text, text)
			text = strings.Join(kept, " ") + " " + text
		}
	}
	deep = add(deep, text, c.raw)
	deep = add(deep, text, strings.Join(plain, " "))
	deep = add(deep, text, strings.Join(known, " "))
	if c.name != "" && c.name != plain[0] {
		deep = add(deep, text, strings.Join(append([]string{c.name}, plain[1:]...), " "))
	}
	if name := program.Plain(c.name); name != c.name {
		deep = add(deep, text, strings.Join(append([]string{name}, plain[1:]...), " "))
	}
	for _, t := range withoutOptions(c, plain) {
		deep = add(deep, text, t)
	}
	if lower := strings.TrimSuffix(strings.ToLower(c.name), ".exe"); lower != c.name {
		deep = add(deep, text, strings.Join(append([]string{lower}, plain[1:]...), " "))
	}
	return text, deep
}

// withoutOptions are the texts of a command without the options before its subcommand: git -C x push is
// git push. Where it is not known whether an option takes the next word, both readings count.
func withoutOptions(c *call, plain []string) []string {
	if c.name == "git" {
		sub, rest := gitSubcommand(c)
		return append(pushes(sub, rest), strings.Join(append([]string{"git", sub}, rest...), " "))
	}
	if sub, ok := strings.CutPrefix(c.name, "git-"); ok {
		return append(pushes(sub, plain[1:]), strings.Join(append([]string{"git", sub}, plain[1:]...), " "))
	}
	if !among(c.name, "docker", "podman", "kubectl", "npm", "pnpm", "yarn", "gh", "cargo", "terraform", "systemctl", "helm", "aws", "gcloud", "go", "pip", "apt", "apt-get", "brew", "hg", "svn") {
		return nil
	}
	var out []string
	for i := 1; i < len(plain) && strings.HasPrefix(plain[i], "-"); i++ {
		for skip := 1; skip <= 2 && i+skip < len(plain); skip++ {
			if !strings.HasPrefix(plain[i+skip], "-") {
				out = append(out, strings.Join(append([]string{c.name}, plain[i+skip:]...), " "))
			}
		}
	}
	return out
}

// pushes are commands of git that do what git push does, as that.
func pushes(sub string, rest []string) []string {
	switch sub {
	case "send-pack", "http-push", "remote-http", "remote-https", "remote-ext", "remote-fd", "send-email", "request-pull":
		return []string{strings.Join(append([]string{"git push"}, rest...), " ")}
	case "lfs", "subtree", "svn", "p4", "annex", "stash", "hub", "town", "spice", "machete", "branchless", "cinnabar", "remote":
		for i, w := range rest {
			if among(w, "push", "dcommit", "submit", "sync", "copy") {
				return []string{strings.Join(append([]string{"git push"}, rest[i+1:]...), " ")}
			}
		}
	}
	return nil
}

// add appends a text that is new.
func add(texts []string, main, text string) []string {
	text = strings.TrimSpace(text)
	if text == "" || text == main {
		return texts
	}
	for _, t := range texts {
		if t == text {
			return texts
		}
	}
	return append(texts, text)
}
