package plugin

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/lathe-dev/lathe/internal/config"
)

// Set is the plugins that are enabled in one folder. It is safe for concurrent use.
type Set struct {
	config func() *config.Config
	store  *Store
	dirs   []string // of the command line, or a host
	off    bool

	version atomic.Uint64
	mu      sync.Mutex
	digest  string
	list    []*Plugin
	notes   []string
}

// NewSet makes the set. Nothing is read before it is asked for.
func NewSet(c func() *config.Config, store *Store, dirs []string, off bool) *Set {
	s := &Set{config: c, store: store, dirs: dirs, off: off}
	s.version.Store(1)
	return s
}

// Store is where plugins are installed.
func (s *Set) Store() *Store { return s.store }

// Version changes with the list.
func (s *Set) Version() uint64 {
	s.Enabled()
	return s.version.Load()
}

// Reload reads the plugins again.
func (s *Set) Reload() {
	s.mu.Lock()
	s.digest = ""
	s.mu.Unlock()
	s.Enabled()
}

// Enabled lists the plugins that are enabled, by id, those of the command line last.
func (s *Set) Enabled() []*Plugin {
	if s == nil || s.off {
		return nil
	}
	c := s.config()
	digest := string(c.Settings.EnabledPlugins) + "\x00" + string(c.Settings.PluginConfigs)
	if digest == "\x00" && len(s.dirs) == 0 {
		digest = "none"
	} else if st, err := os.Stat(s.store.installed()); err == nil {
		digest += st.ModTime().String()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.digest != digest {
		s.digest = digest
		s.list, s.notes = nil, nil
		if digest != "none" {
			s.read(c)
		}
		s.version.Add(1)
	}
	return s.list
}

// Notes are warnings about plugins that cannot be used.
func (s *Set) Notes() []string {
	if s.Enabled(); s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notes)
}

// Find returns an enabled plugin by its id or name.
func (s *Set) Find(name string) *Plugin {
	for _, p := range s.Enabled() {
		if p.ID == name || p.Name() == name {
			return p
		}
	}
	return nil
}

func (s *Set) read(c *config.Config) {
	enabled := EnabledIn(c)
	records, err := s.store.Records()
	if err != nil {
		s.notes = append(s.notes, err.Error())
	}
	for _, id := range slices.Sorted(maps.Keys(enabled)) {
		if !enabled[id] {
			continue
		}
		r, ok := records[id]
		if !ok {
			s.notes = append(s.notes, fmt.Sprintf("the plugin %s is enabled in the settings and not installed: lathe plugin "+
				"install %s", id, id))
			continue
		}
		p, err := s.store.Load(id, r, options(c, id))
		s.add(p, id, err)
	}
	for _, dir := range s.dirs {
		p, err := s.inline(c, dir)
		s.add(p, dir, err)
	}
	s.notes = append(s.notes, missing(s.list)...)
}

// inline is the plugin in a folder or zip file of the command line.
func (s *Set) inline(c *config.Config, dir string) (p *Plugin, err error) {
	if strings.HasSuffix(strings.ToLower(dir), ".zip") {
		if dir, err = s.store.unpacked(dir); err != nil {
			return nil, err
		}
	}
	if p, err = Read(dir, nil); err != nil {
		return nil, err
	}
	if p.Root, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	p.ID = p.Name() + "@" + Inline
	p.Data, p.Options = filepath.Join(s.store.dir, "data", dataName(p.ID)), options(c, p.ID)
	return p, nil
}

// add keeps a plugin. Of two with one name the later one counts, so that a folder of the command line replaces an
// installed plugin.
func (s *Set) add(p *Plugin, id string, err error) {
	if err == nil {
		err = os.MkdirAll(p.Data, 0o700)
	}
	if err != nil {
		s.notes = append(s.notes, fmt.Sprintf("the plugin %s is left out: %v", id, err))
		return
	}
	for key, o := range p.Manifest.UserConfig {
		if _, ok := p.Options[key]; !ok && o.Default != nil {
			p.Options[key] = fmt.Sprint(o.Default)
		}
	}
	s.notes = append(append(s.notes, p.faults()...), p.Unreadable()...)
	s.list = append(slices.DeleteFunc(s.list, func(o *Plugin) bool {
		if o.Name() == p.Name() && !strings.HasSuffix(p.ID, "@"+Inline) {
			s.notes = append(s.notes, fmt.Sprintf("the plugin %s is not used: %s has the name %s too; disable one "+
				"of them", o.ID, p.ID, p.Name()))
		}
		return o.Name() == p.Name()
	}), p)
}

// EnabledIn are the ids of the setting enabledPlugins.
func EnabledIn(c *config.Config) map[string]bool {
	out := map[string]bool{}
	var all map[string]json.RawMessage
	if len(c.Settings.EnabledPlugins) == 0 || json.Unmarshal(c.Settings.EnabledPlugins, &all) != nil {
		return out
	}
	for id, raw := range all {
		out[id] = string(raw) != "false" && string(raw) != "null"
	}
	return out
}

// EnabledBy is the layer of settings that enables a plugin, of those that lathe writes to: user, project or local. It
// is the user's where another one does.
func EnabledBy(c *config.Config, id string) config.Layer {
	switch l := c.Origin(Key(id)).Layer; l {
	case config.Project, config.Local:
		return l
	}
	return config.User
}

// Key is the place of a plugin in the settings.
func Key(id string) string {
	quoted, _ := json.Marshal(id) // a text always can
	return "enabledPlugins[" + string(quoted) + "]"
}

// options are the user's values for a plugin.
func options(c *config.Config, id string) map[string]string {
	out := map[string]string{}
	var all map[string]struct {
		Options map[string]any `json:"options"`
	}
	if len(c.Settings.PluginConfigs) > 0 && json.Unmarshal(c.Settings.PluginConfigs, &all) == nil {
		for key, v := range all[id].Options {
			out[key] = fmt.Sprint(v)
		}
	}
	return out
}

// Extra are the marketplaces that the settings name.
func Extra(c *config.Config) map[string]Source {
	out := map[string]Source{}
	var all map[string]struct {
		Source Source `json:"source"`
	}
	if len(c.Settings.ExtraKnownMarketplaces) > 0 && json.Unmarshal(c.Settings.ExtraKnownMarketplaces, &all) == nil {
		for name, m := range all {
			if m.Source.Kind == "url" && strings.HasSuffix(m.Source.URL, ".json") {
				m.Source.Kind = "json"
			}
			out[name] = m.Source
		}
	}
	return out
}

// Path puts the folders of programs of the plugins behind those of PATH, whose programs none of theirs replaces.
func (s *Set) Path(env []string) []string {
	var dirs []string
	for _, p := range s.Enabled() {
		if bin := p.Bin(); bin != "" {
			dirs = append(dirs, bin)
		}
	}
	if len(dirs) == 0 {
		return env
	}
	out := slices.Clone(env)
	for i, kv := range slices.Backward(out) {
		if rest, ok := strings.CutPrefix(kv, "PATH="); ok {
			out[i] = "PATH=" + strings.Join(append([]string{rest}, dirs...), string(os.PathListSeparator))
			return out
		}
	}
	return append(out, "PATH="+strings.Join(dirs, string(os.PathListSeparator)))
}
