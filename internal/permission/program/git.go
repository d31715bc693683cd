package program

import (
	"path"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// judgeGit takes git's own flags, then looks its subcommand up.
func judgeGit(c *call, _ string) {
	c.Git = true
	i, tree := 0, ""
	for ; i < len(c.args); i++ {
		w := c.args[i]
		if w.Unknown || w.Glob {
			c.exact("only running it tells what git does")
			return
		}
		if !strings.HasPrefix(w.Text, "-") {
			break
		}
		if name, value, ok := strings.Cut(w.Text, "="); name == "--work-tree" {
			if tree = value; !ok && i+1 < len(c.args) {
				tree = c.args[i+1].Text
			}
		}
		if i = c.gitFlag(i); i < 0 {
			return
		}
	}
	if i >= len(c.args) {
		return
	}
	c.gitVerb(i)
	if c.Class.ReadOnly() {
		return
	}
	if tree != "" {
		c.Writes, c.Unpacks = append(c.Writes, tree), tree
	}
}

// gitPlain are flags of git itself that only change how it prints or finds files.
var gitPlain = strings.Fields("--no-pager -P --no-optional-locks --literal-pathspecs --no-replace-objects " +
	"--no-lazy-fetch --glob-pathspecs --noglob-pathspecs --icase-pathspecs --no-advice")

// gitRuns are the ends of the keys of git's configuration that name commands.
var gitRuns = strings.Fields("command pager editor fsmonitor textconv external helper program .cmd askpass")

// gitFlag takes the flag of git itself at args[i]; -1 when nothing follows that counts.
func (c *call) gitFlag(i int) int {
	w := c.args[i]
	name, value, attached := strings.Cut(w.Text, "=")
	next := Word{}
	if i+1 < len(c.args) {
		next = c.args[i+1]
	}
	switch name {
	case "--version", "-v":
		return -1
	case "--html-path", "--man-path", "--info-path":
		return -1
	case "--help", "-h":
		if i+1 < len(c.args) {
			c.refuse("git --help may open a pager or a browser")
		}
		return -1
	case "-C":
		c.gitFolder(next)
		return i + 1
	case "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--attr-source":
		c.exact("git " + name + " takes another repository or tree")
		if !attached {
			i++
			value = next.Text
		}
		if name == "--git-dir" {
			c.GitDir = value
		}
	case "-c", "--config-env":
		if !attached || name == "-c" {
			value = next.Text
			i++
		}
		c.exact("git " + name + " sets a configuration that may run programs")
		c.gitSetting(value)
	case "--exec-path":
		if attached {
			c.exact("git --exec-path takes its subcommands from another folder")
		}
	default:
		if slices.Contains(gitPlain, name) {
			return i
		}
		if strings.HasPrefix(name, "-c") {
			c.gitSetting(w.Text[2:])
		}
		c.exact("the flag " + w.Text + " of git is not known to be read-only")
	}
	return i
}

// gitFolder takes -C: git obeys the configuration of the repository there.
func (c *call) gitFolder(w Word) {
	if w.Unknown || w.Glob || w.Text == "" {
		c.GitDir = w.Text
		c.refuse("only running it tells in which repository git looks")
		return
	}
	if dir := absolute(w.Text, c.env.Dir); dir != path.Clean(c.env.Dir) {
		why := "git -C looks into another folder, " + w.Text + ", whose configuration may run programs"
		c.refuse(why)
		c.Beyond = c.otherRepository(dir)
		c.GitDir, c.env.Dir = dir, dir
	}
}

// otherRepository reports whether a folder is not plainly a part of the project's own repository.
func (c *call) otherRepository(dir string) bool {
	if c.env.World == nil || slices.Contains(c.env.World.Roots(), dir) {
		return false
	}
	return c.outside(dir) || c.env.World.Stat(dir).Kind != permission.Folder ||
		c.env.World.Stat(path.Join(dir, ".git")).Kind != permission.Missing
}

// gitSetting finds the commands in -c key=value.
func (c *call) gitSetting(s string) {
	key, value, _ := strings.Cut(s, "=")
	value, shell := strings.CutPrefix(value, "!")
	key = strings.ToLower(key)
	ends := func(end string) bool { return strings.HasSuffix(key, end) }
	switch {
	case strings.HasPrefix(key, "alias.") && !shell:
		c.Inner = append(c.Inner, append([]Word{{Text: "git"}}, split(Word{Text: value})...))
	case shell, strings.HasPrefix(key, "pager."), strings.HasPrefix(key, "filter."),
		slices.ContainsFunc(gitRuns, ends):
		if value != "" && value != "true" && value != "false" {
			c.Script = append(c.Script, value)
		}
	}
}

// gitVerb looks the subcommand at args[i] up, with its own subcommand when it has some.
func (c *call) gitVerb(i int) {
	verb, rest := "git "+c.args[i].Text, c.args[i+1:]
	if len(rest) > 0 && !rest[0].Unknown && !rest[0].Glob && known(verb+" "+rest[0].Text) {
		verb, rest = verb+" "+rest[0].Text, rest[1:]
	}
	r := find(verb)
	if r == nil {
		c.refuse(verb + " is not known to be read-only")
		c.Unknown = true
		return
	}
	sub := &call{name: verb, row: r, env: c.env, args: rest}
	sub.run()
	sub.gitPast()
	c.rebase(&sub.Use)
	c.merge(sub.Use)
}

// rebase makes the relative paths of a subcommand those seen from the folder in which git was started, not from that
// of -C.
func (c *call) rebase(u *Use) {
	if c.GitDir == "" {
		return
	}
	at := func(list []string) {
		for i, name := range list {
			list[i] = absolute(name, c.env.Dir)
		}
	}
	at(u.Reads)
	at(u.Writes)
	at(u.Kills)
	if u.Lands != nil {
		u.Lands.Target = absolute(u.Lands.Target, c.env.Dir)
		at(u.Lands.Sources)
	}
	at(u.Past)
}

// gitRaw are the flags and subcommands that print the texts of files whatever git's attributes say of them.
var (
	gitRawFlags = strings.Fields("-a --text --binary --textconv --ext-diff --filters --batch --batch-command")
	gitRawVerbs = strings.Fields("archive bundle fast-export difftool format-patch")
)

// gitPast notes the files of the history that a subcommand names: REV:path, paths, and words that may be the hash of a
// text. Attributes hide the secret ones among all others (see git.Attributes), unless it prints texts as they are.
func (c *call) gitPast() {
	if c.has("--no-index") {
		for _, w := range c.ops {
			c.reads(w)
		}
		c.Whole = true
		c.refuse(c.name + " --no-index reads any files")
		return
	}
	if !c.row.has("past") {
		return
	}
	verb := strings.TrimPrefix(c.name, "git ")
	c.Raw = c.has(gitRawFlags...) || slices.Contains(gitRawVerbs, strings.Fields(verb)[0])
	for _, w := range c.values("-L") {
		c.gitTop(w.Text[strings.LastIndexByte(w.Text, ':')+1:])
	}
	if verb == "grep" {
		if len(c.ops) > 0 && !c.has("-e", "-f") {
			c.ops = c.ops[1:] // the pattern
		}
		c.gitFolders()
		c.Whole = true
	}
	for i, w := range c.ops {
		c.gitPath(w, c.dashes >= 0 && i >= c.dashes)
	}
}

// gitFolders notes the folders that git grep searches.
func (c *call) gitFolders() {
	c.Reads = append(c.Reads, ".")
	for _, w := range c.ops {
		up := strings.HasPrefix(w.Text, ":") || strings.HasPrefix(w.Text, "..")
		if up && c.env.World != nil {
			c.Reads = append(c.Reads, c.env.World.Roots()...)
		}
		if up || !c.missing(w) {
			c.Reads = append(c.Reads, w.Text)
		}
	}
}

// missing: nothing of this name is there, so that it may be a revision.
func (c *call) missing(w Word) bool {
	return w.Unknown || c.env.World != nil && c.env.World.Stat(absolute(w.Text, c.env.Dir)).Kind == permission.Missing
}

// gitPath notes an operand: REV:path, a revision or a path. behind: it comes after "--".
func (c *call) gitPath(w Word, behind bool) {
	rev, file, ok := strings.Cut(w.Text, ":")
	if ok && w.Text[0] == ':' && strings.HasPrefix(w.Text[1:], "(") || strings.HasPrefix(w.Text, ":/") {
		file = w.Text[strings.LastIndexAny(w.Text, ")/")+1:]
	}
	switch {
	case ok && (rev == "" || !behind):
		if len(file) > 1 && file[1] == ':' && file[0] >= '0' && file[0] <= '3' {
			file = file[2:]
		}
		c.gitTop(strings.TrimLeft(file, ":"))
	case !behind && isRevision(w.Text):
		c.Objects = append(c.Objects, w.Text)
	case !behind && c.missing(w): // a branch, or a file that is gone
		c.Objects, c.Past = append(c.Objects, w.Text), append(c.Past, w.Text)
	default:
		c.Past = append(c.Past, w.Text)
	}
}

// gitTop notes a path that counts from the top of the repository, which is not always the current folder.
func (c *call) gitTop(file string) {
	if file == "" {
		return
	}
	c.Past = append(c.Past, file)
	if c.env.World == nil || path.IsAbs(file) {
		return
	}
	for _, root := range c.env.World.Roots() {
		if root != c.env.Dir && strings.HasPrefix(c.env.Dir, root+"/") {
			c.Past = append(c.Past, path.Join(root, file))
		}
	}
}

// isRevision reports whether a word is plainly a revision and no path.
func isRevision(s string) bool {
	return strings.HasPrefix(s, "HEAD") || s == "@" || strings.ContainsAny(s, "~^@") || strings.Contains(s, "..") &&
		!strings.Contains("/"+s+"/", "/../") || len(s) >= 7 && isHash(s)
}

// isHash reports whether a word may be a hash, perhaps shortened.
func isHash(s string) bool {
	return len(s) >= 4 && len(s) <= 64 && strings.Trim(strings.ToLower(s), "0123456789abcdef") == ""
}

// gitFormat: some placeholders run the program that checks signatures.
func gitFormat(c *call, _ string) {
	for _, w := range c.values("--pretty", "--format") {
		if strings.Contains(w.Text, "%G") || strings.Contains(w.Text, "signature") || w.Unknown {
			c.exact("the format shows signatures, which git has a program check")
		}
	}
}

// gitBranch: a name creates a branch or a tag, unless something asks for a list.
func gitBranch(c *call, _ string) {
	lists := c.has("-l", "--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at", "-n")
	if len(c.ops) > 0 && !lists {
		c.refuse(c.name + " with a name creates one")
	}
	c.Changes = len(c.ops) > 0 && !lists || slices.ContainsFunc(c.flags, func(f given) bool { return f.ask })
}

// gitConfig: one name shows a value, two set it.
func gitConfig(c *call, _ string) {
	f, file := c.get("-f", "--file")
	set := len(c.ops) > 1 || len(c.ops) > 0 && slices.Contains(strings.Fields(
		"set unset edit rename-section remove-section"), c.ops[0].Text) || slices.ContainsFunc(c.flags, func(f given) bool {
		return f.ask
	}) || len(c.strange)+len(c.unsure) > 0
	if file {
		c.Writes = append(c.Writes, f.value.Text)
	}
	if !set {
		return
	}
	c.Changes = true
	c.refuse("git config with a value changes the configuration")
	if !c.has("--global", "--system", "-f", "--file", "--blob") {
		c.Writes = append(c.Writes, ".git/config")
	}
	if c.has("--global") {
		c.Writes = append(c.Writes, path.Join(c.home(), ".gitconfig"))
	}
}

// home is the user's home folder, "~" when there is no world to ask.
func (c *call) home() string {
	if c.env.World == nil {
		return "~"
	}
	return c.env.World.Home()
}

// gitReaches names the machines in operands: URLs, and host:path.
func gitReaches(c *call, _ string) {
	for _, w := range c.ops {
		if h := hostOf(w.Text); h != "" {
			c.Hosts = append(c.Hosts, h)
		}
		if text, ok := strings.CutPrefix(w.Text, "ext::"); ok {
			c.Script = append(c.Script, text)
			c.Literal = true
		}
	}
}

// gitClone: the new folder is written with whatever the repository holds, so a guarded one is guarded here too.
// Without a second operand git takes the last part of the address.
func gitClone(c *call, _ string) {
	gitReaches(c, "")
	if len(c.ops) == 0 {
		return
	}
	dest := strings.TrimRight(c.ops[len(c.ops)-1].Text, "/")
	if len(c.ops) == 1 {
		dest = strings.TrimSuffix(strings.TrimSuffix(dest, "/.git"), ".git")
		dest = dest[strings.LastIndexAny(dest, "/:")+1:]
	}
	if dest != "" {
		c.Writes = append(c.Writes, dest)
	}
}

// gitCheckout: with paths, or by force, it overwrites changes.
func gitCheckout(c *call, _ string) {
	paths := c.dashes >= 0 || len(c.ops) > 1
	for _, w := range c.ops {
		paths = paths || w.Text == "." || strings.HasPrefix(w.Text, "./") || strings.HasPrefix(w.Text, ":/") || w.Glob
	}
	if c.has("-b", "-B", "--orphan") && c.dashes < 0 {
		paths = false
	}
	if paths || c.has("-f", "--force", "-B", "--ours", "--theirs", "-p", "--patch", "--pathspec-from-file") {
		c.destroy("git checkout overwrites changes in the working files: " + texts(c.args))
		for _, w := range c.ops[max(c.dashes, 0):] {
			c.Kills = append(c.Kills, w.Text)
		}
	}
}

// gitClean: a dry run only lists.
func gitClean(c *call, _ string) {
	if c.has("-n", "--dry-run") && !c.has("-i") && len(c.strange) == 0 && len(c.unsure) == 0 {
		c.Class, c.Reason, c.Changes = write, "git clean -n lists files that git does not know", false
		return
	}
	for _, w := range c.ops {
		c.Kills = append(c.Kills, w.Text)
	}
	c.likeRm(append(slices.Clone(c.Kills), "."))
}

// gitInit: a template fills the new repository, also one that is there already, with hooks and settings.
func gitInit(c *call, _ string) {
	f, ok := c.get("--template")
	if !ok || f.value.Text == "" {
		return
	}
	dir := "."
	if len(c.ops) > 0 {
		dir = c.ops[0].Text
	}
	c.Lands = &Landing{Sources: []string{f.value.Text + "/."}, Target: dir + "/.git", Deep: true}
}

// gitMoves: the last operand is the target.
func gitMoves(c *call, _ string) {
	for i, w := range c.ops {
		if i < len(c.ops)-1 || i == 0 {
			c.Reads = append(c.Reads, w.Text)
		}
		c.Writes = append(c.Writes, w.Text)
	}
	if c.lands(); c.Lands != nil {
		c.Lands.Deep = true
	}
}

func absolute(name, dir string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(dir, name)
}
