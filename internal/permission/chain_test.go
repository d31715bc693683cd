package permission

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// No chain of agents is ever allowed what one of its members, or the session, is denied or asked for, whatever the
// rules, grants, mode and folders; and a further member never makes a decision milder.
func TestAnAgentNeverMayDoMoreThanThoseAboveIt(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 1))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	tools := []string{"Read", "Grep", "Edit", "Write", "Bash", "WebFetch", "Task", "TodoWrite", "mcp__x__y"}
	denied := 0
	for range 20_000 {
		p := NewPolicy(testTools, "/home/u", []string{"/w"}, nil)
		for range r.IntN(4) {
			p.rules = append(p.rules, rules(t, Effect(pick("allow", "ask", "deny")), pick("Read", "Edit", "Bash", "Bash(git *)",
				"Edit(//w/a*)", "Read(//x/**)", "mcp__x", "WebFetch"))...)
		}
		for range r.IntN(3) {
			p.Grant(rules(t, Effect(pick("allow", "deny")), pick("Edit", "Bash(make *)", "WebFetch(domain:a.org)",
				"Read(//x/**)"))[0])
		}
		if r.IntN(2) == 0 {
			p.AddRoot("/x", r.IntN(2) == 0)
		}
		chain := make([]string, r.IntN(6))
		for i := range chain {
			k := AgentKind{Name: fmt.Sprint("kind", i), ReadOnly: r.IntN(4) == 0}
			for range r.IntN(3) {
				k.Without = append(k.Without, pick(append(tools, "mcp__x", "mcp__z")...))
			}
			for range r.IntN(3) {
				k.Rules = append(k.Rules, rules(t, Effect(pick("allow", "ask", "deny")),
					pick("Read", "Edit", "Bash", "Bash(git *)", "Edit(//w/a*)", "Read(//x/**)", "WebFetch"))...)
			}
			if r.IntN(3) == 0 {
				k.Tools = []string{pick(tools...), pick(tools...), pick(append(tools, "mcp__x", "mcp__x__*", "mcp__z")...)}
			}
			p.AddKind(k)
			chain[i] = pick(k.Name, "general", "plan", "explore", "unheard-of") + "/call"
		}
		if r.IntN(3) == 0 {
			p.SetAgent(AgentKind{Name: "main", Tools: []string{pick(tools...), pick(tools...)}})
		}
		req := Request{Tool: pick(tools...), Mode: Modes[r.IntN(len(Modes))], Dir: "/w"}
		switch req.Tool {
		case "Read", "Grep":
			req.Accesses = []Access{{Kind: Read, Target: pick("/w/a", "/x/b", "/etc/passwd", "/w/.env"), Node: File}}
		case "Edit", "Write":
			req.Accesses = []Access{{Kind: Write, Target: pick("/w/a", "/x/b", "/etc/hosts", "/w/.git/config")}}
		case "Bash":
			req.Accesses = []Access{pickCommand(r)}
		case "WebFetch":
			req.Accesses = []Access{{Kind: Net, Target: pick("a.org", "169.254.169.254")}}
		case "TodoWrite":
			req.Accesses = []Access{todo}
		}
		decide := func(agents ...string) Decision {
			with := req
			with.Agent = agents
			return p.Decide(with)
		}
		whole, before := decide(chain...), decide()
		for i := range chain {
			if alone := decide(chain[i]); rank(whole.Effect) < rank(alone.Effect) {
				t.Fatalf("%v may %+v: %+v; %s alone: %+v", chain, req, whole, chain[i], alone)
			}
			next := decide(chain[:i+1]...)
			if rank(next.Effect) < rank(before.Effect) {
				t.Fatalf("%v may %+v: %+v; without the last: %+v", chain[:i+1], req, next, before)
			}
			if p.Removed(req.Tool, chain[:i]...) && !p.Removed(req.Tool, chain[:i+1]...) {
				t.Fatalf("%v has %s again", chain[:i+1], req.Tool)
			}
			before = next
		}
		if whole.Effect == Deny {
			denied++
		}
	}
	if denied < 1_000 || denied > 19_000 {
		t.Errorf("%d of 20,000 calls were denied: the cases say little", denied)
	}
}

func pickCommand(r *rand.Rand) Access {
	return []Access{
		readOnly("git log"), changed("make all", ClassWrite), changed("rm -rf x", ClassDestructive),
		run("unknown $x"),
	}[r.IntN(4)]
}
