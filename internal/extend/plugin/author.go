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

// Validate checks the plugin or the marketplace in a folder, without running anything. The lines list its parts.
func Validate(dir string) (lines, faults []string) {
	if m, err := readMarket(dir); err == nil {
		m.Here = true
		return validateMarket(m)
	} else if _, no := os.Stat(filepath.Join(dir, marketplaceFile)); no == nil {
		return nil, []string{err.Error()}
	}
	p, err := Read(dir, nil)
	if err != nil {
		return nil, []string{err.Error()}
	}
	lines, faults = p.Report()
	if _, data, _ := manifestOf(dir); data == nil {
		faults = append(faults, "it has no .claude-plugin/plugin.json; its folder gives it the name "+p.Name())
	}
	for _, raw := range []json.RawMessage{
		p.Manifest.Commands, p.Manifest.Agents, p.Manifest.Skills,
		p.Manifest.OutputStyles, p.Manifest.Tools,
	} {
		named, _ := pathList(raw)
		if i := slices.IndexFunc(named, func(s string) bool { return !strings.HasPrefix(s, "./") }); i >= 0 {
			faults = append(faults, fmt.Sprintf("the path %q of the manifest does not begin with ./", named[i]))
		}
	}
	return append([]string{strings.TrimSpace("plugin " + p.Name() + " " + p.Manifest.Version)}, lines...), faults
}

func validateMarket(m *Market) (lines, faults []string) {
	lines = []string{"marketplace " + m.Name}
	faults = append(faults, m.Notes...)
	for _, e := range m.Entries {
		src, err := m.resolve(e)
		if err == nil && src.Kind == "directory" {
			_, err = Read(src.Path, e.components())
		}
		if err != nil {
			faults = append(faults, fmt.Sprintf("the plugin %s: %v", e.Name, err))
			continue
		}
		lines = append(lines, "plugin "+e.Name+" from "+src.String())
	}
	for _, old := range slices.Sorted(maps.Keys(m.Renames)) {
		switch now, _ := m.Present(old); {
		case now == old:
			faults = append(faults, "renames has "+old+", which is a plugin of the list")
		case now != "":
			lines = append(lines, "plugin "+old+" is "+now+" now")
		case m.Renames[old] == nil:
			lines = append(lines, "plugin "+old+" was dropped")
		default:
			faults = append(faults, fmt.Sprintf("renames leads from %s to %s, and to no plugin of the list", old,
				*m.Renames[old]))
		}
	}
	return lines, faults
}

// Create writes a plugin to begin with and returns its folder.
func Create(dir, name string) (string, error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	root := filepath.Join(dir, name)
	if _, err := os.Stat(root); err == nil {
		return "", fmt.Errorf("%s is there already; choose another name", root)
	}
	manifest, err := json.MarshalIndent(map[string]string{"name": name, "version": "0.1.0", "description": "What " +
		name + " is for."}, "", "  ")
	if err != nil {
		return "", err
	}
	for file, text := range map[string]string{
		".claude-plugin/plugin.json": string(manifest) + "\n",
		"commands/hello.md": "---\ndescription: Greet somebody\nargument-hint: [name]\n---\nGreet $ARGUMENTS in " +
			"one sentence.\n",
		"skills/style/SKILL.md": "---\nname: style\ndescription: How texts of this project are written. Use it before you " +
			"write one.\n---\nWrite short sentences. Name the actor.\n",
		"agents/reader.md": "---\nname: reader\ndescription: Reads files and answers questions on them\ntools: Read, " +
			"Grep, Glob\n---\nAnswer the question from the files alone, with file and line.\n",
		"hooks/hooks.json": `{"hooks": {"PostToolUse": [{"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "\"${CLAUDE_PLUGIN_ROOT}/bin/note-edit\""}]}]}}` + "\n",
		"bin/note-edit": "#!/bin/sh\n# Keeps the input of each hook with the plugin.\ncat >> " +
			"\"$CLAUDE_PLUGIN_DATA/edits.jsonl\"\n",
	} {
		path := filepath.Join(root, filepath.FromSlash(file))
		if err := write(path, strings.NewReader(text), 0o600); err != nil {
			return "", err
		}
		if strings.HasPrefix(file, "bin/") {
			if err := os.Chmod(path, 0o755); err != nil {
				return "", err
			}
		}
	}
	return root, nil
}
