package shell

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// protectedDestination finds a protected path where a command names the place of its output by an option, a
// transformation of names, a prefix or a variable. The table of programs knows few of these, so any program counts that
// is not read-only.
func protectedDestination(a *analysis, c *call) string {
	for _, as := range c.assigns {
		if to := destinationVariable(a, c, as); to != "" {
			return "it sets " + as.name + " to a protected path: " + to
		}
	}
	if len(c.words) < 2 || c.use.Class.ReadOnly() || c.name == "find" {
		return ""
	}
	if writesAnyPath(c) {
		return "the patch may name any file, protected ones too: leave out --unsafe-paths"
	}
	if to := gitDestination(a, c); to != "" {
		return "it writes a protected path: " + to
	}
	words := ownWords(c)
	for i := range words {
		if to := destinationWord(a, c, words, i); to != "" {
			return "it writes a protected path: " + to
		}
	}
	return ""
}

// ownWords are the words of a command behind its program, without those of the command that it runs.
func ownWords(c *call) []word {
	words := c.words[1:]
	if len(c.use.Inner) == 0 || c.name == "git" {
		return words
	}
	least := len(words)
	for _, inner := range c.use.Inner {
		least = min(least, len(inner))
	}
	return words[:len(words)-least]
}

// destinationWord finds a protected path in a word: as the value of an option for output, and inside .git also
// elsewhere, unless the program only reads it.
func destinationWord(a *analysis, c *call, words []word, i int) string {
	text, before := words[i].text, ""
	if i > 0 {
		before = words[i-1].text
	}
	if value := outputValue(text, before); value != "" && protectedFrom(a, c, value) {
		return value
	}
	if to := startUpWord(a, c, words, i); to != "" {
		return to
	}
	if !containsFold(text, ".git") || leavesOut(before) || leavesOut(text) || strings.ContainsAny(text, " \t\n") {
		return ""
	}
	if slices.Contains(c.use.Reads, text) && !slices.ContainsFunc(words, editsInPlace) {
		return ""
	}
	if inList("runs scripts", c.name) && (!strings.HasPrefix(text, "-") && !namesModule(words[:i]) || strings.ContainsAny(text,
		"()\"'`$;")) {
		return "" // it runs or checks that file, or it is code
	}
	return insideGit(a, c, text, inList("renames", c.name))
}

// startUpWord finds a start-up file or folder of the user in a word that may name an output, also behind an option.
// Credentials are left out: programs take them by name to use them.
func startUpWord(a *analysis, c *call, words []word, i int) string {
	text := words[i].text
	at := strings.IndexByte(text, '/')
	if at < 0 || strings.ContainsAny(text, " \t\n") || leavesOut(text) || slices.Contains(c.use.Reads, text) ||
		inList("runs scripts", c.name) && !namesModule(words[:i]) ||
		among(c.name, remoteCopiers...) && i < len(words)-1 && !strings.HasPrefix(words[i].text, "-") &&
			!(i > 0 && strings.HasPrefix(words[i-1].text, "-")) {
		return ""
	}
	if !strings.HasPrefix(text, "-") && at > 0 && !strings.ContainsRune("=,:", rune(text[at-1])) {
		return "" // from the working folder
	}
	home := filepath.ToSlash(a.world.Home())
	for piece := range strings.FieldsFuncSeq(text[at:], func(r rune) bool { return strings.ContainsRune("=,:", r) }) {
		rel, ok := strings.CutPrefix(piece, home+"/")
		if ok && !among(rel, usedByName...) && protectedFrom(a, c, piece) {
			return piece
		}
	}
	return ""
}

var (
	// remoteCopiers copy from or to another machine: only what they name last is written.
	remoteCopiers = []string{"docker", "podman", "nerdctl", "kubectl", "oc", "aws", "gsutil", "gcloud", "rclone", "az"}
	usedByName    = []string{
		".ssh", ".ssh/id_*", ".ssh/config", ".ssh/known_hosts", ".aws*", ".azure*", ".kube*", ".docker*", ".gnupg*",
		".config/gh*", ".config/gcloud*", ".netrc", ".pgpass", ".npmrc", ".pypirc", ".lathe*", ".config/lathe*",
	}
)

