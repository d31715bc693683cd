package call_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

var (
	lines = []string{
		"ls", "git status", "cat a.go", "cat .env", "rm -r build", "rm -rf ~", "npm test", "git push", "echo x > a",
		"echo x > ~/.bashrc", "cd sub", "curl https://a.test",
		"sudo rm x", "true", "X=1", "FOO=1 make", "git commit -m x", "mkdir d", "cp a b", "sed -i s/a/b/ f", "python3 x.py",
		"(ls)", "find . -delete", "cat /etc/passwd",
		"$X", "echo $(id)", "chmod +x .git/hooks/x", "go test ./...", "touch node_modules/.bin/x",
	}
	joins = []string{"; ", " && ", " || ", " | ", " & ", "\n"}
	rules = []string{
		"Bash(git *)", "Bash(npm test *)", "Bash(rm *)", "Bash(echo *)", "Bash(ls *)", "Bash(cat *)", "Edit(/**)",
		"Read(//etc/**)", "Bash(* x)", "Bash(sudo *)",
		"Bash(go test *)", "Bash(make *)", "Bash(mkdir *)", "Bash(cd *)", "Bash(*a*)", "Edit(~/**)", "Bash(curl *)",
	}
	strictness = map[permission.Effect]int{permission.Allow: 0, permission.Ask: 1, permission.Deny: 2}
)

// drawn is a policy with random pattern rules of every kind.
func drawn(t *rapid.T, m *call.Machine, effects ...permission.Effect) []permission.Rule {
	var out []permission.Rule
	for range rapid.IntRange(0, 4).Draw(t, "rules") {
		r, err := permission.ParseRule(tools, rapid.SampledFrom(rules).Draw(t, "rule"), rapid.SampledFrom(effects).Draw(t,
			"effect"), permission.Source{Name: "test", Base: m.Dir})
		if err != nil {
			t.Fatal(err)
		}
		r.Ordered = rapid.Bool().Draw(t, "ordered")
		out = append(out, r)
	}
	return out
}

var allEffects = []permission.Effect{permission.Allow, permission.Ask, permission.Deny}

func decide(t *rapid.T, m *call.Machine, p *permission.Policy, line string, mode permission.Mode) permission.Decision {
	req, err := m.Request("Bash", object("command", line), call.Fixture{})
	if err != nil {
		t.Fatal(err)
	}
	req.Mode = mode
	return p.Decide(req)
}

func TestAFurtherPartNeverWeakensADecision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := machine()
		p := m.Policy(drawn(t, m, allEffects...))
		mode := rapid.SampledFrom(permission.Modes).Draw(t, "mode")
		a, b := rapid.SampledFrom(lines).Draw(t, "a"), rapid.SampledFrom(lines).Draw(t, "b")
		whole := a + rapid.SampledFrom(joins).Draw(t, "join") + b
		d := decide(t, m, p, whole, mode)
		if one := decide(t, m, p, a, mode); strictness[d.Effect] < strictness[one.Effect] {
			t.Errorf("%q in %s: %s (%s), but %q alone: %s (%s)", whole, mode, d.Effect, d.Reason, a, one.Effect, one.Reason)
		}
		if strings.HasPrefix(a, "cd ") || strings.Contains(a, "=") {
			return // the second runs elsewhere, or with another environment, than it would alone
		}
		if two := decide(t, m, p, b, mode); strictness[d.Effect] < strictness[two.Effect] {
			t.Errorf("%q in %s: %s (%s), but %q alone: %s (%s)", whole, mode, d.Effect, d.Reason, b, two.Effect, two.Reason)
		}
	})
}

func TestAStricterModeNeverWeakensADecision(t *testing.T) {
	order := []permission.Mode{permission.Bypass, permission.AcceptEdits, permission.Default, permission.Plan}
	rapid.Check(t, func(t *rapid.T) {
		m := machine()
		p := m.Policy(drawn(t, m, allEffects...))
		line := rapid.SampledFrom(lines).Draw(t, "line")
		for i, mode := range order[1:] {
			milder, d := decide(t, m, p, line, order[i]), decide(t, m, p, line, mode)
			if strictness[d.Effect] < strictness[milder.Effect] {
				t.Errorf("%q: %s in %s, %s in %s", line, d.Effect, mode, milder.Effect, order[i])
			}
			if asks := decide(t, m, p, line, permission.DontAsk); asks.Effect == permission.Ask || asks.Confirm {
				t.Errorf("%q asks in dontAsk: %+v", line, asks)
			}
		}
	})
}

