package plugin

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Report lists the parts of a plugin, a line each, those that run by themselves first: foreign text.
func (p *Plugin) Report() (lines, notes []string) {
	hooks, bad := p.Hooks()
	notes = append(notes, bad...)
	for _, h := range hooks {
		for _, text := range handlers(h.JSON) {
			lines = append(lines, "runs at "+h.Event+": "+text)
		}
	}
	for _, part := range []struct {
		says string
		list func() (map[string]json.RawMessage, []string)
	}{{"starts the MCP server", p.Servers}, {"starts the language server", p.LSP}, {"names a process that lathe does not start,", p.Processes}} {
		all, bad := part.list()
		notes = append(notes, bad...)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			lines = append(lines, fmt.Sprintf("%s %s: %s", part.says, name, commandOf(all[name])))
		}
	}
	for _, path := range p.Tools() {
		lines = append(lines, "tool: "+p.rel(path))
	}
	if bin := p.Bin(); bin != "" {
		lines = append(lines, "programs for Bash: "+strings.Join(names(bin, ""), ", "))
	}
	if a := p.Agent(); a != "" {
		lines = append(lines, "makes main conversations those of the agent "+a)
	}
	lines = append(lines, p.texts()...)
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], p.Root, "${CLAUDE_PLUGIN_ROOT}")
	}
	return lines, append(notes, p.faults()...)
}

// texts are the lines for parts that only the model reads.
func (p *Plugin) texts() (lines []string) {
	for _, part := range []struct {
		word  string
		paths []string
		file  string
	}{{"commands", p.Commands(), ".md"}, {"agents", p.Agents(), ".md"}, {"skills", p.Skills(), ""}, {"output styles", p.Styles(), ".md"}} {
		var all []string
		for _, path := range part.paths {
			all = append(all, names(path, part.file)...)
		}
		if len(all) > 0 {
			lines = append(lines, part.word+": "+strings.Join(all, ", "))
		}
	}
	return lines
}

// faults are the notes about paths of the manifest.
func (p *Plugin) faults() (notes []string) {
	m := p.Manifest
	for _, raw := range []json.RawMessage{m.Commands, m.Agents, m.Skills, m.OutputStyles, m.Tools} {
		_, bad := p.paths(raw, "", false)
		notes = append(notes, bad...)
	}
	for key, o := range m.UserConfig {
		if o.Required && p.Options[key] == "" {
			notes = append(notes, fmt.Sprintf("the plugin %s needs the value %s: set pluginConfigs.%s.options.%s", p.Name(), key, p.ID, key))
		}
	}
	return notes
}

func (p *Plugin) rel(path string) string {
	if base, err := filepath.EvalSymlinks(p.Root); err == nil {
		if rel, err := filepath.Rel(base, path); err == nil {
			return rel
		}
	}
	return path
}

// names lists the entries of a folder, or the file itself, without the ending.
func names(path, ending string) (out []string) {
	if st, err := os.Stat(path); err == nil && !st.IsDir() {
		return []string{strings.TrimSuffix(filepath.Base(path), ending)}
	}
	if _, err := os.Stat(filepath.Join(path, "SKILL.md")); err == nil {
		return []string{filepath.Base(path)}
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if e.Name()[0] != '.' {
			out = append(out, strings.TrimSuffix(e.Name(), ending))
		}
	}
	return out
}

// handlers describes the handlers of a group of hooks.
func handlers(group json.RawMessage) (out []string) {
	var g struct {
		Matcher string `json:"matcher"`
		Hooks   []struct {
			Type, Command, URL, Prompt, Server, Tool string
			Args                                     []string
		} `json:"hooks"`
	}
	if json.Unmarshal(group, &g) != nil {
		return []string{"(a group that cannot be read)"}
	}
	for _, h := range g.Hooks {
		text := strings.Join(slices.DeleteFunc([]string{h.Command, strings.Join(h.Args, " "), h.URL, h.Prompt, h.Server, h.Tool}, func(s string) bool { return s == "" }), " ")
		if g.Matcher != "" {
			text += " (for " + g.Matcher + ")"
		}
		out = append(out, h.Type+" "+text)
	}
	return out
}

func commandOf(raw json.RawMessage) string {
	var s struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
		URL     string   `json:"url"`
	}
	if json.Unmarshal(raw, &s) != nil {
		return "(an entry that cannot be read)"
	}
	return strings.TrimSpace(strings.Join(append([]string{s.Command}, s.Args...), " ") + " " + s.URL)
}
