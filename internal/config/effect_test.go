package config_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/config"
)

func TestKeysWithoutEffectAreNamedOncePerFile(t *testing.T) {
	m := newMachine(t)
	m.write(claudeUser, `{"theme": "dark"}`)
	m.write(userFile, `{"autoCompactEnabled": false, "sandbox": {"enabled": true, "ignoreViolations": {"file": ["x"]}}}`)
	m.env("DISABLE_AUTO_COMPACT=1")
	got := m.warnings(m.load())
	want := []string{
		userFile + ": sandbox.ignoreViolations: without effect, lathe does not have this yet",
	}
	diff(t, "warnings", got, want)
}

func TestBypassIsRefusedWhileAProtectionHasNoEffect(t *testing.T) {
	for name, tt := range map[string]struct{ file, text, key string }{
		"blocking hook":        {claudeUser, `{"hooks": {"PostToolUse": [{}], "PreToolUse": [{"matcher": "Bash"}]}}`, ""},
		"permission hook":      {userFile, `{"hooks": {"PermissionRequest": [{}]}}`, ""},
		"sandbox is on":        {claudeUser, `{"sandbox": {"enabled": true, "autoAllowBashIfSandboxed": true}}`, ""},
		"managed servers only": {managed, `{"allowManagedMcpServersOnly": true}`, ""},
		"managed rules only":   {managed, `{"allowManagedPermissionRulesOnly": true}`, "allowManagedPermissionRulesOnly"},
		"forbidden": {
			managed, `{"permissions": {"disableBypassPermissionsMode": "disable"}}`,
			"permissions.disableBypassPermissionsMode",
		},
		"prompt hook":          {userFile, `{"hooks": {"UserPromptSubmit": [{}]}}`, ""},
		"managed hooks only":   {managed, `{"allowManagedHooksOnly": true}`, ""},
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

func TestHooksAreSwitchedOffByThoseWhoMay(t *testing.T) {
	const one = `"hooks": {"PreToolUse": [{"matcher": "%s"}]}`
	text := func(matcher, more string) string { return "{" + strings.Replace(one, "%s", matcher, 1) + more + "}" }
	for name, tt := range map[string]struct{ managed, user, want string }{
		"all run":               {text("theirs", ""), text("mine", ""), "mine theirs"},
		"mine are off":          {text("theirs", ""), text("mine", `, "disableAllHooks": true`), "theirs"},
		"all are off":           {text("theirs", `, "disableAllHooks": true`), text("mine", ""), ""},
		"only the policy's run": {text("theirs", `, "allowManagedHooksOnly": true`), text("mine", ""), "theirs"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.write(managed, tt.managed)
			m.write(claudeUser, tt.user)
			var got []string
			for _, g := range m.load().Hooks() {
				var group struct{ Matcher string }
				if err := json.Unmarshal(g.JSON, &group); err != nil || g.Event != "PreToolUse" {
					t.Fatalf("%+v: %v", g, err)
				}
				got = append(got, group.Matcher)
			}
			diff(t, "hooks", strings.Join(got, " "), tt.want)
		})
	}
}

// An untrusted folder's protections do not work, so the mode that relies on them is refused, whatever keeps
// them from working.
func TestBypassIsRefusedWhileAProjectsProtectionIsHeldBack(t *testing.T) {
	for text, key := range map[string]string{
		`{"hooks": {"PreToolUse": [{"matcher": "Bash"}]}}`:         "hooks.PreToolUse",
		`{"hooks": {"UserPromptSubmit": [{}]}}`:                    "hooks.UserPromptSubmit",
		`{"sandbox": {"enabled": true}}`:                           "sandbox.enabled",
		`{"allowManagedMcpServersOnly": true}`:                     "allowManagedMcpServersOnly",
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
			if err == nil || !strings.Contains(m.short(err.Error()), file+":1:") || !strings.Contains(err.Error(), key) ||
				!strings.Contains(err.Error(), "use another mode") {
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
