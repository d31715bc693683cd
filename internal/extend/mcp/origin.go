package mcp

import "fmt"

// OriginOf names the server that a tool is of, and the place that declares it.
func (w *View) OriginOf(tool string) string {
	for _, v := range w.servers() {
		v.mu.Lock()
		for _, l := range v.listed {
			if l.spec.Name == tool {
				v.mu.Unlock()
				return fmt.Sprintf("MCP server %s, %s", v.entry.Name, describeFile(&v.entry))
			}
		}
		v.mu.Unlock()
	}
	return "MCP server"
}
