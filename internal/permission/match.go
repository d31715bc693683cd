package permission

import (
	"encoding/json"
	"slices"
	"strings"
)

// find returns the first deny or ask rule that matches the request or any of its accesses.
func (c *call) find(e Effect) (Rule, bool) {
	for r := range c.strict() {
		if r.Effect != e || r.Ordered {
			continue
		}
		concerns := c.concerns(r)
		if concerns && (r.Spec == "" || matchParam(r, c.Input)) {
			return *r, true
		}
		for i := range c.Accesses {
			if c.touches(r, concerns, i) {
				return *r, true
			}
		}
	}
	return Rule{}, false
}

// touches holds a deny or ask rule against one access: any part of a command, any spelling of a path or host. concerns
// is c.concerns(r).
func (c *call) touches(r *Rule, concerns bool, i int) bool {
	a := &c.Accesses[i]
	switch {
	case r.Tool == ExternalDirectory:
		return (a.Kind == Read || a.Kind == Write) && !c.p.readable(a.Target) && (r.Spec == "" || c.p.pathRule(r, c.Dir, a))
	case r.Spec == "":
		return false
	case a.Kind == Read || a.Kind == Write:
		return r.class() != "" && c.p.matchPath(r, c.Dir, a)
	case a.Kind == Net:
		return (r.traits.Subject == SubjectHost || concerns) && matchHost(r, a.Target)
	case !concerns:
		return false
	case a.Kind == Exec:
		return r.spec().denies(c.texts(i))
	}
	return a.Kind == Tool && c.matchSubject(r)
}

// Matches reports whether one rule applies to a request: an allow rule covers all of it, whatever the mode
// would grant and the guards would refuse; a deny or ask rule any of it. Other rules do not count.
func (p *Policy) Matches(r Rule, req Request) bool {
	p.mu.RLock()
	one := &Policy{tools: p.tools, Home: p.Home, Own: p.Own, roots: p.roots, readRoots: p.readRoots, plan: p.plan}
	p.mu.RUnlock()
	r.Ordered = false
	one.rules = []Rule{r}
	c := one.look(req)
	if r.Effect != Allow {
		_, ok := c.find(r.Effect)
		return ok
	}
	if _, refused := c.guarded(Deny); refused {
		return false
	}
	_, ok := c.allowed(false, one.rules)
	return ok
}

// CoversEveryPart reports whether a rule allows a request of the default mode and, where that writes files or reaches
// hosts, rules cover its read-only parts too. It is for what happens to a command line as a whole.
func (p *Policy) CoversEveryPart(req Request) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	req.Mode = Default
	c := p.look(req)
	c.everyPart = true
	d := c.decide()
	return d.Effect == Allow && d.Rule != ""
}

// allowed reports whether allow rules cover the whole request: the tool itself, or each access that the
// mode does not grant. Rules of the settings cover an access that a guard asks about only if they name exactly that;
// the user's own word just now does.
func (c *call) allowed(byUser bool, lists ...[]Rule) (Rule, bool) {
	rules := allowing(lists)
	if len(rules) == 0 {
		return Rule{}, false
	}
	_, asks := c.guarded(Ask)
	for _, r := range rules {
		if c.concerns(r) && (r.Spec == "" && (byUser || !asks) || r.Spec != "" && c.exactLine(r)) {
			return *r, true
		}
	}
	last, covered, ok := c.runsBy(rules)
	if !ok {
		return Rule{}, false
	}
	ran := last
	for i := range c.Accesses {
		if c.Accesses[i].Kind == Exec {
			continue
		}
		if r := c.allowRule(rules, i, byUser); r != nil {
			last = r
			continue
		}
		if !c.grants(i) && !c.follows(i, covered) {
			return Rule{}, false
		}
	}
	if ran != nil && ran.Text != "" {
		last = ran
	}
	if last == nil || last.Text == "" {
		return Rule{}, false
	}
	return *last, true
}

