package entry

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// codexEntry is a table [mcp_servers.NAME] of Codex's config.toml.
type codexEntry struct {
	Command       string            `toml:"command"`
	Args          []string          `toml:"args"`
	Env           map[string]string `toml:"env"`
	EnvNames      []any             `toml:"env_vars"` // names of variables that the server gets, or tables with one
	Dir           string            `toml:"cwd"`
	URL           string            `toml:"url"`
	TokenName     string            `toml:"bearer_token_env_var"`
	Headers       map[string]string `toml:"http_headers"`
	HeaderNames   map[string]string `toml:"env_http_headers"` // a header, and the variable with its value
	Enabled       *bool             `toml:"enabled"`
	StartSeconds  float64           `toml:"startup_timeout_sec"`
	CallSeconds   float64           `toml:"tool_timeout_sec"`
	EnabledTools  []string          `toml:"enabled_tools"`
	DisabledTools []string          `toml:"disabled_tools"`
}

// importCodex reads the servers of a config.toml.
func importCodex(file string, data []byte) (map[string]json.RawMessage, error) {
	var doc struct {
		Servers map[string]codexEntry `toml:"mcp_servers"`
	}
	if err := toml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", file, err)
	}
	out := map[string]json.RawMessage{}
	for name, e := range doc.Servers {
		raw, err := json.Marshal(e.fields())
		if err != nil {
			return nil, err
		}
		out[name] = raw
	}
	return out, nil
}

func (e *codexEntry) fields() Fields {
	f := Fields{
		Command: e.Command, Args: e.Args, Env: maps.Clone(e.Env), Dir: e.Dir, URL: e.URL, Headers: maps.Clone(e.Headers),
		Disabled: e.Enabled != nil && !*e.Enabled,
		StartMs:  milliseconds(e.StartSeconds), TimeoutMs: milliseconds(e.CallSeconds), EnabledTools: e.EnabledTools,
		DisabledTools: e.DisabledTools,
	}
	if f.Env == nil {
		f.Env = map[string]string{}
	}
	if f.Headers == nil {
		f.Headers = map[string]string{}
	}
	for _, v := range e.EnvNames {
		if table, ok := v.(map[string]any); ok {
			v = table["name"]
		}
		if name, ok := v.(string); ok && name != "" {
			f.Env[name] = "${" + name + "}"
		}
	}
	for header, name := range e.HeaderNames {
		f.Headers[header] = "${" + name + "}"
	}
	if e.TokenName != "" {
		f.Headers["Authorization"] = "Bearer ${" + e.TokenName + "}"
	}
	if f.URL != "" {
		f.Type = HTTP
	}
	return f
}

func milliseconds(seconds float64) int {
	return int(min(max(seconds, 0), 1e6) * float64(time.Second/time.Millisecond))
}
