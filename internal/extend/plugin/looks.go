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

// Themes are its files of themes by name, without the plugin's.
func (p *Plugin) Themes() map[string]string {
	out := map[string]string{}
	dirs, _ := p.paths(p.themesField(), "themes", false)
	for _, dir := range dirs {
		files := []string{dir}
		if st, err := os.Stat(dir); err == nil && st.IsDir() {
			files, _ = filepath.Glob(filepath.Join(dir, "*.json"))
		}
		for _, f := range files {
			if real, err := inside(p.Root, f); err == nil {
				out[strings.TrimSuffix(filepath.Base(f), ".json")] = real
			}
		}
	}
	return out
}

// themesField is the field of the manifest; Claude Code's counts, too.
func (p *Plugin) themesField() json.RawMessage {
	if p.Manifest.Themes != nil {
		return p.Manifest.Themes
	}
	return p.Manifest.Experimental.Themes
}

// Keys are the keys of its file keybindings.json with the commands of its own that they run, as PLUGIN:NAME. The notes
// name bindings to anything else, which do not hold: a key of a plugin must not answer questions in the user's place.
func (p *Plugin) Keys() (out map[string]string, notes []string) {
	path := filepath.Join(p.Root, "keybindings.json")
	if _, err := os.Stat(path); err != nil {
		return nil, nil
	}
	data, err := readInside(p.Root, path)
	var all map[string]string
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return nil, []string{fmt.Sprintf("the plugin %s: keybindings.json is left out: it is an object of keys and "+
			"commands: %v", p.Name(), err)}
	}
	out = map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		name, ok := strings.CutPrefix(all[key], "command:")
		if !ok || strings.ContainsAny(name, " \t\n") {
			notes = append(notes, fmt.Sprintf("the plugin %s: the key %s is left out: it is for %q, and a plugin's keys run "+
				"its own commands only", p.Name(), key, all[key]))
			continue
		}
		out[key] = p.Name() + ":" + strings.TrimPrefix(name, p.Name()+":")
	}
	return out, notes
}

// lookLines are the lines of the report for themes and keys.
func (p *Plugin) lookLines() (lines, notes []string) {
	keys, notes := p.Keys()
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		lines = append(lines, "binds the key "+key+" to /"+keys[key])
	}
	if all := slices.Sorted(maps.Keys(p.Themes())); len(all) > 0 {
		lines = append(lines, "themes: "+strings.Join(all, ", "))
	}
	return lines, notes
}
