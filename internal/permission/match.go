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
		if c.concerns(r) && (r.Spec == "" || matchParam(r, c.Input)) {
			return r, true
		}
		if slices.ContainsFunc(c.Accesses, func(a Access) bool { return c.touches(r, a) }) {
			return r, true
		}
	}
	return Rule{}, false
}

// touches holds a deny or ask rule against one access: any part of a command, any spelling of a path or host.
func (c *call) touches(r Rule, a Access) bool {
	switch {
	case r.Tool == ExternalDirectory:
		return (a.Kind == Read || a.Kind == Write) && !c.p.readable(a.Target) && (r.Spec == "" || c.p.pathRule(r, c.Dir, a))
	case r.Spec == "":
		return false
	case a.Kind == Read || a.Kind == Write:
		return r.class() != "" && c.p.matchPath(r, c.Dir, a)
	case a.Kind == Net:
		return (r.traits.Subject == SubjectHost || c.concerns(r)) && matchHost(r, a.Target)
	case !c.concerns(r):
		return false
	case a.Kind == Exec:
		return r.spec().denies(a)
	}
	return a.Kind == Tool && c.matchSubject(r)
}

// Matches reports whether one rule applies to a request: an allow rule covers all of it, whatever the mode
// would grant and the guards would refuse; a deny or ask rule any of it. Other rules do not count.
func (p *Policy) Matches(r Rule, req Request) bool {
	p.mu.RLock()
	one := &Policy{tools: p.tools, Home: p.Home, Own: p.Own, roots: p.roots, readRoots: p.readRoots}
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
	_, ok := c.allowed(one.rules, false)
	return ok
}

// allowed reports whether allow rules cover the whole request: the tool itself, or each access that the
// mode does not grant. Rules of the settings cover an access that a guard asks about only if they name exactly that;
// the user's own word just now does.
func (c *call) allowed(rules []Rule, byUser bool) (last Rule, ok bool) {
	_, asks := c.guarded(Ask)
	for _, r := range rules {
		if r.Effect != Allow || r.Ordered || !c.concerns(r) {
			continue
		}
		if r.Spec == "" && (byUser || !asks) || r.Spec != "" && c.exactLine(r) {
			return r, true
		}
	}
	ran, explicit, ok := c.runsBy(rules)
	if !ok {
		return Rule{}, false
	}
	for i, a := range c.Accesses {
		if a.Kind == Exec {
			continue
		}
		if r, ok := c.allowRule(rules, i, byUser); ok {
			last = r
			continue
		}
		if ok, _ := c.granted(i); !ok && !(explicit && c.follows(i)) {
			return Rule{}, false
		}
	}
	if ran.Text != "" {
		last = ran
	}
	return last, last.Text != ""
}

// exactLine reports whether a rule is the whole command line to the letter: then there is nothing about it
// that its author did not see.
func (c *call) exactLine(r Rule) bool {
	i := slices.IndexFunc(c.Accesses, func(a Access) bool { return a.Kind == Exec })
	return i >= 0 && r.Spec == strings.TrimSpace(c.Accesses[i].Target)
}

// runsBy holds allow rules against the parts of the command of the request. Explicit: a rule covers every
// part, so that none runs only because it is read-only by itself.
func (c *call) runsBy(rules []Rule) (last Rule, explicit, ok bool) {
	i := slices.IndexFunc(c.Accesses, func(a Access) bool { return a.Kind == Exec })
	if i < 0 {
		return Rule{}, false, true
	}
	cmd := c.Accesses[i].Command
	if free, _ := c.granted(i); !cmd.Exact && !free {
		return Rule{}, false, false
	}
	explicit = true
	for _, part := range cmd.Parts {
		if part.Covered {
			continue
		}
		r, matched := c.partRule(rules, part)
		switch {
		case matched:
			last = r
		case part.readOnly() || c.edits(part):
			explicit = false
		default:
			return Rule{}, false, false
		}
	}
	if len(cmd.Findings) > 0 && !explicit {
		return Rule{}, false, false // the finding may be about a part that no rule covers
	}
	return last, explicit && len(cmd.Parts) > 0, len(cmd.Parts) > 0 || cmd.Class.ReadOnly()
}

func (c *call) partRule(rules []Rule, part Part) (Rule, bool) {
	for _, r := range rules {
		if r.Effect == Allow && !r.Ordered && r.Spec != "" && c.concerns(r) && r.spec().allows(part) {
			return r, true
		}
	}
	return Rule{}, false
}

// follows reports an access that needs no rule of its own when rules cover every part of a command. Files that the
// shell itself writes, paths outside the working roots and accesses that a guard asks about do need one.
func (c *call) follows(i int) bool {
	a := c.Accesses[i]
	switch {
	case c.verdict[i].effect != "":
		return false
	case a.Kind == Write:
		return !a.Redirect && inside(c.p.roots, a.Target)
	}
	return a.Kind == Read || a.Kind == Net
}

// allowRule finds an allow rule for one access that is no command.
func (c *call) allowRule(rules []Rule, i int, byUser bool) (Rule, bool) {
	a, v := c.Accesses[i], c.verdict[i]
	for _, r := range rules {
		if r.Effect == Allow && !r.Ordered && r.Spec != "" && (v.effect == "" || byUser || r.names(v)) && c.covers(r, a) {
			return r, true
		}
	}
	return Rule{}, false
}

// names reports whether the rule, for lack of a wildcard, may lift a guard's question.
func (r Rule) names(v verdict) bool {
	return v.effect == Ask && !v.strict && !strings.ContainsAny(unescapeMeta.Replace(r.Spec), "*?[{")
}

var unescapeMeta = strings.NewReplacer(`\*`, "", `\?`, "", `\[`, "", `\{`, "")

// covers holds an allow rule with a pattern against one access that is no command: every spelling must match.
func (c *call) covers(r Rule, a Access) bool {
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
func matchParam(r Rule, input json.RawMessage) bool {
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
func (c *call) matchSubject(r Rule) bool {
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

func subject(r Rule, name, args string) bool {
	whole := strings.TrimSpace(name + " " + args)
	if r.Effect != Allow {
		return pattern{text: strings.ToLower(r.Spec)}.matches(strings.ToLower(whole)) || strings.EqualFold(r.Spec, name)
	}
	return name != "" && (pattern{text: r.Spec}.matches(whole) || r.Spec == name)
}
