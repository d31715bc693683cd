// Package program knows what programs do with their arguments: a table of the programs that developers
// use, with the flags that only look, and for everything else what it may be told from the words.
//
// The words: a [Word] is one argument as the shell will pass it; a [Use] is what one program would do when
// run with given words. The table is an allow-list: a program, subcommand or flag that is not in it is not
// known to only look, and neither is an abbreviated or unknown long flag.
package program

import "github.com/lathe-dev/lathe/internal/permission"

// Word is one word of a command as the shell will pass it.
type Word struct {
	Text    string // without quotes; for a glob the pattern; for an unknown word what is known of it
	Glob    bool   // an unquoted pattern: it may stand for any number of file names
	Unknown bool   // holds a variable, a substitution or anything else that only running tells
	Quoted  bool   // some of it was quoted
}

// Use is what a program would do.
type Use struct {
	Class  permission.Class // ClassWrite for everything that is not known to only look
	Reason string           // why it does not only look; for destructive uses what would be lost

	Reads  []string // files and folders that operands and flags name, as written
	Writes []string
	Hosts  []string // machines it would reach, as far as the words tell
	Kills  []string // what it would destroy (operands of rm, ...), as written: patterns stay patterns

	// Inner are commands that it runs from its own words: sudo rm x, find -exec rm {} +, xargs rm. An unknown
	// tail (xargs gets more words) ends in a Word that is Unknown.
	Inner [][]Word
	// Script is shell text that it runs: bash -c, eval, trap, ssh host. ScriptKnown is false when it runs
	// text that the words do not tell (bash reading stdin, eval "$x").
	Script      []string
	ScriptHides bool
	// Transparent: for allow rules the (only) inner command stands for the whole (timeout 9 go test).
	Transparent bool
	// Literal: see permission.Part.
	Literal bool
	// Git: it is git, in this folder ("" the current one), so that the repository's configuration counts.
	Git    bool
	GitDir string
	// Dir is the folder it changes to (cd, pushd), nil when none; Word.Unknown when it cannot be told.
	Dir *Word
	// Stdin: it would run what it reads from its standard input (bash, python -, xargs with no program).
	Stdin bool
}

// Env is what a table entry may need to know besides the words.
type Env struct {
	Dir   string // the working folder, absolute
	World permission.World
}

// Look says what running words would do; words[0] is the program, by base name or path. It fails never:
// what it does not know is ClassWrite.
func Look(words []Word, env Env) Use {
	return Use{Class: permission.ClassWrite, Reason: "it is not known to only look"}
}