// editsInPlace reports whether a word is an option of programs that change the files they read.
func editsInPlace(w word) bool {
	return among(w.text, "-i", "-w", "--inplace", "--in-place", "--write", "--fix")
}

// namesModule reports whether an interpreter runs a module with its further words: python3 -m venv.
func namesModule(words []word) bool {
	return slices.ContainsFunc(words, func(w word) bool { return w.text == "-m" })
}

// leavesOut reports whether an option names files to leave out.
func leavesOut(option string) bool {
	return strings.HasPrefix(option, "-") && (option == "-x" || containsFold(option, "exclude") || containsFold(option,
		"ignore") || containsFold(option, "skip") || containsFold(option, "filter"))
}

// insideGit returns the path in .git that a text names, alone, behind an option or, in a transformation, behind any
// character that separates its parts.
func insideGit(a *analysis, c *call, text string, transformed bool) string {
	text = strings.ReplaceAll(text, `\/`, "/")
	const name = ".git/"
	for at := 0; at+len(name) <= len(text); at++ {
		if !strings.EqualFold(text[at:at+len(name)], name) || !beginsPath(text, at, transformed) {
			continue
		}
		to := text[at:]
		if end := strings.IndexAny(to, ",;|#!"); transformed && end > 0 {
			to = to[:end]
		}
		rest := strings.Trim(to[len(name):], "/")
		if rest == "" || strings.Trim(rest, "*") == "" || strings.HasPrefix(rest, "index") {
			continue
		}
		if protectedFrom(a, c, strings.TrimRight(to, "/")) {
			return to
		}
	}
	return ""
}

// beginsPath reports whether the name at text[at:] is the first one of a path, or follows another in it.
func beginsPath(text string, at int, transformed bool) bool {
	if at == 0 || at > 1 && text[0] == '-' && !strings.ContainsAny(text[1:at], "-./") {
		return true // -o.git/x
	}
	if transformed {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.", rune(text[at-1]))
	}
	return strings.IndexByte("/=:,+", text[at-1]) >= 0 && !strings.Contains(text[:at], "://")
}

// outputValue is the value of an option for a file or folder that is written, in the word itself or behind the option.
func outputValue(text, before string) string {
	if strings.HasPrefix(text, "-") {
		name, value, ok := strings.Cut(text, "=")
		switch {
		case ok && outputOption(name):
			return value
		case !ok && len(text) > 2 && text[1] == 'o':
			return text[2:]
		}
		return ""
	}
	if strings.HasPrefix(before, "-") && outputOption(before) && !strings.Contains(text, "=") {
		return text
	}
	return ""
}

// outputOption reports whether an option names a file or folder to write, by its name.
func outputOption(option string) bool {
	name := strings.ToLower(strings.TrimLeft(option, "-"))
	switch {
	case len(name) == 1:
		return strings.Contains("-o -O -d -D -P -t", option)
	case strings.Contains(name, "without"):
		return false
	}
	for _, part := range []string{
		"out", "dest", "target", "prefix", "save", "export", "download", "dump", "log-file",
		"logfile", "log_file", "git-dir", "root",
	} {
		if strings.Contains(name, part) {
			return name != "git-dir"
		}
	}
	return false
}

// protectedFrom reports whether a path that a command names is protected, as it reads or behind links.
func protectedFrom(a *analysis, c *call, name string) bool {
	if strings.Contains(name, "\x00") {
		return false
	}
	for _, dir := range dirsOrRoot(c.dirs) {
		at := from(name, dir)
		if at == dir || a.isRoot(at) {
			continue
		}
		if protected(a, at) {
			return true
		}
		if real := a.world.Stat(at).Real; real != "" && real != at && protected(a, real) {
			return true
		}
	}
	return false
}

