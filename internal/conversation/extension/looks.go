package extension

import (
	"sync"
)

// pluginLooks keeps the keys of plugins, which are asked for at each key that the user presses.
type pluginLooks struct {
	sync.Mutex
	of   uint64 // the version of the plugins, plus one
	keys map[string]string
}

// PluginKeys are the keys that plugins bind to commands of theirs. Of two plugins that bind the same key the first by
// id counts.
func (f *Folder) PluginKeys() map[string]string {
	version := f.pluginVersion() + 1
	f.looks.Lock()
	defer f.looks.Unlock()
	if f.looks.of == version {
		return f.looks.keys
	}
	f.looks.of, f.looks.keys = version, map[string]string{}
	for _, p := range f.o.Plugins.Enabled() {
		keys, _ := p.Keys()
		for key, command := range keys {
			if f.looks.keys[key] == "" {
				f.looks.keys[key] = command
			}
		}
	}
	return f.looks.keys
}

// PluginThemes are the files of plugins' themes: the theme T of the plugin P is P:T.
func (f *Folder) PluginThemes() map[string]string {
	out := map[string]string{}
	for _, p := range f.o.Plugins.Enabled() {
		for name, file := range p.Themes() {
			out[p.Name()+":"+name] = file
		}
	}
	return out
}
