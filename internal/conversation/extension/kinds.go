package extension

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/conversation/ruleset"
	"github.com/lathe-dev/lathe/internal/extend/mcp/entry"
	"github.com/lathe-dev/lathe/internal/extend/skill"
	"github.com/lathe-dev/lathe/internal/permission"
)

// agents lists the folders of agent kinds.
func (f *Folder) agents() []subagent.Folder {
	if f.o.Bare {
		return nil
	}
	out := f.pluginAgents()
	for _, d := range f.places().Named("agents") {
		out = append(out, subagent.Folder{Path: d.Path, Source: d.Source, Bound: d.Bound})
	}
	return out
}

// inlineAgents are the kinds of the settings, which are read again when their text changes.
type inlineAgents struct {
	mu    sync.Mutex
	text  []byte
	kinds []subagent.Kind
	notes []string
}

// givenAgents lists the kinds of the settings, and of the command line, which override them. The notes name those of
// the settings that cannot be used.
func (f *Folder) givenAgents() ([]subagent.Kind, []string) {
	text := f.o.Config().Settings.Agents
	if f.o.Bare || len(text) == 0 {
		return f.o.Agents, nil
	}
	f.inline.mu.Lock()
	defer f.inline.mu.Unlock()
	if !bytes.Equal(text, f.inline.text) {
		f.inline.text = bytes.Clone(text)
		f.inline.read()
	}
	return slices.Concat(f.inline.kinds, f.o.Agents), f.inline.notes
}

// read reads each kind apart: one that cannot be used does not cost the others.
func (i *inlineAgents) read() {
	i.kinds, i.notes = nil, nil
	var all map[string]json.RawMessage
	if err := json.Unmarshal(i.text, &all); err != nil {
		i.notes = append(i.notes, "the setting agents: "+err.Error())
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		one, err := json.Marshal(map[string]json.RawMessage{name: all[name]})
		if err == nil {
			var kinds []subagent.Kind
			kinds, err = subagent.Given(one, "settings")
			i.kinds = append(i.kinds, kinds...)
		}
		if err != nil {
			i.notes = append(i.notes, "the setting agents: "+err.Error())
		}
	}
}

// AgentKind is the permissions of a kind, whose agent works in a copy of the project or, with nil, in the project.
func (f *Folder) AgentKind(k *subagent.Kind, place *permission.Place) (permission.AgentKind, error) {
	out := k.Permission(f.o.Tools.Name)
	if k.Permissions != nil {
		rules, err := ruleset.Of(ruleset.Options{Tools: f.o.Tools, Dir: f.o.Dir, Home: f.o.Config().Paths().Home},
			"the agent "+k.Name, k.Permissions.Allow, k.Permissions.Ask, k.Permissions.Deny)
		if err != nil {
			return out, err
		}
		out.Rules = rules
	}
	out.Memory = f.NotesDir(k, place)
	return out, nil
}

// AgentServers lists the MCP servers that kinds of agents declare for themselves.
func (f *Folder) AgentServers() (out []entry.Own) {
	for _, k := range f.Agents.Catalog().All() {
		out = append(out, ownServers(k, "")...)
	}
	return out
}

// ServersOf lists those that one kind declares for itself. They run where its agent works; place nil: in the project.
func (f *Folder) ServersOf(k *subagent.Kind, place *permission.Place) []entry.Own {
	if k == nil || len(k.Servers) == 0 {
		return nil
	}
	return ownServers(k, place.Moved(f.o.Dir))
}

func ownServers(k *subagent.Kind, base string) (out []entry.Own) {
	for _, name := range slices.Sorted(maps.Keys(k.Servers)) {
		out = append(out, entry.Own{
			Agent: k.Name, Name: name, Scope: serverScope(k.Source), File: k.Path, Base: base,
			Raw: k.Servers[name],
		})
	}
	return out
}

// serverScope is the scope of the servers of a kind by its source. One that is not known is a stranger's.
func serverScope(source string) entry.Scope {
	switch source {
	case skill.SourceUser:
		return entry.User
	case skill.SourceSettings:
		return entry.Settings
	case skill.SourceOrganisation:
		return entry.Managed
	case "command line":
		return entry.Flag
	}
	return entry.Project
}

// NotesDir is the folder of a kind's notes with links resolved; "" if it keeps none.
func (f *Folder) NotesDir(k *subagent.Kind, place *permission.Place) string {
	if k == nil || k.Memory == "" {
		return ""
	}
	paths := f.o.Config().Paths()
	root := place.Moved(cmp.Or(paths.Root, f.o.Dir))
	dir := resolved(k.NotesDir(paths.ClaudeHome, root))
	if rel, err := filepath.Rel(resolved(root), dir); k.Memory != subagent.User && (err != nil || !filepath.IsLocal(rel)) {
		return "" // a link of the project leads out of it
	}
	return dir
}

// resolved follows the links of a path whose end need not be there; "" if a link leads nowhere.
func resolved(dir string) string {
	for up := dir; ; up = filepath.Dir(up) {
		if real, err := filepath.EvalSymlinks(up); err == nil || up == filepath.Dir(up) {
			return filepath.Join(real, dir[len(up):])
		}
		if _, err := os.Lstat(up); err == nil {
			return "" // a link that leads nowhere
		}
	}
}
