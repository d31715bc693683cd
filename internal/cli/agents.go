package cli

import "github.com/lathe-dev/lathe/internal/app"

// agentNames describes the kinds of subagents there are.
func agentNames(inst *app.Instance) []Described {
	var out []Described
	for _, k := range inst.Extensions().Agents.Catalog().All() {
		out = append(out, Described{Name: k.Name, Text: k.Description})
	}
	return out
}