func (a *analysis) isRoot(path string) bool { return slices.Contains(a.world.Roots(), path) }

// destinationVariable finds a protected path in a variable that chooses where some program writes.
func destinationVariable(a *analysis, c *call, as assigned) string {
	kind := a.kindOf(as.name)
	if as.text == "" || kind&(choosesOutput|holdsOptions) == 0 {
		return ""
	}
	if kind&holdsOptions != 0 {
		for text := range strings.FieldsFuncSeq(as.text, func(r rune) bool { return strings.ContainsRune(" \t\n'\"", r) }) {
			if to := insideGit(a, c, text, true); to != "" {
				return to
			}
		}
		return ""
	}
	own := []string(nil) // what the variable is for
	switch as.name {
	case "GIT_DIR", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY":
		own = []string{"", "worktrees", "modules", "objects"}
	case "GIT_INDEX_FILE":
		own = []string{"index", "tmp"}
	}
	for to := range strings.SplitSeq(as.text, ":") {
		if to == "" || !protectedFrom(a, c, to) {
			continue
		}
		if _, rest, ok := strings.Cut("/"+filepath.ToSlash(filepath.Clean(to))+"/", "/.git/"); ok && slices.ContainsFunc(own,
			func(prefix string) bool {
				return prefix == "" && rest == "" || prefix != "" && strings.HasPrefix(rest, prefix)
			}) {
			continue
		}
		return to
	}
	return ""
}

// gitDestination finds the protected folder that a subcommand of git fills: one it is given, or the one it runs in.
func gitDestination(a *analysis, c *call) string {
	if c.name != "git" {
		return ""
	}
	sub, rest := gitSubcommand(c)
	if !inList("fills folders", sub) {
		return ""
	}
	for _, dir := range gitDirs(c, c.dirs) {
		if protected(a, dir) && !a.isRoot(dir) && !inGitFolder(dir, "worktrees") {
			return dir
		}
	}
	if sub != "init" && sub != "worktree" && sub != "submodule" && sub != "clone" && sub != "subtree" {
		return gitPrefix(a, c, sub, rest)
	}
	for _, text := range rest {
		if !strings.HasPrefix(text, "-") && !strings.Contains(text, "://") && text != ".git" && protectedFrom(a, c, text) {
			return text
		}
	}
	return gitPrefix(a, c, sub, rest)
}

// writesAnyPath reports whether git applies a patch without its own check that the files lie in the work tree and
// outside of .git.
func writesAnyPath(c *call) bool {
	if c.name != "git" {
		return false
	}
	sub, rest := gitSubcommand(c)
	return sub == "apply" && slices.ContainsFunc(rest, func(text string) bool { return strings.HasPrefix(text, "--uns") })
}

// inGitFolder reports whether a path goes through a folder of this name inside .git.
func inGitFolder(path, name string) bool {
	return strings.Contains(strings.ToLower(filepath.ToSlash(path))+"/", "/.git/"+name+"/")
}

// gitPrefix finds a prefix of names that is protected, or to which a tracked name can add the rest: .gi for .git.
func gitPrefix(a *analysis, c *call, sub string, rest []string) string {
	for i, text := range rest {
		value, ok := strings.CutPrefix(text, "--prefix=")
		if !ok && text == "--prefix" && i+1 < len(rest) {
			value, ok = rest[i+1], true
		}
		if !ok || value == "" {
			continue
		}
		if protectedFrom(a, c, value) {
			return value
		}
		last := strings.ToLower(value[strings.LastIndexByte(value, '/')+1:])
		begins := func(name string) bool { return strings.HasPrefix(name, last) }
		if sub == "checkout-index" && strings.HasPrefix(last, ".") && slices.ContainsFunc(
			permission.DeniedNames(), begins) {
			return value
		}
	}
	return ""
}
