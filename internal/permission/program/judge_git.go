package program

import (
	"path"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// judgeGit takes git's own flags, then looks its subcommand up.
func judgeGit(c *call) {
	c.Git = true
	i := 0
	for ; i < len(c.args); i++ {
		w := c.args[i]
		if w.Unknown || w.Glob {
			c.exact("only running it tells what git does")
			return
		}
		if !strings.HasPrefix(w.Text, "-") {
			break
		}
		i = c.gitFlag(i)
		if i < 0 {
			return
		}
	}
	if i >= len(c.args) {
		return
	}
	c.gitVerb(i)
	if i > 0 && !c.Class.ReadOnly() {
		// Deny rules for git push mean git -C x push too.
		c.Inner = append(c.Inner, append([]Word{{Text: "git"}}, c.args[i:]...))
	}
}

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
	case "--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects", "--no-lazy-fetch",
		"--glob-pathspecs", "--noglob-pathspecs", "--icase-pathspecs", "--no-advice":
		return i
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
		switch name {
		case "--git-dir":
			c.GitDir = value
		case "--work-tree":
			c.workTree = value
		}
		return i
	case "-c", "--config-env":
		if !attached || name == "-c" {
			value = next.Text
			i++
		}
		if name == "-c" && !next.Unknown && !next.Glob && plainSetting(value) {
			return i
		}
		c.exact("git " + name + " sets a configuration that may run programs")
		c.gitSetting(value)
		return i
	case "--exec-path":
		if attached {
			c.exact("git --exec-path takes its subcommands from another folder")
		}
		return i
	case "--bare", "-p", "--paginate":
		c.exact("git " + name + " is not known to be read-only")
		return i
	}
	if strings.HasPrefix(name, "-c") {
		c.gitSetting(w.Text[2:])
	}
	c.exact("the flag " + w.Text + " of git is not known to be read-only")
	return i
}

// gitSetting finds the commands in -c key=value.
func (c *call) gitSetting(s string) {
	key, value, _ := strings.Cut(s, "=")
	value, shell := strings.CutPrefix(value, "!")
	key = strings.ToLower(key)
	switch {
	case strings.HasPrefix(key, "alias.") && !shell:
		words := append([]Word{{Text: "git"}}, split(Word{Text: value})...)
		c.Inner = append(c.Inner, words)
	case shell, strings.HasSuffix(key, "command"), strings.HasSuffix(key, "pager"), strings.HasSuffix(key, "editor"),
		strings.HasSuffix(key, "fsmonitor"),
		strings.HasSuffix(key, "textconv"), strings.HasSuffix(key, "external"), strings.HasSuffix(key, "helper"),
		strings.HasSuffix(key, "program"), strings.HasSuffix(key, ".cmd"),
		strings.HasPrefix(key, "pager."), strings.HasSuffix(key, "askpass"), strings.HasPrefix(key, "filter."):
		if value != "" && value != "true" && value != "false" {
			c.Script = append(c.Script, value)
		}
	}
}

// gitVerb looks the subcommand at args[i] up, with its own subcommand when it has some.
func (c *call) gitVerb(i int) {
	verb := "git " + c.args[i].Text
	rest := c.args[i+1:]
	if len(rest) > 0 && !rest[0].Unknown && !rest[0].Glob {
		if _, ok := rows()[verb+" "+rest[0].Text]; ok && !strings.Contains(rest[0].Text, " ") {
			verb, rest = verb+" "+rest[0].Text, rest[1:]
		}
	}
	r, ok := rows()[verb]
	if !ok {
		c.refuse(verb + " is not known to be read-only")
		c.Unknown = true
		return
	}
	sub := newCall(verb, r, c.env, rest)
	defer sub.release()
	sub.run()
	gitReads(sub)
	c.rebase(&sub.Use)
	c.fitPathspecs(sub, i)
	c.merge(sub.Use)
	if c.workTree != "" && !sub.Class.ReadOnly() {
		c.Writes, c.Unpacks = append(c.Writes, c.workTree), c.workTree
	}
	if r.adds != "" {
		c.Adds, c.AddsAt = []string{r.adds}, len(c.args)-len(rest)
	}
}

