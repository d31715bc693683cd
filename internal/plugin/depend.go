package plugin

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Needs are the plugins that a plugin needs, as NAME or NAME@MARKETPLACE.
func (p *Plugin) Needs() (out []string) {
	for _, raw := range p.Manifest.Dependencies {
		var d struct {
			Name        string `json:"name"`
			Marketplace string `json:"marketplace"`
		}
		if json.Unmarshal(raw, &d.Name) != nil && json.Unmarshal(raw, &d) != nil || d.Name == "" {
			continue
		}
		if d.Marketplace != "" && !strings.Contains(d.Name, "@") {
			d.Name += "@" + d.Marketplace
		}
		out = append(out, d.Name)
	}
	return out
}

// missing are notes about plugins that others need and that are not in the list.
func missing(list []*Plugin) (notes []string) {
	for _, p := range list {
		for _, need := range p.Needs() {
			if !slices.ContainsFunc(list, func(o *Plugin) bool { return o.ID == need || o.Name() == need }) {
				notes = append(notes, fmt.Sprintf("the plugin %s needs the plugin %s, which is not enabled: lathe plugin install %s", p.Name(), need, need))
			}
		}
	}
	return notes
}
