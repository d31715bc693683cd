package shell

import (
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/program"
)

// listedFile stands for a name out of a list of files that another command prints. No file has this name.
const listedFile = "./\x02listed"

// listedMany is how many such names a command is tried with: a second or third operand may be one that is written.
const listedMany = 3

// lister is a command that prints names of files below known folders and nothing else.
type lister struct {
	dirs  []string
	name  string   // a pattern that every name matches, "" for none
	left  bool     // its safe form leaves out files that may not be read
	past  bool     // the names are of any text; the safe form takes out those that may not be read
	nul   bool     // a NUL ends each name, and nothing else does: names may hold line breaks
	texts []string // the names themselves, where they come from a file
	flat  string   // the names are those right in this folder, without hidden ones; "" where others are listed too
}

// printsNames are the flags that leave a list of names as it is. Others might put text before or into a name.
var printsNames = map[string]set{
	"rg": {
		"-l", "--files", "--files-with-matches", "-g", "--glob", "-t", "--type", "-T", "-i", "--ignore-case",
		"-w", "-F", "-e", "-S", "-0", "-n", "-U", "-P", "-v", "-s",
	},
	"grep": {
		"-l", "-L", "-r", "-R", "-i", "-E", "-F", "-w", "-x", "-e", "-Z", "-v", "-P", "-n", "-s", "-I", "-H",
		"--include", "--exclude", "--exclude-dir", "--files-with-matches", "--null",
	},
	"git ls-files": {
		"-z", "-c", "-o", "-m", "-d", "--cached", "--others", "--modified", "--deleted",
		"--exclude-standard",
	},
	"git grep": {
		"-l", "-i", "-E", "-F", "-w", "-e", "-n", "-P", "-v", "--files-with-matches", "--name-only", "-z",
		"--untracked",
	},
	"git diff": {"--name-only", "--cached", "--staged", "--diff-filter", "-z", "--no-renames", "-M", "--merge-base"},
}

// onlyNames reports whether words hold no flags but these, and no way out of the folder.
func onlyNames(name string, args []string) bool {
	known := printsNames[name]
	for i, arg := range args {
		if arg == "--" {
			continue
		}
		for part := range strings.SplitSeq(arg, "/") {
			if part == ".." && (i > 0 || name != "grep" && name != "rg") {
				return false
			}
		}
		flag, _, _ := strings.Cut(arg, "=")
		switch {
		case !strings.HasPrefix(arg, "-") || arg == "-":
			if strings.HasPrefix(arg, ":") && strings.HasPrefix(name, "git") {
				return false
			}
		case known.has(flag):
		case strings.HasPrefix(arg, "--"):
			return false
		default:
			for _, letter := range arg[1:] {
				if !known.has("-" + string(letter)) {
					return false
				}
			}
		}
	}
	return true
}

// lists describes a command that prints names of files; ok is false for any other.
func (a *analysis) lists(c *call) (l lister, ok bool) {
	if !c.use.Class.ReadOnly() || len(c.dirs) != 1 || c.guess || anyUnknown(c.words) {
		return l, false
	}
	args := texts(c.words[1:])
	if c.gap != nil && c.gap.file != "" {
		l.texts, ok = a.linesOf(c)
		return l, ok
	}
	l.dirs, l.left = c.use.Reads, len(c.except) > 0
	switch c.name {
	case "find":
		l.name, ok = findNames(args)
	case "grep", "egrep", "fgrep":
		ok = onlyNames("grep", args) && (short(args, 'l') || short(args, 'L') || has(args, "--files-with-matches"))
	case "rg":
		ok = onlyNames("rg", args) && (short(args, 'l') || has(args, "--files-with-matches") || has(args, "--files"))
	case "git":
		l.dirs = a.listedFolders(c)
		l.past = c.gap != nil && c.gap.filter != ""
		l.name, l.nul, ok = gitLists(c)
	case "ls":
		l.dirs, l.flat = []string{"."}, c.dirs[0]
		ok = a.listsFlat(c)
	}
	return l, ok
}

