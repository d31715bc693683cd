package permission

import (
	"os"
	"regexp"
	"testing"
)

// scene is a call and the policy that decides on it, as the steps of the order set them up.
type scene struct {
	rules, grants, lent []Rule
	accesses            []Access
	mode                Mode
}

func (s *scene) decide() Decision {
	p := NewPolicy(testTools, "/home/u", []string{"/w"}, s.rules)
	for _, r := range s.grants {
		p.Grant(r)
	}
	p.Lend(s.lent)
	return p.Decide(Request{Tool: "Read", Mode: s.mode, Dir: "/w", Accesses: s.accesses})
}

// step is one layer: set makes it decide, and the decision is then by.
type step struct {
	set func(t *testing.T, s *scene)
	by  Decision
}

// steps are the layers by their text in docs/permissions.md.
var steps = map[string]step{
	"deny rules of any source": {
		func(t *testing.T, s *scene) { s.rules = append(s.rules, rules(t, Deny, "Read")...) },
		Decision{Effect: Deny, Layer: LayerDeny, Rule: "Read"},
	},
	"what a guard refuses": {
		func(_ *testing.T, s *scene) { s.accesses = append(s.accesses, writeGit) },
		Decision{Effect: Deny, Layer: LayerGuards},
	},
	"ordered rules whose outcome is deny": {
		func(t *testing.T, s *scene) { s.rules = append(s.rules, ordered(t, "*", "*", "deny").Rules()...) },
		Decision{Effect: Deny, Layer: LayerDeny, Rule: "*"},
	},
	"the plan mode refuses what changes something, and asks about what may change something unknown": {
		func(_ *testing.T, s *scene) { s.mode, s.accesses = Plan, append(s.accesses, writeIn) },
		Decision{Effect: Deny, Layer: LayerMode},
	},
	"where a deny rule may be meant and only running tells, it asks": {
		func(t *testing.T, s *scene) {
			s.rules = append(s.rules, rules(t, Deny, "Read(secrets/**)")...)
			s.accesses = append(s.accesses, Access{Kind: Read, Target: "/w/src", Below: true})
		},
		Decision{Effect: Ask, Layer: LayerDeny, Rule: "Read(secrets/**)"},
	},
	"grants of this session": {
		func(t *testing.T, s *scene) { s.grants = rules(t, Allow, "Read") },
		Decision{Effect: Allow, Layer: LayerAsk, Rule: "Read"},
	},
	"ask rules": {
		func(t *testing.T, s *scene) { s.rules = append(s.rules, rules(t, Ask, "Read")...) },
		Decision{Effect: Ask, Layer: LayerAsk, Rule: "Read"},
	},
	"ordered rules' ask or allow": {
		func(t *testing.T, s *scene) { s.rules = append(s.rules, ordered(t, "*", "*", "ask").Rules()...) },
		Decision{Effect: Ask, Layer: LayerAsk, Rule: "*"},
	},
	"allow rules": {
		func(t *testing.T, s *scene) {
			s.rules, s.accesses = append(s.rules, rules(t, Allow, "Read(//etc/**)")...), append(s.accesses, readOut)
		},
		Decision{Effect: Allow, Layer: LayerAsk, Rule: "Read(//etc/**)"},
	},
	"allow rules of a loaded skill, where no guard asks": {
		func(t *testing.T, s *scene) { s.lent = rules(t, Allow, "Read") },
		Decision{Effect: Allow, Layer: LayerAsk, Rule: "Read"},
	},
	"bypassPermissions allows": {
		func(_ *testing.T, s *scene) { s.mode = Bypass },
		Decision{Effect: Allow, Layer: LayerMode},
	},
	"what a guard asks about": {
		func(_ *testing.T, s *scene) { s.accesses = append(s.accesses, Access{Kind: Read, Target: "/w/.env"}) },
		Decision{Effect: Ask, Layer: LayerGuards},
	},
	"read-only calls in the working folders, and what acceptEdits grants, are allowed": {
		func(_ *testing.T, s *scene) { s.accesses = append(s.accesses, readIn) },
		Decision{Effect: Allow, Layer: LayerAnalysis},
	},
	"everything else asks": {
		func(*testing.T, *scene) {},
		Decision{Effect: Ask, Layer: LayerAnalysis},
	},
}

// documentedOrder reads the steps from the list in the documentation.
func documentedOrder(t *testing.T) (order []string) {
	t.Helper()
	doc, err := os.ReadFile("../../docs/permissions.md")
	if err != nil {
		t.Fatal(err)
	}
	section := regexp.MustCompile(`(?s)\n## Order\n.*?\n## `).Find(doc)
	for _, m := range regexp.MustCompile(`(?m)^\d+\. (.*)[;.]$`).FindAllSubmatch(section, -1) {
		order = append(order, string(m[1]))
	}
	return order
}

// Of two neighbours in the documented order that would decide differently, the first one decides.
func TestTheDocumentedOrderOfTheLayersHolds(t *testing.T) {
	order := documentedOrder(t)
	if len(order) != len(steps) {
		t.Errorf("the documentation has %d steps, the test %d", len(order), len(steps))
	}
	check := func(name string, want Decision, texts ...string) {
		t.Helper()
		s := &scene{mode: Default}
		for _, text := range texts {
			steps[text].set(t, s)
		}
		if d := s.decide(); d.Effect != want.Effect || d.Layer != want.Layer || d.Rule != want.Rule {
			t.Errorf("%s: %s by %s %q (%s), want %s by %s %q", name, d.Effect, d.Layer, d.Rule, d.Reason, want.Effect,
				want.Layer, want.Rule)
		}
	}
	for i, text := range order {
		if steps[text].set == nil {
			t.Fatalf("the test does not know the step %q", text)
		}
		check(text, steps[text].by, text)
		if i > 0 {
			before := order[i-1]
			check(before+" before "+text, steps[before].by, before, text)
		}
	}
}
