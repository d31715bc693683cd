// Package files is the file system as the agent sees it.
//
// The words: a root is a folder the session may work in ([Roots]); a [Path] is a name resolved at one
// moment, with its links followed; a [Target] is a file held open for a later write, so that the file that was
// checked is the one written; a [Text] is the content of a file as text, whatever its encoding and line
// ends; a walk lists the files below a folder as the ignore files allow.
//
// Promises: nothing is opened through a link that leads out of a root; a replaced file is either the old
// or the new one, never a part; bytes outside an edit stay as they are; devices and pipes are
// never read.
package files
