package program

import (
	"path"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// gitContents are the subcommands that print the contents of files; where set, only with one of the flags of with,
// or with none of without.
var gitContents = map[string]struct{ with, without string }{
	"git show":         {"", gitNoPatch},
	"git diff":         {"", gitNoPatch},
	"git log":          {gitPatch, ""},
	"git whatchanged":  {gitPatch, ""},
	"git reflog":       {gitPatch, ""},
	"git stash list":   {gitPatch, ""},
	"git stash show":   {gitPatch, ""},
	"git diff-tree":    {gitPatch, ""},
	"git diff-index":   {gitPatch, ""},
	"git diff-files":   {gitPatch, ""},
	"git range-diff":   {},
	"git blame":        {},
	"git annotate":     {},
	"git cat-file":     {"-p --batch --batch-command", "-t -s -e --batch-check"},
	"git archive":      {},
	"git format-patch": {},
	"git difftool":     {},
	"git bundle":       {},
	"git fast-export":  {},
	"git stash":        {gitPatch, ""},
	"git status":       {"-v --verbose", ""},
}

const (
	gitPatch = "-p -u -U --patch --unified --patch-with-raw --patch-with-stat -c --cc --check --remerge-diff --dd -m " +
		"--diff-merges -L -W --function-context --binary --word-diff --color-words --ext-diff --textconv"
	gitNoPatch = "--stat --numstat --shortstat --dirstat --summary --name-only --name-status --raw --quiet -s " +
		"--no-patch --compact-summary"
)

// gitReads notes the files whose contents a subcommand prints: its paths and REV:path, else all below.
func gitReads(c *call) {
	switch c.name {
	case "git grep":
		c.gitSearched()
		return
	case "git for-each-ref", "git tag", "git branch":
		c.gitRawRefs()
		return
	}
	how, ok := gitContents[c.name]
	if !ok || c.has("--no-index") {
		return
	}
	with, without := fields(how.with), fields(how.without)
	patch := c.has(fields(gitPatch)...)
	quiet := len(with) > 0 && !c.has(with...) && len(c.strange) == 0 && !(c.name == "git cat-file" &&
		!c.has(without...)) ||
		len(without) > 0 && c.has(without...) && !patch && len(c.strange) == 0
	if quiet && c.name != "git show" {
		return
	}
	if c.Tree == nil {
		c.tree(c.everything(), nil)
	}
	c.Tree.Past, c.Tree.At = true, -1
	for _, lines := range c.textsOf("-L") {
		c.gitTop(lines[strings.LastIndexByte(lines, ':')+1:])
	}
	named := c.gitPaths(c.ops)
	c.Tree.All = c.name != "git blame" && !named
	if len(c.textsOf("-L")) > 0 {
		c.Tree.All = false // it shows those lines of these files only
	}
	c.pathspecs()
	if quiet {
		c.Tree.All = len(c.Tree.Hashes) > 0 || !c.Tree.Specs // what is no commit is printed all the same
	}
}

// gitSearched notes the paths and revisions behind the pattern of git grep.
func (c *call) gitSearched() {
	at := 1
	if c.has("-e", "-f") {
		at = 0
	}
	for i, w := range c.ops {
		if i >= at && c.Tree != nil && (c.dashes < 0 || i < c.dashes) {
			c.objects(w)
		}
	}
	if c.gitPaths(c.ops[min(len(c.ops), at):]); c.Tree != nil && len(c.Tree.Hashes) > 0 {
		c.Tree.Past = true
	}
}

// gitRawRefs: lists of branches and tags print the contents of files that tags name, if their format says so.
func (c *call) gitRawRefs() {
	for _, f := range c.flags {
		if f.name == "--format" && (f.value.Unknown || strings.Contains(f.value.Text, "raw")) {
			t := c.tree(c.everything(), nil)
			t.Past, t.All, t.At = true, true, -1
		}
	}
}

// revisions are the operands that may be revisions.
func (c *call) revisions() []Word {
	if c.dashes < 0 {
		return c.ops
	}
	return c.ops[:c.dashes]
}

// objects notes the revisions of a word that may be the contents of a file: a hash, the name of a tag, and what is made
// anything but a commit.
func (c *call) objects(w Word) {
	for end := range strings.SplitSeq(strings.ReplaceAll(w.Text, "...", ".."), "..") {
		switch {
		case strings.HasSuffix(end, "^{tree}"), strings.HasSuffix(end, "^{commit}"):
		case strings.Contains(end, "^{") || w.Unknown:
			c.Tree.Specs, c.Tree.All = false, true
		case isHash(end) || isName(end) && c.missing(w):
			c.Tree.Hashes, c.Tree.All = append(c.Tree.Hashes, w.Text), true
		}
	}
}

// ObjectName reports whether one end of a range may be a hash or a name that stands for the contents of a file.
func ObjectName(end string) bool { return isHash(end) || isName(end) }

// isName reports whether a word may be the name of a branch or tag. HEAD and the parents of a commit are commits.
func isName(s string) bool {
	s = strings.TrimPrefix(s, "^")
	switch {
	case s == "", s == "HEAD", s == "@", strings.HasPrefix(s, "-"), strings.HasPrefix(s, "/"),
		strings.ContainsAny(s, ":*?[\\ "), strings.Contains(s, "^{"):
		return false
	}
	return strings.Contains(s, "@{") || !strings.ContainsAny(s, "~^")
}

// isHash reports whether a word may be a hash, perhaps shortened.
func isHash(s string) bool {
	return len(s) >= 4 && len(s) <= 64 && strings.Trim(strings.ToLower(s), "0123456789abcdef") == ""
}

// pathspecs notes whether pathspecs can exclude names from a subcommand's output about the past. A hash may be that of
// a file's contents, which no pathspec excludes.
func (c *call) pathspecs() {
	more := c.has("--full-diff", "--follow", "-L")
	c.Tree.Safe = c.has("--follow", "-L") && !c.has("--full-diff") && c.oneFile()
	c.Tree.All = c.Tree.All || c.has("-L") && !c.Tree.Safe && c.name != "git blame" && c.name != "git annotate"
	switch c.name {
	case "git log", "git whatchanged", "git format-patch", "git reflog":
		c.Tree.Specs = !more
	case "git diff-tree", "git diff-index":
		c.Tree.Specs = !more
		for _, w := range c.revisions() {
			if !isHash(w.Text) { // that of a list of names is one too
				c.objects(w)
			}
		}
	case "git diff-files":
		c.Tree.Specs, c.Tree.Stays = true, true
	case "git show", "git diff":
		c.Tree.Specs = !more
		c.Tree.Stays = c.name == "git diff" && !c.has("--cached", "--staged", "--merge-base")
		if c.name == "git show" && c.has("--all", "--tags", "--glob", "--remotes", "--branches", "--bisect", "--reflog",
			"--walk-reflogs") {
			c.Tree.Specs, c.Tree.All = false, true // a tag may name the contents of a file
		}
		for _, w := range c.revisions() {
			c.objects(w)
			c.Tree.Stays = c.Tree.Stays && !revision(w.Text) && !c.missing(w)
			c.Tree.All = c.Tree.All || c.name == "git show" && c.dashes < 0 && !strings.Contains(w.Text, ":")
		}
	case "git cat-file":
		c.gitObject()
	case "git stash show":
		c.gitStashed()
	}
	if c.has("--full-diff", "--follow") {
		c.Tree.All = true // other files are shown as well, or those that the file was before it got its name
	}
}

// oneFile reports whether --follow and -L show a single file: a plain path of a file that is there. Whether that may be
// read is for the caller to find out.
func (c *call) oneFile() bool {
	var paths []string
	for i, w := range c.ops {
		switch {
		case w.Unknown || w.Glob:
			return false
		case c.dashes >= 0 && i < c.dashes, c.dashes < 0 && c.missing(w) && !strings.ContainsAny(w.Text, ":*?[\\"):
		default:
			paths = append(paths, w.Text)
		}
	}
	lines := c.textsOf("-L")
	if len(lines) != c.count("-L") || len(lines) > 0 && len(paths) > 0 || len(lines) == 0 && len(paths) != 1 {
		return false
	}
	for _, l := range lines {
		_, file, _ := strings.Cut(strings.TrimPrefix(l, ":"), ":")
		paths = append(paths, file)
	}
	for _, name := range paths {
		if name == "" || strings.HasSuffix(name, "/") || strings.ContainsAny(name, ":*?[\\") || c.env.World == nil {
			return false
		}
		kind := c.env.World.Stat(absolute(name, c.env.Dir)).Kind
		if kind != permission.File && (kind != permission.Missing || len(lines) == 0) { // -L takes files only
			return false
		}
	}
	return true
}

// gitObject: git cat-file prints the contents of files by their hashes. Commits, tags and lists of names are no secret.
func (c *call) gitObject() {
	if c.has("--batch", "--batch-command") || len(c.ops) == 0 {
		return
	}
	ops := c.ops
	if len(ops) == 2 && contains([]string{"commit", "tree", "tag"}, ops[0].Text) {
		c.Tree.All = false
		return
	}
	switch w := ops[len(ops)-1]; {
	case w.Unknown || strings.Contains(w.Text, ":"):
	case isHash(w.Text):
		c.Tree.Blobs, c.Tree.All = []string{w.Text}, false
	case strings.HasSuffix(w.Text, "^{tree}"), strings.HasSuffix(w.Text, "^{commit}"):
		c.Tree.All = false
	default:
		c.Tree.All = strings.Contains(w.Text, "^{") || isName(w.Text)
	}
}

// gitStashed: git stash show takes no pathspecs; git diff prints the same, and does.
func (c *call) gitStashed() {
	stash := "stash@{0}"
	if len(c.ops) == 1 {
		stash = c.ops[0].Text
		if strings.Trim(stash, "0123456789") == "" {
			stash = "stash@{" + stash + "}"
		}
	}
	number := strings.TrimSuffix(strings.TrimPrefix(stash, "stash@{"), "}")
	if len(c.ops) > 1 || number == "" || len(number)+len("stash@{}") != len(stash) || strings.Trim(number,
		"0123456789") != "" || c.has("--include-untracked", "--only-untracked", "-u") {
		return
	}
	instead := []string{"diff"}
	for _, w := range c.args {
		switch {
		case w.Unknown || w.Glob:
			return
		case strings.HasPrefix(w.Text, "-") && len(w.Text) > 1 && w.Text != "--":
			instead = append(instead, w.Text)
		case len(c.ops) == 0 || w.Text != c.ops[0].Text:
			return // the value of a flag
		}
	}
	c.Tree.Specs, c.Tree.Instead = true, append(instead, stash+"^1.."+stash)
}

// gitPaths notes operands as files: REV:path and pathspecs. It reports whether these are all that is read.
func (c *call) gitPaths(ops []Word) (named bool) {
	for i, w := range ops {
		rev, file, ok := strings.Cut(w.Text, ":")
		switch {
		case w.Unknown || w.Glob:
			return false
		case strings.HasPrefix(w.Text, ":!"), strings.HasPrefix(w.Text, ":^"), strings.HasPrefix(w.Text, ":(exclude"):
			return false
		case strings.HasPrefix(w.Text, ":(") || strings.HasPrefix(w.Text, ":/"):
			c.gitTop(w.Text[strings.LastIndexAny(w.Text, ")/")+1:])
			return false
		case ok && !strings.Contains(rev, "/.") && c.dashes < 0 || ok && i < c.dashes:
			if strings.HasPrefix(file, "0:") || strings.HasPrefix(file, "1:") || strings.HasPrefix(file, "2:") ||
				strings.HasPrefix(file, "3:") {
				file = file[2:]
			}
			if c.gitTop(strings.TrimLeft(file, ":")); c.name == "git cat-file" || c.name == "git show" || c.name == "git blame" {
				named = true
			}
		case c.dashes >= 0 && i < c.dashes, revision(w.Text):
		case strings.ContainsAny(w.Text, "*?["):
			return false
		default:
			c.Tree.Named = append(c.Tree.Named, w.Text)
			named = named || c.dashes >= 0 || !c.missing(w) || strings.Contains(path.Base(w.Text), ".")
		}
	}
	return named
}

// gitTop notes a path that counts from the top of the repository, which is not always the current folder.
func (c *call) gitTop(file string) {
	if file == "" {
		return
	}
	c.Tree.Named = append(c.Tree.Named, file)
	if c.env.World == nil || path.IsAbs(file) || strings.HasPrefix(file, ".") && strings.HasPrefix(strings.TrimLeft(file,
		"."), "/") {
		return
	}
	for _, root := range c.env.World.Roots() {
		if root != c.env.Dir && strings.HasPrefix(c.env.Dir, root+"/") {
			c.Tree.Named = append(c.Tree.Named, path.Join(root, file))
		}
	}
}

// revision reports whether a word is plainly a revision and no path.
func revision(s string) bool {
	if strings.HasPrefix(s, "HEAD") || s == "@" || strings.ContainsAny(s, "~^@") || strings.Contains(s, "..") &&
		!strings.Contains("/"+s+"/", "/../") {
		return true
	}
	return len(s) >= 7 && strings.Trim(s, "0123456789abcdef") == ""
}
