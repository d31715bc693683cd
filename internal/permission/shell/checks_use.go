package shell

import (
	"path/filepath"
	"strings"
)

// variableKind is a set of reasons why a variable matters to programs or the shell.
type variableKind uint8

const (
	loadsCode variableKind = 1 << iota
	choosesPaths
	choosesPrograms
	steersShell
	choosesOutput
	holdsOptions
)

// variableKinds are the lists of names for each kind.
var variableKinds = map[variableKind]string{
	loadsCode: "loader variables", choosesPaths: "path variables", choosesPrograms: "program variables",
	steersShell: "shell variables", choosesOutput: "destinations", holdsOptions: "option texts",
}

// kindOf is the kind of a variable. A line may set the same one many times.
func (a *analysis) kindOf(name string) variableKind {
	kind, ok := a.kinds[name]
	if ok {
		return kind
	}
	upper := strings.ToUpper(name)
	for k, list := range variableKinds {
		if among(upper, names(list)...) {
			kind |= k
		}
	}
	a.kinds[name] = kind
	return kind
}

// variables makes a check of assignments, before a command, alone, by export or by env.
func variables(text string, kind variableKind) func(*analysis) []string {
	return each(func(a *analysis, c *call) string {
		for _, as := range c.assigns {
			if a.kindOf(as.name)&kind != 0 && !cosmetic(as) {
				return text + ": " + as.show
			}
		}
		if c.name == "unset" {
			for _, w := range c.words[1:] {
				if a.kindOf(w.text)&kind != 0 {
					return text + ": " + c.raw
				}
			}
		}
		return ""
	})
}

func environmentChecks() []check {
	return []check{
		{"loader-variable", ask, false, variables("it loads code into programs", loadsCode)},
		{"path-variable", ask, false, variables("it changes where programs and settings are found", choosesPaths)},
		{"program-variable", ask, false, variables("it names a program or options", choosesPrograms)},
		{"shell-variable", ask, false, variables("the shell runs or obeys it", steersShell)},
		{"assignment", ask, false, each(func(_ *analysis, c *call) string {
			if len(c.words) == 0 && len(c.assigns) > 0 && !c.use.Class.ReadOnly() {
				return "it sets " + c.assigns[0].name
			}
			return ""
		})},
		{"shell-state", ask, false, runs("it changes the shell", "set", "shopt", "enable", "hash", "trap", "export", "declare", "typeset",
			"readonly", "local", "unset",
			"unalias", "alias", "bind", "complete", "compgen", "compopt", "ulimit", "umask", "exec", "read", "mapfile",
			"readarray", "getopts", "disown", "fc", "suspend", "logout", "let")},
		{"environment-read", ask, false, each(func(_ *analysis, c *call) string {
			if len(c.words) == 0 {
				return ""
			}
			switch {
			case c.name == "printenv" && !plainVariables(c.words[1:]), c.name == "env" && len(c.use.Inner) == 0,
				c.name == "export" && len(c.words) == 1,
				c.name == "set" && len(c.words) == 1, c.name == "declare" && hasFlag(c.words, "-p"),
				c.name == "compgen" && hasFlag(c.words, "-v"):
				return "it prints variables: " + c.raw
			case among(c.name, "jq", "gojq", "jaq", "yq") && strings.Contains(c.raw, "$ENV"),
				among(c.name, "awk", "gawk", "mawk") && strings.Contains(c.raw, "ENVIRON"):
				return "it reads variables: " + c.raw
			case (c.name == "echo" || c.name == "printf") && secretVariable(c.raw):
				return "it prints a variable that may hold a key: " + c.raw
			case c.name == "ps" && len(c.words) > 1 && strings.Contains(c.arg(1), "e") && !strings.HasPrefix(c.arg(1), "-"):
				return "it prints the variables of processes: " + c.raw
			}
			return ""
		})},
	}
}

