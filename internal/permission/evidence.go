package permission

// Evidence is the basis of a decision, compact enough to be kept with every call.
type Evidence struct {
	Decision
	Tool     string   `json:"tool"`
	Mode     Mode     `json:"mode"`
	Agent    []string `json:"agent,omitempty"`
	Class    Class    `json:"class,omitempty"`
	Exact    *bool    `json:"exact,omitempty"` // for commands: the whole line was understood word by word
	Parts    []Part   `json:"parts,omitempty"`
	Findings []string `json:"findings,omitempty"` // names of the checks that fired
	Accesses []Access `json:"accesses"`           // null: unknown
	More     int      `json:"more,omitempty"`     // parts and accesses that were left out
}

// Bounds of the evidence that is kept of one decision.
const (
	keptParts    = 20
	keptAccesses = 40
	keptText     = 400 // bytes of one text
)

// NewEvidence gathers the evidence for a decision.
func NewEvidence(req Request, d Decision) Evidence {
	e := Evidence{Decision: d, Tool: req.Tool, Mode: req.Mode, Agent: req.Agent, Class: ClassOf(req)}
	e.Reason = cut(e.Reason)
	e.Input = nil // it is the call's own from then on
	if req.Accesses != nil {
		e.Accesses = []Access{}
	}
	for _, a := range req.Accesses {
		if a.Command != nil {
			e.command(a.Command)
			a.Command = nil
		}
		if len(e.Accesses) == keptAccesses {
			e.More++
			continue
		}
		a.Target, a.Named = cut(a.Target), cut(a.Named)
		e.Accesses = append(e.Accesses, a)
	}
	return e
}

func (e *Evidence) command(c *Command) {
	e.Exact = &c.Exact
	for i, p := range c.Parts {
		if i == keptParts {
			e.More += len(c.Parts) - i
			break
		}
		if p.Raw == p.Text {
			p.Raw = ""
		}
		p.Text, p.Raw, p.Deep = cut(p.Text), cut(p.Raw), nil
		p.Program, p.Path, p.Within, p.Reason = cut(p.Program), cut(p.Path), cut(p.Within), cut(p.Reason)
		e.Parts = append(e.Parts, p)
	}
	for _, f := range c.Findings {
		e.Findings = append(e.Findings, f.Check)
	}
}

func cut(s string) string {
	if len(s) <= keptText {
		return s
	}
	return s[:keptText] + "..."
}

// ClassOf is the class of a whole call: of its command, or the strongest of its accesses. "" is unknown.
func ClassOf(req Request) Class {
	class := Class("")
	for _, a := range req.Accesses {
		switch {
		case a.Command != nil:
			return a.Command.Class
		case a.Kind == Write || a.Kind == Net || a.Kind == Exec || a.Kind == Tool && !a.Safe:
			class = ClassWrite
		case class == "" && a.Kind == Read:
			if class = a.Class; class == "" {
				class = ClassRead
			}
		case class == "":
			class = ClassNeutral
		}
	}
	return class
}
