package hook

import (
	"path/filepath"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/permission"
)

// Update is a change of rules, of the mode or of the folders, in the form of Claude Code: a lasting answer to a
// question for permission.
type Update struct {
	Type        string       `json:"type"`
	Rules       []UpdateRule `json:"rules,omitempty"`
	Behavior    string       `json:"behavior,omitempty"`
	Mode        string       `json:"mode,omitempty"`
	Directories []string     `json:"directories,omitempty"`
	Destination string       `json:"destination,omitempty"`
}

// UpdateRule is a permission rule in its two parts.
type UpdateRule struct {
	Tool    string `json:"toolName"`
	Content string `json:"ruleContent,omitempty"`
}

// RuleOf splits "Bash(git *)" into its two parts.
func RuleOf(s string) UpdateRule {
	name, rest, ok := strings.Cut(s, "(")
	if !ok {
		return UpdateRule{Tool: s}
	}
	return UpdateRule{name, strings.TrimSuffix(rest, ")")}
}

func (r UpdateRule) String() string {
	if r.Content == "" {
		return r.Tool
	}
	return r.Tool + "(" + r.Content + ")"
}

// Suggestions are the lasting answers to a question: going over to another mode, adding a folder, and the rules, once,
// with the longest life that is offered.
func Suggestions(q event.Question) []Update {
	var out []Update
	var rules *Update
	for _, o := range q.Options {
		switch {
		case o.ID == event.ChoiceEdits:
			out = append(out, Update{Type: "setMode", Mode: string(permission.AcceptEdits), Destination: "session"})
		case o.Help == "":
		case o.ID == event.ChoiceSession && rules == nil:
			rules = addRules(o.Help, "session")
		case o.ID == event.ChoiceAlways:
			rules = addRules(o.Help, "localSettings")
		}
	}
	if q.Outside != "" && q.Outside != filepath.Dir(q.Outside) { // never the whole disk
		out = append(out, Update{Type: "addDirectories", Directories: []string{q.Outside}, Destination: "session"})
	}
	if rules != nil {
		out = append(out, *rules)
	}
	return out
}

func addRules(help, destination string) *Update {
	u := &Update{Type: "addRules", Behavior: "allow", Destination: destination}
	for text := range strings.SplitSeq(help, "\n") {
		u.Rules = append(u.Rules, RuleOf(text))
	}
	return u
}
