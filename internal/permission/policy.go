package permission

import (
	"bytes"
	"iter"
	"slices"
	"sync"
)

// Policy holds the rules of all sources and the folders that may be touched. It is safe for concurrent
// use; the paths in it are absolute with links resolved.
type Policy struct {
	Home string   // the user's home folder, for ~ in rules
	Own  []string // folders with lathe's settings and state besides those below Home; set before use

	tools     Tools
	mu        sync.RWMutex
	rules     []Rule      // of settings and the command line
	grants    []Rule      // given by the user while the session runs
	hooked    []Rule      // allowed by hooks meanwhile; they lift no question of a rule or a guard
	lent      []*loan     // by skills, while they are active
	roots     []string    // working roots
	readRoots []string    // folders that may be read but not written: blobs, plans, memory, skills
	plan      string      // the file that the main agent may write in plan mode; "": none
	main      AgentKind   // of the main agent; without a name: build
	kinds     []AgentKind // besides the built-in ones
	noBypass  bool
	version   int
}

// NewPolicy makes a policy on these tools for the given working roots.
func NewPolicy(tools Tools, home string, roots []string, rules []Rule) *Policy {
	return &Policy{tools: tools, Home: home, roots: roots, rules: rules}
}

// Version counts the changes of the policy.
func (p *Policy) Version() int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.version
}

// change begins a change; the function that it returns ends it.
func (p *Policy) change() func() {
	p.mu.Lock()
	p.version++
	return p.mu.Unlock
}

// Grant adds a rule while the session runs.
func (p *Policy) Grant(r Rule) {
	defer p.change()()
	same := func(o Rule) bool { return o.Text == r.Text && o.Effect == r.Effect && o.Source == r.Source }
	if !slices.ContainsFunc(p.grants, same) {
		p.grants = append(p.grants, r)
	}
}

// GrantByHook adds a rule that allows, of a hook, while the session runs. Unlike one of Grant it stands behind the
// rules and guards that ask.
func (p *Policy) GrantByHook(r Rule) {
	defer p.change()()
	if !slices.ContainsFunc(p.hooked, func(o Rule) bool { return o.Text == r.Text }) {
		p.hooked = append(p.hooked, r)
	}
}

// SetRules replaces the rules of settings and the command line, after they changed; grants of
// this session stay.
func (p *Policy) SetRules(rules []Rule) {
	defer p.change()()
	p.rules = rules
}

// AddRoot makes dir a working root, or one that may only be read.
func (p *Policy) AddRoot(dir string, readOnly bool) {
	defer p.change()()
	if readOnly {
		p.readRoots = append(p.readRoots, dir)
		return
	}
	p.roots = append(p.roots, dir)
}

// RemoveRoot takes back a working root of AddRoot.
func (p *Policy) RemoveRoot(dir string) {
	defer p.change()()
	p.roots = slices.DeleteFunc(slices.Clone(p.roots), func(r string) bool { return r == dir })
}

// SetPlan names the one file that the main agent may write in plan mode, with links resolved. It may always be read.
func (p *Policy) SetPlan(path string) {
	defer p.change()()
	p.plan = path
}

// ForbidBypass makes the bypass mode behave as the default one while forbidden is true.
func (p *Policy) ForbidBypass(forbidden bool) {
	defer p.change()()
	p.noBypass = forbidden
}

// Rules lists the rules in force.
func (p *Policy) Rules() []Rule {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return slices.Concat(p.rules, p.grants, p.hooked)
}

func (p *Policy) all() iter.Seq[*Rule] {
	return func(yield func(*Rule) bool) {
		for _, rs := range [][]Rule{p.rules, p.grants, p.hooked} {
			for i := range rs {
				if !yield(&rs[i]) {
					return
				}
			}
		}
	}
}

// Removed reports whether a deny rule or the kind of an agent takes the tool away altogether, so that the model
// does not get it. The agents are as in Request.Agent.
func (p *Policy) Removed(tool string, agents ...string) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	traits := p.tools.Traits(tool)
	removed := false // by an ordered rule that no later one softens
	for r := range p.all() {
		switch {
		case !r.Ordered && r.Removes(tool):
			return true
		case r.Ordered && r.Effect == Deny:
			removed = removed || r.Removes(tool)
		case r.Ordered && (r.coversTool(tool) || r.class() != "" && r.class() == traits.pathRules()):
			removed = false
		}
	}
	return removed || slices.ContainsFunc(p.chain(agents), func(k *AgentKind) bool { return !k.offers(tool, traits) })
}

// Decide decides on a request. It never fails; a call that it does not understand asks.
func (p *Policy) Decide(req Request) Decision {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if in := bytes.TrimSpace(req.Input); len(in) > 0 && (in[0] != '{' || !ValidJSON(in)) {
		return Decision{Effect: Deny, Layer: LayerSchema, Reason: "the input of " + req.Tool + " is not a JSON object"}
	}
	d := Decision{}
	if req.Place != nil {
		d = p.isolated(req)
	} else {
		d = p.decide(req)
	}
	if req.Mode == DontAsk {
		d = d.Unasked()
	}
	return d
}

// decide is Decide without the effect of the mode dontAsk.
func (p *Policy) decide(req Request) Decision {
	c := p.look(req)
	d := c.decide()
	d.Reach = c.reach(d)
	for _, k := range p.chain(req.Agent) {
		d = stricter(d, k.limits(c))
		if k.ReadOnly && c.held() {
			d.Reach = ReachRead
		}
	}
	return d
}

