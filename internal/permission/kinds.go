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

	// Rules restrict it further: one that denies or asks counts for its calls and those of the agents it starts. One that
	// allows is an exception from the asking ones among them, and lifts nothing else.
	Rules []Rule
	// Memory is a folder of notes, Markdown files that it reads and writes with the tools for files without being asked;
	// empty: none. With links resolved.
	Memory string
}

// AgentKinds are the built-in sets. The main agent is a build agent unless it was switched.
var AgentKinds = []AgentKind{
	{Name: "build", Says: "full development: reads, writes and runs"},
	{Name: "plan", Says: "reads and plans, and changes nothing", ReadOnly: true},
	{Name: "explore", Says: "quick research in the code: finds and reads", ReadOnly: true, Tools: []string{
		"Read", "Glob",
		"Grep", "LSP",
	}},
	{Name: "general", Says: "larger tasks of their own, without the session's task list", Without: []string{
		"TodoWrite",
		"Task",
	}},
}

// SetAgent makes the main agent one of another kind from the next decision on; one without a name is build.
func (p *Policy) SetAgent(k AgentKind) {
	defer p.change()()
	p.main = k
}

// AddKind makes one more kind of agent known, or replaces one of the same name: an agent of the user's, with
// the tools its file names.
func (p *Policy) AddKind(k AgentKind) {
	defer p.change()()
	p.kinds = append(slices.DeleteFunc(p.kinds, func(old AgentKind) bool { return strings.EqualFold(old.Name, k.Name) }),
		k)
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
	return !(k.ReadOnly && t.edits()) && (k.Tools == nil || listed(k.Tools, tool)) && !listed(k.Without, tool) &&
		!slices.ContainsFunc(k.Rules, func(r Rule) bool { return r.Effect == Deny && r.Removes(tool) })
}

// listed reports whether a list has a tool: by its name, or as one of a server (mcp__server, mcp__server__*).
func listed(list []string, tool string) bool {
	return slices.ContainsFunc(list, func(name string) bool {
		return name == tool || strings.HasPrefix(name, "mcp__") && (&Rule{Tool: name}).coversTool(tool)
	})
}

// memoryTools are the tools for an agent's notes, which it has for them alone if its list does not name them.
var memoryTools = []string{"Read", "Write", "Edit"}

// offers reports whether the model gets a tool: also one that is only for the agent's notes.
func (k *AgentKind) offers(tool string, t Traits) bool {
	if k.Memory == "" || k.Tools == nil || !slices.Contains(memoryTools, tool) {
		return k.has(tool, t)
	}
	with := *k
	with.Tools = nil
	return with.has(tool, t)
}

// limits is the refusal or question of a set of tools; it allows everything else.
func (k *AgentKind) limits(c *call) Decision {
	switch {
	case !k.has(c.Tool, c.traits) && k.offers(c.Tool, c.traits) && c.onlyNotes():
	case !k.has(c.Tool, c.traits):
		return Decision{Effect: Deny, Layer: LayerMode, Reason: "an agent of the kind " + k.Name + " has no " + c.Tool}
	case k.ReadOnly && c.changes():
		return Decision{Effect: Deny, Layer: LayerMode, Reason: "an agent of the kind " + k.Name + " changes nothing"}
	case k.ReadOnly && (c.Accesses == nil || slices.ContainsFunc(c.Accesses,
		func(a Access) bool { return a.Kind == Tool && !a.Safe })):
		return Decision{Effect: Ask, Layer: LayerMode, Reason: "an agent of the kind " + k.Name + " changes nothing, and " +
			c.Tool + " may"}
	}
	return k.ruled(c)
}

// ruled is the decision of the kind's own rules.
func (k *AgentKind) ruled(c *call) Decision {
	if len(k.Rules) == 0 {
		return Decision{Effect: Allow}
	}
	own := *c
	own.p = &Policy{
		tools: c.p.tools, Home: c.p.Home, Own: c.p.Own, roots: c.p.roots, readRoots: c.p.readRoots,
		rules: k.Rules,
	}
	if r, ok := own.find(Deny); ok {
		return ruled(Deny, r)
	}
	if d, ok := own.doubt(); ok {
		return d
	}
	if r, ok := own.find(Ask); ok {
		if _, excepted := own.allowed(false, k.Rules); !excepted {
			return ruled(Ask, r)
		}
	}
	return Decision{Effect: Allow}
}

// isNote reports whether an access is to one of the notes of the agent that calls, with a tool for files. Neither a
// link nor a second name of a file counts.
func (c *call) isNote(i int) bool {
	a := &c.Accesses[i]
	dir := c.p.notes(c.Agent)
	if dir == "" || a.Named != "" && a.Named != a.Target || a.Links > 1 || a.Node == Special || a.Below {
		return false
	}
	return inside([]string{dir}, a.Target) && strings.HasSuffix(a.Target, ".md") && slices.Contains(memoryTools, c.Tool) &&
		(a.Kind == Read || a.Kind == Write && c.Mode != Plan)
}

// onlyNotes reports whether a call touches only the agent's notes.
func (c *call) onlyNotes() bool {
	for i := range c.Accesses {
		if !c.isNote(i) {
			return false
		}
	}
	return len(c.Accesses) > 0
}

// notes is the folder of an agent's notes; "" if it has none.
func (p *Policy) notes(agents []string) string {
	if len(agents) == 0 {
		return p.main.Memory
	}
	name, _, _ := strings.Cut(agents[len(agents)-1], "/")
	return p.kindOf(name).Memory
}
