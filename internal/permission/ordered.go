package permission

import "slices"

// ordered finds the outcome of the ordered rules, of which the last that matches counts: the strictest over
// all parts of a command and all accesses, and allow only if each is allowed. "" is no outcome.
func (c *call) ordered() (last Rule, outcome Effect) {
	if !slices.ContainsFunc(c.p.rules, isOrdered) {
		return Rule{}, ""
	}
	var o orderedOutcome
	covered := coversLittle
	for i, a := range c.Accesses {
		if a.Kind == Exec {
			covered = c.orderedParts(&o, i)
		}
	}
	for i, a := range c.Accesses {
		if a.Kind == Exec {
			continue
		}
		r, ok := c.lastOrdered(func(r *Rule) bool { return c.speaksOf(r, i) })
		o.add(r, ok, c.grants(i) || c.follows(i, covered))
	}
	if len(c.Accesses) == 0 {
		r, ok := c.lastOrdered(func(*Rule) bool { return false })
		o.add(r, ok, false)
	}
	return o.outcome()
}

func isOrdered(r Rule) bool { return r.Ordered }

// orderedParts adds the parts of a command and returns how much of it allow rules cover.
func (c *call) orderedParts(o *orderedOutcome, i int) (covered coverage) {
	a := c.Accesses[i]
	cmd := a.Command
	covered, allowed := coversAll, false
	for _, part := range cmd.Parts {
		texts := commandTexts(&Access{Target: part.Text, Command: &Command{Parts: []Part{part}}})
		r, ok := c.lastOrdered(func(r *Rule) bool {
			t := r.spec()
			switch {
			case r.Spec == "":
				return false
			case r.Effect == Allow:
				return c.exactLine(r) || cmd.Exact && (part.Covered || t.allows(&part))
			}
			return t.denies(texts)
		})
		free := part.readOnly() || c.edits(&part)
		if part.Covered && ok && r.Effect == Allow {
			continue
		}
		o.add(r, ok, free)
		switch {
		case ok && r.Effect == Allow:
			allowed = true
		case part.readOnly() && !part.Covered && !ok:
			covered = min(covered, coversChanges)
		default:
			covered = coversLittle
		}
	}
	if covered < coversAll && !c.grants(i) {
		o.partly = o.partly || len(cmd.Findings) > 0 || !cmd.Exact || len(cmd.Parts) == 0
	}
	if !allowed {
		return coversLittle
	}
	return covered
}

// orderedOutcome sums up the last matching rules.
type orderedOutcome struct {
	deny, ask, allow Rule
	partly           bool // something is allowed neither by a rule nor by the mode
}

func (o *orderedOutcome) add(r Rule, matched, free bool) {
	switch {
	case matched && r.Effect == Deny:
		o.deny = r
	case matched && r.Effect == Ask:
		o.ask = r
	case matched:
		o.allow = r
	default:
		o.partly = o.partly || !free
	}
}

func (o *orderedOutcome) outcome() (Rule, Effect) {
	switch {
	case o.deny.Text != "":
		return o.deny, Deny
	case o.ask.Text != "":
		return o.ask, Ask
	case o.allow.Text != "" && !o.partly:
		return o.allow, Allow
	}
	return Rule{}, ""
}

// lastOrdered is the last ordered rule that covers the tool, its parameters, or the access in question.
func (c *call) lastOrdered(matches func(*Rule) bool) (Rule, bool) {
	for i := range slices.Backward(c.p.rules) {
		r := &c.p.rules[i]
		if !r.Ordered {
			continue
		}
		whole := c.concerns(r) || r.Tool == "Edit" && c.traits.edits()
		if whole && (r.Spec == "" && !c.protects(r) || r.Spec != "" && matchParam(r, c.Input)) || matches(r) {
			return *r, true
		}
	}
	return Rule{}, false
}

// protects reports whether a guard asks and the rule allows: an allow rule for a whole tool does not lift that.
func (c *call) protects(r *Rule) bool {
	_, asks := c.guarded(Ask)
	return asks && r.Effect == Allow
}

// speaksOf holds an ordered rule against one access that is no command.
func (c *call) speaksOf(r *Rule, i int) bool {
	a, v := &c.Accesses[i], &c.verdict[i]
	if r.Effect != Allow {
		return c.touches(r, c.concerns(r), i)
	}
	if v.effect != "" && !r.names(v) {
		return false
	}
	return (r.Spec != "" || r.Tool == ExternalDirectory) && c.covers(r, a)
}

// DoomLoop is the effect of the rules on a model that makes the same call of a tool again and again: ask, unless
// a rule sets another.
func (p *Policy) DoomLoop(tool string) Effect {
	p.mu.RLock()
	defer p.mu.RUnlock()
	speaks := func(r *Rule) bool {
		t := r.spec()
		return r.Tool == DoomLoop && (r.Spec == "" || t.matches(tool))
	}
	outcome := Ask
	for r := range p.all() {
		switch {
		case !speaks(r):
		case !r.Ordered && r.Effect == Deny:
			return Deny
		default:
			outcome = r.Effect
		}
	}
	return outcome
}
