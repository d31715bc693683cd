package program

import (
	"slices"
	"strings"
)

// builtinRows are the builtin commands of bash 5.2, and those that zsh 5.9 adds.
func builtinRows() map[string]spec {
	rows := map[string]spec{
		":":        {class: neutral, raw: true, judge: textOnly},
		"true":     {class: neutral, raw: true, judge: textOnly},
		"false":    {class: neutral, raw: true, judge: textOnly},
		"echo":     {class: neutral, raw: true, judge: textOnly},
		"printf":   {class: neutral, raw: true, judge: judgePrintf},
		"test":     {class: list, raw: true, judge: judgeTest},
		"[":        {class: list, raw: true, judge: judgeTest},
		"pwd":      {class: neutral, flags: &flagSet{letters: "LP", alone: "--logical --physical --version --help"}},
		"cd":       {class: neutral, raw: true, judge: judgeCd},
		"chdir":    {class: neutral, raw: true, judge: judgeCd},
		"pushd":    {class: neutral, raw: true, judge: judgeCd},
		"popd":     {class: write, does: "goes to a folder that only running tells", raw: true, judge: judgePopd},
		"dirs":     {class: neutral, flags: &flagSet{letters: "lpv"}},
		"type":     {class: list, tame: true, ops: "TEXT...", flags: &flagSet{letters: "afptP"}},
		"help":     {class: neutral, tame: true, ops: "TEXT...", flags: &flagSet{letters: "dms"}},
		"times":    {class: neutral},
		"jobs":     {class: neutral, ops: "TEXT...", flags: &flagSet{letters: "lnprs", exact: "-x"}},
		"wait":     {class: neutral, tame: true, ops: "TEXT...", flags: &flagSet{letters: "fn"}},
		"history":  {class: write, does: "shows or changes what was typed", ops: "TEXT...", flags: nil},
		"umask":    {class: neutral, flags: &flagSet{letters: "pS"}},
		"shift":    {class: neutral, ops: "TEXT"},
		"break":    {class: neutral, ops: "TEXT"},
		"continue": {class: neutral, ops: "TEXT"},
		"return":   {class: neutral, ops: "TEXT"},
		"exit":     {class: neutral, ops: "TEXT"},
		"logout":   {class: neutral, ops: "TEXT"},
		"eval":     {class: write, does: "runs text as a command", raw: true, judge: judgeEval},
		"source":   {class: write, does: "runs a file in this shell", raw: true, judge: judgeSource},
		".":        {class: write, does: "runs a file in this shell", raw: true, judge: judgeSource},
		"trap":     {class: write, does: "runs text later", raw: true, judge: judgeTrap},
		"command":  {class: neutral, raw: true, judge: judgeCommand},
		"builtin":  {class: neutral, raw: true, judge: wraps(0)},
		"exec": {class: write, does: "replaces the shell", plain: true, ops: "TEXT...", flags: &flagSet{
			letters: "cl",
			text:    "-a",
		}, judge: judgeExec},
		"fc":        {class: write, does: "runs what was typed before", ops: "TEXT..."},
		"compgen":   {class: list, ops: "TEXT", flags: compgenFlags, judge: judgeCompgen},
		"mapfile":   {class: write, does: "sets variables", ops: "TEXT", flags: mapfileFlags},
		"readarray": {class: write, does: "sets variables", ops: "TEXT", flags: readarrayFlags},
		"kill":      {class: destructive, does: "ends processes", raw: true, judge: judgeKill},
		"emulate":   {class: write, does: "changes how the shell reads what follows", ops: "TEXT...", flags: emulateFlags},
		"sched":     {class: write, does: "runs text later", raw: true, judge: judgeEval},
		"noglob":    {class: neutral, raw: true, judge: wraps(0)},
		"nocorrect": {class: write, does: "changes how the shell reads what follows", raw: true, judge: wraps(0)},
		"-":         {class: write, does: "runs a command as a login shell", raw: true, judge: wraps(0)},
	}
	for name, does := range perLine(`
		alias      : gives names to commands
		unalias    : takes names from commands
		export     : sets variables
		declare    : sets variables
		typeset    : sets variables
		local      : sets variables
		readonly   : sets variables
		let        : computes and may run commands
		read       : sets variables
		set        : changes the shell
		shopt      : changes the shell
		unset      : takes variables away
		enable     : changes the shell
		hash       : changes which programs run
		bind       : changes the shell
		complete   : changes the shell
		compopt    : changes the shell
		caller     : shows the shell's calls
		disown     : lets jobs go
		bg         : continues jobs
		fg         : continues jobs
		suspend    : stops the shell
		getopts    : sets variables
		coproc     : runs a command beside the shell
		zmodload   : loads modules into the shell
		autoload   : loads functions
		functions  : changes functions
		setopt     : changes the shell
		unsetopt   : changes the shell
		zle        : changes the shell
		bindkey    : changes the shell
		zstyle     : changes the shell
		zparseopts : sets variables
		zformat    : sets variables
		ztcp       : reaches the network
		zsocket    : reaches the network
		zftp       : reaches the network
		sysopen    : opens files
		sysread    : reads files
		syswrite   : writes files
		sysseek    : moves in files
		syserror   : tells errors
		zsystem    : locks files
		zpty       : runs a command in a terminal
		zselect    : waits for input
		vared      : sets variables
		print      : prints, and may set variables or run what it prints
		private    : sets variables
		integer    : sets variables
		float      : sets variables
		zf_rm      : removes files
		zf_mv      : moves files
		zf_ln      : links files
		zf_chmod   : changes rights
		zf_chown   : changes owners
		zf_mkdir   : creates folders
		zf_rmdir   : removes folders
		zf_chgrp   : changes groups
		zf_sync    : writes disks out
		whence     : tells about commands
		rehash     : changes which programs run
		ttyctl     : changes the terminal
		limit      : sets limits
		unlimit    : lifts limits
		pushln     : changes the shell
		log        : tells who is there
	`) {
		rows[name] = spec{class: write, does: does, ops: "TEXT..."}
	}
	return rows
}

