package plugin

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/frontmatter"
)

// mostTexts is how many files of commands, agents and skills are read for hooks.
const mostTexts = 2000

// broughtHooks are the lines for the hooks in the files of its commands, skills and agents, which run while those are
// in use.
func (p *Plugin) broughtHooks() (lines, notes []string) {
	left := mostTexts
	for _, part := range []struct {
		kind  string
		paths []string
	}{{"command", p.Commands()}, {"skill", p.Skills()}, {"agent", p.Agents()}} {
		for _, path := range part.paths {
			for _, file := range texts(path, part.kind == "skill") {
				if left--; left < 0 {
					return lines, append(notes, fmt.Sprintf("it has more than %d commands, agents and skills; the hooks of the "+
						"others are not listed", mostTexts))
				}
				more, err := p.hooksOf(file)
				if err != nil {
					notes = append(notes, fmt.Sprintf("the %s %s: %v", part.kind, p.rel(file), err))
				}
				for _, line := range more {
					lines = append(lines, fmt.Sprintf("%s, once the %s %s is used", line, part.kind, p.rel(file)))
				}
			}
		}
	}
	return lines, notes
}

// texts lists the Markdown files of a part: the file itself, or those below a folder.
func texts(path string, skills bool) (out []string) {
	_ = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(name) == ".md" && (!skills || d.Name() == "SKILL.md" || name == path) {
			out = append(out, name)
		}
		return nil // what cannot be read, its loader leaves out
	})
	return out
}

// hooksOf describes the hooks in the fields of a file.
func (p *Plugin) hooksOf(file string) (lines []string, err error) {
	data, err := readInside(p.Root, file)
	if err != nil {
		return nil, err
	}
	fields := frontmatter.Parse(data).Fields
	if !fields.Has("hooks") {
		return nil, nil
	}
	raw, err := json.Marshal(fields["hooks"])
	if err != nil {
		return nil, err
	}
	var groups map[string][]json.RawMessage
	if err := json.Unmarshal(raw, &groups); err != nil {
		return nil, fmt.Errorf("its hooks cannot be read, so it is never used: %w", err)
	}
	for _, event := range slices.Sorted(maps.Keys(groups)) {
		for _, g := range groups[event] {
			for _, text := range handlers(json.RawMessage(p.Fill(string(g)))) {
				lines = append(lines, "runs at "+event+": "+strings.TrimSpace(text))
			}
		}
	}
	return lines, nil
}
