package tool

import (
	"slices"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

// Choice is which of its tools a session offers to the model.
type Choice struct {
	Only    []string               // names; nil: all
	Without func(name string) bool // tools that are of no use in this session
	Removed func(name string) bool // by a rule, or by the kind of the agent
}

// Of returns the chosen tools of a session, in the order of All.
func (c Choice) Of(env *Env, known *call.Catalogue) []agent.Tool {
	out := make([]agent.Tool, 0, len(builtins))
	more := env.more()
	for _, t := range append(All(env), more...) {
		if d, _ := known.Lookup(t.Spec().Name); c.has(d) {
			out = append(out, t)
		}
	}
	return withoutCovered(out, more)
}

// withoutCovered leaves a tool out where a team has one of its name: SendMessage is for the team then.
func withoutCovered(all, more []agent.Tool) []agent.Tool {
	if len(more) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(t agent.Tool) bool {
		return !slices.Contains(more, t) && slices.ContainsFunc(more, func(m agent.Tool) bool {
			return m.Spec().Name == t.Spec().Name
		})
	})
}

func (c Choice) has(d call.Declaration) bool {
	chosen := c.Only == nil || slices.Contains(c.Only, d.Name) || slices.ContainsFunc(d.With,
		func(name string) bool { return slices.Contains(c.Only, name) })
	kept := func(name string) bool { return !c.Removed(name) }
	return chosen && !c.Without(d.Name) && kept(d.Name) && (len(d.With) == 0 || slices.ContainsFunc(d.With, kept))
}
