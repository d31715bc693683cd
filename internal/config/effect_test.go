package config_test

import (
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/config"
)

func TestKeysWithoutEffectAreNamedOncePerFile(t *testing.T) {
	m := newMachine(t)
	m.write(claudeUser, `{"mcpServers": {"x": {"command": "y"}}, "enableAllProjectMcpServers": true, "theme": "dark"}`)
	m.write(userFile, `{"autoCompactEnabled": false, "sandbox": {"enabled": true, "ignoreViolations": {"file": ["x"]}}}`)
	m.env("DISABLE_AUTO_COMPACT=1")
	got := m.warnings(m.load())
	want := []string{
		claudeUser + ": enableAllProjectMcpServers, mcpServers: without effect, lathe does not have this yet",
		userFile + ": sandbox.ignoreViolations: without effect, lathe does not have this yet",
	}
	diff(t, "warnings", got, want)
}

func TestBypassIsRefusedWhileAProtectionHasNoEffect(t *testing.T) {
	for name, tt := range map[string]struct{ file, text, key string }{
		"blocking hook":        {claudeUser, `{"hooks": {"PostToolUse": [{}], "PreToolUse": [{"matcher": "Bash"}]}}`, "hooks.PreToolUse"},
		"permission hook":      {userFile, `{"hooks": {"PermissionRequest": [{}]}}`, "hooks.PermissionRequest"},
		"sandbox is on":        {claudeUser, `{"sandbox": {"enabled": true, "autoAllowBashIfSandboxed": true}}`, ""},
		"managed deny list":    {managed, `{"deniedMcpServers": [{"serverName": "x"}]}`, "deniedMcpServers"},
		"managed rules only":   {managed, `{"allowManagedPermissionRulesOnly": true}`, "allowManagedPermissionRulesOnly"},
		"forbidden":            {managed, `{"permissions": {"disableBypassPermissionsMode": "disable"}}`, "permissions.disableBypassPermissionsMode"},
		"prompt hook":          {userFile, `{"hooks": {"UserPromptSubmit": [{}]}}`, "hooks.UserPromptSubmit"},
		"servers not to start": {userFile, `{"disabledMcpjsonServers": ["x"]}`, "disabledMcpjsonServers"},
		"managed hooks only":   {managed, `{"allowManagedHooksOnly": true}`, "allowManagedHooksOnly"},
		"other hooks":          {claudeUser, `{"hooks": {"PostToolUse": [{}], "Stop": [{}]}}`, ""},
		"no hooks in the list": {claudeUser, `{"hooks": {"PreToolUse": []}}`, ""},
		"hooks are off":        {claudeUser, `{"hooks": {"PreToolUse": [{}]}, "disableAllHooks": true}`, ""},
		"sandbox is off":       {claudeUser, `{"sandbox": {"enabled": false}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.write(tt.file, tt.text)
			m.opts.Flags = []config.Flag{{Name: "--permission-mode", Key: "permissions.defaultMode", Value: "bypassPermissions"}}
			c := m.load()
			err := c.BypassForbidden()
			if tt.key == "" {
				diff(t, "error", err, nil)
				diff(t, "mode", c.Settings.Permissions.DefaultMode, "bypassPermissions")
				return
			}
			if err == nil || !strings.Contains(m.short(err.Error()), tt.file) || !strings.Contains(err.Error(), tt.key) {
				t.Errorf("got %v, want an error that names %s in %s", err, tt.key, tt.file)
			}
			diff(t, "mode", c.Settings.Permissions.DefaultMode, "default")
		})
	}
}

func TestAUserDoesNotSwitchOffTheHooksOfAnOrganisation(t *testing.T) {
	m := newMachine(t)
	m.write(managed, `{"hooks": {"PreToolUse": [{"matcher": "Bash"}]}}`)
	m.write(claudeUser, `{"disableAllHooks": true}`)
	if err := m.load().BypassForbidden(); err == nil || !strings.Contains(err.Error(), "hooks.PreToolUse") {
		t.Errorf("got %v, want the refusal that names the organisation's hook", err)
	}
	m.write(managed, `{"hooks": {"PreToolUse": [{"matcher": "Bash"}]}, "disableAllHooks": true}`)
	if err := m.load().BypassForbidden(); err != nil {
		t.Errorf("the organisation itself switched them off: %v", err)
	}
}

func TestAUserSwitchesOffTheirOwnHooksBesideOthersOfAnOrganisation(t *testing.T) {
	m := newMachine(t)
	m.write(managed, `{"hooks": {"PostToolUse": [{}]}}`)
	m.write(claudeUser, `{"hooks": {"PreToolUse": [{}]}, "disableAllHooks": true}`)
	if err := m.load().BypassForbidden(); err != nil {
		t.Errorf("the user's hooks are off, the organisation's refuses nothing: %v", err)
	}
}

// An untrusted folder's protections do not work, so the mode that relies on them is refused, whatever keeps
// them from working.
func TestBypassIsRefusedWhileAProjectsProtectionIsHeldBack(t *testing.T) {
	for text, key := range map[string]string{
		`{"hooks": {"PreToolUse": [{"matcher": "Bash"}]}}`:         "hooks.PreToolUse",
		`{"hooks": {"UserPromptSubmit": [{}]}}`:                    "hooks.UserPromptSubmit",
		`{"sandbox": {"enabled": true}}`:                           "sandbox.enabled",
		`{"deniedMcpServers": [{"serverName": "x"}]}`:              "deniedMcpServers",
		`{"disabledMcpjsonServers": ["x"]}`:                        "disabledMcpjsonServers",
		`{"disableAllHooks": true, "hooks": {"PreToolUse": [{}]}}`: "hooks.PreToolUse",
		`{"hooks": {"PostToolUse": [{}]}}`:                         "",
		`{"sandbox": {"enabled": false}}`:                          "",
		`{"bash": {"shell": "/bin/zsh"}}`:                          "",
	} {
		for _, file := range []string{projFile, claudeProj, localFile} {
			m := newMachine(t)
			m.write(file, text)
			m.opts.Flags = []config.Flag{{Name: "--permission-mode", Key: "permissions.defaultMode", Value: "bypassPermissions"}}
			c := m.load()
			err := c.BypassForbidden()
			if key == "" {
				diff(t, text, err, nil)
				continue
			}
			if err == nil || !strings.Contains(m.short(err.Error()), file+":1:") || !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "use another mode") {
				t.Errorf("%s in %s: got %v, want an error that names the key, the place and the next move", text, file, err)
			}
			diff(t, "mode", c.Settings.Permissions.DefaultMode, "default")
		}
	}
}

func TestAUserWhoRunsNoHooksIsNotRefusedBecauseOfAProjectsHook(t *testing.T) {
	m := newMachine(t)
	m.write(userFile, `{"disableAllHooks": true}`)
	m.write(projFile, `{"hooks": {"PreToolUse": [{}]}}`)
	if err := m.load().BypassForbidden(); err != nil {
		t.Errorf("the hook would not run in a trusted folder either: %v", err)
	}
}