var compgenFlags = &flagSet{
	letters:     "abcegjksuv",
	value:       "-A -X",
	text:        "-P -S",
	unsafe:      "-d -f",
	unsafeValue: "-G -W -o -F",
	script:      "-C",
}

var mapfileFlags = &flagSet{
	letters: "t",
	value:   "-n -O -s -u -c",
	text:    "-d",
	script:  "-C",
}

var readarrayFlags = &flagSet{
	letters: "t",
	value:   "-n -O -s -u -c",
	text:    "-d",
	script:  "-C",
}

var emulateFlags = &flagSet{
	letters: "lLR",
	script:  "-c",
}

// judgePrintf: -v sets a variable, whose index may hold a command, and so does %n. zsh evaluates numeric arguments
// (zshbuiltins(1), printf), and with them the commands in their indices.
func judgePrintf(c *call) {
	if len(c.args) == 0 {
		return
	}
	w := c.args[0]
	rest := c.args[1:]
	if w.Text == "--" && len(rest) > 0 {
		w, rest = rest[0], rest[1:]
	}
	numbers := w.Unknown || w.Glob || strings.Trim(conversions(w.Text), "sbqc") != ""
	for _, arg := range rest {
		if numbers && (arg.Unknown || arg.Glob || strings.ContainsAny(arg.Text, "[$`=")) {
			c.refuse("a shell may compute " + arg.Text + ", which printf takes for a number")
		}
	}
	if strings.Contains(conversions(w.Text), "n") {
		c.refuse("%n of printf sets a variable")
	}
	if strings.HasPrefix(w.Text, "-v") {
		c.refuse("printf -v sets a variable")
	}
	if w.Unknown && !w.Quoted {
		c.refuse("only running it tells which words printf gets")
	} else if w.Unknown && w.Text == "" {
		c.refuse("only running it tells which words printf gets")
	}
	if w.Glob && mayBeFlag(w.Text, &grammar{}) {
		c.refuse("the unquoted pattern " + w.Text + " may become a flag of printf")
	}
}

// conversions are the letters of a printf format's conversions, with the stars of their widths.
func conversions(format string) string {
	var out strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		for i++; i < len(format) && strings.IndexByte("-+ #0123456789.'*$hlLjzt", format[i]) >= 0; i++ {
			if format[i] == '*' {
				out.WriteByte('*')
			}
		}
		if i < len(format) && format[i] != '%' {
			out.WriteByte(format[i])
		}
	}
	return out.String()
}

// judgeTest: -v and -R test variables, whose index may hold a command; the rest compares text, numbers
// and files.
func judgeTest(c *call) {
	for i, w := range c.args {
		if strings.ContainsAny(w.Text, "$`") && strings.Contains(w.Text, "[") && w.Text != "[" {
			c.refuse(c.name + " may run what stands in " + w.Text)
		}
		if (w.Text == "-v" || w.Text == "-R") && !w.Unknown && i+1 < len(c.args) && !name(c.args[i+1]) {
			c.refuse(c.name + " " + w.Text + " may run what stands in the name of the variable")
		}
		if w.Unknown && !w.Quoted {
			c.refuse("only running it tells which words " + c.name + " gets")
		}
		if i > 0 && testsFile(c.args[i-1]) && !w.Unknown && w.Text != "]" {
			c.Reads = append(c.Reads, w.Text)
		}
	}
}

func testsFile(w Word) bool {
	return len(w.Text) == 2 && w.Text[0] == '-' && strings.IndexByte("abcdefghkLNOGprsSuwx", w.Text[1]) >= 0 && !w.Unknown
}

