// Package plugin reads, installs and updates plugins: folders that bring commands, agents, skills, hooks, MCP servers,
// output styles, tools and programs, in the form of Claude Code's (https://code.claude.com/docs/en/plugins-reference).
//
// The words: the id of a plugin is name@marketplace; a marketplace is a list of plugins, a file marketplace.json in a
// folder or repository; a plugin is installed when a copy of it lies in lathe's data folder, and enabled when the
// setting enabledPlugins says so.
//
// Promises:
//
//   - Nothing of a plugin runs before the user has seen its report and agreed; an update shows its difference first.
//   - An installed plugin is a copy of one commit or content. It changes only by an update.
//   - No path of a plugin leads out of its folder.
//   - Where no plugin is enabled, a start reads nothing for them.
package plugin

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/base/regular"
)

// Inline is the marketplace of plugins that a flag or a host names by their folder.
const Inline = "inline"

// Manifest is plugin.json. Fields that lathe does not know are ignored.
type Manifest struct {
	Name         string          `json:"name"`
	DisplayName  string          `json:"displayName,omitempty"`
	Version      string          `json:"version,omitempty"`
	Description  string          `json:"description,omitempty"`
	Author       json.RawMessage `json:"author,omitempty"`
	Homepage     string          `json:"homepage,omitempty"`
	License      string          `json:"license,omitempty"`
	Commands     json.RawMessage `json:"commands,omitempty"` // a path or a list of paths, each beginning with ./
	Agents       json.RawMessage `json:"agents,omitempty"`
	Skills       json.RawMessage `json:"skills,omitempty"`
	OutputStyles json.RawMessage `json:"outputStyles,omitempty"`
	Tools        json.RawMessage `json:"tools,omitempty"`
	// a path, a list of paths, or the object itself; likewise below
	Hooks        json.RawMessage   `json:"hooks,omitempty"`
	MCPServers   json.RawMessage   `json:"mcpServers,omitempty"`
	LSPServers   json.RawMessage   `json:"lspServers,omitempty"`
	Processes    json.RawMessage   `json:"processes,omitempty"`
	Dependencies []json.RawMessage `json:"dependencies,omitempty"`
	Themes       json.RawMessage   `json:"themes,omitempty"`
	UserConfig   map[string]Option `json:"userConfig,omitempty"`

	Experimental struct {
		Themes json.RawMessage `json:"themes,omitempty"`
	} `json:"experimental,omitzero"`
}

// Option is a value that the user gives a plugin, in the setting pluginConfigs.
type Option struct {
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Sensitive   bool   `json:"sensitive"`
	Required    bool   `json:"required"`
	Default     any    `json:"default"`
}

// Plugin is one plugin in its folder.
type Plugin struct {
	ID       string // name@marketplace
	Root     string // its folder
	Data     string // the folder for its own files; made when it is needed
	Manifest Manifest
	Options  map[string]string // the user's values
	// the marketplace's entry, with strict: false, says what the plugin has: its usual folders do not add to that
	listed bool
}

// Name is the name that its parts are known by: NAME:command.
func (p *Plugin) Name() string { return p.Manifest.Name }

// manifests are the places of the manifest in a plugin's folder, the first that is there counts.
var manifests = []string{".lathe-plugin/plugin.json", ".claude-plugin/plugin.json", "plugin.json"}

// maxManifest is the longest file of JSON that is read, in bytes.
const maxManifest = 1 << 20

