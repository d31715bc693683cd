package extension

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/extend/plugin"
	"github.com/lathe-dev/lathe/internal/extend/plugin/process"
)

// processes makes the set of plugin processes.
func (f *Folder) processes() *process.Set {
	return process.New(process.Options{
		Specs: f.processSpecs, Version: f.processVersion, Runner: f.o.Runner, Environ: f.environ,
		Tools: f.o.Tools, Dir: f.o.Dir, Confine: f.confine,
	})
}

// processVersion changes with the plugins and the setting.
func (f *Folder) processVersion() uint64 {
	f.procs.Lock()
	defer f.procs.Unlock()
	if now := f.o.Config(); now != f.procs.of {
		if f.procs.of == nil || string(f.procs.of.Settings.PluginProcesses) != string(now.Settings.PluginProcesses) {
			f.procs.count++
		}
		f.procs.of = now
	}
	return f.procs.count<<32 + f.pluginVersion()
}

// processSpecs lists the processes of the settings, then those of plugins. The process P of the plugin P is P, others
// are P-NAME.
func (f *Folder) processSpecs() (out []process.Spec, notes []string) {
	if f.o.Bare {
		return nil, nil
	}
	out, notes = f.settingProcesses()
	for _, p := range f.o.Plugins.Enabled() {
		all, _ := p.Processes()
		for _, name := range slices.Sorted(maps.Keys(all)) {
			d, err := process.Read(all[name])
			if err != nil {
				notes = append(notes, fmt.Sprintf("the process %s of the plugin %s is left out: %v", name, p.ID, err))
				continue
			}
			out = append(out, process.Spec{
				Declaration: d, Name: processName(p, name), Origin: "plugin " + p.ID, Foreign: true,
				Dir: p.Root, Data: p.Data, Environ: p.Environ,
			})
		}
	}
	return out, notes
}

func processName(p *plugin.Plugin, name string) string {
	if name == p.Name() {
		return name
	}
	return p.Name() + "-" + name
}

func (f *Folder) settingProcesses() (out []process.Spec, notes []string) {
	c := f.o.Config()
	var all map[string]json.RawMessage
	if raw := c.Settings.PluginProcesses; len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	} else if err := json.Unmarshal(raw, &all); err != nil {
		return nil, []string{"the setting pluginProcesses is an object of processes by name: " + err.Error()}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		d, err := process.Read(all[name])
		if err == nil {
			err = plugin.CheckName(name)
		}
		if err != nil {
			notes = append(notes, fmt.Sprintf("the setting pluginProcesses.%s is left out: %v", name, err))
			continue
		}
		path := "pluginProcesses." + name
		from, foreign := c.Origin(path+".command"), ofProject(c, path, all[name])
		out = append(out, process.Spec{
			Declaration: d, Name: name, Origin: "setting, " + from.String(), Foreign: foreign,
			Dir: c.Paths().Root,
		})
	}
	return out, notes
}

// ofProject reports a value of the settings of which a part is the project's: an argument or a variable is enough to
// run another program.
func ofProject(c *config.Config, path string, raw json.RawMessage) bool {
	if l := c.Origin(path).Layer; l == config.Project || l == config.Local {
		return true
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return false
	}
	for key, value := range fields {
		quoted, _ := json.Marshal(key) // a text always can
		if ofProject(c, path+"["+string(quoted)+"]", value) {
			return true
		}
	}
	return false
}

// Close ends the plugin processes.
func (f *Folder) Close() error { return f.Processes.Close() }