// fitPathspecs takes the flags of git itself, which stand before args[verb], to the facts about a subcommand's
// pathspecs.
func (c *call) fitPathspecs(sub *call, verb int) {
	if sub.Tree == nil {
		return
	}
	var own []string
	for _, w := range c.args[:verb] {
		if strings.HasSuffix(w.Text, "-pathspecs") {
			// they change the meaning of those that would be added
			sub.Tree.Specs, sub.Tree.Except, sub.Tree.All = false, nil, sub.Tree.Past
		}
		own = append(own, w.Text)
	}
	if sub.Tree.Instead != nil {
		sub.Tree.Instead = append(own, sub.Tree.Instead...)
	}
}

// gitSubmodules: to find out whether a submodule was changed, git runs itself there, with the filters that the
// submodule's configuration names. The safe form asks not to; settings of the project cannot overrule that.
func gitSubmodules(more func(*call)) func(*call) {
	return func(c *call) {
		for _, f := range c.flags {
			if v := f.value.Text; f.name == "--ignore-submodules" && f.filled && v != "all" && v != "dirty" {
				c.exact("git runs the filters that submodules name to tell whether they were changed")
			}
		}
		if more != nil {
			more(c)
		}
	}
}

// gitDescribe: to find out whether files were changed, git runs filters, of submodules too.
func gitDescribe(c *call) {
	if c.has("--dirty", "--broken") {
		c.exact("git describe --dirty runs the filters that submodules name to tell whether they were changed")
	}
}

// merge takes over the use of a subcommand and keeps the findings made before it.
func (c *call) merge(u Use) {
	before := c.Use
	c.Use = u
	c.Git, c.GitDir = before.Git, before.GitDir
	c.Literal = c.Literal || before.Literal
	c.Inner = slices.Concat(before.Inner, c.Inner)
	c.Script = slices.Concat(before.Script, c.Script)
	c.ScriptHides = c.ScriptHides || before.ScriptHides
	c.GitValues = c.GitValues || before.GitValues
	c.Reads = slices.Concat(before.Reads, c.Reads)
	c.Writes = slices.Concat(before.Writes, c.Writes)
	c.Hosts = slices.Concat(before.Hosts, c.Hosts)
	if !before.Class.ReadOnly() {
		c.refuse(before.Reason)
	}
}

// gitFormat: some placeholders run the program that checks signatures.
func gitFormat(c *call) {
	for _, f := range c.flags {
		if (f.name == "--pretty" || f.name == "--format") && (strings.Contains(f.value.Text, "%G") ||
			strings.Contains(f.value.Text, "signature") || f.value.Unknown) {
			c.exact("the format shows signatures, which git has a program check")
		}
	}
}

// gitDiff: outside of a repository, and with two paths where one lies outside, git diff compares any files.
func gitDiff(c *call) {
	if c.has("--no-index") && len(c.ops) != 2 {
		c.refuse("git diff --no-index compares two files")
	}
	for _, w := range c.ops {
		switch {
		case c.has("--no-index"):
			c.reads(w)
		case path.IsAbs(w.Text), strings.HasPrefix(w.Text, "~"), slices.Contains(strings.Split(w.Text, "/"), ".."):
			c.Reads = append(c.Reads, w.Text)
		}
	}
	if c.has("--no-index") {
		c.tree(permission.TreeOptions{Hidden: true}, nil)
	}
}

// gitObjects: in a batch, the names of the printed objects come from the input, or all objects are printed.
func gitObjects(c *call) {
	if c.has("--batch", "--batch-command") {
		c.refuse("git cat-file --batch prints the files of the past that its input names")
	}
}

// gitReflog: git reflog [show] is git log; exists asks.
func gitReflog(c *call) {
	gitFormat(c)
	if len(c.ops) > 0 && slices.Contains([]string{"expire", "delete", "drop", "write"}, c.ops[0].Text) {
		c.destroy("git reflog " + c.ops[0].Text + " removes what is needed to recover work")
	}
}

