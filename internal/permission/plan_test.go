package permission

import "testing"

const planPath = "/home/u/.local/share/lathe/projects/w/s/plan.md"

// In plan mode the plan is the only file that can be written, by the main agent, with a tool for files, by its own
// name. No rule and no grant opens another way.
func TestPlanModeWritesThePlanAndNothingElse(t *testing.T) {
	plan := Access{Kind: Write, Target: planPath}
	edited := func(change func(*Access)) Access { a := plan; change(&a); return a }
	unknown := &Command{Class: ClassWrite, Exact: true}
	for name, tc := range map[string]struct {
		tool   string
		access Access
		agent  []string
		want   Effect
		mode   Mode
	}{
		"the plan":         {tool: "Write", access: plan, want: Allow},
		"the plan, edited": {tool: "Edit", access: plan, want: Allow},
		"reading the plan": {tool: "Read", access: Access{Kind: Read, Target: planPath}, want: Allow},
		"reading the plan later": {
			tool: "Read", access: Access{Kind: Read, Target: planPath}, mode: Default,
			want: Allow,
		},
		"reading the plan as a subagent": {
			tool: "Read", access: Access{Kind: Read, Target: planPath},
			agent: []string{"explore/1"}, want: Allow,
		},
		"the plan as a subagent":            {tool: "Write", access: plan, agent: []string{"general/1"}, want: Deny},
		"the plan when the mode is another": {tool: "Write", access: plan, mode: AcceptEdits, want: Deny},
		"the plan by a redirect of a shell": {
			tool: "Bash", access: edited(func(a *Access) { a.Redirect = true }),
			want: Deny,
		},
		"the plan by a link": {
			tool: "Write", access: edited(func(a *Access) { a.Named = "/w/plan.md" }),
			want: Deny,
		},
		"another name of the plan's file": {tool: "Write", access: edited(func(a *Access) { a.Links = 2 }), want: Deny},
		"a device in the place of the plan": {
			tool: "Write", access: edited(func(a *Access) { a.Node = Special }),
			want: Deny,
		},
		"the folder of the plan": {
			tool:   "Write",
			access: edited(func(a *Access) { a.Target = "/home/u/.local/share/lathe/projects/w/s" }), want: Deny,
		},
		"a file beside the plan": {
			tool: "Write", access: edited(func(a *Access) { a.Target += "x" }),
			want: Deny,
		},
		"a file in the working folder": {tool: "Write", access: writeIn, want: Deny},
		"a command that writes": {tool: "Bash", access: Access{
			Kind: Exec, Target: "touch x",
			Command: unknown,
		}, want: Deny},
		"a command of which nothing is known": {tool: "Bash", access: Access{Kind: Exec, Target: "./x"}, want: Deny},
		"a tool of a server": {
			tool: "mcp__db__query", access: Access{Kind: Tool, Target: "mcp__db__query"},
			want: Ask,
		},
	} {
		p := NewPolicy(testTools, "/home/u", []string{"/w"}, rules(t, Allow, "Bash", "Edit", "Read", "mcp__db"))
		p.Own = []string{"/home/u/.local/share/lathe"}
		p.SetPlan(planPath)
		for _, r := range rules(t, Allow, "Bash", "Edit", "Write", "mcp__db__query") {
			p.Grant(r)
		}
		if tc.mode == "" {
			tc.mode = Plan
		}
		d := p.Decide(Request{Tool: tc.tool, Mode: tc.mode, Dir: "/w", Accesses: []Access{tc.access}, Agent: tc.agent})
		if d.Effect != tc.want {
			t.Errorf("%s: %s (%s), want %s", name, d.Effect, d.Reason, tc.want)
		}
		if d.Confirm && tc.mode == Plan {
			t.Errorf("%s: a person could lift it in plan mode", name)
		}
	}
}

func TestADenyRuleCountsForThePlanToo(t *testing.T) {
	p := NewPolicy(testTools, "/home/u", []string{"/w"}, rules(t, Deny, "Edit(~/.local/**)"))
	p.SetPlan(planPath)
	d := p.Decide(Request{Tool: "Write", Mode: Plan, Dir: "/w", Accesses: []Access{{Kind: Write, Target: planPath}}})
	if d.Effect != Deny || d.Rule != "Edit(~/.local/**)" {
		t.Errorf("%+v", d)
	}
}
