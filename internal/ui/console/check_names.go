package console

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/fuzzy"
	"github.com/lathe-dev/lathe/internal/llm"
)

// nearNames limits the suggestions in an error.
const nearNames = 3

// knows refuses an unlisted model: a typing error is reported now instead of by a failed request. A name with
// its provider before it ("anthropic/NAME") is accepted unchecked.
func (c *Console) knows(id string) error {
	var names []string
	for _, m := range c.inst.Models() {
		if m.ID == id || strings.HasPrefix(id, m.ID) { // a dated name of a known model
			return nil
		}
		names = append(names, m.ID)
	}
	set := c.inst.Config().Settings
	if len(names) == 0 || id == "" || llm.Resolve(id, set.ModelAliases) != id || strings.Contains(id, "/") ||
		set.Model == id {
		return nil
	}
	var near []string
	if best, _ := fuzzy.Nearest(id, names, max(2, len(id)/3)); best != "" {
		near = append(near, best)
	}
	for _, f := range fuzzy.Rank(id, names, nearNames, nil) {
		if name := names[f.Index]; !slices.Contains(near, name) && len(near) < nearNames {
			near = append(near, name)
		}
	}
	if len(near) == 0 {
		return fmt.Errorf("lathe knows no model %q; /model lists those it knows, and PROVIDER/%s takes any name", id, id)
	}
	return fmt.Errorf("lathe knows no model %q; did you mean %s? PROVIDER/%s takes any name", id,
		strings.Join(near, " or "), id)
}

// toolOf refuses a rule for a tool that does not exist, since it would have no effect. Tools of servers are
// known only while their server runs.
func (c *Console) toolOf(rule string) error {
	name, _, _ := strings.Cut(rule, "(")
	name = strings.TrimSpace(name)
	tools := c.inst.Tools()
	if tools.Named(tools.Name(name)) || strings.HasPrefix(name, "mcp__") || strings.ContainsAny(name, "*") {
		return nil
	}
	if near := tools.Nearest(name); near != "" {
		return fmt.Errorf("there is no tool %q; did you mean %s?", name, near)
	}
	return fmt.Errorf("there is no tool %q; a rule begins with one, such as Bash(make *), Edit(docs/**) or Read", name)
}
