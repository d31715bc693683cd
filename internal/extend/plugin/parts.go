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
)

// paths are the files or folders of one kind of part: the default one, or those of the manifest. The notes name paths
// that cannot be used.
func (p *Plugin) paths(raw json.RawMessage, usual string, add bool) (out, notes []string) {
	named, err := pathList(raw)
	if err != nil {
		notes = append(notes, fmt.Sprintf("the plugin %s: %v", p.Name(), err))
	}
	if usual != "" && (add && !(p.listed && len(raw) > 0) || raw == nil) {
		if _, err := os.Stat(filepath.Join(p.Root, usual)); err == nil {
			named = append([]string{"./" + usual}, named...)
		}
	}
	for _, name := range named {
		real, err := inside(p.Root, filepath.Join(p.Root, filepath.FromSlash(name)))
		if err != nil {
			notes = append(notes, fmt.Sprintf("the plugin %s: %q is left out: %v", p.Name(), name, err))
			continue
		}
		if !slices.Contains(out, real) {
			out = append(out, real)
		}
	}
	return out, notes
}

// pathList reads a path or a list of paths; an object is none.
func pathList(raw json.RawMessage) ([]string, error) {
	if len(raw) == 0 || raw[0] == '{' || string(raw) == "null" {
		return nil, nil
	}
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}, nil
	}
	var list []string
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, errors.New("a part of its manifest is neither a path nor a list of paths")
	}
	return list, nil
}

// Commands are its folders and files of commands.
func (p *Plugin) Commands() []string { return first(p.paths(p.Manifest.Commands, "commands", false)) }

// Agents are its folders and files of agents.
func (p *Plugin) Agents() []string { return first(p.paths(p.Manifest.Agents, "agents", false)) }

// Skills are its folders of skills. With a SKILL.md the plugin's own folder is one.
func (p *Plugin) Skills() []string {
	out := first(p.paths(p.Manifest.Skills, "skills", true))
	if p.listed && p.Manifest.Skills != nil {
		return out
	}
	if _, err := readInside(p.Root, filepath.Join(p.Root, "SKILL.md")); err == nil && !slices.Contains(out, p.folder()) {
		out = append(out, p.folder())
	}
	return out
}

// folder is the plugin's folder with its links resolved.
func (p *Plugin) folder() string {
	if real, err := filepath.EvalSymlinks(p.Root); err == nil {
		return real
	}
	return p.Root
}

// SkillName is the name of the one skill in a folder of Skills, where its file gives none: the plugin's own folder has
// the plugin's name.
func (p *Plugin) SkillName(path string) string {
	if path == p.folder() {
		return p.Name()
	}
	return filepath.Base(path)
}

// Styles are its folders of output styles.
func (p *Plugin) Styles() []string {
	return first(p.paths(p.Manifest.OutputStyles, "output-styles", false))
}

// Bin is its folder of programs for Bash; "" if there is none.
func (p *Plugin) Bin() string {
	if dir, err := inside(p.Root, filepath.Join(p.Root, "bin")); err == nil {
		return dir
	}
	return ""
}

// Tools are its programs that are tools.
func (p *Plugin) Tools() (out []string) {
	dirs, _ := p.paths(p.Manifest.Tools, "tools", false)
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil { // a file
			out = append(out, dir)
			continue
		}
		for _, e := range entries {
			if st, err := e.Info(); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 && e.Name()[0] != '.' {
				out = append(out, filepath.Join(dir, e.Name()))
			}
		}
	}
	return out
}

func first(out, _ []string) []string { return out }