// gitShortlog: without a commit it reads its input.
func gitShortlog(c *call) { gitFormat(c) }

// gitBranch: a name creates a branch, unless something asks for a list.
func gitBranch(c *call) {
	gitFormat(c)
	switch {
	case c.has("-D") || c.has("-d", "--delete") && c.has("-f", "--force") || c.has("-M", "-C", "-f", "--force"):
		c.destroy("git branch may throw commits away: " + texts(c.args))
	case c.has("-l", "--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"):
	case len(c.ops) > 0:
		c.refuse("git branch with a name creates a branch")
	}
}

// gitTag: the same for tags.
func gitTag(c *call) {
	gitFormat(c)
	switch {
	case c.has("-d", "--delete", "-f", "--force"):
		c.destroy("git tag may throw a tag away: " + texts(c.args))
	case c.has("-l", "--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at", "-n"):
	case len(c.ops) > 0:
		c.refuse("git tag with a name creates a tag")
	}
}

func gitRemote(c *call) {
	c.GitValues = len(c.args) > 0 // addresses

	if len(c.ops) > 0 {
		c.refuse("git remote " + c.ops[0].Text + " changes the remotes or reaches one")
	}
}

// gitURL: the address of a remote may hold a password.
func gitURL(c *call) { c.GitValues = true }

// gitVar: -l lists the configuration.
func gitVar(c *call) { c.GitValues = c.has("-l") }

// gitConfig: one name shows a value, two set it. Which keys exist is no secret, some values are.
func gitConfig(c *call) {
	gitValues(c)
	if len(c.ops) > 1 {
		c.Class, c.Reason = write, "git config with a value changes the configuration"
	}
	if len(c.ops) > 0 && slices.Contains([]string{"set", "unset", "edit", "rename-section", "remove-section"},
		c.ops[0].Text) {
		c.Class, c.Reason = write, "git config "+c.ops[0].Text+" changes the configuration"
	}
	if !c.Class.ReadOnly() && !c.has("--global", "--system", "-f", "--file", "--blob") {
		c.Writes = append(c.Writes, ".git/config")
	}
	if c.has("--global") && !c.Class.ReadOnly() {
		c.Writes = append(c.Writes, path.Join(c.home(), ".gitconfig"))
	}
	if f, ok := c.get("-f", "--file"); ok {
		c.Writes = append(c.Writes, f.value.Text)
	}
}

// gitValues: it shows values of the configuration, unless it names one that is no secret.
func gitValues(c *call) {
	patterns := c.has("-l", "--list", "--get-regexp", "--get-urlmatch", "--regexp", "--url")
	key := ""
	if f, ok := c.get("--get", "--get-all", "--get-color", "--get-colorbool"); ok {
		key = f.value.Text
	} else if len(c.ops) > 0 {
		key = c.ops[0].Text
	}
	section, name, _ := strings.Cut(strings.ToLower(key), ".")
	plain := slices.Contains([]string{
		"user", "core", "init", "branch", "pull", "push", "color", "commit", "merge",
		"rebase", "diff", "log",
	}, section) &&
		!strings.Contains(name, "pass") && !strings.Contains(name, "token")
	c.GitValues = !c.has("--name-only") && (patterns || !plain)
}

// home is the user's home folder, "~" when there is no world to ask.
func (c *call) home() string {
	if c.env.World == nil {
		return "~"
	}
	return c.env.World.Home()
}

// gitReaches names the machines in operands: URLs, and host:path.
func gitReaches(c *call) {
	for _, w := range c.ops {
		if h := hostOf(w.Text); h != "" {
			c.Hosts = append(c.Hosts, h)
		}
		if strings.HasPrefix(w.Text, "ext::") {
			c.Script = append(c.Script, strings.TrimPrefix(w.Text, "ext::"))
			c.Literal = true
		}
	}
}

