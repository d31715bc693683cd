package permission

import "testing"

// covering is a line of two parts, of which rules cover the first: it writes a file, the second reads one.
func covering(read, write string, edit func(*Access)) Request {
	a := Access{Kind: Write, Target: write}
	if edit != nil {
		edit(&a)
	}
	return Request{Tool: "Bash", Mode: Default, Dir: "/w", Accesses: []Access{
		{Kind: Exec, Target: "touch x && cat y", Command: &Command{Class: ClassWrite, Exact: true, Parts: []Part{
			{Text: "touch x", Raw: "touch x", Program: "touch", Class: ClassWrite, Exact: true},
			{Text: "cat y", Raw: "cat y", Program: "cat", Class: ClassRead, Exact: true},
		}}},
		a,
		{Kind: Read, Target: read, Node: File},
	}}
}

// Read-only parts need no rule although the line writes files, unless a file could be theirs or changes their effect.
func TestReadOnlyPartsNeedNoRuleBesideOnesThatWrite(t *testing.T) {
	for _, tt := range []struct {
		name string
		req  Request
		want Effect
	}{
		{"files of the working folder", covering("/w/y", "/w/x", nil), Allow},
		{"a file outside is read", covering("/etc/passwd", "/w/x", nil), Ask},
		{"a file outside is written", covering("/w/y", "/tmp/x", nil), Ask},
		{"the shell writes the file", covering("/w/y", "/w/x", func(a *Access) { a.Redirect = true }), Ask},
		{"files of unknown names are written", covering("/w/y", "/w", func(a *Access) { a.Below = true }), Ask},
		{"a guard asks about the file", covering("/w/y", "/w/.npmrc", nil), Ask},
		{"a guard asks about what is read", covering("/w/.env", "/w/x", nil), Ask},
	} {
		lists := map[string]*Policy{
			"allow list": policy(t, Allow, "Bash(touch *)"),
			"ordered":    policy(t, Allow, "Bash(touch *)"),
		}
		ordered := lists["ordered"].Rules()
		ordered[0].Ordered = true
		lists["ordered"].SetRules(ordered)
		for kind, p := range lists {
			if d := p.Decide(tt.req); d.Effect != tt.want {
				t.Errorf("%s, %s: %s (%s), want %s", tt.name, kind, d.Effect, d.Reason, tt.want)
			}
		}
		if policy(t, Allow, "Bash(touch *)").CoversEveryPart(tt.req) {
			t.Errorf("%s: the rule covers every part", tt.name)
		}
		if both := policy(t, Allow, "Bash(touch *)", "Bash(cat *)"); both.CoversEveryPart(tt.req) != (both.Decide(tt.req).Effect == Allow) {
			t.Errorf("%s: two rules do not cover every part", tt.name)
		}
	}
}

// "Always" on such a line proposes a rule for the part that writes.
func TestProposedRulesLeaveReadOnlyPartsOut(t *testing.T) {
	p := policy(t, Allow)
	if got := p.Propose(covering("/w/y", "/w/x", nil)); len(got) != 1 || got[0] != "Bash(touch *)" {
		t.Errorf("proposed %q", got)
	}
}

// In a shell that may have given the words another meaning not even a rule that is the whole line holds; one for the
// tool does.
func TestALineOfAShellWithStateNeedsARuleForTheTool(t *testing.T) {
	for rule, want := range map[string]Effect{"Bash(npm test)": Ask, "Bash(npm *)": Ask, "Bash(*)": Allow, "Bash": Allow} {
		for _, ordered := range []bool{false, true} {
			p := policy(t, Allow, rule)
			rules := p.Rules()
			rules[0].Ordered = ordered
			p.SetRules(rules)
			command := &Command{Class: ClassWrite, Kept: true, Parts: []Part{{
				Text: "npm test", Raw: "npm test", Program: "npm",
				Class: ClassWrite, Exact: true,
			}}}
			req := Request{
				Tool: "Bash", Mode: Default, Dir: "/w",
				Accesses: []Access{{Kind: Exec, Target: "npm test", Command: command}},
			}
			if d := p.Decide(req); d.Effect != want {
				t.Errorf("%s, ordered %v: %s (%s)", rule, ordered, d.Effect, d.Reason)
			}
			if command.Kept = false; want == Ask && p.Decide(req).Effect == Ask && rule == "Bash(npm test)" {
				t.Errorf("%s, ordered %v: asks without state, too", rule, ordered)
			}
		}
	}
}
