package program

import (
	"slices"
	"strings"
)

// wrapperRows are the programs that run another one which their words name.
func wrapperRows() map[string]spec {
	rows := map[string]spec{
		"timeout":  {class: neutral, plain: true, ops: "TEXT...", flags: "-v -f -p -k:N -s:W --foreground --preserve-status --kill-after=N --signal=W --verbose --version --help", judge: command(1, true)},
		"gtimeout": {class: neutral, plain: true, ops: "TEXT...", flags: "-v -f -p -k:N -s:W --foreground --preserve-status --kill-after=N --signal=W --verbose", judge: command(1, true)},
		"time":     {class: neutral, plain: true, ops: "TEXT...", flags: "-pvqlh -f:FORMAT --portability --verbose --quiet --format=FORMAT --version --help -o:OUT --output=OUT -a! --append!", judge: command(0, true)},
		"nice":     {class: neutral, plain: true, ops: "TEXT...", flags: "-# -n:N --adjustment=N --version --help", judge: judgeNice},
		"nohup":    {class: neutral, plain: true, ops: "TEXT...", flags: "--version --help", judge: command(0, true)},
		"stdbuf":   {class: neutral, plain: true, ops: "TEXT...", flags: "-i:W -o:W -e:W --input=W --output=W --error=W --version --help", judge: command(0, true)},
		"xargs": {class: neutral, plain: true, ops: "TEXT...", flags: `-0rtx -a:FILE -d:TEXT -E:TEXT -e?TEXT -I:TEXT -i?TEXT -J:TEXT -L:N -l?N -n:N -P:N -R:N -S:N -s:N --null --arg-file=FILE
			--delimiter=TEXT --eof?TEXT --replace?TEXT --max-lines?N --max-args=N --max-procs=N --no-run-if-empty --max-chars=N --show-limits
			--exit --verbose --process-slot-var=W --version --help -p! -o! --interactive! --open-tty!`, judge: judgeXargs},
		"env": {class: write, does: "shows or changes the environment", plain: true, ops: "TEXT...", flags: `-i0v -u:W -C:DIR -S:TEXT -P:TEXT --ignore-environment --null --unset=W --chdir=DIR --split-string=TEXT --debug --block-signal?W
			--default-signal?W --ignore-signal?W --argv0=W -a:W`, judge: judgeEnv},
		"sudo": {class: destructive, does: "runs with the rights of another user", plain: true, ops: "TEXT...", flags: `-AbEeHiKklnPSsvVB -C:N -D:DIR -g:W -h:W -p:TEXT -R:DIR -r:W -t:W -T:N -U:W -u:W --user=W --group=W --host=W --prompt=TEXT
			--preserve-env?W --non-interactive --login --shell --stdin --chdir=DIR --chroot=DIR --set-home --background --validate --list
			--edit --reset-timestamp --remove-timestamp --askpass --close-from=N --role=W --type=W --other-user=W --command-timeout=N`, judge: judgeSudo},
		"doas":            {class: destructive, does: "runs with the rights of another user", plain: true, ops: "TEXT...", flags: "-Lns -a:W -C:FILE -u:W", judge: judgeSudo},
		"su":              {class: destructive, does: "runs with the rights of another user", ops: "TEXT...", flags: "-lmpPfh -c:RUN -s:PROG -g:W -G:W -w:W --command=RUN --session-command=RUN --shell=PROG --login --preserve-environment --pty"},
		"runuser":         {class: destructive, does: "runs with the rights of another user", plain: true, ops: "TEXT...", flags: "-lmpPf -c:RUN -s:PROG -g:W -G:W -u:W --command=RUN --session-command=RUN --shell=PROG --user=W --login", judge: judgeRunuser},
		"pkexec":          {class: destructive, does: "runs with the rights of another user", plain: true, ops: "TEXT...", flags: "--user=W --disable-internal-agent --keep-cwd", judge: command(0, false)},
		"setsid":          wrapper("runs a program outside of the session", "-cfw --ctty --fork --wait --version --help", 0),
		"ionice":          wrapper("runs a program, or changes how one runs", "-t -c:N -n:N -p:N -P:N -u:N --class=N --classdata=N --ignore --version --help", 0),
		"chrt":            wrapper("runs a program, or changes how one runs", "-abdfimoprRv -T:N -P:N -D:N --batch --idle --fifo --rr --other --max --version --help", 1),
		"taskset":         wrapper("runs a program, or changes how one runs", "-acp --all-tasks --cpu-list --pid --version --help", 1),
		"numactl":         wrapper("runs a program", "-ahHls -C:W -N:W -m:W -i:W -p:W --cpunodebind=W --membind=W --physcpubind=W --interleave=W --localalloc --hardware --show", 0),
		"unshare":         wrapper("runs a program in other namespaces", "-rfmunipUCTc --map-root-user --fork --mount?FILE --pid?FILE --net?FILE --ipc?FILE --uts?FILE --user?FILE --cgroup?FILE --mount-proc?DIR --map-user=W --map-group=W --kill-child?W -R:DIR -w:DIR -S:W -G:W --root=DIR --wd=DIR", 0),
		"nsenter":         wrapper("runs a program in other namespaces", "-aFZe -t:N -m?FILE -u?FILE -i?FILE -n?FILE -p?FILE -U?FILE -C?FILE -T?FILE -S:W -G:W -r?DIR -w?DIR --target=N --all --mount?FILE --net?FILE --pid?FILE --user?FILE --no-fork", 0),
		"chroot":          wrapper("runs a program with another root", "--groups=W --userspec=W --skip-chdir", 1),
		"setpriv":         wrapper("runs a program with other rights", "-d --reuid=W --regid=W --clear-groups --keep-groups --init-groups --no-new-privs --groups=W --bounding-set=W --inh-caps=W", 0),
		"capsh":           {class: write, does: "runs a shell with other rights", ops: "TEXT..."},
		"bwrap":           {class: write, does: "runs a program in a sandbox of its own", raw: true, judge: behindFlags},
		"firejail":        {class: write, does: "runs a program in a sandbox of its own", raw: true, judge: behindFlags},
		"systemd-run":     {class: write, does: "runs a program outside of the session", raw: true, judge: behindFlags},
		"systemd-inhibit": {class: write, does: "runs a program", raw: true, judge: behindFlags},
		"start-stop-daemon": {class: write, does: "starts or stops programs", ops: "TEXT...", flags: `-SKbmtqvC -x:PROG -a:PROG --exec=PROG --startas=PROG -n:W -p:FILE -u:W -c:W -d:DIR --start --stop --background --name=W
			--pidfile=FILE --oknodo`},
		"strace":           {class: write, does: "runs a program under observation", raw: true, judge: behindFlags},
		"ltrace":           {class: write, does: "runs a program under observation", raw: true, judge: behindFlags},
		"dtruss":           {class: write, does: "runs a program under observation", raw: true, judge: behindFlags},
		"perf":             {class: write, does: "runs a program under observation", raw: true, judge: execAfter("record|stat|trace|top|sched|mem|c2c|lock|kvm|bench")},
		"valgrind":         {class: write, does: "runs a program under observation", raw: true, judge: behindFlags},
		"rr":               {class: write, does: "runs a program under observation", raw: true, judge: behindFlags},
		"hyperfine":        {class: write, does: "runs programs", raw: true, judge: scripts("-p --prepare -s --setup -c --cleanup --conclude", "-w --warmup -m --min-runs -M --max-runs -r --runs -S --shell -P -D -L --style --export-json --export-markdown --export-csv -n -N -i -u -x")},
		"proot":            {class: write, does: "runs a program with another root", raw: true, judge: behindFlags},
		"fakeroot":         {class: write, does: "runs a program", raw: true, judge: behindFlags},
		"torsocks":         {class: write, does: "runs a program over another network", raw: true, judge: behindFlags},
		"proxychains4":     {class: write, does: "runs a program over another network", raw: true, judge: behindFlags},
		"catchsegv":        {class: write, does: "runs a program", raw: true, judge: behindFlags},
		"caffeinate":       {class: write, does: "runs a program", raw: true, judge: behindFlags},
		"chronic":          {class: write, does: "runs a program", raw: true, judge: behindFlags},
		"unbuffer":         {class: write, does: "runs a program", raw: true, judge: behindFlags},
		"faketime":         {class: write, does: "runs a program", raw: true, judge: behindFlags},
		"dbus-run-session": {class: write, does: "runs a program", raw: true, judge: behindFlags},
		"xvfb-run":         {class: write, does: "runs a program", raw: true, judge: behindFlags},
		"ssh-agent":        {class: write, does: "runs a program, or stays in the background", raw: true, judge: behindFlags},
		"dotenv":           {class: write, does: "runs a program", raw: true, judge: behindFlags},
		"op":               {class: write, does: "handles secrets", raw: true, judge: execAfter("run")},
		"aws-vault":        {class: write, does: "handles secrets", raw: true, judge: execAfter("exec")},
		"doppler":          {class: write, does: "handles secrets", raw: true, judge: execAfter("run")},
		"cross-env":        {class: write, does: "runs a program with other variables", plain: true, ops: "TEXT...", judge: judgeEnv},
		"concurrently":     {class: write, does: "runs programs", raw: true, judge: scripts("", "-n --names -c --prefix-colors -p --prefix -s --success -m --max-processes")},
		"nodemon":          {class: write, does: "runs a program again and again", ops: "TEXT...", flags: "-x:RUN --exec=RUN -w:W --watch=W -e:W --ext=W"},
		"watchexec":        {class: write, does: "runs a program again and again", raw: true, judge: behindFlags},
		"entr":             {class: write, does: "runs a program again and again", plain: true, ops: "TEXT...", flags: "-acdnprsz", judge: judgeEntr},
		"watch": {class: write, does: "runs a program again and again", plain: true, ops: "TEXT...", flags: `-bcCdeghprtwx -n:N -q:N --beep --color --no-color --differences?W --errexit --chgexit --equexit=N --interval=N --no-title --exec
			--precise --no-wrap`, judge: judgeWatch},
		"parallel": {class: write, does: "runs programs", raw: true, judge: behindFlags},
		"flock": {class: write, does: "runs a program while it holds a lock", plain: true, ops: "TEXT...", flags: `-seonuxF -E:N -w:N -c:RUN --shared --exclusive --unlock --nonblock --timeout=N --conflict-exit-code=N --close --no-fork --verbose
			--command=RUN`, judge: judgeFlock},
		"script":              {class: write, does: "runs a shell and records it", ops: "OUT TEXT...", flags: "-aefqt -c:RUN -I:OUT -O:OUT -B:OUT -T:OUT -E:W -m:W -o:N --command=RUN --quiet --return --flush --append --force"},
		"busybox":             {class: write, does: "has other programs in it", raw: true, judge: judgeApplet},
		"toybox":              {class: write, does: "has other programs in it", raw: true, judge: judgeApplet},
		"coreutils":           {class: write, does: "has other programs in it", raw: true, judge: judgeCoreutils},
		"at":                  {class: write, does: "runs text later", ops: "TEXT...", flags: "-mMvlbV -f:FILE -q:W -t:W -d! -r! -c", judge: judgeLater},
		"batch":               {class: write, does: "runs text later", ops: "TEXT...", judge: judgeLater},
		"crontab":             {class: write, does: "runs commands again and again from now on", ops: "FILE", flags: "-lirs -e -u:W -x:W", judge: judgeCrontab},
		"tmux":                {class: write, does: "runs commands outside of this session", raw: true, judge: judgeTmux},
		"screen":              {class: write, does: "runs commands outside of this session", raw: true, judge: judgeScreen},
		"zellij":              {class: write, does: "runs commands outside of this session", raw: true, judge: execAfter("run")},
		"nix-collect-garbage": {class: destructive, does: "removes old generations", ops: "TEXT..."},
		"cmd":                 {class: write, does: "runs a command", raw: true, judge: judgeCmd},
		"powershell":          {class: write, does: "runs code", raw: true, judge: judgePowershell},
		"pwsh":                {class: write, does: "runs code", raw: true, judge: judgePowershell},
		"wsl":                 {class: write, does: "runs a command in another system", raw: true, judge: behindFlags},
		"open":                {class: write, does: "starts another program", ops: "TEXT..."},
		"xdg-open":            {class: write, does: "starts another program", ops: "TEXT..."},
		"start":               {class: write, does: "starts another program", ops: "TEXT..."},
		"explorer":            {class: write, does: "starts another program", ops: "TEXT..."},
	}
	for _, name := range strings.Fields(otherWrappers) {
		rows[name] = spec{class: write, does: "runs a program", raw: true, judge: behindWords}
	}
	return rows
}

