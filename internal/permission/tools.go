package permission

// Tools is the knowledge of tools that rules need. Implementations are safe for concurrent use.
type Tools interface {
	// Name is the name that a spelling stands for; one that no tool has stays as it is.
	Name(spelling string) string
	// Traits are those of the tool with this name, or the zero Traits.
	Traits(name string) Traits
}

// Traits is the knowledge of one tool that rules need.
type Traits struct {
	Known   bool
	Subject Subject
	// Params are the parameters that hold the subject. Patterns match them, so param:value rules do not, except
	// for a name, of which the first one that is given counts.
	Params []string
	Rest   string // for a name: the parameter with the words after it
	Class  Class  // the strongest effect of its calls; "" is unknown
}

// Subject is the part of a call that the pattern of a rule is matched against.
type Subject string

// The subjects. Tools that read files share the rules for Read, tools that change files those for Edit.
const (
	NoSubject      Subject = ""
	SubjectCommand Subject = "command" // a command line
	SubjectRead    Subject = "read"    // a path that is read
	SubjectEdit    Subject = "edit"    // a path that is changed
	SubjectHost    Subject = "host"    // domain:host of an address
	SubjectName    Subject = "name"    // the name of an agent, a skill, ...
)

// pathRules is the tool whose path rules count: "Read", "Edit", or "" for tools that touch no files by path.
func (t Traits) pathRules() string {
	switch t.Subject {
	case SubjectRead:
		return "Read"
	case SubjectEdit:
		return "Edit"
	}
	return ""
}

// edits reports whether the tool is there to change files.
func (t Traits) edits() bool { return t.Subject == SubjectEdit }
