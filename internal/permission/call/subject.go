package call

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// Subject is the request that a rule is tried on.
func (m *Machine) Subject(r permission.Rule, subject string) (permission.Request, error) {
	tool := r.Tool
	if name, rest, ok := strings.Cut(subject, ": "); ok && m.tools.Named(name) {
		tool, subject = m.tools.Name(name), rest
	}
	if tool == permission.ExternalDirectory {
		tool = m.reader()
	}
	t := m.tools.Traits(tool)
	if strings.HasPrefix(strings.TrimSpace(subject), "{") && t.Subject != permission.SubjectCommand {
		return m.Request(tool, json.RawMessage(subject), Fixture{})
	}
	if !t.Known && (tool == "*" || strings.HasPrefix(tool, "mcp__") || strings.HasPrefix(subject, "mcp__")) {
		return m.Request(subject, nil, Fixture{})
	}
	if len(t.Params) == 0 {
		return m.Request(tool, nil, Fixture{})
	}
	switch t.Subject {
	case permission.SubjectRead, permission.SubjectEdit:
		return m.pathSubject(tool, t.Params[0], subject)
	case permission.SubjectName:
		rest := ""
		if t.Rest != "" {
			subject, rest, _ = strings.Cut(subject, " ")
		}
		return m.Request(tool, object(t.Params[0], subject, t.Rest, rest), Fixture{})
	}
	return m.Request(tool, object(t.Params[0], subject), Fixture{})
}

// reader is the tool that reads the path it is given: the first one declared.
func (m *Machine) reader() string {
	for _, name := range m.tools.Names() {
		if t := m.tools.Traits(name); t.Subject == permission.SubjectRead && len(t.Params) > 0 {
			return name
		}
	}
	return ""
}

// pathSubject reads "path" or "link -> target".
func (m *Machine) pathSubject(tool, param, subject string) (permission.Request, error) {
	here := *m
	name, target, linked := strings.Cut(subject, " -> ")
	name = strings.TrimSpace(name)
	if linked {
		here.Links = clone(m.Links)
		target = strings.TrimSpace(target)
		if !path.IsAbs(target) && !strings.HasPrefix(target, "~") {
			target = path.Join(path.Dir(here.absolute(name)), target)
		}
		if strings.HasPrefix(target, "~/") {
			target = m.HomeDir + target[1:]
		}
		here.Links[here.absolute(name)] = target
	}
	return here.Request(tool, object(param, name), Fixture{})
}

func object(pairs ...string) json.RawMessage {
	m := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			m[pairs[i]] = pairs[i+1]
		}
	}
	b, _ := json.Marshal(m) // a map of strings always can be
	return b
}

// Try holds a rule against its own examples. The error names the rule and the example that is not as its
// author thought.
func (m *Machine) Try(r permission.Rule) error {
	p := m.Policy(nil)
	for i, examples := range [][]string{r.Match, r.NotMatch} {
		want := i == 0
		for _, subject := range examples {
			req, err := m.Subject(r, subject)
			if err != nil {
				return fmt.Errorf("the rule %s: its example %q: %w", r.Text, subject, err)
			}
			if got := p.Matches(r, req); got != want {
				verb := map[bool]string{
					true:  "covers it, although not_match says that it does not",
					false: "does not cover it, although match says that it does",
				}[got]
				return fmt.Errorf("the rule %s fails its example %q: as %s rule it %s", r.Text, subject, article(r.Effect), verb)
			}
		}
	}
	return nil
}

func article(e permission.Effect) string {
	if e == permission.Deny {
		return "a deny"
	}
	return "an " + string(e)
}
