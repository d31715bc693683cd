package entry

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// Source is a file of another program that declares servers.
type Source struct {
	Program string // "claude-desktop", "vscode", "cursor", "codex", "opencode"
	File    string
}

// Sources are the files of other programs, for the user and for a project.
func Sources(home, configHome, project string) []Source {
	return []Source{
		{"claude-desktop", filepath.Join(configHome, "Claude", "claude_desktop_config.json")},
		{"claude-desktop", filepath.Join(home, "Library", "Application Support", "Claude", "claude_desktop_config.json")},
		{"vscode", filepath.Join(project, ".vscode", "mcp.json")},
		{"cursor", filepath.Join(home, ".cursor", "mcp.json")},
		{"cursor", filepath.Join(project, ".cursor", "mcp.json")},
		{"codex", filepath.Join(home, ".codex", "config.toml")},
		{"codex", filepath.Join(project, ".codex", "config.toml")},
		{"opencode", filepath.Join(configHome, "opencode", "opencode.json")},
		{"opencode", filepath.Join(project, "opencode.json")},
	}
}

// Import reads the servers of a file in whatever form its program has, as entries of lathe's.
func (s Source) Import() (map[string]json.RawMessage, error) {
	data, err := readBounded(s.File)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(s.File, ".toml") {
		return importCodex(s.File, data)
	}
	if data, err = hujson.Standardize(data); err != nil {
		return nil, fmt.Errorf("%s is no valid JSON: %w", s.File, err)
	}
	var doc struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
		VSCode  map[string]json.RawMessage `json:"servers"`
		Open    map[string]openEntry       `json:"mcp"`
	}
	if err := json.Unmarshal(ownVariables(data), &doc); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", s.File, err)
	}
	out := map[string]json.RawMessage{}
	maps.Copy(out, doc.VSCode)
	maps.Copy(out, doc.Servers)
	for name, e := range doc.Open {
		raw, err := json.Marshal(e.fields())
		if err != nil {
			return nil, err
		}
		out[name] = raw
	}
	return out, nil
}

// ownVariables writes the variables of other programs as lathe's: ${env:NAME} of VS Code and Cursor, {env:NAME} of
// opencode, and ${input:some-id}, which VS Code asks for, as ${SOME_ID}.
func ownVariables(data []byte) []byte {
	data = regexp.MustCompile(`\$?\{env:([A-Za-z_][A-Za-z0-9_]*)\}`).ReplaceAll(data, []byte("$${$1}"))
	return regexp.MustCompile(`\$\{input:[A-Za-z_][A-Za-z0-9_.-]*\}`).ReplaceAllFunc(data, func(m []byte) []byte {
		name := strings.NewReplacer("-", "_", ".", "_").Replace(string(m[len("${input:") : len(m)-1]))
		return []byte("${" + strings.ToUpper(name) + "}")
	})
}

// openEntry is an entry of opencode's.
type openEntry struct {
	Type    string            `json:"type"`
	Command []string          `json:"command"`
	Env     map[string]string `json:"environment"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Enabled *bool             `json:"enabled"`
	Timeout int               `json:"timeout"` // milliseconds until the tools are listed
}

func (e openEntry) fields() Fields {
	f := Fields{Env: e.Env, Headers: e.Headers, Disabled: e.Enabled != nil && !*e.Enabled, StartMs: e.Timeout}
	if e.Type == "remote" {
		f.Type, f.URL = HTTP, e.URL
	} else if len(e.Command) > 0 {
		f.Command, f.Args = e.Command[0], e.Command[1:]
	}
	return f
}

// Existing are the sources whose files are there.
func Existing(all []Source) []Source {
	return slices.DeleteFunc(all, func(s Source) bool {
		st, err := os.Stat(s.File)
		return err != nil || !st.Mode().IsRegular()
	})
}