// plainVariables reports whether words name nothing but variables that hold no secret.
func plainVariables(words []word) bool {
	for _, w := range words {
		if !w.literal() || !among(w.text, "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "PWD", "EDITOR", "TZ",
			"HOSTNAME", "LC_*", "GOPATH", "GOROOT", "NODE_ENV") {
			return false
		}
	}
	return len(words) > 0
}

// secretVariable reports whether text uses a variable whose name suggests a secret.
func secretVariable(text string) bool {
	for i := strings.IndexByte(text, '$'); i >= 0; {
		name := strings.ToUpper(strings.TrimLeft(text[i+1:min(len(text), i+60)], "{!#"))
		end := strings.IndexFunc(name, func(r rune) bool { return r != '_' && (r < 'A' || r > 'Z') && (r < '0' || r > '9') })
		if end >= 0 {
			name = name[:end]
		}
		for _, s := range []string{"KEY", "TOKEN", "SECRET", "PASS", "AUTH", "CRED"} {
			if strings.Contains(name, s) {
				return true
			}
		}
		next := strings.IndexByte(text[i+1:], '$')
		if next < 0 {
			return false
		}
		i += 1 + next
	}
	return false
}

// keepsWork reports whether a command of git that moves work about loses nothing: git itself refuses what would.
func keepsWork(sub string, rest []string) bool {
	forced := short(rest, 'f') || short(rest, 'C') || short(rest, 'B') || has(rest, "--force") ||
		has(rest, "--discard-changes") || has(rest, "--force-create")
	switch sub {
	case "stash":
		return !has(rest, "drop") && !has(rest, "clear")
	case "switch":
		return !forced
	case "checkout":
		return !forced && short(rest, 'b')
	case "rm":
		return !forced && has(rest, "--cached")
	}
	return false
}

func programChecks() []check {
	return []check{
		{"remove", ask, false, runs("it removes files", "rm", "rmdir", "unlink", "shred", "srm", "truncate", "zf_rm", "wipe")},
		{"git-discard", ask, true, each(func(_ *analysis, c *call) string {
			if c.name != "git" || c.use.Class.ReadOnly() {
				return ""
			}
			sub, rest := gitSubcommand(c)
			if keepsWork(sub, rest) {
				return ""
			}
			switch sub {
			case "push", "reset", "clean", "restore", "rebase", "filter-branch", "filter-repo", "gc", "prune", "update-ref",
				"rm", "stash", "switch", "replace", "reflog":
				if sub == "reflog" && !has(rest, "expire") &&
					!has(rest, "delete") {
					return ""
				}
				return "it publishes, discards or rewrites work: " + c.raw
			case "checkout", "branch", "tag":
				if sub == "checkout" || short(rest, 'D') || short(rest, 'd') || has(rest, "--delete") {
					return "it discards or switches work: " + c.raw
				}
			}
			return ""
		})},
		{"privilege", ask, false, runs("it runs as another user", "sudo", "su", "doas", "pkexec", "runuser", "run0", "sudoedit", "gosu",
			"su-exec", "setpriv", "machinectl", "sg", "newgrp")},
		{"kill", ask, false, runs("it ends processes", "kill", "killall", "killall5", "xkill", "fuser", "skill", "taskkill")},
		{"pkill", ask, false, runs("it ends processes by name", "pkill", "killall", "snice")},
		{"disk-copy", ask, false, runs("it copies blocks", "dd", "dcfldd", "ddrescue", "dc3dd", "partclone*", "fallocate")},
		{"wrapper", ask, false, runs("it runs another program", "setsid", "chroot", "unshare", "nsenter", "chrt", "ionice", "watch", "flock",
			"script", "parallel",
			"busybox", "toybox", "env", "xargs", "screen", "tmux", "systemd-run", "firejail", "bwrap", "strace", "ltrace",
			"gdb", "expect", "daemonize", "start-stop-daemon", "coproc")},
		{"persistence", ask, false, runs("it arranges for something to run later", "crontab", "at", "batch", "launchctl", "systemctl",
			"update-rc.d", "chkconfig", "schtasks", "anacron", "service", "rc-update")},
	}
}

