package shell

import (
	"slices"
	"strings"
)

// readsScript reports whether a program takes commands in a language that can start others from a file or from its
// input. Scripts of the project for the usual interpreters (python3 x.py, node x.js, bash x.sh) and build files count
// as its programs, as ./x does: they are left alone as long as the line names the file.
func readsScript(c *call) bool {
	name := strings.TrimRight(strings.TrimSuffix(c.name, ".exe"), "0123456789.-")
	coded := codeFlags[name] != nil || interprets(c.name) || shells.has(c.name)
	words := c.words[1:]
	switch {
	case slices.ContainsFunc(words, asksForHelp):
		return false
	case coded || readsCommands.has(c.name) || scriptLanguages.has(c.name):
		if slices.ContainsFunc(words, func(w word) bool {
			return namesInput(w.text) || w.produced != nil && !shells.has(c.name)
		}) {
			return true
		}
	}
	switch {
	case openConsole(c):
		return true
	case builders.has(c.name):
		return buildsFromInput(c)
	case c.name == "screen" && (hasFlag(c.words, "-L") || hasFlag(c.words, "-c")), c.name == "parallel" &&
		(strings.HasPrefix(c.arg(1), "::") || c.arg(1) == "-a" && len(words) < 3):
		return true
	case among(c.name, "screen", "script", "parallel"):
		return len(c.use.Inner)+len(c.use.Script) == 0
	case c.name == "R":
		return len(words) == 0 || c.arg(1) != "CMD" || c.arg(2) == "BATCH"
	case scriptLanguages.has(c.name), scriptLanguages.has(name):
		return true
	case waitsForCode.has(name) || shells.has(c.name):
		return !slices.ContainsFunc(words, func(w word) bool { return !strings.HasPrefix(w.text, "-") })
	}
	return slices.ContainsFunc(words, func(w word) bool { return scriptOption(c.name, w.text) })
}

// scriptLanguages are programs that run others for their input and for the files they are given, and that are not the
// interpreter of everyday's scripts.
var scriptLanguages = set{
	"m4", "guile", "octave", "octave-cli", "Rscript", "littler", "dc", "gnuplot", "expect", "tclsh", "wish", "jshell",
	"osascript", "texlua",
	"maxima", "gp", "sage", "gap", "magma", "Singular", "maple", "math", "wolframscript", "matlab", "scilab", "gforth",
	"gst", "rexx", "regina",
	"swipl", "gprolog", "sbcl", "clisp", "ecl", "abcl", "racket", "gosh", "csi", "gsi", "scheme", "mit-scheme", "petite",
	"chez", "chicken-scheme",
	"clojure", "clj", "bb", "janet", "fennel", "cling", "mongo", "mongosh",
}

// waitsForCode are interpreters that read code from their input unless they are given a file.
var waitsForCode = set{
	"python", "pypy", "jython", "perl", "ruby", "node", "nodejs", "php", "lua", "luajit", "julia", "ocaml", "erl",
	"scala", "groovysh", "raku", "xonsh", "nu", "elvish", "fish", "pwsh",
}

// scriptOption reports whether a word is an option of a program that names a file of commands.
func scriptOption(program, text string) bool {
	switch program {
	case "sed", "gsed":
		letters := strings.TrimLeft(strings.TrimPrefix(text, "-"), "nrEszu")
		return strings.HasPrefix(text, "-") && strings.HasPrefix(letters, "f") || strings.HasPrefix(text, "--fi")
	case "psql":
		return strings.HasPrefix(text, "-f") || strings.HasPrefix(text, "--fi")
	case "sftp":
		return strings.HasPrefix(text, "-b")
	case "lftp":
		return among(text, "-f", "-c", "-e")
	case "blender":
		return among(text, "-P", "--python*")
	case "exiftool":
		return text == "-@"
	}
	return false
}

