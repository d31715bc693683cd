package program

import (
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// textOnly: all words are text.
func textOnly(*call) {}

// noOperands: with nothing but known flags, it has this class.
func noOperands(class permission.Class) func(*call) {
	return func(c *call) {
		if len(c.ops) == 0 && len(c.strange) == 0 && len(c.unsure) == 0 && len(c.Writes) == 0 {
			c.Class, c.Reason = class, ""
		}
	}
}

func judgeHostname(c *call) {
	if len(c.ops) > 0 {
		c.Class, c.Reason = write, "hostname sets the name of the machine"
	}
}

// judgeDate: an operand that does not begin with + sets the clock.
func judgeDate(c *call) {
	for _, w := range c.ops {
		if !strings.HasPrefix(w.Text, "+") || w.Unknown && !w.Quoted {
			c.refuse("date with a time sets the clock")
		}
	}
}

// judgeSleep: up to a minute needs no question.
func judgeSleep(c *call) {
	for _, w := range c.ops {
		whole, _, _ := strings.Cut(strings.TrimSuffix(w.Text, "s"), ".")
		if w.Unknown || strings.Trim(whole, "0123456789") != "" || len(whole) > 2 || len(whole) == 2 && whole > "60" {
			c.refuse("sleep waits for longer than a minute")
		}
	}
}

// judgePs: ps takes letters with and without a dash. The letter e without dash, and -E on macOS, shows
// the environment of processes.
func judgePs(c *call) {
	c.Class = list
	c.psFallsBack()
	for i := 0; i < len(c.args); i++ {
		w := c.args[i]
		t := w.Text
		switch {
		case w.Unknown || w.Glob:
			c.refuse("only running it tells which words ps gets")
		case isNumber(strings.ReplaceAll(t, ",", "")):
		case psValue(t):
			i++
			if i < len(c.args) && (c.args[i].Unknown && !c.args[i].Quoted || c.args[i].Glob) {
				c.refuse("only running it tells which words ps gets")
			}
			if i < len(c.args) && psFormat(t) && showsEnvironment(c.args[i].Text) {
				c.refuse("ps shows the environment of processes")
			}
		case strings.HasPrefix(t, "--"):
			name, value, _ := strings.Cut(t, "=")
			if !strings.Contains(" --forest --headers --no-headers --cumulative --deselect --pid --ppid --sort --format "+
				"--user --User --group --tty --sid --cols --columns --rows --lines --width --version --help --info ", " "+name+
				" ") {
				c.refuse("the flag " + name + " of ps is not known to be read-only")
			}
			if name == "--format" && showsEnvironment(value) {
				c.refuse("ps shows the environment of processes")
			}
		case strings.HasPrefix(t, "-"):
			if strings.Trim(t[1:], "AadeflFjHLMmNTVwycgrSxXuZ") != "" && !psAttached(t) {
				c.refuse("the flag " + t + " of ps is not known to be read-only")
			}
		case strings.Trim(t, "auxwfjlvTrshSnXZmHcgy") != "":
			c.refuse("the letters " + t + " of ps are not known to be read-only")
		}
	}
}

// psFallsBack refuses -e (all processes) where ps may read it as e (with the environment): when anything is wrong in
// the words, ps reads all of them again as if they had no dash. Only letters that go together are sure to be right.
func (c *call) psFallsBack() {
	everything, plain, formats := false, true, 0
	tree, threads := false, false
	for i, w := range c.args {
		letters, dashed := strings.CutPrefix(w.Text, "-")
		switch {
		case i > 0 && (c.args[i-1].Text == "--sort" || psFormat(c.args[i-1].Text) && c.args[i-1].Text[0] == '-'),
			isNumber(w.Text):
			continue
		case !dashed:
			plain = false
			continue
		case letters != "" && letters[0] == '-':
			name, _, _ := strings.Cut(letters, "=")
			tree = tree || name == "-forest"
			plain = plain && (name == "-sort" || name == "-no-headers" || name == "-headers" || letters == "-forest")
			continue
		}
		everything = everything || strings.Contains(letters, "e")
		if strings.HasSuffix(letters, "o") {
			letters, formats = letters[:len(letters)-1], formats+1
		}
		if strings.ContainsAny(letters, "fFl") {
			formats++
		}
		tree, threads = tree || strings.Contains(letters, "H"), threads || strings.ContainsAny(letters, "TL")
		plain = plain && strings.Trim(letters, "AadefFHLlTw") == ""
	}
	if everything && (!plain || formats > 1 || tree && threads) {
		c.refuse("ps may take -e for e, which shows the environment of processes")
	}
}

func psFormat(t string) bool {
	return strings.HasSuffix(t, "o") || strings.HasSuffix(t, "O") || t == "--format"
}

// psValue reports whether the next word is a value.
func psValue(t string) bool {
	switch t {
	case "--pid", "--ppid", "--sort", "--format", "--user", "--User", "--group", "--tty", "--sid", "--cols", "--columns",
		"--rows", "--lines", "--width":
		return true
	}
	if len(t) < 2 || strings.HasPrefix(t, "--") {
		return false
	}
	last, rest := t[len(t)-1], strings.TrimPrefix(t[:len(t)-1], "-")
	if t[0] == '-' {
		return strings.IndexByte("oOpCuUgGstqk", last) >= 0 && strings.Trim(rest, "AadeflFjHLMmNTwycrSxX") == ""
	}
	return strings.IndexByte("oOpUtqk", last) >= 0 && strings.Trim(rest, "auxwfjlvTrshSnXZmHcgy") == ""
}

// psAttached: -p123, -ouser,pid.
func psAttached(t string) bool {
	if len(t) < 3 || strings.IndexByte("oOpCuUgGstq", t[1]) < 0 {
		return false
	}
	return !showsEnvironment(t[2:])
}

func showsEnvironment(format string) bool {
	return strings.Contains(strings.ToLower(format), "env")
}

// judgeTop: only in batch mode, for a known number of times.
func judgeTop(c *call) {
	c.Class = list
	batch := false
	for i := 0; i < len(c.args); i++ {
		w := c.args[i]
		switch {
		case w.Unknown || w.Glob:
			c.refuse("only running it tells which words top gets")
		case strings.HasPrefix(w.Text, "-b"), w.Text == "-l":
			batch = true
			if strings.Trim(w.Text, "-bcHiSnl0123456789") != "" {
				c.refuse("the flag " + w.Text + " of top is not known to be read-only")
			}
		case strings.HasPrefix(w.Text, "-") && strings.Trim(w.Text, "-cHiSn0123456789dopuwlsUE") == "", isNumber(w.Text):
		case i > 0 && strings.IndexByte("opuUE", lastByte(c.args[i-1].Text)) >= 0 && strings.HasPrefix(c.args[i-1].Text, "-"):
		case i > 0 && strings.HasPrefix(c.args[i-1].Text, "-") && lastByte(c.args[i-1].Text) == 'd':
		default:
			c.refuse("the word " + w.Text + " of top is not known to be read-only")
		}
	}
	if !batch {
		c.refuse("top is interactive without -b")
	}
}

func lastByte(s string) byte {
	if s == "" {
		return 0
	}
	return s[len(s)-1]
}

// judgeIp: objects and show, nothing else.
func judgeIp(c *call) {
	at := 0
	for at < len(c.args) && strings.HasPrefix(c.args[at].Text, "-") {
		switch c.args[at].Text {
		case "-4", "-6", "-br", "-brief", "-c", "-color", "-color=auto", "-color=never", "-j", "-json", "-p", "-pretty",
			"-s", "-stats", "-statistics", "-d", "-details", "-o", "-oneline", "-h", "-human", "-V":
		default:
			return
		}
		at++
	}
	rest := c.args[at:]
	for _, w := range rest {
		if w.Unknown || w.Glob {
			return
		}
	}
	if len(rest) == 0 {
		return
	}
	switch rest[0].Text {
	case "a", "addr", "address", "l", "link", "r", "route", "n", "neigh", "rule", "maddr", "-V":
	default:
		return
	}
	if len(rest) == 1 || rest[1].Text == "show" || rest[1].Text == "list" || rest[1].Text == "ls" ||
		rest[0].Text[0] == 'r' && rest[1].Text == "get" {
		c.Class, c.Reason = list, ""
	}
}

// judgeGetent: some databases are answered over the network.
func judgeGetent(c *call) {
	c.Class = read
	if len(c.args) == 0 {
		return
	}
	switch db := c.args[0]; {
	case db.Unknown || db.Glob:
		c.refuse("only running it tells which database getent reads")
	case db.Text == "passwd" || db.Text == "group" || db.Text == "services" || db.Text == "protocols":
	default:
		c.refuse("getent " + db.Text + " may reach the network or secrets")
		for _, w := range c.args[1:] {
			c.Hosts = append(c.Hosts, w.Text)
		}
	}
}

// judgeMan: an operand with a slash is a file, which man formats by running programs.
func judgeMan(c *call) {
	for _, w := range c.ops {
		if strings.Contains(w.Text, "/") || w.Unknown {
			c.refuse("man formats a file")
		}
	}
}

// judgePrintenv: names that hold no secrets.
func judgePrintenv(c *call) {
	if c.has("--version", "--help") {
		return
	}
	if len(c.ops) == 0 {
		c.refuse("printenv shows all variables, secrets too")
	}
	for _, w := range c.ops {
		if w.Unknown || w.Glob || !plainVariable(w.Text) {
			c.refuse("printenv shows the variable " + w.Text + ", which may be a secret")
		}
	}
}

// plainVariable reports whether a variable is one that commonly holds no secret.
func plainVariable(name string) bool {
	switch name {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "OLDPWD", "LANG", "LANGUAGE", "TERM", "COLORTERM", "TZ",
		"EDITOR", "VISUAL", "PAGER",
		"HOSTNAME", "TMPDIR", "DISPLAY", "SHLVL", "COLUMNS", "LINES", "GOPATH", "GOROOT", "GOBIN", "GOOS", "GOARCH",
		"GOFLAGS", "JAVA_HOME", "NODE_ENV",
		"VIRTUAL_ENV", "CONDA_PREFIX", "NVM_DIR", "CARGO_HOME", "RUSTUP_HOME", "CI", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
		"XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "MANPATH":
		return true
	}
	return strings.HasPrefix(name, "LC_")
}

func judgeTput(c *call) {
	for _, w := range c.ops {
		switch w.Text {
		case "init", "reset":
			c.refuse("tput sets up the terminal")
		}
	}
}

func judgeSysctl(c *call) {
	for _, w := range c.ops {
		if strings.Contains(w.Text, "=") || w.Unknown {
			c.refuse("sysctl sets a value")
		}
	}
}

// judgeMount: without operands it lists.
func judgeMount(c *call) {
	if len(c.ops) == 0 && !c.has("-a") && len(c.strange) == 0 && len(c.unsure) == 0 {
		c.Class, c.Reason = list, ""
	}
}

// judgeSystemctl: the subcommands that print.
func judgeSystemctl(c *call) {
	for _, w := range c.args {
		if w.Unknown || w.Glob || strings.HasPrefix(w.Text, "-H") || strings.HasPrefix(w.Text, "--host") ||
			strings.HasPrefix(w.Text, "-M") || strings.HasPrefix(w.Text, "--mach") {
			return
		}
	}
	i := 0
	for i < len(c.args) && strings.HasPrefix(c.args[i].Text, "-") {
		i++
	}
	if i == len(c.args) {
		if i == 1 && c.args[0].Text == "--version" {
			c.Class, c.Reason = neutral, ""
		}
		return
	}
	switch verb := c.args[i].Text; verb {
	case "cat", "show":
		c.systemctlValues(verb, c.systemctlReadOnly())
	case "status", "is-active", "is-enabled", "is-failed", "is-system-running", "list-units", "list-unit-files",
		"list-timers", "list-sockets", "list-dependencies", "list-jobs", "get-default":
		c.systemctlReadOnly()
	case "stop", "restart", "kill", "disable", "mask", "isolate", "reboot", "poweroff", "halt", "kexec", "suspend",
		"hibernate", "emergency", "rescue", "clean", "reset-failed", "try-restart", "reload-or-restart":
		c.destroy("systemctl " + texts(c.args[i:]) + " ends services or the machine")
	}
}

// systemctlValues: the environment and the command lines of services hold secrets, and unit files do.
func (c *call) systemctlValues(verb string, flags []given) {
	shown := 0
	for _, f := range flags {
		if f.name != "-p" && f.name != "--property" {
			continue
		}
		shown++
		for name := range strings.SplitSeq(f.value.Text, ",") {
			if strings.Contains(name, "Environment") || strings.Contains(name, "Exec") || strings.Contains(name, "Credential") {
				c.refuse("systemctl " + verb + " -p " + name + " prints a property that may hold a secret")
			}
		}
	}
	if verb == "cat" || shown == 0 {
		c.refuse("systemctl " + verb + " shows the environment of services, which may hold a secret")
	}
}

var systemctlFlags = &flagSet{
	letters: "alq",
	alone:   "--all --full --quiet --no-pager --no-legend --plain --user --system --failed --value",
	value:   "-t -p -n -o --type --state --property --lines --output",
}

// systemctlReadOnly takes the flags of a subcommand that prints, and returns them.
func (c *call) systemctlReadOnly() []given {
	c.Class, c.Reason = list, ""
	look := &call{name: c.name, args: c.args, row: spec{}}
	for i := 0; i < len(look.args); i++ {
		if w := look.args[i]; len(w.Text) > 1 && w.Text[0] == '-' {
			i = look.flag(systemctlFlags.grammar(), i)
		}
	}
	for _, s := range look.strange {
		c.refuse("the flag " + s + " of systemctl is not known to be read-only")
	}
	return look.flags
}

// ssWords are the words of a filter of ss that name no machine.
const ssWords = ` dst src sport dport and or not eq ne neq gt lt ge le geq leq = == != > < >= <= ( ) ! & | state exclude all
	connected synchronized bucket big established syn-sent syn-recv fin-wait-1 fin-wait-2 time-wait closed close-wait last-ack
	listening closing dev fwmark cgroup autobound `

// judgeSs: a filter may name a machine, which ss looks up at name servers.
func judgeSs(c *call) {
	for _, w := range c.ops {
		numeric := w.Text != "" && strings.Trim(w.Text, "0123456789abcdefABCDEF.:*/[]%") == "" && strings.ContainsAny(w.Text,
			"0123456789:*")
		port := strings.HasPrefix(w.Text, ":")
		if w.Unknown || !numeric && !port && !contains(strings.Fields(ssWords), w.Text) {
			c.refuse("ss may ask name servers for " + w.Text)
		}
	}
}

// judgeLsof: after @ comes a machine, which lsof looks up at name servers.
func judgeLsof(c *call) {
	texts := c.ops
	for _, f := range c.flags {
		if f.name == "-i" {
			texts = append(texts, f.value)
		}
	}
	for _, w := range texts {
		if _, host, ok := strings.Cut(w.Text, "@"); ok && strings.Trim(host, "0123456789.:,-[]") != "" {
			c.refuse("lsof may ask name servers for " + host)
		}
	}
}

// judgeArch: with anything but --help it is that of macOS, which runs a program for another processor.
func judgeArch(c *call) {
	if len(c.ops)+len(c.strange) > 0 {
		c.exact("arch runs a program on some systems")
		behindWords(c)
	}
}
