package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/extend/lsp"
	"github.com/lathe-dev/lathe/internal/extend/mcp/entry"
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
	brought, bad := p.broughtHooks()
	lines, notes = append(lines, brought...), append(notes, bad...)
	for _, part := range []struct {
		says string
		list func() (map[string]json.RawMessage, []string)
		read func(json.RawMessage) ([]string, error)
	}{
		{"starts the MCP server", p.Servers, serverEffects},
		{"starts the language server", p.LSP, languageEffects},
		{"runs the process", p.Processes, commandEffects},
	} {
		all, bad := part.list()
		notes = append(notes, bad...)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			effects, err := part.read(all[name])
			if err != nil {
				notes = append(notes, fmt.Sprintf("%s: the entry %s cannot be read, so it is never started: %v", part.says, name,
					err))
				continue
			}
			for _, effect := range effects {
				lines = append(lines, fmt.Sprintf("%s %s: %s", part.says, name, effect))
			}
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
	for _, need := range p.Needs() {
		lines = append(lines, "needs the plugin "+need)
	}
	looks, bad := p.lookLines()
	lines, notes = append(append(lines, looks...), p.texts()...), append(notes, bad...)
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], p.Root, "${CLAUDE_PLUGIN_ROOT}")
	}
	for _, path := range p.Workflows() {
		notes = append(notes, fmt.Sprintf("the plugin %s: workflows/%s is left out: lathe does not run workflows", p.Name(),
			filepath.Base(path)))
	}
	return lines, append(notes, p.faults()...)
}

// Unreadable are notes about its hooks, servers and processes that cannot be used.
func (p *Plugin) Unreadable() []string {
	_, notes := p.Hooks()
	for _, list := range []func() (map[string]json.RawMessage, []string){p.Servers, p.LSP, p.Processes} {
		_, bad := list()
		notes = append(notes, bad...)
	}
	return notes
}

// texts are the lines for parts that only the model reads.
func (p *Plugin) texts() (lines []string) {
	for _, part := range []struct {
		word  string
		paths []string
		file  string
	}{
		{"commands", p.Commands(), ".md"},
		{"agents", p.Agents(), ".md"},
		{"skills", p.Skills(), ""},
		{"output styles", p.Styles(), ".md"},
	} {
		var all []string
		for _, path := range part.paths {
			if path == p.folder() && part.file == "" {
				all = append(all, p.Name())
				continue
			}
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
			notes = append(notes, fmt.Sprintf("the plugin %s needs the value %s: set pluginConfigs.%s.options.%s", p.Name(),
				key, p.ID, key))
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
			Type, Command, URL, Prompt, Server, Tool, Model string
			Args                                            []string
			Headers                                         map[string]string
			AllowedEnvVars                                  []string
		} `json:"hooks"`
	}
	if err := json.Unmarshal(group, &g); err != nil {
		return []string{"(a group that cannot be read and never runs)"}
	}
	for _, h := range g.Hooks {
		words := slices.Concat([]string{h.Type, h.Command}, h.Args, []string{h.URL, h.Prompt, h.Server, h.Tool, h.Model})
		text := strings.Join(slices.DeleteFunc(words, func(s string) bool { return s == "" }), " ")
		if g.Matcher != "" {
			text += " (for " + g.Matcher + ")"
		}
		for _, name := range slices.Sorted(maps.Keys(h.Headers)) {
			text += "; sends " + name + ": " + h.Headers[name]
		}
		if len(h.AllowedEnvVars) > 0 {
			text += "; takes " + strings.Join(h.AllowedEnvVars, ", ")
		}
		out = append(out, text)
	}
	return out
}

// serverEffects are the effects of an MCP server, read as mcp reads it.
func serverEffects(raw json.RawMessage) (out []string, err error) {
	effects, err := entry.Effects(raw)
	for _, e := range effects {
		out = append(out, e.String())
	}
	return out, err
}

// languageEffects are those of a language server, read as lsp reads it.
func languageEffects(raw json.RawMessage) ([]string, error) {
	var d lsp.Definition
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, err
	}
	return program(slices.Concat(d.Command, d.Args), d.Env), nil
}

// commandEffects are those of a process.
func commandEffects(raw json.RawMessage) ([]string, error) {
	var d struct {
		Command string            `json:"command"`
		Args    []string          `json:"args"`
		Env     map[string]string `json:"env"`
		Memory  *int              `json:"maxMemoryMB"`
		CPU     *int              `json:"maxCPUMinutes"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, err
	}
	if d.Command == "" {
		return nil, errors.New("it has no command")
	}
	lines := program(append([]string{d.Command}, d.Args...), d.Env)
	if d.Memory != nil {
		lines = append(lines, fmt.Sprintf("sets its own limit: maxMemoryMB %d (0: none)", *d.Memory))
	}
	if d.CPU != nil {
		lines = append(lines, fmt.Sprintf("sets its own limit: maxCPUMinutes %d (0: none)", *d.CPU))
	}
	return lines, nil
}

// program describes a command line and the variables that are set for it.
func program(words []string, env map[string]string) []string {
	out := []string{"runs: " + strings.Join(words, " ")}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out = append(out, "sets: "+name+"="+env[name])
	}
	return out
}
