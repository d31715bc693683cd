package call

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/lathe-dev/lathe/internal/permission"
)

// Declaration describes a tool in one place: everything that rules, `permission check`, completion and the
// loop need to know of it without running it.
type Declaration struct {
	Name string
	// Aliases are other spellings of the name. Case, underscores and hyphens do not count when a call is made,
	// so "read_file" stands for readFile too. One in capitals ("Agent") is a name of Claude Code's, which a
	// command line may use as it is.
	Aliases []string
	Schema  json.RawMessage // of the input; nil: Input makes it, or it is not known
	// Input makes the schema, when it is first needed; may be nil.
	Input func() json.RawMessage
	// Params are other spellings of parameters, by parameter, with blanks between them. camelCase needs no mention.
	// One that the schema has not is known to Mend only.
	Params map[string]string
	// Ignored are parameters of other agents' tools that change nothing, with blanks between them, in snake_case. One
	// with a value ("merge=false") is ignored where it has that value.
	Ignored string
	// Mend changes the fields of an input where Params do not suffice; may be nil. The spelling is the tool's name as the
	// model wrote it. It returns the name of another tool where the call is one of that; else "".
	Mend func(spelling string, fields map[string]json.RawMessage) (tool string)

	Subject   permission.Subject // matched by the pattern of a rule
	SubjectIn []string           // the parameters that hold it; for a name, the first that is given counts
	Rest      string             // for a name: the parameter with the words after it
	Class     permission.Class   // the strongest class of a call; "" is unknown
	// the tools of which one must be there for this one to be of use: it is there and gone with them
	With     []string
	Deferred bool // the model's list leaves it out and announces its name, where there is ToolSearch

	// Accesses returns the accesses of a call. It is pure: it knows the machine only through the place, and the same
	// input in the same place gives the same accesses. Nil means unknown, so that it asks. The error is text for
	// the model: the parameter missing from the input.
	Accesses func(input json.RawMessage, at Place) ([]permission.Access, error)
}

// Place is where a call would run: a machine, real or hypothetical, and the working folder on it.
type Place struct {
	permission.World
	Dir string // absolute
	// Resolve resolves a path as a call names it: absolute, from the working folder, or from ~.
	Resolve func(name string) (named string, node permission.Node)
}

// Access is the access to a path as a call names it.
func (p Place) Access(kind permission.Kind, name string) permission.Access {
	named, node := p.Resolve(name)
	a := permission.Access{Kind: kind, Target: node.Real, Node: node.Kind, Links: node.Links}
	if named != a.Target {
		a.Named = named
	}
	return a
}

// Typed makes an Accesses of a function over a decoded input.
func Typed[In any](accesses func(in In, at Place) ([]permission.Access, error)) func(json.RawMessage,
	Place) ([]permission.Access, error) {
	return func(raw json.RawMessage, at Place) ([]permission.Access, error) {
		var in In
		if len(raw) > 0 {
			if err := json.Unmarshal(raw, &in); err != nil {
				if bad, ok := errors.AsType[*json.UnmarshalTypeError](err); ok { // its text has Go's types
					return nil, fmt.Errorf("the input cannot be read: %s cannot be a %s", bad.Field, bad.Value)
				}
				return nil, fmt.Errorf("the input cannot be read: %w", err)
			}
		}
		return accesses(in, at)
	}
}

// Session is the Accesses of a tool that touches nothing outside the session, so that it never asks.
func Session(tool string) func(json.RawMessage, Place) ([]permission.Access, error) {
	return func(json.RawMessage, Place) ([]permission.Access, error) { return SessionOnly(tool), nil }
}

// SessionOnly is the access of a call that touches nothing outside the session.
func SessionOnly(tool string) []permission.Access {
	return []permission.Access{{Kind: permission.Tool, Target: tool, Safe: true}}
}

// Itself is the Accesses of a tool whose effects are no paths, commands or hosts: rules name the tool.
func Itself(tool string) func(json.RawMessage, Place) ([]permission.Access, error) {
	return func(json.RawMessage, Place) ([]permission.Access, error) {
		return []permission.Access{{Kind: permission.Tool, Target: tool}}, nil
	}
}

// Classify gives the reads of a call the class of its tool.
func (d *Declaration) Classify(accesses []permission.Access) {
	for i := range accesses {
		if accesses[i].Kind == permission.Read && d.Subject == permission.SubjectRead {
			accesses[i].Class = d.Class
		}
	}
}

// InputSchema is the JSON Schema of the input; nil: it is not known.
func (d *Declaration) InputSchema() json.RawMessage {
	if d.Schema == nil && d.Input != nil {
		return d.Input()
	}
	return d.Schema
}

func (d *Declaration) traits() permission.Traits {
	return permission.Traits{Known: true, Subject: d.Subject, Params: d.SubjectIn, Rest: d.Rest, Class: d.Class}
}
