package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/lathe-dev/lathe/internal/extend/plugin"
)

// pluginLine is a plugin as stream-json names it.
type pluginLine struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	Source string `json:"source,omitempty"`
}

func pluginLines(list []*plugin.Plugin) []pluginLine {
	out := []pluginLine{}
	for _, p := range list {
		out = append(out, pluginLine{p.Name(), p.Root, p.ID})
	}
	return out
}

// pluginDirs are the folders of --plugin-dir and of a host.
func (o *Options) pluginDirs(dir string) (out []string) {
	for _, d := range o.PluginDirs {
		if !filepath.IsAbs(d) {
			d = filepath.Join(dir, d)
		}
		out = append(out, d)
	}
	return out
}

// takePlugins takes the plugins of a host: folders on this machine.
func (o *Options) takePlugins(raw json.RawMessage) error {
	if isEmptyJSON(raw) {
		return nil
	}
	var list []struct {
		Type, Path string
		NoServers  bool `json:"skipMcpDiscovery"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return fmt.Errorf("initialize: plugins: %w", err)
	}
	for _, p := range list {
		if p.Type != "local" || p.Path == "" {
			return fmt.Errorf("initialize: plugins: the type %q is not known; there is local, with a path", p.Type)
		}
		if p.NoServers {
			return fmt.Errorf(
				"initialize: plugins: skipMcpDiscovery is not supported; leave it out, or leave the plugin %s out", p.Path)
		}
		o.PluginDirs = append(o.PluginDirs, p.Path)
	}
	return nil
}