// name reports whether a word is the name of a variable, or may only be that.
func name(w Word) bool {
	return !w.Unknown && w.Text != "" && strings.Trim(w.Text,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == ""
}

// judgeCompgen: names of files come from any folder that its word names.
func judgeCompgen(c *call) {
	for _, action := range c.textsOf("-A") {
		if action == "file" || action == "directory" {
			c.refuse("compgen -A " + action + " lists the files of any folder")
		}
	}
}

// judgeCd: the caller judges the folder.
func judgeCd(c *call) {
	at := 0
	for at < len(c.args) && !c.args[at].Unknown && !c.args[at].Glob {
		t := c.args[at].Text
		if t == "--" {
			at++
			break
		}
		if t != "-L" && t != "-P" && t != "-e" && t != "-n" && t != "-q" && t != "-s" {
			break
		}
		at++
	}
	rest := c.args[at:]
	switch {
	case len(rest) == 0 && c.name != "pushd":
		home := ""
		if c.env.World != nil {
			home = c.env.World.Home()
		}
		c.Dir = &Word{Text: home, Unknown: home == ""}
	case len(rest) != 1 || rest[0].Unknown || rest[0].Glob || rest[0].Text == "-" || strings.HasPrefix(rest[0].Text,
		"-") || strings.HasPrefix(rest[0].Text, "+") && c.name == "pushd":
		c.Dir = &Word{Unknown: true}
		c.refuse("only running it tells which folder " + c.name + " goes to")
	default:
		w := rest[0]
		c.Dir = &w
	}
}

func judgePopd(c *call) {
	c.Dir = &Word{Unknown: true}
}

func judgeEval(c *call) {
	var texts []string
	for _, w := range c.args {
		if w.Unknown || w.Glob {
			c.ScriptHides = true
		}
		texts = append(texts, w.Text)
	}
	if len(texts) > 0 {
		c.Script = append(c.Script, strings.Join(texts, " "))
	}
}

func judgeSource(c *call) {
	c.ScriptHides = true
	if len(c.args) > 0 && !c.args[0].Unknown {
		c.Reads = append(c.Reads, c.args[0].Text)
	}
}

// judgeTrap: trap -l and trap -p only print; else the first word is a script.
func judgeTrap(c *call) {
	if len(c.args) == 0 || len(c.args) == 1 && c.args[0].Text == "-l" {
		c.Class, c.Reason = neutral, ""
		return
	}
	args := c.args
	if args[0].Text == "--" {
		args = args[1:]
	}
	if len(args) > 0 && args[0].Text != "-" && args[0].Text != "" && args[0].Text != "-p" {
		c.script(args[0])
	}
}

// wraps: after skip words and no flags comes a command that is judged instead.
func wraps(skip int) func(*call) {
	return func(c *call) {
		if len(c.args) <= skip {
			return
		}
		c.Inner = append(c.Inner, slices.Clone(c.args[skip:]))
		c.Transparent = c.Class.ReadOnly()
	}
}

// wrapsExact: all words are a command, which only an exact rule may allow.
func wrapsExact(c *call) {
	c.Literal = true
	wraps(0)(c)
}

// judgeCommand: -v and -V print, everything else runs.
func judgeCommand(c *call) {
	for i, w := range c.args {
		if w.Unknown || w.Glob || !strings.HasPrefix(w.Text, "-") || w.Text == "--" {
			if w.Text == "--" {
				i++
			}
			if i < len(c.args) {
				c.Inner = append(c.Inner, slices.Clone(c.args[i:]))
				c.Transparent = true
			}
			return
		}
		switch w.Text {
		case "-v", "-V", "-pv", "-pV", "-vp":
			c.Class = list
			return
		case "-p":
		default:
			c.refuse("the flag " + w.Text + " of command is not known to be read-only")
		}
	}
}

func judgeExec(c *call) {
	if len(c.ops) > 0 {
		c.Inner = append(c.Inner, slices.Clone(c.ops))
	}
	c.Literal = true
}

// judgeKill: kill -l lists signals, kill -0 asks whether a process is there.
func judgeKill(c *call) {
	if len(c.args) > 0 && (c.args[0].Text == "-l" || c.args[0].Text == "-L") && !c.args[0].Unknown {
		c.Class, c.Reason = neutral, ""
		return
	}
	if len(c.args) > 1 && c.args[0].Text == "-0" && !c.args[0].Unknown {
		c.Class, c.Reason = list, ""
		for _, w := range c.args[1:] {
			if w.Unknown || w.Glob || strings.HasPrefix(w.Text, "-") {
				c.Class, c.Reason = destructive, "kill ends processes"
			}
		}
		return
	}
	c.Reason = "kill ends the processes " + texts(c.args)
}

// texts joins the text of words, for a reason.
func texts(words []Word) string {
	var out []string
	for _, w := range words {
		out = append(out, w.Text)
	}
	return strings.Join(out, " ")
}
