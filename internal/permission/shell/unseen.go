package shell

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// unseen fills in facts for deny rules that the line does not show.
func (a *analysis) unseen(cmd *permission.Command) {
	for _, o := range []oddity{oddTooMuch, oddSyntax, oddLong, oddZsh} {
		if len(a.odd[o]) > 0 {
			cmd.Unseen = "not all of the line can be followed: " + shorten(a.odd[o][0])
		}
	}
	for _, r := range a.redirs {
		if host, ok := device(r.target.text); ok && (r.target.unknown || r.target.worked || strings.HasPrefix(host, ":")) {
			cmd.UnseenHosts = "only running it tells which machine it reaches: " + shorten(r.raw)
		}
	}
	for _, c := range a.calls {
		if len(c.words) == 0 {
			continue
		}
		if !c.use.Class.ReadOnly() {
			cmd.Alike = append(cmd.Alike, c.use.Alike...)
		}
		if c.guess {
			continue
		}
		if cmd.Unseen == "" {
			cmd.Unseen = a.hides(c)
		}
		if cmd.UnseenFiles == "" && (hidesFiles(c) || a.readsUnknown(c)) {
			cmd.UnseenFiles = "only running it tells which files it reads: " + shorten(c.raw)
		}
		if cmd.UnseenHosts == "" && hidesHost(c) {
			cmd.UnseenHosts = "only running it tells which machine it reaches: " + shorten(c.raw)
		}
		if sources(c) {
			cmd.UnseenFiles = cmp.Or(cmd.UnseenFiles, "it runs the text of a file in this shell: "+shorten(c.raw))
			cmd.UnseenHosts = cmp.Or(cmd.UnseenHosts, cmd.UnseenFiles)
		}
		if begin, ok := beginning(c); ok {
			cmd.Begins = append(cmd.Begins, begin)
		}
		if c.use.Class.ReadOnly() && len(c.use.Inner) == 0 {
			continue
		}
		if c.use.Unknown || runsWords(c) {
			cmd.Mentions = append(cmd.Mentions, strings.Join(texts(c.words[1:]), " "))
			if c.in.text != "" {
				cmd.Mentions = append(cmd.Mentions, c.in.text)
			}
			continue
		}
		if inList("forges", c.name) {
			continue // their arguments are text
		}
		for i, w := range c.words {
			if i > 0 && strings.ContainsAny(w.text, " \t\n\"`(") || i > 1 && among(c.words[i-1].text, "exec", "-exec", "--exec",
				"-wrapper", "--") ||
				i > 1 && c.name == "docker-compose" && c.words[i-1].text == "run" {
				cmd.Mentions = append(cmd.Mentions, strings.Join(texts(c.words[i:]), " "))
			}
		}
	}
}

// readsUnknown reports whether a command that only reads gets words unknown until it runs.
func (a *analysis) readsUnknown(c *call) bool {
	return slices.ContainsFunc(c.words[1:], func(w word) bool { return w.unknown && !w.listed }) &&
		!inList("names only", c.name) && a.readsKnown(programWords(c.words))
}

// sources reports whether a command runs a file's text in the shell itself. Programs of Python's environments are known
// to set variables only.
func sources(c *call) bool {
	return (c.name == "source" || c.name == ".") && len(c.words) > 1 && !strings.HasSuffix(c.words[1].text,
		"/bin/activate")
}

