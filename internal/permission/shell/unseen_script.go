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
	coded := lists()["code "+name] != nil || interprets(c.name) || inList("shells", c.name)
	words := c.words[1:]
	switch {
	case slices.ContainsFunc(words, asksForHelp):
		return false
	case coded || inList("reads commands", c.name) || inList("script languages", c.name):
		if slices.ContainsFunc(words, func(w word) bool {
			return namesInput(w.text) || w.produced != nil && !inList("shells", c.name)
		}) {
			return true
		}
	}
	switch {
	case openConsole(c):
		return true
	case inList("builders", c.name):
		return buildsFromInput(c)
	case c.name == "screen" && (hasFlag(c.words, "-L") || hasFlag(c.words, "-c")), c.name == "parallel" &&
		(strings.HasPrefix(c.arg(1), "::") || c.arg(1) == "-a" && len(words) < 3):
		return true
	case among(c.name, "screen", "script", "parallel"):
		return len(c.use.Inner)+len(c.use.Script) == 0
	case c.name == "R":
		return len(words) == 0 || c.arg(1) != "CMD" || c.arg(2) == "BATCH"
	case inList("script languages", c.name), inList("script languages", name):
		return true
	case inList("waits for code", name) || inList("shells", c.name):
		return !slices.ContainsFunc(words, func(w word) bool { return !strings.HasPrefix(w.text, "-") })
	}
	return slices.ContainsFunc(words, func(w word) bool { return scriptOption(c.name, w.text) })
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

// openConsole reports whether a program waits for commands that the line does not show: tmux, a database's shell, the
// console of a framework, a shell on another machine.
func openConsole(c *call) bool {
	words := c.words[1:]
	operand := slices.IndexFunc(words, func(w word) bool { return !strings.HasPrefix(w.text, "-") })
	switch {
	case inList("database shells", c.name):
		return !slices.ContainsFunc(words, func(w word) bool { return inList("lists databases", w.text) }) &&
			(c.name != "redis-cli" && c.name != "valkey-cli" || operand < 0)
	case c.name == "tmux":
		return operand < 0 && !hasFlag(c.words, "-V")
	case c.name == "ssh":
		return len(c.use.Inner)+len(c.use.Script) == 0 && operand >= 0
	}
	subs := lists()["console "+c.name]
	return slices.ContainsFunc(words, func(w word) bool { return has(subs, w.text) })
}

// bringsPatch reports whether a command changes the files that a patch names, and can so make some that run later.
func bringsPatch(c *call) bool {
	return c.name == "patch" || c.name == "gpatch" || c.name == "git" && among(c.arg(1), "am", "apply", "quiltimport") ||
		c.name == "quilt" && among(c.arg(1), "push", "import")
}
