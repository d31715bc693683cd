package shell

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/program"
)

// nameList is the output of read-only commands that another command of the line gets as its words.
type nameList struct {
	calls  []*call // the members of the pipe that prints it
	judged bool
	why    string // why not every file of the list may be read
}

// oddInWords are characters that make a name more than one word, a pattern or a quoted text.
const oddInWords = " \t\n\r*?[\\\"'"

// namesOf is the list that statements print which have just been walked: one pipe of simple commands, noted from that
// place on.
func (a *analysis) namesOf(stmts []*syntax.Stmt, from int) *nameList {
	if len(stmts) != 1 || from >= len(a.calls) {
		return nil
	}
	members := []member{{stmt: stmts[0]}}
	if c, ok := stmts[0].Cmd.(*syntax.BinaryCmd); ok && len(stmts[0].Redirs) == 0 && !stmts[0].Negated &&
		!stmts[0].Background {
		members = flatten(c)
	}
	for i, m := range members {
		if !plainMember(m) || i > 0 && m.op != syntax.Pipe {
			return nil
		}
	}
	if len(members) != len(a.calls)-from {
		return nil
	}
	return &nameList{calls: slices.Clone(a.calls[from:])}
}

// takesNames judges a command with a word that is the output of another one: names of files that it only reads, or
// revisions of git. What it does with any of them is then known, and the word may stay in a script.
func (a *analysis) takesNames(c *call, sc *scope) {
	if a.mute > 0 || c.sub || c.guess || len(c.assigns) > 0 || len(sc.dirs) != 1 {
		return
	}
	var places []int
	for i, w := range c.words {
		switch {
		case w.list != nil && w.code != "" && i > 0:
			places = append(places, i)
		case !w.literal() || w.glob:
			return
		}
	}
	if len(places) == 0 || c.name == "echo" || c.name == "printf" {
		return
	}
	at := places[0]
	switch {
	case c.name == "git" && !slices.Contains(texts(c.words[:places[len(places)-1]]), "--"):
		a.takesRevisions(c, places, sc)
	case len(places) > 1:
	case c.name == "git":
		a.takesPaths(c, at, sc)
	default:
		a.takesFiles(c, at, sc)
	}
}

// takesTexts judges a command with the output of others, in quotes, where it can be nothing but a text: jq --arg v
// "$(date)", git log --author="$(git config user.name)".
func (a *analysis) takesTexts(c *call, sc *scope) {
	if a.mute > 0 || c.guess || len(c.listed) > 0 || len(c.assigns) > 0 || c.compares || c.name != "jq" &&
		c.name != "git" {
		return
	}
	words, places := make([]program.Word, len(c.words)), []int(nil)
	for i, w := range c.words {
		words[i] = w.program()
		switch {
		case w.literal():
			continue
		case w.code == "" || w.bare || !w.printed || w.produced != nil:
			return
		case c.name == "jq" && i > 2 && c.words[i-2].text == "--arg":
			words[i] = program.Word{Text: listedFile, Quoted: true}
		case c.name == "git" && c.arg(1) == "log" && among(w.text, "--author=*", "--committer=*", "--grep=*", "--since=*",
			"--until=*", "--after=*", "--before=*"):
			words[i] = program.Word{Text: w.text + "x", Quoted: true}
		default:
			return
		}
		places = append(places, i)
	}
	if len(places) == 0 {
		return
	}
	if use := program.Analyze(words, program.Env{Dir: sc.dir(), World: a.world}); len(withoutListed(use.Reads)) == len(
		use.Reads) {
		c.use, c.listed = use, places
	}
}

