package tool

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// needsScreen is the refusal of a command line with a program that waits for a person at a terminal; empty for others.
// Options with which such a program works without one let it pass, and so does input from a pipe or a file where it
// reads that.
func needsScreen(command string) string {
	for line := range strings.SplitSeq(command, "\n") {
		line, _, text := strings.Cut(line, "<<")
		if text { // the lines that follow are input
			line += " <text"
		}
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		cmds, joins, ok := splitCommands(line)
		if !ok { // what follows may be the rest of a string or of a compound command
			return ""
		}
		if refusal := screenIn(line, cmds, joins); refusal != "" || text {
			return refusal
		}
	}
	return ""
}

// screenIn looks at the commands of one line.
func screenIn(line string, cmds, joins []string) string {
	for i, c := range cmds {
		words := strings.Fields(c)
		words = words[assignments(words):]
		for len(words) > 1 && slices.Contains([]string{"sudo", "env", "command", "exec", "nohup", "time"}, words[0]) &&
			!strings.HasPrefix(words[1], "-") {
			words = words[1:]
		}
		if len(words) == 0 {
			continue
		}
		dir, name := filepath.Split(words[0])
		if dir != "" && !strings.HasSuffix(dir, "bin/") { // some other program of this name
			continue
		}
		p := screened{name: name, args: words[1:]}
		p.edited = strings.Contains(line, "_EDITOR=") || strings.Contains(line, ".editor=")
		p.fed = i > 0 && joins[i-1] == "|" || strings.Contains(c, "<")
		if hint := p.hint(); hint != "" {
			return fmt.Sprintf("%s waits for a person at a terminal, and there is none, so it was not run. %s", p.title(), hint)
		}
	}
	return ""
}

// screened is a program with its arguments.
type screened struct {
	name string
	args []string
	fed  bool // its input comes from a pipe or a file

	edited bool // the line says which editor git starts
}

// title is the program with its subcommand.
func (p screened) title() string {
	if sub := p.sub(); sub != "" && slices.Contains([]string{"git", "npm", "yarn", "pnpm", "docker", "podman", "kubectl"},
		p.name) {
		return p.name + " " + sub
	}
	return p.name
}

// sub is the first argument that is no option, nor the value of an option of git.
func (p screened) sub() string {
	for i, a := range p.args {
		if !strings.HasPrefix(a, "-") && !(p.name == "git" && i > 0 && (p.args[i-1] == "-C" || p.args[i-1] == "-c")) {
			return a
		}
	}
	return ""
}

// given reports whether an argument begins with one of the texts, or asks for help or the version.
func (p screened) given(options ...string) bool {
	return slices.ContainsFunc(p.args, func(a string) bool {
		return a == "--help" || a == "--version" || slices.ContainsFunc(options,
			func(o string) bool { return strings.HasPrefix(a, o) })
	})
}

// has reports whether one of the words is an argument. Short options may stand together (-it).
func (p screened) has(words ...string) bool {
	return slices.ContainsFunc(p.args, func(a string) bool {
		return slices.ContainsFunc(words, func(w string) bool {
			short := len(w) == 2 && w[0] == '-' && len(a) > 1 && a[0] == '-' && a[1] != '-'
			return a == w || strings.HasPrefix(a, w+"=") || short && !strings.Contains(a, "=") && strings.ContainsRune(a[1:],
				rune(w[1]))
		})
	})
}

// hint is the next move in place of a program that needs a person; empty for one that does not.
func (p screened) hint() string {
	if hint := p.fullScreen(); hint != "" {
		return hint
	}
	if p.name == "git" {
		return p.gitHint()
	}
	if !p.fed {
		return p.asking()
	}
	return ""
}

const screenEdit = "Read files with Read, change them with Edit or Write."

// fullScreen are programs that draw on the whole terminal.
func (p screened) fullScreen() string {
	refuse := func(hint string, batch ...string) string {
		if p.given(batch...) {
			return ""
		}
		return hint
	}
	switch p.name {
	case "vi", "vim", "nvim", "vimdiff":
		return refuse(screenEdit, "-c", "+", "-e", "-E", "-s", "-S", "--headless", "--cmd")
	case "nano", "pico", "micro", "joe", "ed", "hx":
		if p.name == "ed" && p.fed {
			return ""
		}
		return refuse(screenEdit)
	case "emacs":
		return refuse(screenEdit, "--batch", "-batch", "--script", "-script", "--daemon", "--eval")
	case "top":
		return refuse("Use `ps aux`, or `top -b -n 1`.", "-b", "-l", "-h", "-v")
	case "htop", "btop", "atop", "nvtop":
		return refuse("Use `ps aux`, or `top -b -n 1`.", "-h", "-V", "-P")
	case "lazygit", "tig", "ranger", "nnn", "mc", "k9s":
		return refuse("Use the commands that it stands for (git, ls, kubectl).", "-h", "-v", "-V")
	case "watch":
		return refuse("Run the command itself, again when you need it, or in a loop with run_in_background.", "-h", "-v")
	case "visudo", "vipw":
		return refuse("Ask the user to change that file.", "-c")
	case "crontab":
		if p.has("-e") {
			return "Give the table as a file: `crontab -l >jobs`, change that, `crontab jobs`."
		}
	case "tmux", "screen":
		if sub := p.sub(); p.name == "tmux" && (sub == "" && !p.given("-V") || strings.HasPrefix(sub, "a")) ||
			p.name == "screen" && (len(p.args) == 0 || p.has("-r", "-x")) {
			return "Start the program with run_in_background, or without attaching (`tmux new-session -d`, `screen -dm`)."
		}
	}
	return ""
}