// allowing are the allow rules of some lists that are not ordered.
func allowing(lists [][]Rule) []*Rule {
	n := 0
	for _, rules := range lists {
		n += len(rules)
	}
	if n == 0 {
		return nil
	}
	out := make([]*Rule, 0, n)
	for _, rules := range lists {
		for i := range rules {
			if rules[i].Effect == Allow && !rules[i].Ordered {
				out = append(out, &rules[i])
			}
		}
	}
	return out
}

// exactLine reports whether a rule is the whole command line to the letter: then there is nothing about it
// that its author did not see.
func (c *call) exactLine(r *Rule) bool {
	i := c.exec()
	return i >= 0 && !c.Accesses[i].Command.Kept && r.Spec == strings.TrimSpace(c.Accesses[i].Target)
}

// coverage is how much of a command allow rules cover.
type coverage uint8

const (
	coversLittle  coverage = iota // a part runs because the mode grants its edits, or nothing is covered
	coversChanges                 // all parts but read-only ones
	coversAll                     // every part
)

// runsBy holds allow rules against the parts of the command of the request.
func (c *call) runsBy(rules []*Rule) (last *Rule, covered coverage, ok bool) {
	i := c.exec()
	if i < 0 {
		return nil, coversLittle, true
	}
	cmd := c.Accesses[i].Command
	if !cmd.Exact && !c.grants(i) {
		return nil, coversLittle, false
	}
	covered = coversAll
	patterns := c.patterns(rules)
	for i := range cmd.Parts {
		part := &cmd.Parts[i]
		if part.Covered {
			continue
		}
		r := partRule(patterns, part)
		switch {
		case r != nil:
			last = r
		case part.readOnly():
			covered = min(covered, coversChanges)
		case c.edits(part):
			covered = coversLittle
		default:
			return nil, coversLittle, false
		}
	}
	if len(cmd.Parts) == 0 || last == nil {
		covered = coversLittle
	}
	if covered < coversAll && slices.ContainsFunc(cmd.Findings,
		func(f Finding) bool { return !aboutCovered(&f, cmd, patterns) }) {
		return nil, coversLittle, false // it may be about a part that no rule covers
	}
	return last, covered, len(cmd.Parts) > 0 || cmd.Class.ReadOnly()
}

// aboutCovered reports whether a finding is about parts only that rules cover.
func aboutCovered(f *Finding, cmd *Command, patterns []rulePattern) bool {
	for _, raw := range f.About {
		parts := 0
		for i := range cmd.Parts {
			p := &cmd.Parts[i]
			if p.Raw != raw {
				continue
			}
			if !p.Covered && partRule(patterns, p) == nil {
				return false
			}
			parts++
		}
		if parts == 0 {
			return false
		}
	}
	return len(f.About) > 0
}

// rulePattern is the pattern of a rule on commands.
type rulePattern struct {
	pattern
	rule *Rule
}

// patterns are those of the rules that speak of the tool's commands.
func (c *call) patterns(rules []*Rule) []rulePattern {
	out := make([]rulePattern, 0, len(rules))
	for _, r := range rules {
		if r.Spec != "" && c.concerns(r) {
			out = append(out, rulePattern{r.spec(), r})
		}
	}
	return out
}

// partRule is the first rule whose pattern allows a part; nil for none.
func partRule(patterns []rulePattern, part *Part) *Rule {
	for i := range patterns {
		if patterns[i].allows(part) {
			return patterns[i].rule
		}
	}
	return nil
}

// exec is the place of the command among the accesses, -1 where there is none.
func (c *call) exec() int {
	for i := range c.Accesses {
		if c.Accesses[i].Kind == Exec {
			return i
		}
	}
	return -1
}

