package boundary

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/lathe-dev/lathe/internal/permission"
)

// stateFolder is the folder of an agent in which plugins keep files of their own, beside what configures the agent.
const stateFolder = ".claude"

// configNames are the entries of stateFolder that an agent reads. They are protected before they are there.
var configNames = []string{
	"settings.json", "settings.local.json", "hooks", "hooks.json", "agents", "commands", "skills", "rules",
	"output-styles", "workflows", "plugins", "CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "loop.md", "launch.json",
	"mcp.json", ".mcp.json", "keybindings.json", "scheduled_tasks.json",
}

// openState takes the folder itself from protected paths and adds what is in it but for the state of plugins. Its
// protected entries pin it. A link, and a folder that is not there, stays protected as a whole.
func openState(paths []string, folder string) []string {
	fi, err := os.Lstat(folder)
	if err != nil || !fi.IsDir() {
		return paths
	}
	paths = slices.DeleteFunc(paths, func(path string) bool { return path == folder })
	for _, name := range append(configEntries(folder), configNames...) {
		paths = append(paths, filepath.Join(folder, name))
	}
	return paths
}

// configEntries are the entries of a folder that are not the state of a plugin.
func configEntries(folder string) (out []string) {
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		if !e.Type().IsRegular() || !permission.PluginState(stateFolder, e.Name()) {
			out = append(out, e.Name())
		}
	}
	return out
}

// stateFolders are the folders of agents in the folders that a command writes, with their entries before it; nil: the
// folder was not there.
type stateFolders map[string][]string

func newStateFolders(folders []string) stateFolders {
	s := stateFolders{}
	for _, dir := range folders {
		folder := filepath.Join(dir, stateFolder)
		s[folder] = nil
		if isDir(folder) {
			s[folder] = append([]string{}, configEntries(folder)...)
		}
	}
	return s
}

// keeps reports whether a command made a folder in which a plugin keeps state.
func (s stateFolders) keeps(folder string) bool {
	was, known := s[folder]
	if !known || was != nil || !isDir(folder) {
		return false
	}
	all, _ := os.ReadDir(folder)
	return len(all) > len(configEntries(folder))
}

// isState reports whether a path is a folder with nothing but the state of plugins.
func isState(folder string) bool {
	return filepath.Base(folder) == stateFolder && isDir(folder) && len(configEntries(folder)) == 0
}

// planted returns what a command made that is not the state of a plugin: entries, or another thing in the folder's
// place.
func (s stateFolders) planted() (out []string) {
	for folder, was := range s {
		switch {
		case isDir(folder) && (was != nil || s.keeps(folder)):
			for _, name := range configEntries(folder) {
				if !slices.Contains(was, name) {
					out = append(out, filepath.Join(folder, name))
				}
			}
		case was != nil && there(folder) && !isDir(folder):
			out = append(out, folder)
		}
	}
	slices.Sort(out)
	return out
}