// Unasked is the decision in dontAsk mode, which refuses every question.
func (d Decision) Unasked() Decision {
	d.Confirm = false
	if d.Effect == Ask {
		d.Effect, d.Layer = Deny, LayerMode
		d.Reason += "; the mode is dontAsk"
	}
	return d
}

// stricter returns the stricter of two decisions, the first one where they are the same. Of two that ask, the
// default question gives way: a hook may answer it, and must not answer the other.
func stricter(a, b Decision) Decision {
	if rank(b.Effect) > rank(a.Effect) || b.Effect == Deny && a.Confirm && !b.Confirm ||
		a.Effect == Ask && b.Effect == Ask && a.Layer == LayerAnalysis {
		return b
	}
	return a
}

// rank orders effects by strictness; an unknown one counts as a refusal.
func rank(e Effect) int {
	if i := slices.Index([]Effect{Allow, Ask}, e); i >= 0 {
		return i
	}
	return 2
}

// call is one request being decided on, with the guards' verdicts on each access.
type call struct {
	Request
	p       *Policy
	traits  Traits    // of the tool
	verdict []verdict // by access

	everyPart bool // files are written and hosts reached only where rules cover every part, see Policy.CoversEveryPart

	folded   []string // the texts of the command that is looked at, with those in lower case
	foldedAt int      // its place among the accesses, from 1
}

// look prepares a request: lines that nobody analysed are cut at the shell's operators, and the guards
// judge every access.
func (p *Policy) look(req Request) *call {
	c := &call{Request: req, p: p, traits: p.tools.Traits(req.Tool), verdict: make([]verdict, len(req.Accesses))}
	if !slices.Contains(Modes, req.Mode) || req.Mode == Bypass && p.noBypass {
		c.Mode = Default
	}
	for i := range req.Accesses {
		if a := &req.Accesses[i]; a.Kind == Exec && a.Command == nil {
			if len(c.Accesses) > 0 && &c.Accesses[0] == &req.Accesses[0] {
				c.Accesses = slices.Clone(req.Accesses)
			}
			c.Accesses[i].Command = unanalysed(a.Target)
		}
		if !c.isPlan(i) && !c.isNote(i) {
			c.verdict[i] = p.guard(&c.Accesses[i], c.held())
		}
	}
	return c
}

// texts are the texts of the command that is access i, see commandTexts.
func (c *call) texts(i int) []string {
	if c.foldedAt != i+1 {
		c.folded, c.foldedAt = commandTexts(&c.Accesses[i]), i+1
	}
	return c.folded
}

// decide goes through the layers in the order that docs/permissions.md lists.
func (c *call) decide() Decision {
	if r, ok := c.find(Deny); ok {
		return ruled(Deny, r)
	}
	if v, ok := c.guarded(Deny); ok {
		return Decision{Effect: Deny, Layer: LayerGuards, Confirm: !v.final && c.Mode != Plan, Reason: v.why}
	}
	last, outcome := c.ordered()
	if outcome == Deny {
		return ruled(Deny, last)
	}
	if d, ok := c.planRefuses(); ok {
		return d
	}
	if d, ok := c.doubt(); ok {
		return d
	}
	if r, ok := c.allowed(true, c.p.grants); ok {
		return ruled(Allow, r)
	}
	if r, ok := c.find(Ask); ok {
		return ruled(Ask, r)
	}
	switch outcome {
	case Ask, Allow:
		return ruled(outcome, last)
	}
	if r, ok := c.allowed(false, c.p.rules, c.p.grants, c.p.hooked); ok {
		return ruled(Allow, r)
	}
	if r, ok := c.lentAllows(); ok {
		return ruled(Allow, r)
	}
	return c.byMode()
}

// byMode decides calls that no rule covers: by their effect and the mode.
func (c *call) byMode() Decision {
	if slices.ContainsFunc(c.Accesses, func(a Access) bool { return a.Asks }) {
		return Decision{Effect: Ask, Layer: LayerGuards, Reason: c.Tool +
			" acts outside of every sandbox, so it asks in each mode unless a rule allows it"}
	}
	if c.Mode == Bypass {
		return Decision{Effect: Allow, Layer: LayerMode, Reason: "the mode is bypassPermissions"}
	}
	if v, ok := c.guarded(Ask); ok {
		return Decision{Effect: Ask, Layer: LayerGuards, Reason: v.why}
	}
	for i := range c.Accesses {
		if ok, why := c.granted(i); !ok {
			return Decision{Effect: Ask, Layer: LayerAnalysis, Reason: why.String()}
		}
	}
	if c.Accesses == nil {
		return Decision{Effect: Ask, Layer: LayerAnalysis, Reason: "lathe cannot tell what " + c.Tool + " would touch"}
	}
	return c.grantReason()
}

// guarded returns the guard of an effect that fired. What names a file or host says more than a finding on the
// command that touches it, except where the command as a whole is the danger.
func (c *call) guarded(e Effect) (found verdict, ok bool) {
	for i, v := range c.verdict {
		if v.effect != e {
			continue
		}
		if !ok || found.general {
			found, ok = v, true
		}
		if c.Accesses[i].Kind == Exec && !v.general {
			break
		}
	}
	return found, ok
}

func ruled(e Effect, r Rule) Decision {
	verb, layer := "allowed", LayerAsk
	switch e {
	case Ask:
		verb = "to be asked"
	case Deny:
		verb, layer = "denied", LayerDeny
	}
	return Decision{
		Effect: e, Layer: layer, Rule: r.Text, Source: r.Source.Name,
		Reason: verb + " by the rule " + r.Text + " (" + r.Source.Name + ")",
	}
}
