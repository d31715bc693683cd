package permission

import (
	"fmt"
	"path/filepath"
)

// doubt finds a deny rule that may speak of the call, where it cannot be told before it runs. Then a person
// decides, in every mode and whatever allow rules and grants say.
func (c *call) doubt() (Decision, bool) {
	for r := range c.p.all() {
		if r.Effect != Deny {
			continue
		}
		for i := range c.Accesses {
			if why := c.mayTouch(r, &c.Accesses[i]); why != "" {
				return Decision{
					Effect: Ask, Layer: LayerDeny, Rule: r.Text, Source: r.Source.Name,
					Reason: fmt.Sprintf("the rule %s (%s) may deny it: %s", r.Text, r.Source.Name, why),
				}, true
			}
		}
	}
	return Decision{}, false
}

// mayTouch says why a deny rule might be about an access that it does not plainly match.
func (c *call) mayTouch(r Rule, a *Access) string {
	if a.Below && a.Kind == Read && r.class() == "Read" && c.p.mayMatchBelow(r, c.Dir, *a) {
		return "everything below " + a.where() + " is read, and what lies there is not known"
	}
	if a.Node == Unknown && !filepath.IsAbs(a.Target) && (r.class() == "Read" || r.class() == "Edit" && a.Kind == Write) {
		return "only running it tells which file " + a.Target + " is"
	}
	return ""
}
