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
	// Tree searches the names below a folder for those that a program reading all of it must leave out. For a folder of
	// the past, which has no names, it returns those that rules deny, and facts about the files that git tracks now.
	Tree(dir string, o TreeOptions) Tree
}

// KeyKind is a reason to look for keys of git's configuration.
type KeyKind string

// ProgramKeys come from the repository and name programs (core.fsmonitor, diff.x.textconv); SecretKeys, from any file,
// have a value that holds credentials (http.x.extraheader, an address with a password in it).
const (
	ProgramKeys KeyKind = "programs"
	SecretKeys  KeyKind = "secrets"
)

// TreeOptions say how far a program goes that reads a folder with everything in it.
type TreeOptions struct {
	Hidden bool     // into names that begin with a dot
	Follow bool     // through links
	Skip   []string // patterns of the names of folders that it leaves out
	Odd    string   // characters that no name may hold
	Past   bool     // the folder is one of the past
	Blobs  []string // hashes, perhaps shortened, whose files are asked for
}

// Tree lists the files below a folder that are not free to read.
type Tree struct {
	// Withheld are the files and folders below, by their absolute paths, that by themselves would not be read
	// without a question although the folder would, or that a rule denies.
	Withheld []Withheld
	// Denied are names that rules deny reading (see [Policy.DeniedNames]).
	Denied []string
	// Leads is a link, followed, that leads out of the folder or to something withheld; "" when there is none.
	Leads string
	Odd   string // a name that holds an odd character; "" when there is none
	// Listed: all names below were looked at. Else Why says why not; "" on a machine that is not there.
	Listed bool
	Why    string
	Past   Past // of a folder of the past
}

// Past describes a repository. The zero value means that nothing is known about it.
type Past struct {
	Free      bool              // files with secrets may be read like any others
	Known     bool              // the fields below cover all tracked files
	Files     []string          // names of tracked files that guards keep from being read
	Folders   []string          // names of folders that hold such files
	Templates bool              // a tracked file is no secret, but has a name like one: .env.example
	Blobs     map[string]string // by content hash, the absolute path of the tracked file; a secret one if several match
}

// Withheld is a file or folder that a reader of the whole tree leaves out.
type Withheld struct {
	Path   string // absolute
	Folder bool
}

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