// hidesHost reports whether a program that reaches other machines gets their names from elsewhere, or in a form that
// it expands itself.
func hidesHost(c *call) bool {
	if c.use.Class.ReadOnly() || !inList("network programs", c.name) && len(c.use.Hosts) == 0 {
		return false
	}
	for i, w := range c.words[1:] {
		switch {
		case w.unknown && !w.stays(c, i+1), w.glob,
			(c.name == "curl" || c.name == "wget" || strings.Contains(w.text, "://")) && !strings.HasPrefix(w.text, "-") &&
				strings.ContainsAny(w.text, "{[%") && (strings.Contains(w.text, ".") || strings.Contains(w.text, "://")),
			c.name == "curl" && (strings.HasPrefix(w.text, "-K") || strings.HasPrefix(w.text, "--config")),
			c.name == "wget" && (strings.HasPrefix(w.text, "-i") || strings.HasPrefix(w.text, "--input-f") ||
				strings.HasPrefix(w.text, "--conf") || strings.HasPrefix(w.text, "-e")),
			c.name == "aria2c" && (strings.HasPrefix(w.text, "-i") || strings.HasPrefix(w.text, "--input-f")):
			return true
		}
	}
	return false
}

// beginning is the known text of a command, before the first word that is unknown until it runs.
func beginning(c *call) (string, bool) {
	if !anyUnknown(c.words) && !c.words[0].glob {
		return "", false
	}
	var known []string
	for i, w := range c.words {
		if w.unknown && !w.stays(c, i) || w.glob && i == 0 {
			known = append(known, w.text[:0])
			return strings.Join(known, " "), true
		}
		text := w.text
		if i == 0 {
			text = c.name
		}
		known = append(known, text)
	}
	return "", false
}

// runsWords reports whether a program of the table may run commands that its words or its input name.
func runsWords(c *call) bool {
	switch sub, _ := gitSubcommand(c); {
	case len(c.use.Inner)+len(c.use.Script) > 0, c.use.Literal, c.use.Stdin, c.use.ScriptHides:
		return true
	case c.use.Class.ReadOnly(), inList("builders", c.name), inList("own work", strings.ToLower(c.name)):
		return false
	case c.name == "git":
		return among(sub, "difftool", "mergetool", "submodule", "interpret-trailers", "filter-branch")
	}
	return !inList("forges", c.name)
}

// hides is the reason why the programs that a command runs are unknown; "" when they are known.
func (a *analysis) hides(c *call) string {
	first := c.words[0]
	switch {
	case first.unknown, first.glob:
		return "only running it tells which program runs: " + shorten(c.raw)
	case c.use.ScriptHides && (len(c.use.Reads) == 0 || len(c.use.Script) > 0 || anyUnknown(c.words)):
		return "it runs text that the line does not show: " + shorten(c.raw)
	case (len(c.use.Script) > 0 || c.name == "trap" || c.name == "eval") && anyUnknown(c.words):
		return "only running it tells which text it runs: " + shorten(c.raw)
	case slices.ContainsFunc(c.assigns, func(as assigned) bool { return runningVariable(as.name) }),
		among(c.name, "env", "sudo", "doas", "export", "declare", "typeset", "cross-env") && slices.ContainsFunc(c.words[1:],
			setsRunning):
		return "a variable makes programs run others: " + shorten(c.raw)
	case c.use.Stdin && c.in.any && !(c.in.known && inList("shells", c.name)):
		return "it runs what it reads: " + shorten(c.raw)
	case c.use.ScriptHides && slices.ContainsFunc(c.words, func(w word) bool { return w.produced != nil }):
		return "it runs what another command prints: " + shorten(c.raw)
	case c.name == "enable" && hasFlag(c.words, "-f"):
		return "it makes a command of a file: " + shorten(c.raw)
	case c.use.Class.ReadOnly():
		return ""
	case inList("on keys", c.name), c.name == "git" && among(c.arg(1), "gui", "citool", "instaweb", "daemon"):
		return "it runs what somebody chooses in it: " + shorten(c.raw)
	case c.name == "git" && slices.ContainsFunc(c.words, func(w word) bool { return strings.Contains(w.text, "ext::") }):
		return "git runs a program in the place of a remote machine: " + shorten(c.raw)
	case runsList(c):
		return "it runs the commands in a file: " + shorten(c.raw)
	case inList("builders", c.name) && slices.ContainsFunc(c.words, func(w word) bool { return w.produced != nil }):
		return "it runs what another command prints: " + shorten(c.raw)
	case c.in.any && inList("reads commands", c.name), among(c.name, "complete", "compgen", "bind"):
		return "it runs what it is given: " + shorten(c.raw)
	case readsScript(c):
		return "it runs commands from a file or its input: " + shorten(c.raw)
	case runsCode(c):
		return "it runs code that rules on commands cannot read: " + shorten(c.raw)
	case bringsPatch(c):
		return "it changes the files that a patch names, programs among them: " + shorten(c.raw)
	case c.name == "git" && (c.use.Unknown || len(c.words) > 1 && c.words[1].unknown):
		return "it may be an alias of git's: " + shorten(c.raw)
	case a.writesProgram(c):
		return "the line itself writes what it runs: " + shorten(c.raw)
	}
	return ""
}