// objects reads a part that is JSON: the object in the manifest, the files that it names, or the usual file. key is the
// field of the file that holds it, where the file has that field.
func (p *Plugin) objects(raw json.RawMessage, usual, key string) (out []json.RawMessage, notes []string) {
	var inline json.RawMessage
	if len(raw) > 0 && raw[0] == '{' {
		if inline, raw = unwrap(raw, key), json.RawMessage("null"); string(inline) == "{}" {
			raw = nil
		}
	}
	files, notes := p.paths(raw, usual, raw != nil)
	for _, file := range files {
		data, err := readInside(p.Root, file)
		if err == nil && !json.Valid(data) {
			err = errors.New("it is not JSON")
		}
		if err != nil {
			notes = append(notes, fmt.Sprintf("the plugin %s: %s is left out: %v", p.Name(), file, err))
			continue
		}
		out = append(out, p.fillJSON(unwrap(data, key)))
	}
	if inline != nil {
		out = append(out, p.fillJSON(inline))
	}
	return out, notes
}

func unwrap(raw []byte, key string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) == nil && fields[key] != nil {
		return fields[key]
	}
	return raw
}

// HookGroup is a matcher and its handlers, for one event.
type HookGroup struct {
	Event string
	JSON  json.RawMessage
}

// Hooks are its hooks by event, in order, with placeholders filled in.
func (p *Plugin) Hooks() (out []HookGroup, notes []string) {
	objects, notes := p.objects(p.Manifest.Hooks, filepath.Join("hooks", "hooks.json"), "hooks")
	for _, raw := range objects {
		var events map[string][]json.RawMessage
		if err := json.Unmarshal(raw, &events); err != nil {
			notes = append(notes, fmt.Sprintf("the hooks of the plugin %s are left out: %v", p.Name(), err))
			continue
		}
		for _, event := range slices.Sorted(maps.Keys(events)) {
			for _, group := range events[event] {
				out = append(out, HookGroup{event, group})
			}
		}
	}
	return out, notes
}

// Servers are its MCP servers by name, with placeholders filled in.
func (p *Plugin) Servers() (map[string]json.RawMessage, []string) {
	return p.named(p.Manifest.MCPServers, ".mcp.json", "mcpServers")
}

// LSP are its language servers by name, in the form of .lsp.json.
func (p *Plugin) LSP() (map[string]json.RawMessage, []string) {
	return p.named(p.Manifest.LSPServers, ".lsp.json", "lspServers")
}

// Processes are its long-lived programs by name.
func (p *Plugin) Processes() (map[string]json.RawMessage, []string) {
	return p.named(p.Manifest.Processes, "processes.json", "processes")
}

func (p *Plugin) named(raw json.RawMessage, usual, key string) (map[string]json.RawMessage, []string) {
	objects, notes := p.objects(raw, usual, key)
	out := map[string]json.RawMessage{}
	for _, o := range objects {
		var list map[string]json.RawMessage
		if err := json.Unmarshal(o, &list); err != nil {
			notes = append(notes, fmt.Sprintf("the plugin %s: %s: %v", p.Name(), key, err))
			continue
		}
		maps.Copy(out, list)
	}
	return out, notes
}

// Workflows are its scripts that start agents, which lathe does not run.
func (p *Plugin) Workflows() []string {
	found, _ := filepath.Glob(filepath.Join(p.Root, "workflows", "*.js"))
	return found
}

// Agent is the kind of agent that its settings.json names for main conversations; "" if there is none.
func (p *Plugin) Agent() string {
	data, err := readInside(p.Root, filepath.Join(p.Root, "settings.json"))
	var set struct {
		Agent string `json:"agent"`
	}
	if err != nil || json.Unmarshal(data, &set) != nil {
		return ""
	}
	return set.Agent
}

// Environ adds its variables and the user's values to an environment.
func (p *Plugin) Environ(env []string) []string {
	env = slices.Clone(env)
	for _, name := range slices.Sorted(maps.Keys(p.Variables())) {
		env = append(env, name+"="+p.Variables()[name])
	}
	for _, key := range slices.Sorted(maps.Keys(p.Options)) {
		env = append(env, "CLAUDE_PLUGIN_OPTION_"+strings.ToUpper(key)+"="+p.Options[key])
	}
	return env
}