// takesFiles: the names stand behind -- where the program takes that, so that none is a flag.
func (a *analysis) takesFiles(c *call, at int, sc *scope) {
	w := c.words[at]
	if w.after != "" || w.before != "" && !a.plainFolder(w.before, w.list, sc) {
		return
	}
	var ends []string
	plain := among(c.name, "awk", "gawk", "mawk", "test", "[")
	if !plain && !endsFlags.has(c.name) {
		return
	}
	if !plain && !slices.Contains(texts(c.words[:at]), "--") {
		ends = []string{"--"}
	}
	name := w.before + listedFile
	var filled []program.Word
	n := 0
	for i, word := range c.words {
		if i != at {
			if i > at && strings.HasPrefix(word.text, "-") || word.text == listedFile {
				return
			}
			filled = append(filled, word.program())
			continue
		}
		for n = range listedMany {
			filled = append(filled, program.Word{Text: name, Quoted: true})
		}
		n++
		if c.name == "test" || c.name == "[" {
			filled, n = filled[:len(filled)-n+1], 1
		}
	}
	env := program.Env{Dir: sc.dir(), World: a.world}
	if (c.name == "test" || c.name == "[") && !oneFileTest(c.words, at) || !onlyReads(filled, name, n, env) ||
		!a.mayRead(w.list, sc) {
		return
	}
	c.use, c.listed = program.Analyze(filled, env), []int{at}
	c.use.Reads = slices.DeleteFunc(slices.Clone(c.use.Reads), func(r string) bool { return r == name })
	c.use.Adds, c.use.AddsAt = ends, at-1
}

// oneFileTest reports whether words are a test of one file: [ -f NAME ].
func oneFileTest(words []word, at int) bool {
	return at == 2 && len(words[1].text) == 2 && strings.Contains("-e-f-d-r-w-x-s-L", words[1].text) &&
		(words[0].text == "test" && len(words) == 3 || words[0].text == "[" && len(words) == 4 && words[3].text == "]")
}

// mayRead reports whether every file of a list could be read unasked here: in another folder than that of the list its
// names are those of other files.
func (a *analysis) mayRead(l *nameList, sc *scope) bool {
	if !l.judged {
		l.judged, l.why = true, a.listedAs(l.calls, false, oddInWords)
	}
	return l.why == "" && sameDirs(l.calls[0].dirs, sc.dirs)
}

// plainFolder reports whether names that ls prints may be read below a folder of the same tree, in which nothing is
// withheld: src/$f.
func (a *analysis) plainFolder(prefix string, l *nameList, sc *scope) bool {
	dir, ok := strings.CutSuffix(prefix, "/")
	if !ok || l.calls[0].name != "ls" || dir == "" || strings.HasPrefix(dir, "/") || strings.HasPrefix(dir, "-") ||
		slices.Contains(strings.Split(dir, "/"), "..") {
		return false
	}
	for _, w := range l.calls[0].words[1:] {
		if strings.Contains(w.text, "/") && !strings.HasSuffix(w.text, "/") {
			return false // it may be a file, which ls names as it was written
		}
	}
	tree := a.readTree(from(dir, sc.dir()), permission.TreeOptions{Hidden: true, Follow: true}, false, true)
	return tree.Why == "" && tree.Leads == "" && len(tree.Withheld) == 0
}