// otherWrappers run a program that stands somewhere behind their name, flags and words of their own.
const otherWrappers = `cpulimit prlimit runcon setarch linux32 linux64 i386 x86_64 eatmydata choom uclampset softlimit daemonize ld.so
	ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 ld-linux.so.2 ld-musl-x86_64.so.1 rlwrap sshpass sem torify dbus-launch i3-msg swaymsg xterm
	gnome-terminal konsole alacritty kitty foot tini dumb-init gosu su-exec s6-setuidgid s6-env chpst envdir envuidgid setuidgid setlock
	pidproxy pgrphack lxc lxc-attach incus adb sandbox-exec machinectl with-contenv retry ifne pipexec ccache distcc scl
	nsjail minijail0 systemd-cat systemd-nspawn toolbox distrobox flatpak-spawn sg newgrp`

// behindWords is for wrappers of which only the name is known: any of the first words may begin the command, and
// any may be a whole command in one word. Only deny and ask rules use what it finds.
func behindWords(c *call) {
	c.Literal = true
	for i, w := range c.args[:min(len(c.args), 6)] {
		if strings.HasPrefix(w.Text, "-") {
			continue
		}
		c.Inner = append(c.Inner, slices.Clone(c.args[i:]))
		if strings.ContainsAny(w.Text, " \t") {
			c.script(w)
		}
	}
}

