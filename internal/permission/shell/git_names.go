package shell

import (
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/program"
)

// printsPast reports whether git log, show, diff-tree or ls-tree prints names of files of commits and nothing else.
// Such names may be of any text: nothing keeps a commit from having a file named ../x.
func printsPast(sub string, args []string) bool {
	bare := sub == "ls-tree"
	for i, arg := range args {
		switch {
		case arg == "--":
			return bare && has(args[:i], "--name-only")
		case among(arg, "--format=", "--pretty=", "--format=format:", "--pretty=format:", "--format=tformat:",
			"--pretty=tformat:"):
			if sub == "ls-tree" {
				return false
			}
			bare = true
		case arg == "--no-commit-id" && sub == "diff-tree":
			bare = true
		case among(arg, "--name-only", "--no-merges", "--merges", "--first-parent", "--reverse", "--all", "-r", "-n",
			"--root"),
			sub != "ls-tree" && among(arg, "--diff-filter=*", "--since=*", "--until=*", "--author=*", "--max-count=*"):
		case strings.HasPrefix(arg, "-") && (strings.Trim(arg[1:], "0123456789") != "" || arg == "-"),
			strings.HasPrefix(arg, ":"):
			return false
		}
	}
	return bare && has(args, "--name-only")
}

// comparesCommits reports whether git diff looks at a commit, so that it prints names out of that.
func comparesCommits(args []string) bool {
	for _, arg := range args {
		switch {
		case arg == "--":
			return false
		case among(arg, "--cached", "--staged", "--merge-base"), !strings.HasPrefix(arg, "-"):
			return true
		}
	}
	return false
}

// The lines that the safe form takes out of a list of names of the past: those with a word that is absolute, has .. in
// it or is a flag, and those that are quoted or a pattern.
const (
	outwardNames = `(^|[[:blank:]])/|(^|[/[:blank:]])\.\.([/[:blank:]]|$)`
	oddNames     = `(^|[[:blank:]])[-~]|[]["'\\*?:]`
)

// expressionsWithout are the arguments of sed that take such names, and those of withheld files, out of a list.
func expressionsWithout(files, folders []string) []string {
	words := []string{"-E", "-e", "\\%" + outwardNames + "%d", "-e", "\\%" + oddNames + "%d"}
	for _, name := range slices.Concat(files, folders) {
		words = append(words, "-e", `\%(^|[/[:blank:]])`+literalExpression.Replace(name)+"([/[:blank:]]|$)%d")
	}
	return words
}

// literalExpression writes a text as a regular expression for it.
var literalExpression = strings.NewReplacer(`\`, `\\`, `.`, `\.`, `*`, `\*`, `+`, `\+`, `?`, `\?`, `[`, `\[`, `]`,
	`\]`, `(`, `\(`, `)`, `\)`, `{`, `\{`, `}`, `\}`, `|`, `\|`, `^`, `\^`, `$`, `\$`, `%`, `\%`)

// gitListed completes the words of a command of git that gets a list of names: as paths behind --, where it shows no
// contents, or as git show COMMIT:NAME with names of files that git tracks and anybody may read.
func (a *analysis) gitListed(inner []program.Word, mark string, calls []*call, sc *scope) (filled []program.Word,
	lines, ok bool,
) {
	if inner[0].Text != "git" || inner[0].Unknown {
		return nil, false, false
	}
	if mark != "" && len(inner) == 3 && inner[1].Text == "show" && !inner[1].Unknown && inner[2].Unknown {
		commit, path, _ := strings.Cut(inner[2].Text, ":")
		ok = revision().MatchString(commit) && (path == "" || path == "./") && strings.Contains(inner[2].Text, ":") &&
			a.tracked(calls, sc)
		return []program.Word{inner[0], inner[1], {Text: commit + ":" + listedFile, Quoted: true}}, true, ok
	}
	paths := false
	for _, w := range inner {
		switch {
		case !w.Unknown:
			paths = paths || w.Text == "--"
		case paths && w.Text == "":
			w = program.Word{Text: listedFile, Quoted: true}
		case !paths && among(w.Text, "--format=*", "--pretty=format:*"):
			w.Unknown = false
		default:
			return nil, false, false
		}
		filled = append(filled, w)
	}
	use := program.Analyze(filled, program.Env{Dir: sc.dir(), World: a.world})
	var before []string
	for _, w := range filled {
		before = append(before, w.Text)
	}
	if lines = !staysInRepository(before); lines && a.listed(calls, false) != "" {
		return nil, false, false
	}
	return filled, lines, paths && len(withoutListed(use.Reads)) == len(use.Reads) && use.Class.ReadOnly() &&
		use.Tree == nil && len(use.Inner)+len(use.Script)+len(use.Writes)+len(use.Hosts) == 0
}

// staysInRepository reports whether git takes all words behind -- for paths of the repository: git diff compares two
// files that lie elsewhere, where no commit stands before them.
func staysInRepository(words []string) bool {
	if words[1] != "diff" {
		return true
	}
	for _, w := range words[2:] {
		if !strings.HasPrefix(w, "-") {
			return w != listedFile
		}
		if w == "--" {
			break
		}
	}
	return false
}

// tracked reports whether all names of a list are those of files that git tracks, from the top of the repository, so
// that secrets can be left out of it for each commit.
func (a *analysis) tracked(calls []*call, sc *scope) bool {
	if len(calls) == 0 || !sameDirs(calls[0].dirs, []string{a.start}) || !sameDirs(sc.dirs, calls[0].dirs) ||
		a.world.Stat(a.start+"/.git").Kind == permission.Missing {
		return false
	}
	c := calls[0]
	if _, ok := a.lists(c); !ok || c.name != "git" || c.arg(1) != "ls-files" || c.gap == nil ||
		slices.ContainsFunc(calls[1:], func(c *call) bool { return !passes(c) }) {
		return false
	}
	past := a.world.Tree(a.start, permission.TreeOptions{Past: true})
	if len(past.Denied) > 0 || !past.Past.Free && !past.Past.Known {
		return false
	}
	if !past.Past.Free {
		a.noteLeft(past.Past.Files, past.Past.Folders, false)
		c.gap.leave(past.Past.Files, past.Past.Folders)
	}
	a.access(permission.Access{Kind: permission.Read, Target: a.start, Node: permission.Folder, Below: true})
	return true
}

// rewriteGit writes the command of git that xargs runs, with the words that keep it read-only.
func rewriteGit(path string, command []word, use program.Use) []string {
	words := []string{quote(path)}
	for i, w := range command[1:] {
		if i == use.AddsAt {
			words = append(words, quoteAll(use.Adds)...)
		}
		words = append(words, quote(w.text))
	}
	if use.AddsAt >= len(command)-1 {
		words = append(words, quoteAll(use.Adds)...)
	}
	return words
}

func quoteAll(words []string) []string {
	out := make([]string, 0, len(words))
	for _, w := range words {
		out = append(out, quote(w))
	}
	return out
}
