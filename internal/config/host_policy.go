package config

import (
	"encoding/json"
	"strings"
)

// A program that starts lathe may set a policy (--managed-settings). It only restricts, and yields to the
// administrator's own files.

// hostKeys are the keys that count in the policy of a host; all of what a key holds counts with it.
var hostKeys = map[string]bool{
	"permissions.deny": true, "permissions.ask": true, "permissions.disableBypassPermissionsMode": true,
	"permissions.disableAutoMode": true, "allowManagedPermissionRulesOnly": true, "allowManagedHooksOnly": true,
	"allowManagedMcpServersOnly": true, "allowedMcpServers": true, "deniedMcpServers": true, "availableModels": true,
	"disabledMcpjsonServers": true, "strictKnownMarketplaces": true, "blockedMarketplaces": true,
	"sandbox.filesystem.denyRead": true, "sandbox.filesystem.denyWrite": true, "sandbox.network.deniedDomains": true,
}

// hostPolicy loads the policy of the host unless the administrator set one.
func (l *loader) hostPolicy() error {
	text := strings.TrimSpace(l.opts.HostPolicy)
	if text == "" || len(l.layers[Managed]) > 0 {
		return nil
	}
	var all map[string]any
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return &Error{
			Origin: Origin{Layer: Managed, Name: "--managed-settings"}, Text: "not a JSON object", Err: err,
			Hint: "give an object of settings that restrict",
		}
	}
	off := all["disableAllHooks"]
	keepRestricting(all, "")
	if off != nil && off != false && off != "false" { // the user's and the project's; nothing else is known
		all["allowManagedHooksOnly"] = true
	}
	data, err := json.Marshal(all)
	if err != nil || len(all) == 0 {
		return err
	}
	return l.document(&source{
		layer: Managed, file: "--managed-settings", data: data, dir: l.paths.Dir, base: l.paths.Dir,
	})
}

func keepRestricting(all map[string]any, prefix string) {
	for name, value := range all {
		path := prefix + name
		if hostKeys[path] {
			continue
		}
		inner, ok := value.(map[string]any)
		if ok {
			keepRestricting(inner, path+".")
		}
		if !ok || len(inner) == 0 {
			delete(all, name)
		}
	}
}