// wrapper is a row of a program that runs the command behind its flags and skip more words.
func wrapper(does, flags string, skip int) spec {
	return spec{class: write, does: does, plain: true, ops: "TEXT...", flags: flags, judge: func(c *call) {
		c.Literal = true
		command(skip, false)(c)
	}}
}

// command: behind skip operands stands a command.
func command(skip int, transparent bool) func(*call) {
	return func(c *call) {
		if len(c.ops) <= skip {
			return
		}
		c.inner(c.ops[skip:])
		c.Transparent = transparent && c.Class.ReadOnly()
	}
}

// judgeNice: nice -5 ls, and the old nice -n -5 ls.
func judgeNice(c *call) {
	if len(c.strange) > 0 && len(c.strange[0]) > 2 && isNumber(strings.TrimLeft(c.strange[0], "-")) && len(c.unsure) == 0 {
		c.Class, c.Reason = neutral, ""
	}
	for _, f := range c.flags {
		if f.name == "-n" && isNumber(strings.TrimPrefix(f.value.Text, "-")) {
			c.unsure = nil
		}
	}
	command(0, true)(c)
}

// judgeXargs: the command gets words that only running tells.
func judgeXargs(c *call) {
	if len(c.ops) == 0 {
		return
	}
	inner := slices.Clone(c.ops)
	mark := ""
	if f, ok := c.get("-I", "-J"); ok {
		mark = f.value.Text
	} else if f, ok := c.get("-i", "--replace"); ok {
		mark = f.value.Text
		if !f.filled {
			mark = "{}"
		}
	}
	if mark == "" {
		inner = append(inner, Word{Unknown: true})
	} else {
		for i, w := range inner {
			if strings.Contains(w.Text, mark) {
				inner[i] = Word{Text: strings.ReplaceAll(w.Text, mark, ""), Unknown: true, Quoted: true}
			}
		}
	}
	c.inner(inner)
	c.Transparent = len(c.flags) == 0 && len(c.strange) == 0 && len(c.unsure) == 0 && c.Class.ReadOnly()
}