var goodName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`) })

// CheckName refuses names that could not be a part of a command or a path.
func CheckName(name string) error {
	if !goodName().MatchString(name) || strings.Contains(name, "..") {
		return fmt.Errorf("the name %q is not up to 64 letters, digits, -, _ and dots", name)
	}
	return nil
}

// Read reads the plugin in a folder. extra is the entry of the marketplace; it may be nil. Its name counts, so that no
// plugin takes the place of another one, and its component fields where the manifest has none.
func Read(root string, extra json.RawMessage) (*Plugin, error) {
	p := &Plugin{Root: root}
	if len(extra) > 0 {
		if err := json.Unmarshal(extra, &p.Manifest); err != nil {
			return nil, fmt.Errorf("the entry of the marketplace cannot be read: %w", err)
		}
		var entry Entry
		p.listed = json.Unmarshal(extra, &entry) == nil && entry.Strict != nil && !*entry.Strict
	}
	listed := p.Manifest.Name
	file, data, err := manifestOf(root)
	switch {
	case err != nil:
		return nil, err
	case data != nil:
		if err := json.Unmarshal(data, &p.Manifest); err != nil {
			return nil, fmt.Errorf("%s cannot be read: %w", file, err)
		}
	case extra == nil:
		if _, err := os.Stat(filepath.Join(root, marketplaceFile)); err == nil {
			return nil, fmt.Errorf("%s is a marketplace, not a plugin; add it with: lathe plugin marketplace add %s", root, root)
		}
		if !looksLike(root) {
			return nil, fmt.Errorf("%s is no plugin: it has no .claude-plugin/plugin.json and no folder of a plugin", root)
		}
		p.Manifest.Name = filepath.Base(root)
	}
	p.Manifest.Name = cmp.Or(listed, p.Manifest.Name)
	if err := CheckName(p.Manifest.Name); err != nil {
		return nil, err
	}
	return p, nil
}

func manifestOf(root string) (file string, data []byte, err error) {
	for _, name := range manifests {
		file = filepath.Join(root, filepath.FromSlash(name))
		data, err = readInside(root, file)
		if !errors.Is(err, os.ErrNotExist) {
			return file, data, err
		}
	}
	return "", nil, nil
}

// looksLike reports a folder without a manifest that has parts of a plugin.
func looksLike(root string) bool {
	return slices.ContainsFunc([]string{"commands", "agents", "skills", "hooks", "output-styles", ".mcp.json", "SKILL.md"},
		func(name string) bool {
			_, err := os.Stat(filepath.Join(root, name))
			return err == nil
		})
}

// readInside reads a small regular file whose links do not lead out of root.
func readInside(root, file string) ([]byte, error) {
	real, err := inside(root, file)
	if err != nil {
		return nil, err
	}
	st, err := os.Stat(real)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() > maxManifest {
		return nil, fmt.Errorf("%s is no regular file of at most %d MB", file, maxManifest>>20)
	}
	return regular.ReadFile(real)
}

// inside resolves the links of a path and refuses one that leads out of root.
func inside(root, path string) (string, error) {
	if rel, err := filepath.Rel(root, path); err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%s leads out of the plugin", path)
	}
	base, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(base, real); err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%s leads out of the plugin", path)
	}
	return real, nil
}

// Fill replaces the placeholders of a text.
func (p *Plugin) Fill(text string) string {
	return p.placeholders(func(s string) string { return s }).Replace(text)
}

// fillJSON replaces the placeholders in the texts of JSON.
func (p *Plugin) fillJSON(raw []byte) []byte {
	return []byte(p.placeholders(func(s string) string {
		quoted, _ := json.Marshal(s) // a text always can
		return string(quoted[1 : len(quoted)-1])
	}).Replace(string(raw)))
}

func (p *Plugin) placeholders(escape func(string) string) *strings.Replacer {
	pairs := []string{}
	for name, value := range p.Variables() {
		pairs = append(pairs, "${"+name+"}", escape(value))
	}
	for _, key := range slices.Sorted(maps.Keys(p.Options)) {
		pairs = append(pairs, "${user_config."+key+"}", escape(p.Options[key]))
	}
	return strings.NewReplacer(pairs...)
}

// Variables are those that the plugin's programs get.
func (p *Plugin) Variables() map[string]string {
	return map[string]string{
		"CLAUDE_PLUGIN_ROOT": p.Root, "CLAUDE_PLUGIN_DATA": p.Data, "LATHE_PLUGIN_ROOT": p.Root,
		"LATHE_PLUGIN_DATA": p.Data,
	}
}

// dataName is the name of a plugin's data folder.
func dataName(id string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, id)
}