var (
	revision = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(@|[A-Za-z0-9_][A-Za-z0-9_/-]*(\.[A-Za-z0-9_/-]+)*)([~^][0-9]*)*$`)
	})
	beforeCommit = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([A-Za-z0-9_][A-Za-z0-9_/~^-]*)?\.\.\.?$|^$`)
	})
	afterCommit = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([~^][0-9]*)*(\.\.\.?[A-Za-z0-9_/~^-]*|:[A-Za-z0-9_][A-Za-z0-9_./-]*)?$`)
	})
)

// takesRevisions judges a command of git with commits in the places of some words.
func (a *analysis) takesRevisions(c *call, places []int, sc *scope) {
	words := make([]program.Word, len(c.words))
	for i, word := range c.words {
		words[i] = word.program()
	}
	names := false
	for _, at := range places {
		w := c.words[at]
		name, ref, ok := revisionOf(w.list)
		if !ok || !beforeCommit().MatchString(w.before) || !afterCommit().MatchString(w.after) || ref && mayNameFiles(c,
			w.list) {
			return
		}
		names = names || ref
		words[at] = program.Word{Text: w.before + name + w.after}
	}
	if names && !a.endsFlags(c, places[0]) {
		return
	}
	use := program.Analyze(words, program.Env{Dir: sc.dir(), World: a.world})
	for _, at := range places {
		if use.Tree == nil || !slices.Contains(use.Tree.Hashes, words[at].Text) {
			continue
		}
		if c.words[at].before+c.words[at].after != "" {
			return
		}
		c.words[at].code += "'^{commit}'" // git rev-parse also prints hashes of files
	}
	c.use, c.listed = use, places
}

// mayNameFiles reports whether a command of git would show the contents of files that tags in a list name. git describe
// prints those of commits only.
func mayNameFiles(c *call, l *nameList) bool {
	from, _ := gitSubcommand(l.calls[0])
	sub, _ := gitSubcommand(c)
	return among(from, "tag", "for-each-ref", "branch") && among(sub, "show", "diff")
}

// takesPaths judges a command of git with a name out of a list of files behind --: git log -- "$f". A colon could make
// it more than a name.
func (a *analysis) takesPaths(c *call, at int, sc *scope) {
	w := c.words[at]
	if sub, _ := gitSubcommand(c); w.before+w.after != "" || c.arg(1) != sub || !among(sub, "log", "diff", "show",
		"blame") {
		return
	}
	words := make([]program.Word, len(c.words))
	for i, word := range c.words {
		words[i] = word.program()
	}
	words[at] = program.Word{Text: listedFile, Quoted: true}
	use := program.Analyze(words, program.Env{Dir: sc.dir(), World: a.world})
	if !use.Class.ReadOnly() || len(use.Inner)+len(use.Script)+len(use.Writes) > 0 {
		return
	}
	// it shows no contents, of whatever file
	if staysInRepository(texts(c.words[:at])) && use.Tree == nil && len(withoutListed(use.Reads)) == len(use.Reads) {
		c.use, c.listed = use, []int{at}
		return
	}
	if w.bare && !strings.HasPrefix(strings.TrimPrefix(w.code, "''"), "${turn_") {
		return // an empty list would leave git without a path, so that it shows all files
	}
	if !sameDirs(w.list.calls[0].dirs, sc.dirs) || a.listedAs(w.list.calls, false, oddInWords+":") != "" {
		return
	}
	use.Reads = withoutListed(use.Reads)
	if use.Tree != nil {
		tree := *use.Tree
		tree.Named = withoutListed(tree.Named)
		use.Tree = &tree
	}
	c.use, c.listed = use, []int{at}
}

// endsFlags keeps a name of a branch or tag from being a flag: git takes --end-of-options before it, behind all flags.
func (a *analysis) endsFlags(c *call, at int) bool {
	if sub, _ := gitSubcommand(c); c.arg(1) != sub || !among(sub, "log", "show", "diff") {
		return false
	}
	for _, w := range c.words[at+1:] {
		if w.text == "--" {
			break
		}
		if strings.HasPrefix(w.text, "-") && !aloneFlag().MatchString(w.text) {
			return false
		}
	}
	c.ender = at
	return true
}

// aloneFlag are flags of git log, show and diff that take no further word, so that they may stand before others.
var aloneFlag = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`^(-p|-s|-\d+|--(oneline|stat|shortstat|numstat|name-only|name-status|no-merges|merges|graph|reverse|patch|no-patch|first-parent|no-color|no-decorate|cached|staged|summary)|--(format|pretty|stat|date|max-count|diff-filter)=[^\x00]*)$`)
})

// revisionOf is a commit in the place of those whose hashes a list of commands prints. ref: it prints names of branches
// or tags, which may begin with anything.
func revisionOf(l *nameList) (name string, ref, ok bool) {
	c := l.calls[0]
	if c.name != "git" || anyUnknown(c.words) || !c.use.Class.ReadOnly() {
		return "", false, false
	}
	for _, more := range l.calls[1:] {
		if !among(more.name, "head", "tail") || !passes(more) {
			return "", false, false
		}
	}
	sub, rest := gitSubcommand(c)
	if c.arg(1) != sub || len(rest) == 0 && sub != "describe" && sub != "tag" {
		return "", false, false
	}
	switch sub {
	case "rev-parse":
		name, ok = parsedRevision(rest)
		return name, slices.Contains(rest, "--abbrev-ref"), ok
	case "merge-base":
		return "HEAD", false, len(rest) == 2 && revision().MatchString(rest[0]) && revision().MatchString(rest[1])
	case "rev-list", "log":
		return "HEAD", false, printsHashes(sub, rest)
	case "describe":
		return "HEAD", true, !slices.ContainsFunc(rest, func(w string) bool {
			return !among(w, "--tags", "--always", "--long", "--exact-match", "--all", "--abbrev=*", "--match=*", "HEAD*")
		})
	case "branch":
		return "HEAD", true, slices.Contains(rest, "--show-current") && len(rest) == 1 || printsNamesOfRefs(rest)
	case "tag", "for-each-ref":
		return "HEAD", true, sub == "tag" && printsTags(rest) || printsNamesOfRefs(rest)
	}
	return "", false, false
}

// printsTags reports whether git tag prints names only.
func printsTags(args []string) bool {
	return !slices.ContainsFunc(args, func(w string) bool {
		return !among(w, "-l", "--list", "--sort=*", "--merged", "--no-merged") && (strings.HasPrefix(w, "-") ||
			strings.ContainsAny(w, " \n"))
	})
}

// printsNamesOfRefs reports whether git branch or git for-each-ref prints short names only.
func printsNamesOfRefs(args []string) bool {
	names := false
	for _, w := range args {
		switch {
		case w == "--format=%(refname:short)":
			names = true
		case among(w, "-a", "-r", "--all", "--remotes", "--merged", "--no-merged", "--sort=*", "--count=*"),
			!strings.HasPrefix(w, "-"):
		default:
			return false
		}
	}
	return names
}

// parsedRevision: git rev-parse prints its argument or the hash of it.
func parsedRevision(args []string) (name string, ok bool) {
	for _, arg := range args {
		switch {
		case among(arg, "--short", "--verify", "-q", "--quiet", "--abbrev-ref"), strings.HasPrefix(arg, "--short=") &&
			strings.Trim(arg[8:], "0123456789") == "":
		case name == "" && revision().MatchString(arg):
			name = arg
		default:
			return "", false
		}
	}
	return name, name != ""
}

// printsHashes reports whether git log or git rev-list prints nothing but hashes.
func printsHashes(sub string, args []string) bool {
	hashes := sub == "rev-list"
	for _, arg := range args {
		digits := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(arg, "--max-count="), "-n"), "-")
		switch {
		case among(arg, "--format=%h", "--format=%H", "--pretty=format:%h", "--pretty=format:%H", "--pretty=%h",
			"--pretty=%H"):
			if sub == "rev-list" {
				return false // it prints lines of its own as well
			}
			hashes = true
		case arg == "-n", digits != "" && strings.Trim(digits, "0123456789") == "":
		case among(arg, "--no-merges", "--merges", "--first-parent", "--reverse", "--all", "--max-parents=0"):
		case !revision().MatchString(arg):
			return false
		}
	}
	return hashes
}

// turnName is the name of a loop variable in a script: no shell and no program knows it.
func turnName(name string) string { return "turn_" + name }

// eachName walks the body of a loop whose variables are any of the words or lines that commands print. No turn may
// affect the next one.
func (a *analysis) eachName(names []string, turn binding, body []*syntax.Stmt, sc *scope) (script string, ok bool) {
	before, calls := copied(sc.vars), len(a.calls)
	turns := map[string]binding{}
	for _, name := range names {
		turn.code = "${" + turnName(name) + "}"
		turns[name] = turn
		sc.assign(name, turn)
	}
	script, ok = a.branch(body, sc)
	for had, b := range sc.vars {
		was, mine := turns[had]
		ok = ok && (mine && b == was || !mine && b == before[had])
	}
	for _, c := range a.calls[min(calls, len(a.calls)):] {
		ok = ok && c.use.Dir == nil
	}
	for _, name := range names {
		sc.assign(name, binding{})
		ok = ok && ownName(name)
	}
	return script, ok && a.mute == 0
}

// snapshot is the state to go back to when statements turn out to be more than was hoped.
func (a *analysis) snapshot() analysis {
	was := *a
	was.odd, was.touched = maps.Clone(a.odd), maps.Clone(a.touched)
	return was
}

// readLoop walks while read -r NAME; do ...; done, where the lines come from a pipe or a file. done is false for any
// other loop, and where a turn does more than read: then it is walked like the others.
func (a *analysis) readLoop(c *syntax.WhileClause, sc *scope, in input) (script string, done bool) {
	reads, names, ok := a.readsLine(c, sc)
	if !ok || !in.any || a.mute > 0 || a.trying {
		return "", false
	}
	was := a.snapshot()
	a.trying = true // a loop in the loop is not tried again and again
	inner := sc.child()
	var turn binding
	// A separator is taken off the end of a line: that would be the name of another file.
	switch plain := len(names) == 1 && (!strings.HasPrefix(reads, "IFS=") || strings.HasPrefix(reads, "IFS='' ")); {
	case !plain:
	case in.piped && in.from < len(a.calls):
		turn.list = &nameList{calls: slices.Clone(a.calls[in.from:])}
	case in.list != nil && len(sc.dirs) == 1:
		turn.list = &nameList{calls: []*call{{
			name: "cat", words: []word{plainTest("cat"), plainTest(in.file)},
			dirs: sc.dirs, gap: in.list, use: program.Use{Class: permission.ClassRead},
		}}}
	}
	body, ok := a.eachName(names, turn, c.Do, inner)
	if !ok || !a.looked(len(was.parts)) {
		*a = was
		return "", false
	}
	a.trying = false
	for _, name := range names {
		sc.assign(name, binding{})
	}
	return "while " + reads + "; do " + body + "; done", true
}

// readsLine reports whether the condition of a loop is read NAME..., with no more than -r and a plain IFS, and writes
// it anew.
func (a *analysis) readsLine(c *syntax.WhileClause, sc *scope) (script string, names []string, ok bool) {
	if c.Until || len(c.Cond) != 1 || !simple(c.Cond[0]) || len(c.Cond[0].Redirs) > 0 || c.Cond[0].Negated ||
		c.Cond[0].Background {
		return "", nil, false
	}
	read := c.Cond[0].Cmd.(*syntax.CallExpr)
	for _, as := range read.Assigns {
		if as.Name == nil || as.Name.Value != "IFS" || as.Append || as.Index != nil || as.Array != nil {
			return "", nil, false
		}
		separators := ""
		if as.Value != nil {
			w := a.expandOne(as.Value, sc)
			if separators = w.text; w.unknown || strings.Trim(separators, ",:;|=/ \t\n") != "" {
				return "", nil, false
			}
		}
		script += "IFS=" + quote(separators) + " "
	}
	if len(read.Args) == 0 || read.Args[0].Lit() != "read" {
		return "", nil, false
	}
	script += "builtin read"
	for i, arg := range read.Args[1:] {
		switch name := arg.Lit(); {
		case i == 0 && name == "-r":
			script += " -r"
		case syntax.ValidName(name) && ownName(name) && !slices.Contains(names, name):
			names = append(names, name)
			script += " " + turnName(name)
		default:
			return "", nil, false
		}
	}
	return script, names, len(names) > 0
}
