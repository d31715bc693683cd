package call

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// Subject is the request that a rule is tried on.
func (m *Machine) Subject(r permission.Rule, subject string) (permission.Request, error) {
	tool := r.Tool
	if name, rest, ok := strings.Cut(subject, ": "); ok && isToolName(name) {
		tool, subject = name, rest
	}
	switch {
	case strings.HasPrefix(strings.TrimSpace(subject), "{") && tool != "Bash":
		return m.Request(tool, json.RawMessage(subject))
	case tool == permission.ExternalDirectory:
		tool = "Read"
	}
	switch tool {
	case "Bash":
		return m.requestOf(tool, "command", subject)
	case "Task":
		return m.requestOf(tool, "subagent_type", subject)
	case "Skill":
		name, args, _ := strings.Cut(subject, " ")
		return m.Request(tool, object("skill", name, "args", args))
	case "WebFetch":
		return m.requestOf(tool, "url", subject)
	case "Read", "Write", "Edit", "MultiEdit", "NotebookEdit", "LSP", "Glob", "Grep":
		return m.pathSubject(tool, subject)
	}
	if strings.HasPrefix(subject, "mcp__") || slices.Contains([]string{"*", "mcp__*"}, tool) || strings.HasPrefix(tool, "mcp__") {
		tool = subject
	}
	return m.Request(tool, nil)
}

// isToolName tells "Bash: x" from a command that has a colon and a blank.
func isToolName(s string) bool {
	return slices.Contains([]string{"Bash", "Read", "Write", "Edit", "Glob", "Grep", "WebFetch", "Task", "Skill"}, s)
}

// pathSubject reads "path" or "link -> target".
func (m *Machine) pathSubject(tool, subject string) (permission.Request, error) {
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
	return here.requestOf(tool, "path", name)
}

func (m *Machine) requestOf(tool, name, value string) (permission.Request, error) {
	return m.Request(tool, object(name, value))
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
				verb := map[bool]string{true: "covers it, although not_match says that it does not", false: "does not cover it, although match says that it does"}[got]
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
