package permission

import "testing"

func TestTheRulesOfAKindOnlyRestrict(t *testing.T) {
	p := policy(t, Allow, "Bash(make *)", "Edit")
	own := rules(t, Ask, "Bash")
	own = append(own, rules(t, Allow, "Bash(git log)", "Bash(npm test)", "Read(//etc/**)")...)
	own = append(own, rules(t, Deny, "Edit(//w/docs/**)", "WebFetch")...)
	p.AddKind(AgentKind{Name: "builder", Rules: own})
	inside := func(path string) Access { return Access{Kind: Write, Target: path, Node: File} }
	for _, tc := range []struct {
		tool        string
		as          Access
		alone, with Effect
	}{
		{"Bash", changed("make all", ClassWrite), Allow, Ask},                     // it asks
		{"Bash", readOnly("git log"), Allow, Allow},                               // excepted
		{"Bash", run("npm test"), Ask, Ask},                                       // excepted, but its parent asks
		{"Edit", inside("/w/a"), Allow, Allow},                                    // no rule of its own
		{"Edit", inside("/w/docs/a"), Allow, Deny},                                // denied
		{"Read", Access{Kind: Read, Target: "/etc/passwd", Node: File}, Ask, Ask}, // an allow rule does not widen
		{"WebFetch", Access{Kind: Net, Target: "a.org"}, Ask, Deny},               // denied
	} {
		for chain, want := range map[string]Effect{"": tc.alone, "builder/1": tc.with} {
			req := Request{Tool: tc.tool, Mode: Default, Dir: "/w", Accesses: []Access{tc.as}}
			if chain != "" {
				req.Agent = []string{chain}
			}
			if d := p.Decide(req); d.Effect != want {
				t.Errorf("%q %s %s: %+v", chain, tc.tool, tc.as.Target, d)
			}
		}
	}
	if !p.Removed("WebFetch", "builder/1") || p.Removed("Edit", "builder/1") {
		t.Error("a tool that the kind denies altogether is offered, or another one is not")
	}
}

func TestAnAgentWritesItsNotesAndNothingElse(t *testing.T) {
	p := NewPolicy(testTools, "/home/u", []string{"/w"}, nil)
	p.AddKind(AgentKind{Name: "keeper", Tools: []string{"Grep"}, Memory: "/w/.claude/agent-memory/keeper"})
	p.AddKind(AgentKind{Name: "other"})
	p.AddKind(AgentKind{Name: "narrow", Tools: []string{"Read", "Task"}})
	note := func(kind Kind, path string) Access { return Access{Kind: kind, Target: path, Node: File} }
	const own = "/w/.claude/agent-memory/keeper/MEMORY.md"
	for _, tc := range []struct {
		chain []string
		mode  Mode
		tool  string
		as    Access
		want  Effect
	}{
		{[]string{"keeper/1"}, Default, "Write", note(Write, own), Allow},
		{[]string{"keeper/1"}, Default, "Edit", note(Write, "/w/.claude/agent-memory/keeper/deep/x.md"), Allow},
		{[]string{"keeper/1"}, Default, "Read", note(Read, own), Allow},
		{[]string{"keeper/1"}, DontAsk, "Write", note(Write, own), Allow},
		{[]string{"keeper/1"}, Plan, "Write", note(Write, own), Deny},
		{[]string{"keeper/1"}, Default, "Write", note(Write, "/w/a.md"), Deny}, // it has Write for its notes alone
		{[]string{"keeper/1"}, Default, "Read", note(Read, "/w/a.md"), Deny},
		{[]string{"keeper/1"}, Default, "Write", note(Write, "/w/.claude/agent-memory/keeper/run.sh"), Deny},
		{[]string{"keeper/1"}, Default, "Write", note(Write, "/w/.claude/agent-memory/keeper2/MEMORY.md"), Deny},
		{[]string{"keeper/1"}, Default, "Write", Access{Kind: Write, Target: own, Named: "/w/x.md", Node: File}, Deny},
		{[]string{"keeper/1"}, Default, "Write", Access{Kind: Write, Target: own, Node: File, Links: 2}, Deny},
		{nil, AcceptEdits, "Write", note(Write, own), Ask}, // instructions for an agent
		{[]string{"other/1"}, AcceptEdits, "Write", note(Write, own), Ask},
		{[]string{"narrow/1", "keeper/2"}, Default, "Write", note(Write, own), Deny}, // its parent has no Write
	} {
		if d := p.Decide(Request{
			Tool: tc.tool, Mode: tc.mode, Dir: "/w", Agent: tc.chain,
			Accesses: []Access{tc.as},
		}); d.Effect != tc.want {
			t.Errorf("%v %s %s %s: %+v", tc.chain, tc.mode, tc.tool, tc.as.Target, d)
		}
	}
	if p.Removed("Write", "keeper/1") || !p.Removed("Bash", "keeper/1") {
		t.Error("it needs Write for its notes, and has no Bash")
	}
	p.SetRules(rules(t, Deny, "Edit(//w/.claude/**)"))
	if d := p.Decide(Request{
		Tool: "Write", Mode: Default, Dir: "/w", Agent: []string{"keeper/1"},
		Accesses: []Access{note(Write, own)},
	}); d.Effect != Deny {
		t.Errorf("a deny rule does not hold for notes: %+v", d)
	}
}
