package permission

import "testing"

// decide decides on one access in /w.
func decide(p *Policy, mode Mode, tool string, as ...Access) Effect {
	return p.Decide(Request{Tool: tool, Mode: mode, Accesses: as, Dir: "/w"}).Effect
}

func policy(t *testing.T, e Effect, texts ...string) *Policy {
	return NewPolicy(testTools, "/home/u", []string{"/w"}, rules(t, e, texts...))
}

func TestPathRulesInEverySpelling(t *testing.T) {
	for _, tc := range []struct {
		rule, path string
		dir        string
		want       bool // it denies
	}{
		{"Read(../secret/**)", "/secret/x", "/w", true},
		{"Read(./a/../b)", "/w/b/c", "/w", true},
		{"Read(../../x)", "/x", "/w/sub", true},
		{"Read(src/)", "/w/lib/src/a.go", "/w", true},
		{"Read(//etc/)", "/etc/passwd", "/w", true},
		{"Read(//)", "/etc/passwd", "/w", true},
		{"Read(~/.ssh)", "/home/u/.ssh/id", "/w", true},
		{"Read(~)", "/home/u2/x", "/w", false},
		{"Read(/a)", "/w2/a", "/w", false},
		{"Read(..hidden)", "/w/..hidden", "/w", true},
		{"Grep(secret/**)", "/w/secret/x", "/w", true},
		{"Write(secret/**)", "/w/secret/x", "/w", false}, // reading is another matter
		{`Read(//c/**/.env)`, `C:\w\x\.env`, `C:\w`, true},
		{`Read(C:\keys\**)`, `c:\keys\a`, `C:\w`, true},
		{`Read(sub\*.pem)`, `C:\w\sub\a.pem`, `C:\w`, true},
		{`Read(//server/share/**)`, `\\server\share\a`, `C:\w`, true},
		{`Read(a\[1\].txt)`, "/w/a[1].txt", "/w", true},
	} {
		p := policy(t, Deny, tc.rule)
		d := p.Decide(Request{Tool: "Read", Mode: Bypass, Dir: tc.dir, Accesses: []Access{{Kind: Read, Target: tc.path}}})
		if (d.Effect == Deny) != tc.want {
			t.Errorf("%s on %s: %s", tc.rule, tc.path, d.Effect)
		}
	}
}

func TestDenyRulesMatchInAnyCaseAndComposition(t *testing.T) {
	for rule, path := range map[string]string{
		"Read(.env)": "/w/.ENV", "Read(Caf\u00e9/**)": "/w/cafe\u0301/x", "Read(kelvin)": "/w/\u212aelvin",
	} {
		if got := decide(policy(t, Deny, rule), Bypass, "Read", Access{Kind: Read, Target: path}); got != Deny {
			t.Errorf("%s on %s: %s", rule, path, got)
		}
	}
	p := policy(t, Allow, "Edit(/Docs/**)")
	if got := decide(p, Default, "Edit", Access{Kind: Write, Target: "/w/docs/a"}); got != Ask {
		t.Errorf("an allow rule matched another case: %s", got)
	}
}

// What the user just granted is not asked again because of an ask rule; deny rules stay above it.
func TestGrantsComeBeforeAskRules(t *testing.T) {
	p := policy(t, Ask, "Bash(git push *)")
	p.Grant(rules(t, Allow, "Bash(git push origin)")[0])
	if got := decide(p, Default, "Bash", run("git push origin")); got != Allow {
		t.Errorf("%s", got)
	}
	if got := decide(p, Default, "Bash", run("git push -f")); got != Ask {
		t.Errorf("%s", got)
	}
	p = policy(t, Deny, "Bash(git push *)")
	p.Grant(rules(t, Allow, "Bash(git push origin)")[0])
	if got := decide(p, Bypass, "Bash", run("git push origin")); got != Deny {
		t.Errorf("%s", got)
	}
}

// A rule of a hook answers what nothing covers. It lifts no question of a rule or a guard, and can be taken back.
func TestRulesOfHooksStandBehindWhatAsks(t *testing.T) {
	p := policy(t, Ask, "Bash(git push *)")
	p.GrantByHook(rules(t, Allow, "Bash")[0])
	guarded := Access{Kind: Write, Target: "/w/.env"}
	for _, tc := range []struct {
		access Access
		want   Effect
	}{{run("make all"), Allow}, {run("git push origin"), Ask}} {
		if got := decide(p, Default, "Bash", tc.access); got != tc.want {
			t.Errorf("%v: %s, want %s", tc.access.Target, got, tc.want)
		}
	}
	p.GrantByHook(rules(t, Allow, "Edit")[0])
	if got := decide(p, Default, "Edit", guarded); got != Ask {
		t.Errorf("a rule of a hook lifted a guard: %s", got)
	}
	if !p.Ungrant("Bash", Allow) || decide(p, Default, "Bash", run("make all")) != Ask {
		t.Error("the rule is still in force")
	}
}