func placeChecks() []check {
	return []check{
		{"network", ask, true, each(func(_ *analysis, c *call) string {
			if !c.use.Class.ReadOnly() && inList("network programs", c.name) || (len(c.use.Hosts) > 0 && c.name != "") {
				return "it reaches another machine: " + c.raw
			}
			return ""
		})},
		{"network-device", ask, false, func(a *analysis) []string {
			for _, r := range a.redirs {
				if strings.HasPrefix(r.target.text, "/dev/tcp") || strings.HasPrefix(r.target.text, "/dev/udp") {
					return []string{"it opens a connection: " + r.raw}
				}
			}
			return nil
		}},
		{"network-listener", ask, false, each(func(_ *analysis, c *call) string {
			switch c.name {
			case "nc", "ncat", "netcat", "socat":
				if hasFlag(c.words, "-l") || hasFlag(c.words, "-e") || hasFlag(c.words, "--exec") || strings.Contains(c.raw,
					"LISTEN") || strings.Contains(c.raw, "EXEC") {
					return "it opens a port or hands out a shell: " + c.raw
				}
			case "python", "python3", "php", "ruby":
				if has(texts(c.words), "http.server") || has(texts(c.words), "-S") && c.name == "php" {
					return "it opens a port: " + c.raw
				}
			}
			return ""
		})},
		{"cd-then-git", ask, false, each(func(a *analysis, c *call) string {
			if c.name == "git" && c.use.GitDir == "" && !a.sameRepository(c.dirs) && !c.guess {
				return "git obeys the configuration of another folder: " + c.raw
			}
			return ""
		})},
		{"git-folder", ask, false, each(func(a *analysis, c *call) string {
			if c.name != "git" || c.use.Class.ReadOnly() && a.ownRepository(c, c.dirs) {
				return "" // its settings only change how output looks, and the folder belongs to the repository
			}
			for _, w := range c.words[1:] {
				if !strings.HasPrefix(w.text, "-") {
					return ""
				}
				if strings.HasPrefix(w.text, "-c") || strings.HasPrefix(w.text, "-C") || strings.HasPrefix(w.text, "--git-d") ||
					strings.HasPrefix(w.text, "--work-t") || strings.HasPrefix(w.text, "--exec-p") || strings.HasPrefix(w.text,
					"--config-e") {
					return "git uses other settings: " + c.raw
				}
			}
			return ""
		})},
		{"cd-then-write", ask, false, func(a *analysis) []string {
			for _, r := range a.redirs {
				if r.write && !filepath.IsAbs(r.target.text) && movedFrom(r.dirs, a.start) {
					return []string{"where it writes depends on the folder: " + r.raw}
				}
			}
			return nil
		}},
		{"unclear-target", ask, false, func(a *analysis) []string {
			for _, r := range a.redirs {
				if r.write && (r.target.unknown || r.target.worked || r.target.glob || strings.HasPrefix(r.target.show, "~")) {
					return []string{"it is not plain where it writes: " + r.raw}
				}
			}
			return nil
		}},
	}
}

func movedFrom(dirs []string, start string) bool {
	return (&scope{dirs: dirs}).moved(start)
}

// gitSubcommand finds the subcommand behind git's own flags.
func gitSubcommand(c *call) (sub string, rest []string) {
	for i := 1; i < len(c.words); i++ {
		switch w := c.words[i].text; {
		case w == "-C" || w == "-c" || w == "--git-dir" || w == "--work-tree" || w == "--namespace" || w == "--exec-path" ||
			w == "--config-env":
			i++
		case strings.HasPrefix(w, "-"):
		default:
			return w, texts(c.words[i+1:])
		}
	}
	return "", nil
}
