package config

import "encoding/json"

// HookGroup is one entry of the hooks of an event: a matcher and its handlers, in Claude Code's form.
type HookGroup struct {
	Event  string
	JSON   json.RawMessage
	Origin Origin
}

// Hooks lists the hooks in force, by event in the order of the files, those of lower layers first. What disableAllHooks
// and allowManagedHooksOnly switch off is left out; hooks of the machine's policy are switched off only by the policy.
func (c *Config) Hooks() (out []HookGroup) {
	if len(c.Settings.Hooks) == 0 {
		return nil
	}
	all := c.merged.get("hooks")
	off := c.merged.get("disableAllHooks")
	if off != nil && off.kind != 't' {
		off = nil
	}
	for _, m := range all.members {
		for _, e := range m.val.elems {
			managed := e.origin().Layer == Managed
			switch {
			case c.Settings.AllowManagedHooksOnly && !managed, off != nil && !managed,
				off != nil && off.origin().Layer == Managed:
			default:
				out = append(out, HookGroup{Event: m.key, JSON: e.appendJSON(nil), Origin: e.origin()})
			}
		}
	}
	return out
}