// listsFlat reports whether ls prints nothing but names of files that are in the current folder or may be read there:
// names without a folder, none of them hidden.
func (a *analysis) listsFlat(c *call) bool {
	for _, w := range c.words[1:] {
		if strings.HasPrefix(w.text, "-") {
			if !among(w.text, "-1", "-d", "-r", "-t") {
				return false
			}
			continue
		}
		if strings.Contains(w.text, "..") || path.IsAbs(w.text) {
			return false
		}
		for _, at := range a.named(w.text, map[string]bool{w.text: w.glob}, &scope{dirs: c.dirs}) {
			if a.world.Stat(at).Kind != permission.Folder || has(texts(c.words), "-d") {
				a.place(permission.Read, at, false) // its name is printed as it was written
			}
		}
	}
	return true
}

// findNames reads the words of find: it prints names only, and name is the pattern of -name, where nothing makes
// that optional.
func findNames(args []string) (name string, ok bool) {
	for i, arg := range args {
		switch arg {
		case "-ls", "-printf", "-L", "-follow", "-H", "-fstype", "-files0-from":
			return "", false
		case "-o", "-or", "-not", "!", ",", "(", "\\(":
			if arg != "-not" && arg != "!" || i+1 < len(args) && (args[i+1] == "-name" || args[i+1] == "(") {
				return "", true
			}
		case "-name":
			if i+1 < len(args) {
				name = args[i+1]
			}
		}
	}
	return name, true
}

// gitLists: git ls-files, git grep -l and git diff --name-only print names. git writes odd characters in quotes.
func gitLists(c *call) (name string, nul, ok bool) {
	sub, rest := gitSubcommand(c)
	if c.arg(1) != sub || !among(sub, "log", "show", "diff-tree", "ls-tree") && !onlyNames("git "+sub, rest) {
		return "", false, false
	}
	nul = short(rest, 'z')
	switch sub {
	case "ls-files":
		for i, arg := range rest {
			if !strings.HasPrefix(arg, "-") && i == len(rest)-1 && strings.HasPrefix(arg, "*.") && !strings.Contains(arg,
				"/") && (i == 0 || strings.HasPrefix(rest[i-1], "-")) {
				name = arg
			}
		}
		return name, nul, true
	case "grep":
		return "", nul, short(rest, 'l') || has(rest, "--files-with-matches") || has(rest, "--name-only")
	case "diff":
		return "", nul, has(rest, "--name-only") && (!comparesCommits(rest) || c.gap != nil && !nul)
	case "log", "show", "diff-tree", "ls-tree":
		return "", false, printsPast(sub, rest) && c.gap != nil
	}
	return "", false, false
}

