package permission

// World is the machine as the analysis sees it. It is read-only, and never runs anything of the project.
// Paths are absolute and clean unless noted otherwise. Implementations answer from the machine, or, for
// decisions about a machine that is not there, from nothing but names ([HypotheticalMachine]).
type World interface {
	Home() string
	// Roots are the working roots, the first one the session's own.
	Roots() []string
	// Stat follows the links of path as far as it exists and describes the file there.
	Stat(path string) Node
	// Program finds a program as the clean environment would, from the folder dir: its absolute path with
	// links resolved, or "" when there is none. A name with a slash is taken from dir.
	Program(name, dir string) string
	// GitKeys names the keys of git's configuration in force in dir that are of one kind. The error says why that
	// cannot be told.
	GitKeys(dir string, kind KeyKind) ([]string, error)
	// Glob expands a shell pattern from dir to absolute paths, at most max; more reports that there are more.
	Glob(pattern, dir string, max int) (paths []string, more bool)
	// Names lists the names below a folder, relative to it with slashes, folders too; complete when these are all.
	Names(dir string, max int) (names []string, complete bool)
	// Tracked returns the path of the file in the index of git's repository in dir whose text has a hash, which may be
	// shortened: of one that usually holds secrets, if it is among them; "" where there is none. An empty hash means any
	// file that usually holds secrets.
	Tracked(dir, hash string) string
}

// KeyKind is a reason to look for keys of git's configuration.
type KeyKind string

// ProgramKeys come from the repository and name programs (core.fsmonitor, diff.x.textconv); SecretKeys, from any file,
// have a value that holds credentials (http.x.extraheader, an address with a password in it).
const (
	ProgramKeys KeyKind = "programs"
	SecretKeys  KeyKind = "secrets"
)

// Node is the file at a path.
type Node struct {
	Real  string   // the path with links resolved; parts that do not exist stay as named
	Kind  NodeKind // of the file at Real
	Links uint64   // hard links; 0 when unknown
}

// NodeKind is the kind of file at a path.
type NodeKind string

// Kinds of node. Special is a device, pipe or socket; Unknown: it cannot be known (no right to look, a
// loop of links).
const (
	Missing NodeKind = "missing"
	File    NodeKind = "file"
	Folder  NodeKind = "folder"
	Special NodeKind = "special"
	Unknown NodeKind = "unknown"
)

// Texts is a World that also reads files.
type Texts interface {
	World
	// Text is the text of a regular file of at most max bytes that may be read without a question, as it is now; ok is
	// false for any other file.
	Text(path string, max int) (text string, ok bool)
}
