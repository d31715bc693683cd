package permission

import (
	"iter"
	"slices"
)

// loan is a set of rules that apply for a time to one agent and the subagents it starts.
type loan struct {
	rules  []Rule
	agents []string // as Request.Agent
}

func (l *loan) counts(agents []string) bool {
	return len(l.agents) <= len(agents) && slices.Equal(l.agents, agents[:len(l.agents)])
}

// Lend applies a skill's rules to the agent that loaded it and its subagents until the returned function is called;
// agents is as in Request.Agent. Lent allow rules count only if no rule and no guard asks; lent deny rules count like
// any other. Rules does not list them. Calling the function again does nothing.
func (p *Policy) Lend(rules []Rule, agents ...string) (back func()) {
	lent := &loan{rules, slices.Clone(agents)}
	defer p.change()()
	p.lent = append(p.lent, lent)
	return func() {
		defer p.change()()
		p.lent = slices.DeleteFunc(p.lent, func(l *loan) bool { return l == lent })
	}
}

// strict yields every rule that counts for a request, lent ones included: for deny and ask rules.
func (c *call) strict() iter.Seq[*Rule] {
	return func(yield func(*Rule) bool) {
		for r := range c.p.all() {
			if !yield(r) {
				return
			}
		}
		for _, l := range c.p.lent {
			if !l.counts(c.Agent) {
				continue
			}
			for i := range l.rules {
				if !yield(&l.rules[i]) {
					return
				}
			}
		}
	}
}

// lentAllows reports whether the rules that are lent, with those of the settings and the session, cover the whole
// request. They never lift a guard.
func (c *call) lentAllows() (Rule, bool) {
	if len(c.p.lent) == 0 {
		return Rule{}, false
	}
	if _, asks := c.guarded(Ask); asks {
		return Rule{}, false
	}
	lists := [][]Rule{c.p.rules, c.p.grants, c.p.hooked}
	for _, l := range c.p.lent {
		if l.counts(c.Agent) {
			lists = append(lists, l.rules)
		}
	}
	return c.allowed(false, lists...)
}