// follows reports an access that needs no rule of its own, since rules cover the parts of a command that may be its
// cause: read-only parts write no file and reach no host. Files that the shell itself writes, paths outside the working
// roots and accesses that a guard asks about do need one.
func (c *call) follows(i int, covered coverage) bool {
	a := &c.Accesses[i]
	switch {
	case c.verdict[i].effect != "", covered == coversLittle:
		return false
	case a.Kind == Write:
		return !a.Redirect && inside(c.p.roots, a.Target) && (covered == coversAll || !a.Below && !c.everyPart)
	case a.Kind == Read:
		return covered == coversAll
	}
	return a.Kind == Net && (covered == coversAll || !c.everyPart)
}

// allowRule finds an allow rule for one access that is no command.
func (c *call) allowRule(rules []*Rule, i int, byUser bool) *Rule {
	a, v := &c.Accesses[i], &c.verdict[i]
	for _, r := range rules {
		if r.Spec != "" && (v.effect == "" || byUser || r.names(v)) && c.covers(r, a) {
			return r
		}
	}
	return nil
}

// names reports whether the rule, for lack of a wildcard, may lift a guard's question.
func (r *Rule) names(v *verdict) bool {
	return v.effect == Ask && !v.strict && !strings.ContainsAny(unescapeMeta.Replace(r.Spec), "*?[{")
}

var unescapeMeta = strings.NewReplacer(`\*`, "", `\?`, "", `\[`, "", `\{`, "")

// covers holds an allow rule with a pattern against one access that is no command: every spelling must match.
func (c *call) covers(r *Rule, a *Access) bool {
	switch a.Kind {
	case Read, Write:
		if r.Tool == ExternalDirectory {
			return (a.Kind == Read || c.Mode == AcceptEdits) && (r.Spec == "" || c.p.pathRule(r, c.Dir, a))
		}
		return r.class() != "" && c.p.matchPath(r, c.Dir, a)
	case Net:
		return c.concerns(r) && matchHost(r, a.Target)
	case Tool:
		return c.concerns(r) && c.matchSubject(r)
	}
	return false
}

// matchParam holds "param:value" against a top-level scalar of the input. Only deny and ask rules may use
// it, and not for the parameter that a tool's own patterns match.
func matchParam(r *Rule, input json.RawMessage) bool {
	name, want, ok := strings.Cut(r.Spec, ":")
	name = strings.TrimSpace(name)
	if !ok || r.Effect == Allow || r.traits.patternsHold(name) {
		return false
	}
	var m map[string]any
	if json.Unmarshal(input, &m) != nil {
		return false
	}
	switch v := m[name].(type) {
	case string:
		return wildcard(strings.TrimSpace(want), v)
	case bool, float64:
		b, err := json.Marshal(v)
		return err == nil && wildcard(strings.TrimSpace(want), string(b))
	}
	return false
}

// stringField is a string at the top level of an input, or "".
func stringField(input json.RawMessage, name string) string {
	var m map[string]any
	if json.Unmarshal(input, &m) != nil {
		return ""
	}
	s, _ := m[name].(string)
	return s
}

// matchSubject holds the pattern of a rule against the name that the input gives, and the words after it:
// Task(agent), Skill(name).
func (c *call) matchSubject(r *Rule) bool {
	if c.traits.Subject != SubjectName {
		return false
	}
	for _, param := range c.traits.Params {
		if name := stringField(c.Input, param); name != "" {
			return subject(r, strings.TrimPrefix(name, "/"), stringField(c.Input, c.traits.Rest))
		}
	}
	return r.Effect != Allow && subject(r, "", "")
}

func subject(r *Rule, name, args string) bool {
	whole := strings.TrimSpace(name + " " + args)
	if r.Effect != Allow {
		folded := newPattern(strings.ToLower(r.Spec))
		return folded.matches(strings.ToLower(whole)) || strings.EqualFold(r.Spec, name)
	}
	t := r.spec()
	return name != "" && (t.matches(whole) || r.Spec == name)
}