// gitLsRemote: asked for the address only, it reaches nothing.
func gitLsRemote(c *call) {
	if c.has("--get-url") && len(c.strange)+len(c.unsure) == 0 && !c.has("--upload-pack", "--exec") {
		c.Class, c.Reason, c.GitValues = list, "", true
		return
	}
	gitReaches(c)
}

// hostOf finds the host in a URL or in user@host:path, "" when there is none.
func hostOf(s string) string {
	if _, rest, ok := strings.Cut(s, "://"); ok {
		host, _, _ := strings.Cut(rest, "/")
		if i := strings.LastIndexByte(host, '@'); i >= 0 {
			host = host[i+1:]
		}
		if strings.HasPrefix(host, "[") {
			if end := strings.IndexByte(host, ']'); end > 0 {
				return host[1:end]
			}
		}
		host, _, _ = strings.Cut(host, ":")
		return host
	}
	host, _, ok := strings.Cut(s, ":")
	if !ok || strings.ContainsAny(host, "/ ") {
		return ""
	}
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	return host
}

// gitCheckout: with paths, or by force, it overwrites changes.
func gitCheckout(c *call) {
	c.Reason = "git checkout switches the working files"
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

func gitSwitch(c *call) {
	if c.has("-f", "--force", "--discard-changes", "-C", "--force-create") {
		c.destroy("git switch throws changes away: " + texts(c.args))
	}
}

func gitStash(c *call) {
	if len(c.ops) > 0 && (c.ops[0].Text == "drop" || c.ops[0].Text == "clear") {
		c.destroy("git stash " + c.ops[0].Text + " throws stashed changes away")
	}
}

func gitReset(c *call) {
	if c.has("--hard", "--merge", "--keep") || slices.Contains(c.strange, "--ha") || slices.Contains(c.strange, "--har") {
		c.destroy("git reset throws changes and commits away: " + texts(c.args))
		return
	}
	c.destroy("git reset moves the branch or the index: " + texts(c.args))
}

// gitClone: the new folder is written with whatever the repository holds, so a guarded one is guarded here too.
// Without a second operand git takes the last part of the address.
func gitClone(c *call) {
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

// gitClean: a dry run only lists.
func gitClean(c *call) {
	if c.has("-n", "--dry-run") && !c.has("-i") && len(c.strange) == 0 && len(c.unsure) == 0 {
		c.Class, c.Reason = list, ""
		return
	}
	for _, w := range c.ops {
		c.Kills = append(c.Kills, w.Text)
	}
	c.likeRm(append(slices.Clone(c.Kills), "."))
}

// gitApplies: the patch names the files that change.
func gitApplies(c *call) {
	c.Literal = true
	unpacks("", nil)(c)
}

// gitRestore: the paths lose their changes; with --staged alone only the index does.
func gitRestore(c *call) {
	c.Reason += ": " + texts(c.ops)
	for _, w := range c.ops {
		c.Kills = append(c.Kills, w.Text)
	}
}

// gitForeach: its words, joined, are shell text.
func gitForeach(c *call) {
	c.Literal = true
	c.ScriptHides = slices.ContainsFunc(c.args, func(w Word) bool { return w.Unknown })
	args := c.args
	for len(args) > 0 && (args[0].Text == "--recursive" || args[0].Text == "--quiet" || args[0].Text == "-q") {
		args = args[1:]
	}
	c.Script = append(c.Script, texts(args))
}

func gitGC(c *call) {
	if f, ok := c.get("--prune"); ok && f.filled {
		c.destroy("git gc --prune removes what is needed to recover work")
	}
}

func gitUpdateRef(c *call) {
	if c.has("-d", "--stdin") {
		c.destroy("git update-ref may throw references away")
	}
}

func gitWorktree(c *call) {
	if len(c.args) > 0 && c.args[0].Text == "remove" {
		c.destroy("git worktree remove removes a folder with what is in it")
		for _, w := range c.args[1:] {
			if !strings.HasPrefix(w.Text, "-") {
				c.Kills = append(c.Kills, w.Text)
			}
		}
	}
}
