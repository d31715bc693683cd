package program

import (
	"path"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// languageRows: compilers, interpreters, package managers and build tools. All of them run code of the project,
// or change it; some print facts about themselves or the installed packages.
func languageRows() map[string]spec {
	rows := map[string]spec{
		"npm":            {class: neutral, raw: true, flags: npmFlags, judge: judgeNpm},
		"npm ls":         {class: list, ops: "TEXT...", flags: npmLsFlags},
		"npm explain":    {class: list, ops: "TEXT...", flags: &flagSet{alone: "--json"}},
		"npm root":       {class: neutral, flags: &flagSet{letters: "g", alone: "--global"}},
		"npm prefix":     {class: neutral, flags: &flagSet{letters: "g", alone: "--global"}},
		"npm bin":        {class: neutral, flags: &flagSet{letters: "g", alone: "--global"}},
		"npm query":      {class: list, ops: "TEXT", flags: &flagSet{letters: "g", alone: "--global"}},
		"npm pkg get":    {class: read, ops: "TEXT...", flags: &flagSet{alone: "--json"}},
		"npm config get": {class: read, ops: "TEXT", judge: npmConfig},
		"npm run": {
			class: write, does: "runs a script of the project", ops: "TEXT...", flags: npmRunFlags,
			judge: npmRun,
		},
		"npm exec": {
			class: write, does: "downloads and runs a program", plain: true, ops: "TEXT...",
			judge: runsRest("npm exec runs a program"), flags: npmExecFlags,
		},
		"npx": {
			class: write, does: "downloads and runs a program", plain: true, ops: "TEXT...", flags: npxFlags,
			judge: judgeNpx,
		},
		"bunx": {
			class: write, does: "downloads and runs a program", plain: true, ops: "TEXT...",
			judge: runsRest("bunx runs a program"), flags: bunxFlags,
		},
		"pnpx": {
			class: write, does: "downloads and runs a program", plain: true, ops: "TEXT...",
			judge: runsRest("pnpx runs a program"),
		},
		"uvx": {
			class: write, does: "downloads and runs a program", plain: true, ops: "TEXT...",
			judge: runsRest("uvx runs a program"), flags: uvxFlags,
		},
		"pnpm": {class: write, does: "runs code of the project", raw: true, judge: judgePnpm},
		"yarn": {class: write, does: "runs code of the project", raw: true, judge: judgePnpm},
		"bun":  {class: write, does: "runs code of the project", raw: true, judge: judgeBun},
		"deno": runner("runs code", "--version|-V|--help"),
		"node": {class: write, does: "runs code", raw: true, judge: interpreter("--version|-v|--help|-h",
			"-r --require --import -C --conditions --loader --env-file")},
		"python3": {class: write, does: "runs code", raw: true, judge: interpreter("--version|-V|-VV|--help|-h",
			"-W -X")},
		"perl":        {class: write, does: "runs code", raw: true, judge: interpreter("--version|-v|-V|--help|-h", "-I")},
		"ruby":        {class: write, does: "runs code", raw: true, judge: interpreter("--version|-v|--help|-h", "-I -r")},
		"php":         {class: write, does: "runs code", raw: true, judge: interpreter("--version|-v|-m|--help|-h", "-d -c")},
		"lua":         {class: write, does: "runs code", raw: true, judge: interpreter("-v", "-l")},
		"tclsh":       {class: write, does: "runs code", raw: true, judge: interpreter("", "")},
		"expect":      {class: write, does: "runs code and drives programs", raw: true, judge: interpreter("-v", "")},
		"osascript":   {class: write, does: "runs code and drives programs", raw: true, judge: interpreter("", "")},
		"Rscript":     {class: write, does: "runs code", raw: true, judge: interpreter("--version", "")},
		"ts-node":     {class: write, does: "runs code", raw: true, judge: interpreter("--version|-v", "")},
		"tsx":         {class: write, does: "runs code", raw: true, judge: interpreter("--version|-v", "")},
		"pip3":        {class: neutral, raw: true, judge: judgePip, flags: pip3Flags},
		"pip3 list":   {class: list, flags: pip3ListFlags},
		"pip3 show":   {class: read, ops: "TEXT...", flags: pip3ShowFlags},
		"pip3 freeze": {class: list, flags: pip3FreezeFlags, judge: pipFreeze},
		"pip3 check":  {class: list},
		"pipx":        {class: write, does: "installs or runs programs", raw: true, judge: judgePipx},
		"uv":          {class: write, does: "runs programs of the project's environment", raw: true, judge: judgePipx},
		"rustc":       {class: write, does: "compiles", raw: true, judge: judgeRust},
		"dotnet":      {class: write, does: "builds and runs", raw: true, judge: judgeDotnet},
		"rustup":      {class: write, does: "may install toolchains", raw: true, judge: judgeRust},
		"make": {
			class: write, does: "runs what the makefile says", ops: "TEXT...",
			judge: asks("--version|-v|--help"),
		},
		"cmake": {
			class: write, does: "runs what CMakeLists.txt says", raw: true,
			judge: asks("--version|-version|--help"),
		},
		"go-task": runner("runs what the taskfile says", "--version"),
		"gem":     runner("installs packages, or runs code of installed ones", "--version|-v"),
		"ldd":     {class: write, does: "may run the program it looks at", ops: "FILE...", judge: asks("--version")},
		"mise": {
			class: write, does: "runs what the project's configuration says", raw: true,
			judge: execAfter("exec|x"),
		},
		"asdf":   {class: write, does: "runs what the project's configuration says", raw: true, judge: execAfter("exec")},
		"direnv": {class: write, does: "runs what the project's configuration says", raw: true, judge: judgeDirenv},
		"devbox": {class: write, does: "runs a program in its own environment", raw: true, judge: execAfter("run")},
		"nix-shell": {
			class: write, does: "builds and runs in an environment", raw: false, ops: "TEXT...",
			judge: asks("--version"), flags: nixShellFlags,
		},
		"nix":    {class: write, does: "builds and runs", raw: true, judge: execAfter("develop|shell|run")},
		"poetry": {class: write, does: "loads plugins and runs code of the project", raw: true, judge: execAfter("run")},
		"pipenv": {class: write, does: "runs code of the project", raw: true, judge: execAfter("run")},
		"pdm":    {class: write, does: "runs code of the project", raw: true, judge: execAfter("run")},
		"hatch":  {class: write, does: "runs code of the project", raw: true, judge: execAfter("run")},
		"conda":  {class: write, does: "changes environments, or runs in them", raw: true, judge: execAfter("run")},
		"bundle": {class: write, does: "evaluates the Gemfile", raw: true, judge: execAfter("exec")},
		"cargo":  {class: write, does: "builds and runs code of the project", raw: true, judge: judgeRust},
	}
	for _, n := range []string{"list", "la", "ll"} {
		rows["npm "+n] = rows["npm ls"]
	}
	rows["npm why"] = rows["npm explain"]
	rows["npm run-script"] = rows["npm run"]
	rows["npm x"] = rows["npm exec"]
	rows["npm start"] = spec{class: write, does: "runs a script of the project", ops: "TEXT..."}
	rows["npm test"] = rows["npm start"]
	rows["npm t"] = rows["npm start"]
	rows["npm unpublish"] = spec{class: destructive, does: "removes a published package", ops: "TEXT..."}
	rows["python"], rows["pypy3"] = rows["python3"], rows["python3"]
	rows["pip"], rows["nodejs"] = rows["pip3"], rows["node"]
	rows["gmake"] = rows["make"]
	return rows
}

var npmFlags = &flagSet{
	letters:     "sdg",
	alone:       "--silent --no-color --json --long --global",
	value:       "--color? --loglevel",
	unsafeValue: "-C --prefix --userconfig --globalconfig --node-options",
	program:     "--script-shell",
}

var npmLsFlags = &flagSet{
	letters: "algp",
	alone: `--all --long --global --parseable --json --link --package-lock-only --unicode --prod --production --dev --no-unicode
		--no-color`,
	value: "--depth --omit --include --only",
}

var npmRunFlags = &flagSet{
	letters: "s",
	alone:   "--silent --if-present --json --workspaces",
	value:   "-w --workspace",
	program: "--script-shell",
}

var npmExecFlags = &flagSet{
	letters: "y",
	alone:   "--yes --no",
	value:   "-w -p --package --workspace",
	script:  "-c --call",
}

var npxFlags = &flagSet{
	letters: "yqv",
	alone:   "--yes --no --no-install --quiet --version",
	value:   "-p --package",
	script:  "-c --call",
}

var bunxFlags = &flagSet{
	alone: "--bun",
	value: "-p --package",
}

var uvxFlags = &flagSet{
	letters: "q",
	value:   "-p -w --python --from --with",
}

var pip3Flags = &flagSet{
	letters: "qv",
	alone:   "--quiet --verbose --disable-pip-version-check --no-color --no-input --isolated",
	program: "--python",
}

var pip3ListFlags = &flagSet{
	letters: "levq",
	alone: `--local --user --editable --exclude-editable --not-required --include-editable --pre --verbose --quiet
		--disable-pip-version-check`,
	value:       "--exclude --format",
	reads:       "--path",
	unsafe:      "-o -u --outdated --uptodate",
	unsafeValue: "-i -f --index-url --extra-index-url --find-links",
}

var pip3ShowFlags = &flagSet{
	letters: "fvq",
	alone:   "--files --verbose --quiet --disable-pip-version-check",
}

var pip3FreezeFlags = &flagSet{
	letters:     "l",
	alone:       "--local --user --all --exclude-editable",
	value:       "--exclude",
	reads:       "-r --requirement",
	unsafeValue: "--path",
}

var nixShellFlags = &flagSet{
	letters: "p",
	alone:   "--pure",
	value:   "-A -I -E",
	script:  "--run --command",
}

// judgeRust: cargo and rustc are often rustup, which takes the toolchain, a program, from a file of the project. rustup
// runs its rustc for --version too.
func judgeRust(c *call) {
	asks("--version|-V|-vV|--version --verbose|version")(c)
	if c.finds("rust-toolchain") || c.finds("rust-toolchain.toml") {
		c.refuse(c.name + " runs the toolchain that rust-toolchain.toml names")
	}
}

// judgeDotnet: global.json may name another SDK, a program.
func judgeDotnet(c *call) {
	asks("--version|--info|--list-sdks|--list-runtimes")(c)
	if c.finds("global.json") {
		c.refuse("dotnet runs the SDK that global.json names")
	}
}

// finds reports whether a file lies in the working folder or one above it.
func (c *call) finds(name string) bool {
	if c.env.World == nil {
		return false
	}
	for dir := path.Clean(c.env.Dir); ; dir = path.Dir(dir) {
		if c.env.World.Stat(path.Join(dir, name)).Kind != permission.Missing {
			return true
		}
		if dir == path.Dir(dir) {
			return false
		}
	}
}

// judgeNpm takes npm's own flags and its subcommand.
func judgeNpm(c *call) {
	if len(c.args) != 1 || c.args[0].Unknown || c.args[0].Text != "-v" && c.args[0].Text != "--version" {
		c.verb(nil)
	}
	if c.Class.ReadOnly() {
		c.Adds, c.AddsAt = npmAlone, 0
	}
}

// npmAlone keeps npm from asking the registry, which the project's settings name, for a newer npm, and from writing a
// log and a cache where those say.
var npmAlone = []string{"--no-update-notifier", "--logs-max=0", "--cache=/dev/null"}

// npmConfig: keys that begin with slashes are those of registries, with tokens.
func npmConfig(c *call) {
	for _, w := range c.ops {
		if w.Unknown || w.Glob || strings.HasPrefix(w.Text, "//") || strings.HasPrefix(w.Text, "_") ||
			strings.Contains(strings.ToLower(w.Text), "auth") {
			c.refuse("npm config get may show a secret")
		}
	}
}

// npmRun: without a name it lists the scripts.
func npmRun(c *call) {
	if len(c.args) == 0 {
		c.Class, c.Reason = list, ""
	}
}

func judgeNpx(c *call) {
	if len(c.args) == 1 && (c.args[0].Text == "--version" || c.args[0].Text == "-v") && !c.args[0].Unknown {
		c.Class, c.Reason = neutral, ""
		return
	}
	runsRest("npx runs a program")(c)
}

// runsRest: the operands are a command.
func runsRest(reason string) func(*call) {
	return func(c *call) {
		c.exact(reason)
		c.inner(c.ops)
	}
}

// execAfter: after one of the verbs comes a command.
func execAfter(verbs string) func(*call) {
	return func(c *call) {
		names := strings.Split(verbs, "|")
		for i, w := range c.args {
			if strings.HasPrefix(w.Text, "-") && !w.Unknown {
				continue
			}
			for _, n := range names {
				if w.Text == n && !w.Unknown {
					c.commandAfter(c.args[i+1:])
					return
				}
			}
		}
	}
}

// judgeDirenv: direnv exec FOLDER command.
func judgeDirenv(c *call) {
	asks("version|--version")(c)
	if len(c.args) > 2 && c.args[0].Text == "exec" {
		c.Literal = true
		c.Inner = append(c.Inner, c.args[2:])
	}
}

// commandAfter finds the command in words that may begin with flags: after --, else the first word that is
// not a flag. After a flag, that word may be the flag's value, and the next one begins the command.
func (c *call) commandAfter(words []Word) {
	c.Literal = true
	for i, w := range words {
		if w.Text == "--" && !w.Unknown && i+1 < len(words) {
			c.Inner = append(c.Inner, words[i+1:])
			return
		}
		if v, ok := strings.CutPrefix(w.Text, "--run="); ok {
			c.Script = append(c.Script, v)
		}
	}
	for i, w := range words {
		if strings.HasPrefix(w.Text, "-") && !w.Unknown {
			if (w.Text == "-c" || w.Text == "--command" || w.Text == "--run") && i+1 < len(words) {
				c.script(words[i+1])
			}
			continue
		}
		if strings.Contains(w.Text, " ") {
			c.script(w)
		}
		c.Inner = append(c.Inner, words[i:])
		if i > 0 && i+1 < len(words) {
			c.Inner = append(c.Inner, words[i+1:])
		}
		return
	}
}

// judgePnpm: these read a program out of the project's configuration whatever they are asked.
func judgePnpm(c *call) {
	for i, w := range c.args {
		if w.Unknown || w.Glob {
			return
		}
		switch w.Text {
		case "exec", "dlx":
			c.commandAfter(c.args[i+1:])
			return
		case "unpublish":
			c.destroy(c.name + " unpublish removes a published package")
		case "run":
			return
		}
		if !strings.HasPrefix(w.Text, "-") {
			return
		}
	}
}

func judgeBun(c *call) {
	asks("--version|-v|--revision")(c)
	if len(c.args) > 1 && c.args[0].Text == "x" && !c.args[0].Unknown {
		c.commandAfter(c.args[1:])
	}
}

// interpreter: it runs code, from its words, a file or its input.
func interpreter(phrases, valued string) func(*call) {
	takes := strings.Fields(valued)
	return func(c *call) {
		asks(phrases)(c)
		if c.Class.ReadOnly() {
			return
		}
		for i := 0; i < len(c.args); i++ {
			w := c.args[i]
			if w.Unknown || w.Glob {
				return
			}
			for _, t := range takes {
				if w.Text == t {
					i++
				}
			}
			switch {
			case w.Text == "-":
				c.Stdin = true
				return
			case !strings.HasPrefix(w.Text, "-"):
				if i < len(c.args) && c.args[i] == w {
					c.Reads = append(c.Reads, w.Text)
					return
				}
			case w.Text == "-c" || w.Text == "-e" || w.Text == "-E" || w.Text == "-m" || w.Text == "-p" || w.Text == "--eval" ||
				w.Text == "--print":
				return
			case len(w.Text) > 2 && w.Text[1] != '-' && strings.ContainsAny(w.Text, "ceEm"):
				return
			}
		}
		c.Stdin = true
	}
}

// judgePip takes pip's own flags and its subcommand.
func judgePip(c *call) {
	if len(c.args) == 1 && !c.args[0].Unknown && (c.args[0].Text == "-V" || c.args[0].Text == "--version") {
		return
	}
	c.name = "pip3"
	c.verb(nil)
}

// pipFreeze: to find the address of an editable package it runs the program of the version control in its folder. That
// of git is not asked for anything which its configuration could bend; Mercurial loads extensions, which are programs.
func pipFreeze(c *call) {
	for _, dir := range []string{".hg", ".svn", ".bzr"} {
		if c.finds(dir) {
			c.refuse("pip freeze runs the version control of the project")
		}
	}
}

// judgePipx: run and tool run run a program.
func judgePipx(c *call) {
	asks("--version|-V|version|self version")(c)
	for i, w := range c.args {
		if w.Unknown || w.Glob {
			return
		}
		if w.Text == "run" {
			c.commandAfter(c.args[i+1:])
			return
		}
	}
}