// listedFolders are the folders that git ls-files lists, where it names them, else the current one.
func (a *analysis) listedFolders(c *call) []string {
	_, rest := gitSubcommand(c)
	var dirs []string
	for _, arg := range rest {
		if strings.HasPrefix(arg, "-") {
			continue
		}
		dir := arg
		if hasMeta(arg) || strings.Contains(arg, `\`) {
			dir = plainFolder(arg)
		}
		if dirs = append(dirs, dir); a.world.Stat(from(dir, c.dirs[0])).Kind != permission.Folder {
			return []string{"."}
		}
	}
	if c.arg(1) != "ls-files" || len(dirs) == 0 {
		return []string{"."}
	}
	return dirs
}

// passes reports whether a member of a pipe prints lines of its input as they are.
func passes(c *call) bool {
	if !c.use.Class.ReadOnly() || len(c.use.Reads) > 0 || c.use.Tree != nil || anyUnknown(c.words) {
		return false
	}
	return passesLines(c, texts(c.words[1:]))
}

// passesLines reports whether a command with these arguments prints lines of its input as they are.
func passesLines(c *call, args []string) bool {
	switch c.name {
	case "head", "tail":
		return !short(args, 'c') && !hasFlag(c.words, "--bytes") && !hasFlag(c.words, "-v")
	case "sort":
		return true
	case "uniq":
		return len(args) == 0
	case "grep", "egrep", "fgrep":
		for _, arg := range args {
			if strings.HasPrefix(arg, "-") && !among(arg, "-v", "-i", "-E", "-F", "-e", "-w", "-x", "-vE", "-Ev", "-iv", "-vi",
				"-P", "-z") {
				return false
			}
		}
		return true
	}
	return false
}

// listed says why the list of names that a command gets is not one that any of them could be read unasked; "" when
// it is. calls are the commands that print it.
func (a *analysis) listed(calls []*call, nul bool) (why string) {
	return a.listedAs(calls, nul, "\n\r")
}

// listedAs is listed for a reader of the list to which a name with one of the characters in odd is more than a name.
func (a *analysis) listedAs(calls []*call, nul bool, odd string) (why string) {
	const unknown = "only running it tells which files it gets"
	if len(calls) == 0 || a.mute > 0 || runtime.GOOS == "darwin" {
		return unknown // xargs of macOS has no option for how names end
	}
	l, ok := a.lists(calls[0])
	if !ok || l.nul && !nul {
		return unknown
	}
	for _, c := range calls[1:] {
		if !passes(c) {
			return unknown
		}
	}
	if nul || odd == lineBreaks && calls[0].name == "git" {
		odd = "" // git writes a name with a line break in quotes
	}
	if l.texts != nil {
		return a.listedTexts(l, calls[0], odd)
	}
	if l.past {
		if odd != lineBreaks && !strings.HasPrefix(odd, oddInWords) {
			return unknown
		}
		odd = ""
	}
	for _, dir := range l.dirs {
		full := from(dir, calls[0].dirs[0])
		tree := a.readTree(full, permission.TreeOptions{Hidden: true, Follow: true, Odd: odd}, false, true)
		switch {
		case tree.Why != "":
			return tree.Why + ": " + full
		case tree.Leads != "":
			return "a link leads out of the folder: " + tree.Leads
		case tree.Odd != "":
			return "the name of a file is more than one word: " + tree.Odd
		}
		if why := a.spared(l, calls[0], tree.Withheld); why != "" {
			return why
		}
	}
	if calls[0].gap != nil {
		calls[0].gap.filtered = true
	}
	return ""
}

// listedTexts judges each name of a list in a file, which the safe form carries.
func (a *analysis) listedTexts(l lister, c *call, odd string) (why string) {
	for _, name := range l.texts {
		switch {
		case strings.ContainsAny(name, odd):
			return "a name in the list is more than one word: " + name
		case strings.HasPrefix(name, "-"):
			return "a name in the list may be a flag: " + name
		}
	}
	for _, name := range l.texts {
		a.path(permission.Read, name, c.dirs, false)
	}
	c.gap.filtered = true
	return ""
}

// lineBreaks end a name in a list that is read line by line.
const lineBreaks = "\n\r"

// spared makes sure that no list has a file that may not be read, and returns why it may have one.
func (a *analysis) spared(l lister, c *call, withheld []permission.Withheld) (why string) {
	listed := slices.DeleteFunc(slices.Clone(withheld), l.spares)
	if len(listed) == 0 {
		return ""
	}
	if c.gap != nil {
		if files, folders, ok := namesLeft(c, listed); ok {
			a.noteLeft(files, folders, false)
			a.omitted = append(a.omitted, listed...)
			c.gap.leave(files, folders)
			return ""
		}
	}
	a.place(permission.Read, listed[0].Path, false)
	return "it would read " + listed[0].Path + ", which needs permission by itself"
}

// spares reports whether the withheld file is not among the names.
func (l lister) spares(w permission.Withheld) bool {
	switch {
	case l.left:
		return true
	case l.flat != "":
		return filepath.Dir(w.Path) != l.flat || strings.HasPrefix(filepath.Base(w.Path), ".")
	case l.name == "" || w.Folder:
		return false
	}
	match, err := path.Match(l.name, filepath.Base(w.Path))
	return err == nil && !match
}

// takesList completes the words of a command that gets names of files with names that stand for them, and reports
// whether it only reads them. mark stands for one name; "" when they come last.
func takesList(words []program.Word, mark string, env program.Env) (filled []program.Word, ok bool) {
	n := 0
	for i, w := range words {
		switch {
		case i+1 == len(words) && w.Unknown && w.Text == "" && !w.Quoted:
			for range listedMany {
				filled = append(filled, program.Word{Text: listedFile, Quoted: true})
			}
			n += listedMany
			continue
		case mark != "" && w.Unknown:
			if w.Text != "" { // a part of the word is the name
				return nil, false
			}
			w = program.Word{Text: listedFile, Quoted: true}
			n++
		case w.Unknown:
			return nil, false
		}
		filled = append(filled, w)
	}
	return filled, n > 0 && onlyReads(filled, listedFile, n, env)
}

// onlyReads reports whether a command reads the n files that it gets under a name that stands for them, or prints
// their names, and does nothing else with them.
func onlyReads(filled []program.Word, name string, n int, env program.Env) bool {
	use := program.Analyze(filled, env)
	if !use.Class.ReadOnly() || use.Tree != nil || len(use.Inner)+len(use.Script) > 0 || use.Git || len(use.Writes)+
		len(use.Kills) > 0 {
		return false
	}
	at, reads := slices.IndexFunc(filled, func(w program.Word) bool { return w.Text == name }), 0
	if at >= 0 && endsFlags.has(path.Base(filled[0].Text)) {
		// The safe form has -- before the names: it must not be the value of a flag.
		ended := program.Analyze(slices.Insert(slices.Clone(filled), at, program.Word{Text: "--"}), env)
		if !slices.Equal(ended.Reads, use.Reads) {
			return false
		}
	}
	for _, r := range use.Reads {
		if r == name {
			reads++
		}
	}
	return reads == n || among(path.Base(filled[0].Text), "echo", "basename", "dirname", "test", "[")
}

// endsFlags are programs of which -- ends the flags, so that a name is never one.
var endsFlags = set{
	"wc", "grep", "egrep", "fgrep", "head", "tail", "cat", "sed", "sort", "ls", "stat", "file", "basename", "dirname",
	"nl", "cut", "md5sum", "sha1sum", "sha256sum", "tac", "cksum", "realpath", "sha512sum", "gofmt", "du", "od",
}

// runListed analyses an xargs or find -exec whose command only reads files that may be read anyway.
func (a *analysis) runListed(c *call, sc *scope) (script string, ok bool) {
	script, ok = a.listing(c, sc)
	if !ok {
		return "", false
	}
	inner := &call{raw: c.raw, in: c.in, sub: true}
	for _, w := range c.use.Inner[0] {
		if !w.Unknown {
			inner.words = append(inner.words, fromProgram(w, nil))
		}
	}
	filled := c.filled
	if len(inner.words) == 0 {
		return "", false
	}
	within := sc.inside(c.name)
	inner.use, inner.name = program.Analyze(filled, program.Env{Dir: sc.dir(), World: a.world}), baseName(inner.words[0])
	inner.use.Reads = withoutListed(inner.use.Reads)
	if inner.use.Tree != nil && inner.use.Git {
		tree := *inner.use.Tree
		tree.Named = withoutListed(tree.Named)
		inner.use.Tree = &tree
	}
	inner.dirs, inner.within, inner.level = within.dirs, within.within, within.level
	if c.name == "find" {
		c.use = program.Analyze(findWithout(c.words, findAt(c.words)), program.Env{Dir: sc.dir(), World: a.world})
	} else {
		c.use.Inner = nil
	}
	first := a.addPart(c, sc)
	a.calls = a.noteCall(c)
	second := a.addPart(inner, within)
	a.calls = a.noteCall(inner)
	why := a.reach(c, sc)
	if more := a.reach(inner, within); why == "" {
		why = more
	}
	if first < 0 || second < 0 || why != "" || !a.looked(first) {
		a.opaque()
		return "", false
	}
	return script, true
}

// withoutListed drops the names that stand for those of a list: the source of the list is noted already.
func withoutListed(reads []string) []string {
	return slices.DeleteFunc(slices.Clone(reads), func(r string) bool { return r == listedFile })
}

// findAt is the place of -exec.
func findAt(words []word) int {
	for i, w := range words {
		if w.text == "-exec" {
			return i
		}
	}
	return len(words)
}

// listing reports whether all names that an xargs or find -exec hands on may be read, and writes the command anew.
func (a *analysis) listing(c *call, sc *scope) (script string, ok bool) {
	if len(c.use.Inner) != 1 || len(c.words) == 0 || len(sc.dirs) != 1 || a.mute > 0 || c.guess || len(c.assigns) > 0 {
		return "", false
	}
	switch c.name {
	case "xargs":
		return a.xargs(c, sc)
	case "find":
		return a.findExec(c, sc)
	}
	return "", false
}
