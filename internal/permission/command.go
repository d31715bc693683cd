package permission

import "slices"

// Class is the effect of a command, from harmless to irreversible.
type Class string

// The six classes, mildest first. The first four are read-only: they change nothing, run no code of the
// project and reach no other machine.
const (
	ClassNeutral     Class = "neutral" // echo, true, cd, pwd
	ClassList        Class = "list"    // ls, find, git branch
	ClassSearch      Class = "search"  // grep, rg
	ClassRead        Class = "read"    // cat, git log
	ClassWrite       Class = "write"   // everything else, unknown programs too
	ClassDestructive Class = "destructive"
)

// Classes lists the classes from the mildest to the strongest.
var Classes = []Class{ClassNeutral, ClassList, ClassSearch, ClassRead, ClassWrite, ClassDestructive}

// ReadOnly reports whether commands of the class are read-only. The zero Class is not.
func (c Class) ReadOnly() bool {
	return c == ClassNeutral || c == ClassList || c == ClassSearch || c == ClassRead
}

// Command is the result of analysing a command line: data, made by permission/shell, decided on here.
type Command struct {
	// Class is the strongest class of all parts and findings.
	Class Class `json:"class"`
	// Parts are all simple commands, wherever they hide (substitutions, wrappers, nested shells), in the
	// order of the text. An outer part (sudo rm x) is followed by the command that it runs (rm x).
	Parts []Part `json:"parts"`
	// Findings are the static checks that fired.
	Findings []Finding `json:"findings,omitempty"`
	// Exact: the whole line was understood word by word, so allow rules may cover its parts. When false
	// only a rule whose text is exactly the whole line can allow it.
	Exact bool `json:"exact"`
	// Kept: the line runs in a shell in which earlier commands may have given its words another meaning. Then no
	// allow rule for commands covers it, not even one that is the whole line; one for the tool does.
	Kept bool `json:"kept,omitempty"`
	// Unseen says why not all that the line runs is known: a program in a variable, code of another language, text
	// from elsewhere. A deny rule on commands, files or hosts then asks. "" where all is known, as far as words show.
	Unseen string `json:"unseen,omitempty"`
	// UnseenFiles names the command that reads files unknown until it runs; "" where there is none.
	UnseenFiles string `json:"unseen_files,omitempty"`
	// UnseenHosts names the command that reaches hosts unknown until it runs; "" where there is none.
	UnseenHosts string `json:"unseen_hosts,omitempty"`
	// Begins are the known beginnings of parts whose further words are unknown until they run.
	Begins []string `json:"-"`
	// Alike are commands with the same effect as one of the line, by another program: "git push" for gh pr create.
	Alike []string `json:"-"`
	// Mentions are the words and inputs of programs that may run their contents.
	Mentions []string `json:"-"`
	// Outside: it runs outside of the sandbox that confines other commands. Then it needs a rule or a person, whatever it
	// does; no mode but bypassPermissions, and no model, lets it run unasked.
	Outside bool `json:"outside,omitempty"`
	// Held: the full sandbox holds it, so that it may run unasked whatever programs it turns out to run.
	Held bool `json:"held,omitempty"`
	// Trees are absolute paths where git worktree add may make a work tree. GitDirs are the folders of git -C.
	Trees, GitDirs []string `json:"-"`
}

// Reads reports whether the command is read-only by its words, each of which is known: without a sandbox too it runs
// unasked, in a clean environment.
func (c *Command) Reads() bool {
	return c.Class.ReadOnly() && c.plain(func(*Part) bool { return false })
}

// Plain is Reads for a command that may also edit the files that it names, as acceptEdits grants.
func (c *Command) Plain() bool { return c.plain((*Part).Edits) }

func (c *Command) plain(edits func(*Part) bool) bool {
	if !c.Exact || c.Kept || len(c.Findings) > 0 || len(c.Parts) == 0 {
		return false
	}
	for i := range c.Parts {
		if part := &c.Parts[i]; !part.Covered && !part.Class.ReadOnly() && !edits(part) {
			return false
		}
	}
	return true
}

// RunsOutside reports whether a command of these accesses runs outside of the sandbox.
func RunsOutside(accesses []Access) bool {
	return slices.ContainsFunc(accesses, func(a Access) bool { return a.Command != nil && a.Command.Outside })
}

// Part is one simple command of a line.
type Part struct {
	// as rules see it: words without quotes, one blank between them, assignments and transparent wrappers taken off
	Text string `json:"text"`
	Raw  string `json:"raw"` // as written
	// Deep are more texts for deny and ask rules: with assignments, by base name, without wrappers, with
	// without the unknown words.
	Deep    []string `json:"-"`
	Program string   `json:"program,omitempty"` // base name; "" when unknown
	Path    string   `json:"path,omitempty"`    // where the program lies; "" for a builtin or when unknown
	Class   Class    `json:"class"`
	// Covered: another part stands for this one (the wrapper of a command that is listed too), so an allow
	// rule need not cover it.
	Covered bool `json:"covered,omitempty"`
	// Exact: every word is known as it will run. Else no allow rule with a pattern covers it.
	Exact bool `json:"exact"`
	// Literal: only a rule whose text is exactly this one may allow it: it runs other programs, writes files
	// or changes the environment by options that a pattern's author did not have in mind.
	Literal bool `json:"literal,omitempty"`
	// Beyond: likewise, because it names another repository, a file outside of the working folders or one with secrets.
	Beyond bool `json:"beyond,omitempty"`
	// InPlace: though Literal, it does no more than edit the files that it names (sed -i), which acceptEdits grants.
	InPlace bool `json:"-"`
	// Asks: though read-only, it needs a rule or a person, for a program that nothing confines may be one of the
	// project's.
	Asks bool `json:"asks,omitempty"`
	// Changes: its words plainly say that it changes files or state, so that it is asked about before it runs.
	Changes bool   `json:"changes,omitempty"`
	Whole   bool   `json:"whole,omitempty"`  // it reads folders with everything in them
	Within  string `json:"within,omitempty"` // the construct around it: "$( )", "sudo", "bash -c"
	Reason  string `json:"reason,omitempty"` // why it is not read-only, in words for the user
}

// Finding is a static check that fired.
type Finding struct {
	Check  string `json:"check"`  // its name, as in docs/shell-checks.md
	Text   string `json:"text"`   // for the user
	Effect Effect `json:"effect"` // Ask, or Deny, which no rule lifts
	// About are the commands that it is about, each as the Raw of its part; nil: it may be any.
	About []string `json:"-"`
}
