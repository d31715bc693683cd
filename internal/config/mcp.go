package config

import "encoding/json"

// AllowedMCPServers is the list of patterns of the only MCP servers that may be used; nil: all may. With
// allowManagedMcpServersOnly it has those of the machine's policy alone.
func (c *Config) AllowedMCPServers() json.RawMessage {
	list := c.merged.get("allowedMcpServers")
	if list == nil || list.kind != '[' || !c.Settings.AllowManagedMCPServersOnly {
		return c.Settings.AllowedMCPServers
	}
	only := *list
	only.elems = nil
	named := list.origin().Layer == Managed
	for _, e := range list.elems {
		if e.origin().Layer == Managed {
			only.elems, named = append(only.elems, e), true
		}
	}
	if !named {
		return nil
	}
	return only.appendJSON(nil)
}
