package subagent

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/frontmatter"
)

// known are the fields of a file. Prompt is one of agents on the command line and in the settings alone.
var known = []string{
	"name", "description", "prompt", "tools", "disallowedTools", "permissions", "permissionMode", "model", "effort",
	"temperature", "maxTurns", "maxSteps",
	"skills", "memory", "hooks", "mcpServers", "color", "background", "isolation", "eval", "initialPrompt",
	"omitClaudeMd",
}

// unknown notes the fields that lathe does not know.
func (k *Kind) unknown(f frontmatter.Fields) {
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if !slices.Contains(known, name) {
			k.note("%s is no field of an agent and has no effect", name)
		}
	}
}

// fillServers takes the servers that the file declares itself. An agent has those of its conversation in any case, so
// their names change nothing.
func (k *Kind) fillServers(f frontmatter.Fields) error {
	declared := map[string]any{}
	switch v := f["mcpServers"].(type) {
	case map[string]any:
		declared = v
	case []any:
		for _, e := range v {
			if one, ok := e.(map[string]any); ok {
				maps.Copy(declared, one)
			}
		}
	}
	for name, server := range declared {
		if _, ok := server.(map[string]any); !ok {
			return fmt.Errorf("mcpServers: %s is no object as in .mcp.json", name)
		}
		text, err := json.Marshal(server)
		if err != nil {
			return fmt.Errorf("mcpServers: %s: %w", name, err)
		}
		if k.Servers == nil {
			k.Servers = map[string]json.RawMessage{}
		}
		k.Servers[name] = text
	}
	return nil
}

// fillRules takes the permission rules. A pattern among disallowedTools is a rule that denies.
func (k *Kind) fillRules(f frontmatter.Fields) error {
	rules := &Rules{}
	if f.Has("permissions") {
		m, ok := f["permissions"].(map[string]any)
		if !ok {
			return errors.New(`permissions is an object of lists: {"allow": [...], "ask": [...], "deny": [...]}`)
		}
		lists := frontmatter.Fields(m)
		for name := range m {
			if !slices.Contains([]string{"allow", "ask", "deny"}, name) {
				return fmt.Errorf("permissions.%s is not known; it has the lists allow, ask and deny", name)
			}
		}
		rules.Allow, rules.Ask, rules.Deny = lists.List("allow"), lists.List("ask"), lists.List("deny")
	}
	pattern := func(name string) bool { return strings.Contains(name, "(") }
	for _, name := range k.Without {
		if pattern(name) {
			rules.Deny = append(rules.Deny, name)
		}
	}
	k.Without = slices.DeleteFunc(k.Without, pattern)
	if len(rules.Allow)+len(rules.Ask)+len(rules.Deny) > 0 {
		k.Permissions = rules
	}
	return nil
}

// fillMore takes the temperature, the scope of the notes and the hooks.
func (k *Kind) fillMore(f frontmatter.Fields) error {
	if f.Has("temperature") {
		t, err := strconv.ParseFloat(f.Text("temperature"), 64)
		if err != nil || !(t >= 0 && t <= 2) {
			return fmt.Errorf("temperature: %q is no number from 0 to 2", f.Text("temperature"))
		}
		k.Temperature = &t
	}
	switch k.Memory = Scope(f.Text("memory")); k.Memory {
	case "", User, Project, Local:
	default:
		return fmt.Errorf("memory: %q is not known; write user, project or local", k.Memory)
	}
	if !f.Has("hooks") {
		return nil
	}
	if _, ok := f["hooks"].(map[string]any); !ok && f["hooks"] != nil {
		return errors.New("hooks is an object of events, as in the settings")
	}
	text, err := json.Marshal(f["hooks"])
	if err != nil {
		return fmt.Errorf("hooks: %w", err)
	}
	k.Hooks = text
	return nil
}
