package config_test

import (
	"strings"
	"testing"
)

func TestRulesMayCarryExamples(t *testing.T) {
	m := newMachine(t)
	m.write(userFile, `{"permissions": {
		"deny": ["WebFetch", {"rule": "Bash(rm *)", "match": ["rm -r x"], "not_match": ["git rm x"], "why": "ours"}],
		"rules": [{"permission": "bash", "pattern": "git *", "action": "ask", "match": ["git push"]}]}}`)
	c := m.load()
	diff(t, "texts", c.Settings.Permissions.Deny, []string{"WebFetch", "Bash(rm *)"})
	rules := c.Rules()
	diff(t, "number", len(rules), 3)
	diff(t, "examples", []any{rules[1].Text, rules[1].Match, rules[1].NotMatch, rules[2].Match},
		[]any{"Bash(rm *)", []string{"rm -r x"}, []string{"git rm x"}, []string{"git push"}})
	diff(t, "warnings", len(c.Warnings), 1) // of the key that lathe does not know
}

func TestABrokenRuleObjectIsLeftOutOnlyWhereItAllows(t *testing.T) {
	for _, text := range []string{
		`{"match": ["x"]}`, `{"rule": "Bash("}`, `{"rule": "Bash", "match": "x"}`,
		`{"rule": "Bash", "match": [1]}`,
	} {
		m := newMachine(t)
		m.write(userFile, `{"permissions": {"allow": ["Read", `+text+`]}}`)
		c := m.load()
		diff(t, text, c.Settings.Permissions.Allow, []string{"Read"})
		diff(t, "warnings", len(c.Warnings), 1)
		m.write(userFile, `{"permissions": {"deny": ["Read", `+text+`]}}`)
		if got := m.fail(); !strings.HasPrefix(got, userFile+":1:35: permissions.deny[1]: found an object") {
			t.Errorf("%s: %s", text, got)
		}
	}
}
