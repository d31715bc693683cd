package shell

import (
	"slices"
	"strings"
)

// readsScript reports whether a program takes commands in a language that can start others from a file or from its
// input. Scripts of the project for the usual interpreters (python3 x.py, node x.js, bash x.sh) and build files count as
// its programs, as ./x does: they are left alone as long as the line names the file.
func readsScript(c *call) bool {
	name := strings.TrimRight(strings.TrimSuffix(c.name, ".exe"), "0123456789.-")
	coded := codeFlags[name] != nil || interprets(c.name) || shells.has(c.name)
	words := c.words[1:]
	switch {
	case slices.ContainsFunc(words, asksForHelp):
		return false
	case coded || readsCommands.has(c.name) || scriptLanguages.has(c.name):
		if slices.ContainsFunc(words, func(w word) bool { return namesInput(w.text) || w.produced != nil && !shells.has(c.name) }) {
			return true
		}
	}
	switch {
	case builders.has(c.name):
		return buildsFromInput(c)
	case c.name == "screen" && (hasFlag(c.words, "-L") || hasFlag(c.words, "-c")), c.name == "parallel" && (strings.HasPrefix(c.arg(1), "::") || c.arg(1) == "-a" && len(words) < 3):
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
	"m4", "guile", "octave", "octave-cli", "Rscript", "littler", "dc", "gnuplot", "expect", "tclsh", "wish", "jshell", "osascript", "texlua",
	"maxima", "gp", "sage", "gap", "magma", "Singular", "maple", "math", "wolframscript", "matlab", "scilab", "gforth", "gst", "rexx", "regina",
	"swipl", "gprolog", "sbcl", "clisp", "ecl", "abcl", "racket", "gosh", "csi", "gsi", "scheme", "mit-scheme", "petite", "chez", "chicken-scheme",
	"clojure", "clj", "bb", "janet", "fennel", "cling",
}

// waitsForCode are interpreters that read code from their input unless they are given a file.
var waitsForCode = set{
	"python", "pypy", "jython", "perl", "ruby", "node", "nodejs", "php", "lua", "luajit", "julia", "ocaml", "erl", "scala", "groovysh", "raku", "xonsh", "nu", "elvish", "fish", "pwsh",
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

// asksForHelp reports whether an option makes a program print about itself, or run the project's tests, and read nothing.
func asksForHelp(w word) bool {
	return among(w.text, "--version", "-version", "--help", "-V", "--test")
}