// gitHint is for the subcommands of git that ask, hunk by hunk or in an editor.
func (p screened) gitHint() string {
	switch sub := p.sub(); {
	case sub == "rebase" && p.has("--interactive", "-i", "--edit-todo") && !p.edited && !p.has("--autosquash", "--exec",
		"-x"):
		return "Have a program write the list: `GIT_SEQUENCE_EDITOR='sed -i 2s/pick/fixup/' git rebase -i HEAD~3`; or use " +
			"`git commit --fixup` and `git rebase -i --autosquash`."
	case p.fed:
		return ""
	case slices.Contains([]string{"add", "checkout", "restore", "reset"}, sub) && p.has("--patch", "-p"),
		(sub == "commit" || sub == "stash") && p.has("--patch"):
		return "Stage a part of a file with `git apply --cached` and a patch, or whole files by name."
	case (sub == "add" || sub == "clean") && p.has("--interactive", "-i"):
		return "Name the files on the command line."
	}
	return ""
}

// asking are programs that ask questions on their input, which ends at once here.
func (p screened) asking() string {
	switch name := p.name; {
	case slices.Contains([]string{
		"python", "python3", "ipython", "node", "irb", "ghci", "lua", "php", "R", "julia",
		"deno", "bun",
	}, name) && len(p.args) == 0 && name != "bun",
		(name == "python" || name == "python3") && len(p.args) == 1 && p.args[0] == "-i",
		name == "php" && p.has("-a"):
		return fmt.Sprintf("Give it the code: a file, an option (`%s`), or a here-document.", oneLiner(name))
	case (name == "psql" || name == "mysql" || name == "mariadb" || name == "sqlite3" || name == "mongosh" ||
		name == "redis-cli") && !p.given("-c", "-f", "-e", "--command", "--file", "--execute", "--eval", "-l", "-V",
		"-version") && p.fewWords():
		return "Give it the statement: `psql -c`, `mysql -e`, `sqlite3 FILE 'SELECT ...'`, `mongosh --eval`, or a " +
			"here-document."
	case (name == "npm" || name == "yarn" || name == "pnpm") && p.sub() == "init" && !p.has("-y", "--yes") &&
		len(p.args) == 1 && name != "pnpm":
		return fmt.Sprintf("Take the defaults with `%s init -y`, then change package.json with Edit.", name)
	case name == "npm" && (p.sub() == "login" || p.sub() == "adduser"), (name == "docker" || name == "podman") &&
		p.sub() == "login" && !p.given("-p", "--password"):
		return "Ask the user to log in."
	case (name == "docker" || name == "podman" || name == "kubectl") && (p.sub() == "run" || p.sub() == "exec") &&
		p.interactiveTerminal():
		return "Leave out -t and -i, and give the command that is to run inside."
	case name == "passwd" || name == "su" && !p.has("-c", "--command"):
		return "Ask the user to do that."
	case name == "ssh-keygen" && len(p.args) == 0:
		return "Give the file and the passphrase: `ssh-keygen -t ed25519 -N '' -f FILE`."
	case name == "gdb" && !p.given("-batch", "--batch", "-x", "-ex", "--command", "-v"), name == "lldb" && !p.given("-b",
		"--batch", "-o", "-s", "-v"):
		return "Run it in batch mode: `gdb -batch -ex run -ex bt --args PROGRAM`, `lldb -b -o run -o bt -- PROGRAM`."
	}
	return ""
}

// interactiveTerminal reports options like -it, before the command that runs inside. Words are never empty.
func (p screened) interactiveTerminal() bool {
	for i, a := range p.args {
		short := len(a) > 1 && len(a) < 5 && a[0] == '-' && strings.Trim(a[1:], "itd") == ""
		switch {
		case i > 1 && a[0] != '-' && p.args[i-1][0] != '-': // neither an option nor its value: the command inside follows
			return false
		case a == "--tty", short && strings.Contains(a, "t"):
			return !strings.Contains(a, "d")
		}
	}
	return false
}

// fewWords reports that only options and at most one name (a database) were given.
func (p screened) fewWords() bool {
	words := 0
	for _, a := range p.args {
		if !strings.HasPrefix(a, "-") {
			words++
		}
	}
	return words < 2 && p.name != "redis-cli" || words == 0
}

func oneLiner(name string) string {
	switch name {
	case "python", "python3", "ipython":
		return name + " -c"
	case "php":
		return "php -r"
	case "deno":
		return "deno eval"
	}
	return name + " -e"
}
