// Package shell reads a command line and reports the programs, files and hosts it would run, read, write and
// reach, without running anything.
//
// The words: a line is parsed once, as bash, into a tree; a [permission.Part] is one simple command of it,
// at any depth; a check is a named search for one kind of trick or danger, and a [permission.Finding] is
// a check that fired. A word is literal when its text is the same whoever reads it, worked out when it was
// computed from the line itself ($'\x72m', A=rm; $A), and unknown when it depends on the run.
//
// Two views come out of one walk. The deep view serves deny and ask: it follows substitutions, nested
// shells, wrappers, decoded text and variables as far as they can be known, and takes guesses for
// real. The exact view serves allow: a word that is not literal is not understood, so the line asks.
//
// The promises: nothing is run and nothing is changed; no input makes it fail or take long, a line too deep
// or too large to follow asks; a line that does not parse, is too long or holds characters that a reader
// cannot see never counts as harmless; adding a command to a line never makes it milder.
package shell

import (
	"github.com/lathe-dev/lathe/internal/permission"
)

// Result is the effect of a command line.
type Result struct {
	Command permission.Command
	// Accesses are one Exec access that carries the Command, then every file that redirections and programs
	// name, resolved through the World, and every host.
	Accesses []permission.Access
}

// Limits of the analysis. Beyond them a line is not understood, so it asks; deny rules still see its
// text.
const (
	maxLine   = 10_000  // bytes of a line that may be approved
	maxParse  = 100_000 // bytes of text that is parsed, all nested texts together
	maxNested = 10      // texts within texts: bash -c "bash -c ..."
	maxLevel  = 200     // substitutions within substitutions
	maxBraces = 400     // words that one word with braces may become
	maxInline = 60      // calls of functions and aliases that are followed
	maxGlob   = 1000    // files that one pattern may stand for
)

// Analyze returns the effect of line when bash runs it in dir, an absolute path.
func Analyze(line, dir string, w permission.World) Result {
	return analyze(line, dir, w).result()
}

// result puts the findings together.
func (a *analysis) result() Result {
	command := permission.Command{
		Class: a.class, Parts: a.parts, Findings: a.findings(), Exact: a.exact, Trees: a.trees, GitDirs: a.gitDirs,
	}
	for _, f := range command.Findings {
		if f.Effect == permission.Deny || f.Effect == permission.Ask {
			command.Class = stronger(command.Class, permission.ClassWrite)
		}
	}
	a.followLinks()
	a.unseen(&command)
	accesses := make([]permission.Access, 0, 1+len(a.accesses))
	accesses = append(accesses, permission.Access{Kind: permission.Exec, Target: a.line, Command: &command})
	accesses = append(accesses, a.accesses...)
	return Result{Command: command, Accesses: accesses}
}

// rank orders the classes; an unknown one counts as a write.
func rank(c permission.Class) int {
	for i, known := range permission.Classes {
		if c == known {
			return i
		}
	}
	return rank(permission.ClassWrite)
}

// stronger returns the stronger of two classes.
func stronger(a, b permission.Class) permission.Class {
	if a == b && a.ReadOnly() {
		return a
	}
	if rank(b) > rank(a) {
		return permission.Classes[rank(b)]
	}
	return permission.Classes[rank(a)]
}