func TestNoAllowRuleLiftsADeny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := machine()
		denied := drawn(t, m, permission.Deny, permission.Ask)
		for i := range denied {
			denied[i].Ordered = false
		}
		line := rapid.SampledFrom(lines).Draw(t, "line")
		before := decide(t, m, m.Policy(denied), line, permission.Bypass)
		if before.Effect != permission.Deny {
			return
		}
		p := m.Policy(slices.Concat(denied, drawn(t, m, permission.Allow)))
		for _, text := range []string{"Bash", "Edit", "Read", "Bash(" + line + ")"} {
			if r, err := permission.ParseRule(tools, text, permission.Allow, permission.Source{}); err == nil {
				p.Grant(r)
			}
		}
		if d := decide(t, m, p, line, permission.Bypass); d.Effect != permission.Deny {
			t.Errorf("%q: %s, was denied because: %s", line, d.Effect, before.Reason)
		}
	})
}

// A proposed rule covers the call it is for, and nothing that a guard refuses.
func TestProposedRulesAreSufficientAndNotTooWide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := machine()
		p := m.Policy(nil)
		line := rapid.SampledFrom(lines).Draw(t, "a") + rapid.SampledFrom(joins).Draw(t, "join") +
			rapid.SampledFrom(lines).Draw(t, "b")
		req, err := m.Request("Bash", object("command", line), call.Fixture{})
		if err != nil {
			t.Fatal(err)
		}
		texts := p.Propose(req)
		if len(texts) > 5 {
			t.Errorf("%q: %d rules", line, len(texts))
		}
		for _, text := range texts {
			r, err := permission.ParseRule(tools, text, permission.Allow, permission.Source{Base: m.Dir})
			if err != nil {
				t.Fatal(err)
			}
			p.Grant(r)
			for _, danger := range []string{
				"rm -rf build2", "sudo rm y", "python3 y.py", "git push --force", "cat /etc/shadow",
				"curl https://b.test",
			} {
				if d := decide(t, m, p, danger, permission.Default); d.Effect == permission.Allow {
					t.Errorf("%q proposed %s, which lets %q through", line, text, danger)
				}
			}
		}
		if d := decide(t, m, p, line, permission.Default); len(texts) > 0 && d.Effect != permission.Allow {
			t.Errorf("%q: %v do not cover it: %s", line, texts, d.Reason)
		}
	})
}

// FuzzRules: no rule, subject or mode makes a decision fail, and a guard's refusal stands.
func FuzzRules(f *testing.F) {
	for i, r := range rules {
		f.Add(r, lines[i%len(lines)])
	}
	f.Add("WebFetch(domain:*.[)", "http://[::1%25x]/")
	f.Add("Read({a,b)", "a -> b -> c")
	f.Add("mcp__*", "mcp__x")
	f.Fuzz(func(t *testing.T, text, subject string) {
		m := machine()
		for _, e := range allEffects {
			r, err := permission.ParseRule(tools, text, e, permission.Source{Base: m.Dir})
			if err != nil {
				continue
			}
			_ = r.Warning()
			req, err := m.Subject(r, subject)
			if err != nil {
				continue
			}
			matched := m.Policy(nil).Matches(r, req)
			for _, ordered := range []bool{false, true} {
				r.Ordered = ordered
				d := m.Policy([]permission.Rule{r}).Decide(req)
				if bare := m.Policy(nil).Decide(req); bare.Effect == permission.Deny && d.Effect != permission.Deny {
					t.Errorf("%s lifted a refusal of %q", text, subject)
				}
				if !ordered && e == permission.Deny && matched && d.Effect != permission.Deny {
					t.Errorf("%s matches %q and does not refuse it", text, subject)
				}
				m.Policy([]permission.Rule{r}).Propose(req)
			}
		}
	})
}