// buildsFromInput reports whether a builder reads its rules from its input: make -f -.
func buildsFromInput(c *call) bool {
	if !among(c.name, "make", "gmake", "just", "task", "ninja", "rake", "ant", "cmake", "scons") {
		return false
	}
	return slices.ContainsFunc(c.words[1:], func(w word) bool {
		return namesInput(w.text) || strings.HasPrefix(w.text, "-") && strings.HasSuffix(w.text, "f-")
	})
}

// namesInput reports whether a word of a program names its own input, alone or as the value of an option.
func namesInput(text string) bool {
	if option, value, ok := strings.Cut(text, "="); ok && strings.HasPrefix(option, "-") {
		text = value
	}
	at := strings.Index(text, "/dev/")
	if strings.HasPrefix(text, "-") && at > 0 {
		text = text[at:] // -f/dev/stdin
	}
	return text == "-" || among(text, "/dev/stdin", "/dev/fd/*", "/proc/self/fd/*", "/proc/*/fd/*")
}

// asksForHelp reports whether an option makes a program print about itself, or run the project's tests, and read
// nothing.
func asksForHelp(w word) bool {
	return among(w.text, "--version", "-version", "--help", "-V", "--test")
}

// consoles returns the subcommands of a program that read commands and run them, or run a file of code that is not the
// project's own program.
func consoles(program string) set {
	switch program {
	case "terraform", "tofu", "terragrunt", "bundle", "symfony", "hasura":
		return set{"console"}
	case "rails":
		return set{"console", "c", "dbconsole", "db", "runner", "r"}
	case "heroku":
		return set{"console", "run"}
	case "flask", "composer":
		return set{"shell"}
	case "php":
		return set{"-a"}
	case "vagrant":
		return set{"ssh"}
	case "gcloud":
		return set{"interactive"}
	case "nix", "cabal", "lein":
		return set{"repl"}
	case "stack":
		return set{"ghci", "repl"}
	case "sbt":
		return set{"console", "consoleQuick"}
	}
	return nil
}

// databaseShells read commands from their input unless an option holds them. Each has a command for the shell (\!,
// .shell, system), or loads code.
var databaseShells = set{
	"psql", "mysql", "mariadb", "sqlite3", "sqlite", "redis-cli", "valkey-cli", "duckdb", "cqlsh", "usql", "pgcli",
	"mycli", "litecli", "iredis", "sqlplus", "sqlcmd", "isql", "clickhouse-client", "influx", "cypher-shell", "arangosh",
	"cbq", "trino", "presto", "snowsql",
	"spark-shell", "pyspark", "hive", "beeline", "impala-shell", "amm",
}

// listsDatabases are options of databaseShells that print something and end.
var listsDatabases = set{"-l", "--list", "-v", "--help", "--version", "-version", "-V", "-?"}

// openConsole reports whether a program waits for commands that the line does not show: tmux, a database's shell, the
// console of a framework, a shell on another machine.
func openConsole(c *call) bool {
	words := c.words[1:]
	operand := slices.IndexFunc(words, func(w word) bool { return !strings.HasPrefix(w.text, "-") })
	switch {
	case databaseShells.has(c.name):
		return !slices.ContainsFunc(words, func(w word) bool { return listsDatabases.has(w.text) }) &&
			(c.name != "redis-cli" && c.name != "valkey-cli" || operand < 0)
	case c.name == "tmux":
		return operand < 0 && !hasFlag(c.words, "-V")
	case c.name == "ssh":
		return len(c.use.Inner)+len(c.use.Script) == 0 && operand >= 0
	}
	subs := consoles(c.name)
	return subs != nil && slices.ContainsFunc(words, func(w word) bool { return subs.has(w.text) })
}

// bringsPatch reports whether a command changes the files that a patch names, and can so make some that run later.
func bringsPatch(c *call) bool {
	return c.name == "patch" || c.name == "gpatch" || c.name == "git" && among(c.arg(1), "am", "apply", "quiltimport") ||
		c.name == "quilt" && among(c.arg(1), "push", "import")
}
