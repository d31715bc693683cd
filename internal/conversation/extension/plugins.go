package extension

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent/hook"
	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/extend/customtool"
	"github.com/lathe-dev/lathe/internal/extend/lsp"
	"github.com/lathe-dev/lathe/internal/extend/mcp/entry"
	"github.com/lathe-dev/lathe/internal/extend/plugin"
	"github.com/lathe-dev/lathe/internal/extend/skill"
)

// The parts of plugins, for those who load such parts. Their names begin with the plugin's, so they hide none of the
// user's.

func (f *Folder) pluginSkills() []skill.Folder { return PluginSkills(f.o.Plugins) }

// PluginSkills are the folders of skills and commands of plugins.
func PluginSkills(set *plugin.Set) (out []skill.Folder) {
	for _, p := range set.Enabled() {
		add := func(kind skill.Kind, paths []string) {
			for _, path := range paths {
				out = append(out, skill.Folder{
					Path: path, Kind: kind, Source: subagent.SourcePlugin + p.Name(), Prefix: p.Name(),
					Vars: p.Variables(), Bound: p.Root, Single: p.SkillName(path),
				})
			}
		}
		add(skill.KindCommand, p.Commands())
		add(skill.KindSkill, p.Skills())
	}
	return out
}

func (f *Folder) pluginAgents() (out []subagent.Folder) {
	for _, p := range f.o.Plugins.Enabled() {
		for _, path := range p.Agents() {
			out = append(out, subagent.Folder{
				Path: path, Source: subagent.SourcePlugin + p.Name(), Prefix: p.Name(),
				Fill: p.Fill, Bound: p.Root,
			})
		}
	}
	return out
}

// PluginAgent is the kind of main conversations that a plugin asks for, one of its own; "": none does. The first plugin
// by id counts.
func (f *Folder) PluginAgent() string {
	for _, p := range f.o.Plugins.Enabled() {
		if name := p.Agent(); name != "" {
			return p.Name() + ":" + strings.TrimPrefix(name, p.Name()+":")
		}
	}
	return ""
}

func (f *Folder) pluginStyles() (out []string) {
	for _, p := range f.o.Plugins.Enabled() {
		out = append(out, p.Styles()...)
	}
	return out
}

func (f *Folder) pluginTools() (out []customtool.More) {
	for _, p := range f.o.Plugins.Enabled() {
		for _, path := range p.Tools() {
			out = append(out, customtool.More{Path: path, Plugin: p.ID, Environ: p.Environ})
		}
	}
	return out
}

func (f *Folder) pluginVersion() uint64 {
	if f.o.Plugins == nil {
		return 0
	}
	return f.o.Plugins.Version()
}

// PluginServers are the MCP servers of plugins: the server s of the plugin p is plugin_p_s.
func (f *Folder) PluginServers() map[string]entry.PluginServer {
	out := map[string]entry.PluginServer{}
	for _, p := range f.o.Plugins.Enabled() {
		servers, _ := p.Servers()
		for name, raw := range servers {
			out[serverName(p, name)] = entry.PluginServer{Raw: raw, Root: p.Root, Data: p.Data}
		}
	}
	return out
}

// PluginLanguages are the language servers of plugins: the server s of the plugin p is p:s. An entry that cannot be
// read is left out.
func (f *Folder) PluginLanguages() map[string]lsp.Definition {
	out := map[string]lsp.Definition{}
	for _, p := range f.o.Plugins.Enabled() {
		servers, _ := p.LSP()
		for name, raw := range servers {
			var d lsp.Definition
			if json.Unmarshal(raw, &d) == nil {
				d.Plugin = p.ID
				out[p.Name()+":"+name] = d
			}
		}
	}
	return out
}

func serverName(p *plugin.Plugin, server string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, p.Name()+"_"+server)
	for strings.Contains(name, "__") {
		name = strings.ReplaceAll(name, "__", "_")
	}
	return "plugin_" + strings.Trim(name, "_")
}

// pluginData are the folders in which plugins keep files, with links resolved.
func (f *Folder) pluginData() (out []string) {
	for _, p := range f.o.Plugins.Enabled() {
		if real, err := filepath.EvalSymlinks(p.Data); err == nil {
			out = append(out, real)
		}
	}
	return out
}

func (f *Folder) pluginHooks() (out []hook.Group) {
	for _, p := range f.o.Plugins.Enabled() {
		groups, _ := p.Hooks()
		for _, g := range groups {
			out = append(out, hook.Group{Event: g.Event, JSON: g.JSON, From: "plugin " + p.ID, Place: hook.Place{
				Foreign: true,
				Root:    p.Root, Data: p.Data, Environ: p.Environ(nil),
			}})
		}
	}
	return out
}
