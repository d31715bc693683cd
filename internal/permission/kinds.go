package permission

import (
	"slices"
	"strings"
)

// AgentKind is the default permission set of one kind of agent: the tools it may use at all, before any rule is
// tried. Sets only narrow: the rules and the mode of the session count as well.
type AgentKind struct {
	Name     string
	Says     string   // for people, and for the model that chooses among kinds
	Tools    []string // the only tools it has; nil: all
	Without  []string // tools that it has not
	ReadOnly bool     // it has no tool that edits files, and its commands must be read-only
}

// AgentKinds are the built-in sets. The main agent is a build agent unless it was switched.
var AgentKinds = []AgentKind{
	{Name: "build", Says: "full development: reads, writes and runs"},
	{Name: "plan", Says: "reads and plans, and changes nothing", ReadOnly: true},
	{Name: "explore", Says: "quick research in the code: finds and reads", ReadOnly: true, Tools: []string{"Read", "Glob", "Grep", "LSP"}},
	{Name: "general", Says: "larger tasks of their own, without the session's task list", Without: []string{"TodoWrite", "Task"}},
}

// SetAgent makes the main agent one of another kind from the next decision on; one without a name is build.
func (p *Policy) SetAgent(k AgentKind) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.main = k
}

// AddKind makes one more kind of agent known, or replaces one of the same name: an agent of the user's, with
// the tools its file names.
func (p *Policy) AddKind(k AgentKind) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kinds = append(slices.DeleteFunc(p.kinds, func(old AgentKind) bool { return strings.EqualFold(old.Name, k.Name) }), k)
}

// chain is the sets that bind a call: the main agent's and those of every subagent on the way to it.
func (p *Policy) chain(agents []string) []*AgentKind {
	out := make([]*AgentKind, 0, 1+len(agents))
	if out = append(out, &p.main); p.main.Name == "" {
		out[0] = p.kindOf("")
	}
	for _, a := range agents {
		name, _, _ := strings.Cut(a, "/")
		if name == "" {
			name = "general"
		}
		out = append(out, p.kindOf(name))
	}
	return out
}

// kindOf finds a kind by name. One that nobody made known counts as general, except that "" is build.
func (p *Policy) kindOf(name string) *AgentKind {
	for _, ks := range [][]AgentKind{p.kinds, AgentKinds} {
		for i := range slices.Backward(ks) {
			k := &ks[i]
			if strings.EqualFold(k.Name, name) || name == "" && k.Name == "build" {
				return k
			}
		}
	}
	return p.kindOf("general")
}

func (k *AgentKind) has(tool string, t Traits) bool {
	return !(k.ReadOnly && t.edits()) && (k.Tools == nil || slices.Contains(k.Tools, tool)) && !slices.Contains(k.Without, tool)
}

// limits is the refusal or question of a set of tools; it allows everything else.
func (k *AgentKind) limits(c *call) Decision {
	switch {
	case !k.has(c.Tool, c.traits):
		return Decision{Effect: Deny, Layer: LayerMode, Reason: "an agent of the kind " + k.Name + " has no " + c.Tool}
	case k.ReadOnly && c.changes():
		return Decision{Effect: Deny, Layer: LayerMode, Reason: "an agent of the kind " + k.Name + " changes nothing"}
	case k.ReadOnly && (c.Accesses == nil || slices.ContainsFunc(c.Accesses, func(a Access) bool { return a.Kind == Tool && !a.Safe })):
		return Decision{Effect: Ask, Layer: LayerMode, Reason: "an agent of the kind " + k.Name + " changes nothing, and " + c.Tool + " may"}
	}
	return Decision{Effect: Allow}
}
