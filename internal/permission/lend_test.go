package permission

import "testing"

func TestLentRulesWeighLessThanAllOthers(t *testing.T) {
	npm := run("npm run build")
	for name, tc := range map[string]struct {
		deny, ask, lent string
		mode            Mode
		tool            string
		access          Access
		want            Effect
	}{
		"allows":                   {lent: "Bash(npm run *)", mode: Default, tool: "Bash", access: npm, want: Allow},
		"allows a whole tool":      {lent: "Edit", mode: Default, tool: "Edit", access: writeIn, want: Allow},
		"not what it does not say": {lent: "Bash(npm test)", mode: Default, tool: "Bash", access: npm, want: Ask},
		"below an ask rule": {
			ask: "Bash(npm *)", lent: "Bash(npm run *)", mode: Default, tool: "Bash", access: npm,
			want: Ask,
		},
		"below a deny rule": {
			deny: "Bash(npm *)", lent: "Bash(npm run *)", mode: Default, tool: "Bash", access: npm,
			want: Deny,
		},
		"below plan mode": {lent: "Edit", mode: Plan, tool: "Edit", access: writeIn, want: Deny},
		"never lifts a guard": {
			lent: "Edit(/.github/workflows/ci.yml)", mode: Default, tool: "Edit", access: writeCI,
			want: Ask,
		},
		"nor a refusal": {lent: "Edit", mode: Bypass, tool: "Edit", access: writeGit, want: Deny},
	} {
		var own []Rule
		if tc.deny != "" {
			own = append(own, rules(t, Deny, tc.deny)...)
		}
		if tc.ask != "" {
			own = append(own, rules(t, Ask, tc.ask)...)
		}
		p := NewPolicy(testTools, "/home/u", []string{"/w"}, own)
		back := p.Lend(rules(t, Allow, tc.lent))
		if got := decide(p, tc.mode, tc.tool, tc.access); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
		if len(p.Rules()) != len(own) {
			t.Errorf("%s: a lent rule is listed", name)
		}
		back()
		back()
		if got := decide(p, tc.mode, tc.tool, tc.access); got == Allow {
			t.Errorf("%s: still allowed after it was given back", name)
		}
	}
}

func TestLentDenyRulesDeny(t *testing.T) {
	p := policy(t, Allow, "Bash(npm run *)")
	back := p.Lend(rules(t, Deny, "Bash"))
	if got := decide(p, Default, "Bash", run("npm run build")); got != Deny {
		t.Error(got)
	}
	back()
	if got := decide(p, Default, "Bash", run("npm run build")); got != Allow {
		t.Error(got)
	}
}

func TestLentRulesCountForTheirAgentAndThoseBelow(t *testing.T) {
	npm := run("npm run build")
	for name, tc := range map[string]struct {
		lender, agent []string
		want          Effect
	}{
		"the main agent's own":         {nil, nil, Allow},
		"a subagent of the lender":     {nil, []string{"general/1"}, Allow},
		"the subagent's own":           {[]string{"general/1"}, []string{"general/1"}, Allow},
		"one that the subagent starts": {[]string{"general/1"}, []string{"general/1", "build/2"}, Allow},
		"not the parent":               {[]string{"general/1"}, nil, Ask},
		"not another subagent":         {[]string{"general/1"}, []string{"general/2"}, Ask},
	} {
		p := NewPolicy(testTools, "/home/u", []string{"/w"}, nil)
		req := Request{Tool: "Bash", Accesses: []Access{npm}, Mode: Default, Dir: "/w", Agent: tc.agent}
		p.Lend(rules(t, Allow, "Bash(npm run *)"), tc.lender...)
		if d := p.Decide(req); d.Effect != tc.want {
			t.Errorf("%s: %s (%s), want %s", name, d.Effect, d.Reason, tc.want)
		}
		p.Lend(rules(t, Deny, "Bash(npm *)"), tc.lender...)
		if d := p.Decide(req); tc.want == Allow && d.Effect != Deny || tc.want == Ask && d.Effect != Ask {
			t.Errorf("%s: with a deny rule %s (%s)", name, d.Effect, d.Reason)
		}
	}
}
