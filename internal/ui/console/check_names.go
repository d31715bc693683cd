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