// judgeEnv: behind the variables stands a command; -S holds one in one word.
func judgeEnv(c *call) {
	c.Literal = true
	var inner []Word
	for _, f := range c.flags {
		if f.name == "-S" || f.name == "--split-string" {
			inner = append(inner, split(f.value)...)
		}
	}
	rest := c.ops
	for len(rest) > 0 && len(inner) == 0 && assigns(rest[0]) {
		rest = rest[1:]
	}
	for len(inner) > 0 && assigns(inner[0]) {
		inner = inner[1:]
	}
	c.inner(append(inner, rest...))
}

// assigns reports whether a word sets a variable: NAME=value.
func assigns(w Word) bool {
	n, _, ok := strings.Cut(w.Text, "=")
	return ok && n != "" && !strings.ContainsAny(n, "/ ")
}

// judgeSudo: variables, then a command; sudo -e edits files.
func judgeSudo(c *call) {
	if c.has("-e", "--edit") {
		for _, w := range c.ops {
			c.Writes = append(c.Writes, w.Text)
		}
		return
	}
	rest := c.ops
	for len(rest) > 0 && assigns(rest[0]) {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		c.Stdin = c.has("-s", "-i", "--shell", "--login")
		return
	}
	c.inner(rest)
	if c.has("-s", "-i", "--shell", "--login") {
		c.Script = append(c.Script, texts(rest))
	}
}

