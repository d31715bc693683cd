package permission

import (
	"iter"
	"slices"
)

// Lend puts the rules of a skill in force until the function that it returns is called. They weigh less than all
// others: its allow rules count only where no rule asks and no guard does, its deny rules like any. Rules does not
// list them. Calling the function again does nothing.
func (p *Policy) Lend(rules []Rule) (back func()) {
	loan := &rules
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lent = append(p.lent, loan)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.lent = slices.DeleteFunc(p.lent, func(l *[]Rule) bool { return l == loan })
	}
}

// strict yields every rule, lent ones included: for deny and ask rules.
func (p *Policy) strict() iter.Seq[Rule] {
	return func(yield func(Rule) bool) {
		for r := range p.all() {
			if !yield(r) {
				return
			}
		}
		for _, l := range p.lent {
			for _, r := range *l {
				if !yield(r) {
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
	return c.allowed(slices.Collect(c.p.strict()), false)
}