func TestLastOrderedRuleCounts(t *testing.T) {
	mk := func(pairs ...string) *Policy {
		var rs []Rule
		for i := 0; i < len(pairs); i += 2 {
			r := rules(t, Effect(pairs[i]), pairs[i+1])[0]
			r.Ordered = true
			rs = append(rs, r)
		}
		return NewPolicy(testTools, "/home/u", []string{"/w"}, rs)
	}
	gitOnly := mk("deny", "Bash", "allow", "Bash(git *)")
	for _, tc := range []struct {
		p    *Policy
		tool string
		a    Access
		want Effect
	}{
		{gitOnly, "Bash", run("git log"), Allow},
		{gitOnly, "Bash", run("rm x"), Deny},
		{gitOnly, "Bash", run("git log; rm x"), Deny},
		{mk("allow", "Bash", "ask", "Bash(rm *)"), "Bash", run("rm x"), Ask},
		{mk("ask", "Bash(rm *)", "allow", "Bash"), "Bash", run("rm x"), Allow},
		{mk("deny", "Edit", "allow", "Edit(/docs/**)"), "Write", Access{Kind: Write, Target: "/w/docs/a"}, Allow},
		{mk("deny", "Edit", "allow", "Edit(/docs/**)"), "Write", writeIn, Deny},
		{mk("allow", "Edit"), "Edit", writeCI, Ask},
		{mk("allow", "Edit"), "Edit", writeGit, Deny},
		{mk("allow", "Read"), "Read", readOut, Allow},
	} {
		if got := decide(tc.p, Default, tc.tool, tc.a); got != tc.want {
			t.Errorf("%s %v: got %s, want %s", tc.tool, tc.a, got, tc.want)
		}
	}
	if gitOnly.Removed("Bash") {
		t.Error("Bash was taken away although a later rule allows some of it")
	}
	if !mk("allow", "Bash(git *)", "deny", "Bash").Removed("Bash") {
		t.Error("Bash stays although all of it is denied")
	}
	deny := mk("allow", "Bash")
	deny.SetRules(append(deny.Rules(), rules(t, Deny, "Bash(rm *)")...))
	if got := decide(deny, Default, "Bash", run("rm x")); got != Deny {
		t.Errorf("a deny list lost against an ordered rule: %s", got)
	}
}

func TestPlanModeLetsNothingUnknownThrough(t *testing.T) {
	p := policy(t, Allow, "mcp__x", "Edit", "Bash")
	for _, as := range [][]Access{nil, {{Kind: Tool, Target: "mcp__x__y"}}} {
		if d := p.Decide(Request{Tool: "mcp__x__y", Mode: Plan, Accesses: as}); d.Effect != Ask {
			t.Errorf("%v: %s", as, d.Effect)
		}
	}
	if got := decide(p, Plan, "mcp__x__y", Access{Kind: Tool, Safe: true}); got != Allow {
		t.Errorf("a call that changes nothing: %s", got)
	}
}

// One access by rule and another by mode is enough together.
func TestRulesAndModeAddUp(t *testing.T) {
	p := policy(t, Allow, "X(make *)")
	if got := decide(p, AcceptEdits, "X", writeIn, run("make all")); got != Allow {
		t.Errorf("%s", got)
	}
	if got := decide(p, AcceptEdits, "X", writeCI, run("make all")); got != Ask {
		t.Errorf("%s", got)
	}
}

func TestDenySeesThroughFlagsOfWrappers(t *testing.T) {
	p := policy(t, Deny, "Bash(rm *)")
	for _, cmd := range []string{
		"sudo -u bob rm x", "env -u FOO rm x", "timeout -s KILL 5 rm x", "xargs -I {} rm {}", "nice -n 10 rm x",
		"sudo -u bob -n A=1 rm x",
	} {
		if got := decide(p, Bypass, "Bash", run(cmd)); got != Deny {
			t.Errorf("%s: %s", cmd, got)
		}
	}
	for _, cmd := range []string{"git rm x", "echo rm x", "if grep rm f; then ls; fi"} {
		if got := decide(p, Bypass, "Bash", run(cmd)); got != Allow {
			t.Errorf("%s: %s", cmd, got)
		}
	}
}

func TestPathRuleMeansOnePath(t *testing.T) {
	p := policy(t, Allow, PathRule("Edit", "/w/a*[1]{x}?.go"))
	if got := decide(p, Default, "Edit", Access{Kind: Write, Target: "/w/a*[1]{x}?.go"}); got != Allow {
		t.Errorf("%s", got)
	}
	if got := decide(p, Default, "Edit", Access{Kind: Write, Target: "/w/ab1x1.go"}); got != Ask {
		t.Errorf("%s", got)
	}
	if got := PathRule("Read", `C:\a\b`); got != "Read(//c/a/b)" {
		t.Error(got)
	}
	if _, err := ParseRule(testTools, "Read([x)", Deny, Source{}); err == nil {
		t.Error("a broken pattern would never match, and was accepted")
	}
}

func BenchmarkDenyHugeCommand(b *testing.B) {
	cmd := "sudo"
	for range 50_000 {
		cmd += " -a"
	}
	r, _ := ParseRule(testTools, "Bash(rm *)", Deny, Source{})
	p := NewPolicy(testTools, "", nil, []Rule{r})
	for b.Loop() {
		p.Decide(Request{Tool: "Bash", Accesses: []Access{run(cmd)}})
	}
}