func judgeRunuser(c *call) {
	if c.has("-u", "--user") {
		command(0, false)(c)
	}
}

// behindFlags is for wrappers whose flags are not worth listing: the command is behind --, else it begins at
// the first word that is no flag, or, as a flag may take a word, at one behind it.
func behindFlags(c *call) {
	asks("--version|-V|--help")(c)
	if c.Class.ReadOnly() {
		return
	}
	c.commandAfter(c.args)
}

// scripts is for programs whose operands, and the values of some flags, are shell text.
func scripts(running, valued string) func(*call) {
	runs, takes := strings.Fields(running), strings.Fields(valued)
	return func(c *call) {
		asks("--version|-V|--help")(c)
		if c.Class.ReadOnly() {
			return
		}
		c.Literal = true
		for i := 0; i < len(c.args); i++ {
			w := c.args[i]
			switch name, value, attached := strings.Cut(w.Text, "="); {
			case slices.Contains(runs, name) && attached:
				c.script(Word{Text: value, Unknown: w.Unknown})
			case slices.Contains(runs, w.Text):
			case slices.Contains(takes, w.Text):
				i++
			case !strings.HasPrefix(w.Text, "-"):
				c.script(w)
			}
		}
	}
}

func judgeEntr(c *call) {
	c.Literal = true
	if c.has("-s") && len(c.ops) > 0 {
		c.script(c.ops[0])
		return
	}
	command(0, false)(c)
}

// judgeWatch: watch joins its words to a shell command.
func judgeWatch(c *call) {
	c.Literal = true
	if len(c.ops) == 0 {
		return
	}
	if c.has("-x", "--exec") {
		command(0, false)(c)
		return
	}
	for _, w := range c.ops {
		c.ScriptHides = c.ScriptHides || w.Unknown || w.Glob
	}
	c.Script = append(c.Script, texts(c.ops))
}

// judgeFlock: flock FILE cmd, flock FILE -c 'text'.
func judgeFlock(c *call) {
	c.Literal = true
	if len(c.ops) < 2 {
		return
	}
	c.Writes = append(c.Writes, c.ops[0].Text)
	if c.ops[1].Text == "-c" || c.ops[1].Text == "--command" {
		for _, w := range c.ops[2:] {
			c.script(w)
		}
		return
	}
	command(1, false)(c)
}

