package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/lathe-dev/lathe/internal/config"
)

// writable are the keys that a host may write to a file of settings, by the hosts' name of the file.
var writable = map[string]struct {
	layer config.Layer
	keys  map[string]string // lathe's key, by the host's
}{
	"localSettings": {config.Local, map[string]string{"outputStyle": "outputStyle"}},
	"userSettings":  {config.User, map[string]string{"effortLevel": "effort"}},
}

// updateSettings writes to lathe's own file of the user or of the project, and puts it in force.
func (l *local) updateSettings(_ context.Context, r controlRequest) (any, error) {
	file, ok := writable[r.Source]
	if !ok {
		return nil, fmt.Errorf("update_settings: a host may write localSettings and userSettings, not %q", r.Source)
	}
	cfg := l.inst.Config()
	if !cfg.Reads(file.layer) {
		return nil, fmt.Errorf("update_settings: this session does not read %s (--setting-sources)", r.Source)
	}
	var set map[string]json.RawMessage
	if err := json.Unmarshal(r.Settings, &set); err != nil {
		return nil, fmt.Errorf("update_settings: the settings are not an object: %w", err)
	}
	values := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		var text string
		key := file.keys[name]
		if key == "" {
			return nil, fmt.Errorf("update_settings: a host may not write %s of %s", name, r.Source)
		}
		if err := json.Unmarshal(set[name], &text); err != nil {
			return nil, fmt.Errorf("update_settings: %s is not a text", name)
		}
		values[key] = text
	}
	for key, text := range values {
		if err := cfg.Set(key, text, file.layer); err != nil {
			return nil, fmt.Errorf("update_settings: %w", err)
		}
	}
	_, err := l.inst.Reload()
	return nil, err
}
