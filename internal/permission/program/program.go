// Package program determines the effect of commands from their words: a table of the programs that developers
// use says what each of them does, and for all others the words show as much as they can.
//
// The terms: a [Word] is one argument as the shell will pass it; a [Use] is the effect of one program run with
// given words; a row is the table's entry for one program or subcommand: its flags, the roles of its operands, its
// effect. Some forty programs are read-only, with the flags of their rows; with others, shortened ones too, they are
// not. Few programs need more than a row: a judge, which is a function that the row names.
//
// It guarantees: anything it does not understand is ClassWrite at least; more flags, patterns and unknown words
// never make a use milder; it never panics and reads the machine only through [permission.World].
package program

import (
	"path"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// Word is one word of a command as the shell will pass it.
type Word struct {
	Text    string // without quotes; for a glob the pattern; for an unknown word its known part
	Glob    bool   // an unquoted pattern: it may stand for any number of file names
	Unknown bool   // holds a variable, a substitution or anything else known only at run time
	Quoted  bool   // some of it was quoted
}

// Use is the effect of a program run with given words.
type Use struct {
	Class  permission.Class // ClassWrite for everything that is not known to be read-only
	Reason string           // why it is not read-only; for destructive uses the loss

	Reads  []string // files and folders that operands and flags name, as written; patterns stay patterns
	Writes []string
	Hosts  []string // machines it would reach, as far as the words name them
	// Kills are files that would be removed or damaged: operands of rm, sources of mv, the trees of chown -R. As
	// written: patterns stay patterns, and an unknown word is its known part.
	Kills []string

	// Whole: it reads the folders among Reads with everything in them.
	Whole bool
	// Past are the files that it names and whose text in git's history it prints; Objects are words that may be the
	// hash of such a text. Raw: it prints texts of the history where no attribute of git hides them.
	Past, Objects []string
	Raw           bool

	// Lands: copies, moved files and links, each of Sources under its own name where Target is a folder; Deep with
	// their contents.
	Lands *Landing
	// Unpacks is a folder that it fills with files whose names come from elsewhere: an archive, a patch.
	Unpacks string

	// Inner are commands that it runs from its own words: sudo rm x, find -exec rm {} +, xargs rm. An unknown
	// tail (xargs gets more words) ends in a Word that is Unknown.
	Inner [][]Word
	// Script is shell text that it runs: bash -c, eval, trap, ssh host. ScriptHides is true when it runs
	// text that is not in the words (bash reading stdin, eval "$x", a script file).
	Script      []string
	ScriptHides bool
	// Transparent: for allow rules the (only) inner command stands for the whole (timeout 9 go test).
	Transparent bool
	// Literal: see permission.Part.
	Literal bool
	// Beyond: see permission.Part.
	Beyond bool
	// InPlace: see permission.Part.
	InPlace bool
	// Changes: the words plainly say that it changes files or state by itself.
	Changes bool
	// Alike are commands with the same effect, for deny rules that name those.
	Alike []string
	// Git: it is git, in this folder ("" the current one; absolute where -C names it), so that the repository's
	// configuration counts.
	Git    bool
	GitDir string
	// Dir is the folder it changes to (cd, pushd), nil when none; Word.Unknown when it cannot be determined.
	Dir *Word
	// Unknown: it is not in the table, so that it may run its words.
	Unknown bool
	// Stdin: it would run its standard input (bash, python -, xargs with no program).
	Stdin bool
}

// Landing is the sources and the target of a copy, move or link.
type Landing struct {
	Sources []string
	Target  string
	Deep    bool
	Inside  bool // Target is a folder, whatever there is
}

// Env is the context that a table entry may need besides the words.
type Env struct {
	Dir   string // the working folder, absolute
	World permission.World
}

// Analyze returns the effect of running words; words[0] is the program, by base name or path. It never fails:
// anything unknown is ClassWrite. A wrapper (timeout 9 ls) has the class of its own effect; the caller analyzes
// Inner and Script.
func Analyze(words []Word, env Env) Use {
	if len(words) == 0 || words[0].Text == "" && !words[0].Unknown {
		return Use{Class: write, Reason: "there is no program to run"}
	}
	first := words[0]
	if first.Unknown || first.Glob {
		return Use{Class: write, Reason: "only running it tells which program it is"}
	}
	name, odd := baseName(first.Text, env)
	c := &call{name: name, env: env, args: words[1:]}
	if !strings.Contains(name, " ") { // rows of subcommands have a blank in their name
		c.row = find(name)
	}
	if c.row == nil {
		c.row = &row{name: name}
	}
	if c.row.class == "" {
		c.Use, c.ops = analyzeUnknown(name, words[1:], odd), words[1:]
		c.changes()
	} else {
		c.run()
	}
	c.exactWords(name)
	c.alike(name)
	if odd != "" {
		c.refuse(odd)
	}
	if stream := map[string]string{"sqlite3": ":memory:", "gcc": "-", "clang": "-", "cc": "-"}[name]; stream != "" {
		c.Writes = slices.DeleteFunc(c.Writes, func(file string) bool { return file == stream })
	}
	return c.Use
}

// analyzeUnknown is for programs that the table does not have.
func analyzeUnknown(name string, args []Word, odd string) Use {
	u := Use{Class: write, Reason: name + " is not a program known to be read-only", Unknown: true}
	if odd != "" {
		u.Reason = odd
	}
	if strings.HasPrefix(name, "mkfs.") || strings.HasPrefix(name, "fsck.") {
		u.Class, u.Reason = destructive, name+" overwrites a file system"
		for _, w := range args {
			if !strings.HasPrefix(w.Text, "-") {
				u.Kills = append(u.Kills, w.Text)
			}
		}
	}
	return u
}

// toolDirs are the folders whose programs are those of the system.
var toolDirs = []string{
	"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin",
	"/usr/local/go/bin", "/opt/homebrew/bin", "/opt/local/bin", "/snap/bin",
}

// baseName returns the name of a program in the table, and the reason to distrust the name as written: a path
// that is not one of the system's programs, or other capitals.
func baseName(text string, env Env) (name, odd string) {
	name = text
	if i := strings.LastIndexAny(text, `/\`); i >= 0 {
		name = text[i+1:]
		if !trusted(text, name, env) {
			odd = text + " is not one of the system's programs"
		}
	}
	if known(name) {
		return name, odd
	}
	if cut, ok := strings.CutSuffix(strings.ToLower(name), ".exe"); ok || cut != name {
		if known(cut) {
			return cut, text + " may be " + cut + ", on some systems"
		}
	}
	if cut := versioned(name); cut != "" {
		return cut, odd
	}
	return name, odd
}

// versioned finds the interpreter or compiler for a name with a version: python3.12, perl5.36.0, gcc-12.
func versioned(name string) string {
	cut := strings.TrimSuffix(strings.TrimRight(name, "0123456789."), "-")
	switch cut {
	case "python", "pip":
		cut += "3"
	case "perl", "ruby", "php", "lua", "node", "gcc", "g++", "clang", "clang++", "java":
	default:
		return ""
	}
	if cut == name {
		return ""
	}
	return cut
}

// trusted reports whether a path names a program of the system: in one of its folders, or the same that the
// bare name finds.
func trusted(text, name string, env Env) bool {
	if !path.IsAbs(text) || path.Clean(text) != text {
		return false
	}
	for _, d := range toolDirs {
		if path.Dir(text) == d {
			return true
		}
	}
	if env.World == nil {
		return false
	}
	found := env.World.Program(name, env.Dir)
	return found != "" && found == env.World.Program(text, env.Dir)
}