// runsList reports whether a program runs commands that it takes from a file which its words name, now or later.
func runsList(c *call) bool {
	switch c.name {
	case "crontab":
		return len(c.words) > 1 && !hasFlag(c.words, "-r")
	case "at", "batch":
		return hasFlag(c.words, "-f")
	case "logrotate", "anacron", "incrontab", "run-parts":
		return true
	}
	return false
}

// runningVariable reports whether programs run or load the value of a variable of this name, or a file it names.
func runningVariable(name string) bool {
	return among(name, names("running variables")...)
}

func setsRunning(w word) bool {
	name, _, ok := strings.Cut(w.text, "=")
	return ok && runningVariable(name)
}

// buildFile reports whether builders read their commands from a file of this name.
func buildFile(name string) bool {
	return among(strings.ToLower(name), names("build files")...) ||
		strings.Contains(name, "$")
}

// writesProgram reports whether the line writes a file that a command is, or that it gets to run.
func (a *analysis) writesProgram(c *call) bool {
	if inList("builders", c.name) && slices.ContainsFunc(a.accesses, func(x permission.Access) bool {
		return x.Kind == permission.Write && buildFile(filepath.Base(x.Target))
	}) {
		return true
	}
	words := c.words[:1]
	if inList("shells", c.name) || interprets(c.name) || among(c.name, "source", ".", "make", "env", "exec") {
		words = c.words
	}
	for i, w := range words {
		if i == 0 && !strings.Contains(w.text, "/") || w.text == "" || strings.HasPrefix(w.text, "-") {
			continue
		}
		for _, dir := range dirsOrRoot(c.dirs) {
			at := from(w.text, dir)
			for _, x := range a.accesses {
				if x.Kind == permission.Write && (x.Target == at || x.Named == at || x.Target == filepath.Dir(at) &&
					len(c.dirs) > 0 && at != c.dirs[0] && i == 0) {
					return true
				}
			}
		}
	}
	return false
}

// runsCode reports whether a command runs code of another language that stands in its words.
func runsCode(c *call) bool {
	flags, ok := lists()["code "+strings.TrimRight(strings.TrimSuffix(c.name, ".exe"), "0123456789.-")]
	if !ok {
		return false
	}
	if c.name == "swift" && among(c.arg(1), "build", "test", "package", "run") {
		return false // as make does with its makefile
	}
	for i, w := range c.words[1:] {
		if i > 0 && c.words[i].text == "-m" && among(w.text, "timeit", "code", "pdb", "dulwich*") {
			return true
		}
		for _, f := range flags {
			name, _, _ := strings.Cut(w.text, "=")
			switch {
			case f[0] != '-' && f[0] != '+' && f != "*" && w.text == f:
				return true
			case f == "*" && !strings.HasPrefix(w.text, "-"),
				strings.HasPrefix(f, "--") && name == f,
				f[0] == '+' && strings.HasPrefix(w.text, f),
				f[0] == '-' && len(f) > 2 && f[1] != '-' && name == f,
				len(f) == 2 && f[0] == '-' && len(w.text) > 1 && w.text[0] == '-' && w.text[1] != '-' && strings.ContainsRune(
					w.text, rune(f[1])):
				return true
			}
		}
	}
	return false
}