// judgeApplet: busybox rm x.
func judgeApplet(c *call) {
	if len(c.args) == 0 || len(c.args) == 1 && strings.HasPrefix(c.args[0].Text, "--") {
		return
	}
	c.Inner = append(c.Inner, slices.Clone(c.args))
}

// judgeCoreutils: coreutils --coreutils-prog=rm x.
func judgeCoreutils(c *call) {
	for i, w := range c.args {
		if p, ok := strings.CutPrefix(w.Text, "--coreutils-prog="); ok {
			c.Inner = append(c.Inner, append([]Word{{Text: p, Unknown: w.Unknown}}, c.args[i+1:]...))
			return
		}
	}
	judgeApplet(c)
}

func judgeLater(c *call) {
	c.ScriptHides, c.Literal = true, true
	c.Stdin = !c.has("-f")
}

// judgeCrontab: -l lists, -r removes all.
func judgeCrontab(c *call) {
	switch {
	case c.has("-r"):
		c.destroy("crontab -r removes all scheduled commands")
	case c.has("-l") && len(c.flags) == 1 && len(c.ops) == 0 && len(c.strange) == 0 && len(c.unsure) == 0:
		c.Class, c.Reason = read, ""
	default:
		c.Literal, c.ScriptHides = true, true
	}
}

// judgeTmux: some subcommands list; others type into a terminal or run shell text.
func judgeTmux(c *call) {
	if len(c.args) == 1 && !c.args[0].Unknown {
		switch c.args[0].Text {
		case "ls", "list-sessions", "list-windows", "list-panes", "lsw", "lsp", "list-clients", "-V":
			c.Class, c.Reason = list, ""
			return
		}
	}
	c.Literal = true
	for i, w := range c.args {
		switch w.Text {
		case "kill-server", "kill-session", "kill-window", "kill-pane":
			c.destroy("tmux " + w.Text + " ends what runs in it")
		}
		if i > 0 && (strings.Contains(w.Text, " ") || w.Unknown) || i == len(c.args)-1 && i > 0 {
			c.script(w)
		}
	}
	for i, w := range c.args {
		if i > 0 && (c.args[i-1].Text == "-d" || c.args[i-1].Text == "run-shell" || c.args[i-1].Text == "--") && !strings.HasPrefix(w.Text, "-") {
			c.Inner = append(c.Inner, c.args[i:])
		}
		if i > 0 && strings.HasPrefix(c.args[i-1].Text, "send") {
			c.Script = append(c.Script, texts(c.args[i:]))
		}
	}
}

func judgeScreen(c *call) {
	if len(c.args) == 1 && !c.args[0].Unknown && (c.args[0].Text == "-ls" || c.args[0].Text == "-list" || c.args[0].Text == "-v") {
		c.Class, c.Reason = list, ""
		return
	}
	c.Literal = true
	for i, w := range c.args {
		if strings.Contains(w.Text, " ") || w.Unknown {
			c.script(w)
		}
		if i > 0 && strings.HasPrefix(c.args[i-1].Text, "-") && !strings.HasPrefix(w.Text, "-") || i > 1 && strings.HasPrefix(c.args[i-2].Text, "-") {
			c.Inner = append(c.Inner, c.args[i:])
		}
	}
}

// judgeCmd: cmd /c del x.
func judgeCmd(c *call) {
	for i, w := range c.args {
		if t := strings.ToLower(w.Text); t == "/c" || t == "/k" || t == "//c" {
			c.Inner = append(c.Inner, c.args[i+1:])
			return
		}
	}
	c.Stdin = true
}

// judgePowershell: its commands are no shell text that could be read.
func judgePowershell(c *call) {
	asks("--version|-Version|-v")(c)
	if !c.Class.ReadOnly() {
		c.ScriptHides = true
		c.Stdin = len(c.args) == 0
	}
}
