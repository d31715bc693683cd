package config_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/config"
)

func TestPermissionListsOfAllLayersAreJoinedWithoutRepeats(t *testing.T) {
	m := newMachine(t)
	m.write(claudeUser, `{"permissions": {"allow": ["Read", "Bash(ls *)"], "deny": ["WebFetch"]}}`)
	m.write(userFile, `{"permissions": {"allow": ["Bash(ls *)", "Bash(go *)"]}}`)
	m.write(projFile, `{"permissions": {"allow": ["Bash(make *)"], "deny": ["Read(.env)", "WebFetch"]}}`)
	m.write(managed, `{"permissions": {"deny": ["Bash(curl *)"]}}`)
	m.opts.Flags = []config.Flag{{Name: "--allowedTools", Key: "permissions.allow", Value: []string{"Edit", "Read"}}}
	m.trust()
	c := m.load()
	p := c.Settings.Permissions
	diff(t, "allow", p.Allow, []string{"Read", "Bash(ls *)", "Bash(go *)", "Bash(make *)", "Edit"})
	diff(t, "deny", p.Deny, []string{"WebFetch", "Read(.env)", "Bash(curl *)"})
	diff(t, "origin of a rule", m.origin(c, "permissions.allow[3]"), projFile+":1:28")
	diff(t, "origin of a flag's rule", m.origin(c, "permissions.allow.4"), "flag --allowedTools")
	var texts []string
	for _, r := range c.Rules() {
		texts = append(texts, r.Action+" "+r.Text+" from "+r.Origin.Layer.String())
	}
	diff(t, "rules", texts, []string{
		"deny WebFetch from user", "deny Read(.env) from project", "deny Bash(curl *) from managed",
		"allow Read from user", "allow Bash(ls *) from user", "allow Bash(go *) from user",
		"allow Bash(make *) from project", "allow Edit from flag",
	})
}

func TestOrderedRulesKeepTheirOrderAndTheLaterOfTwoEqualOnes(t *testing.T) {
	m := newMachine(t)
	m.write(userFile, `{"permissions": {"rules": [
		{"permission": "bash", "pattern": "git *", "action": "allow"},
		{"permission": "bash", "pattern": "git push *", "action": "deny"}]}}`)
	m.opts.SettingsFlag = `{"permissions": {"rules": [{"permission": "edit", "action": "ask"}, {"permission": "bash", "pattern": "git *", "action": "allow"}]}}`
	c := m.load()
	diff(t, "rules", c.Settings.Permissions.Rules, []config.OrderedRule{
		{Permission: "bash", Pattern: "git push *", Action: "deny"},
		{Permission: "edit", Action: "ask"},
		{Permission: "bash", Pattern: "git *", Action: "allow"},
	})
	diff(t, "pattern filled in", c.Rules()[1].Pattern, "*")
}

func TestObjectsMergeByKeyAndWholeEntriesDoNot(t *testing.T) {
	m := newMachine(t)
	m.write(claudeUser, `{"bash": {"maxOutputLength": 5}, "fallbackModel": ["a", "b"],
		"hooks": {"Stop": [{"hooks": [1]}]},
		"mcpServers": {"x": {"command": "x", "args": ["1"]}, "y": {"command": "y"}}}`)
	m.write(userFile, `{"bash": {"defaultTimeoutMs": 7}, "fallbackModel": "c",
		"hooks": {"Stop": [{"hooks": [2]}], "Start": []},
		"mcpServers": {"x": {"command": "z", "args": ["2"]}}}`)
	c := m.load()
	diff(t, "bash", c.Settings.Bash, config.Bash{
		DefaultTimeoutMs: 7, MaxTimeoutMs: 600000, MaxOutputLength: 5,
		Profile: "environment",
	})
	diff(t, "fallback", c.Settings.FallbackModel, config.StringList{"c"})
	diff(t, "hooks", string(c.Settings.Hooks), `{"Stop":[{"hooks":[1]},{"hooks":[2]}],"Start":[]}`)
	diff(t, "servers", string(c.Settings.MCPServers), `{"x":{"command":"z","args":["2"]},"y":{"command":"y"}}`)
}

func TestExplainNamesOriginsShadowsAndMasksSecrets(t *testing.T) {
	m := newMachine(t)
	m.write(claudeUser, `{"language": "a"}`)
	m.write(userFile, `{
	  "language": "b",
	  "providers": {"corp": {"type": "openai", "apiBase": "https://me:hunter2@x.example/v1", "apiKey": "sk-0123456789abcdefghij", "headers": {"X-Auth": "short", "X-Team": "blue"}}},
	  "env": {"MY_TOKEN": "tok", "PLAIN": "p{env:DB_PASSWORD}"}
	}`)
	m.env("ANTHROPIC_API_KEY=sk-ant-very-secret-value-1234", "DB_PASSWORD=pw")
	c := m.load()
	got := map[string]string{}
	for _, v := range c.Explain() {
		if v.Origin.Layer != config.Default {
			got[v.Path] = string(v.JSON) + " " + m.short(v.Origin.String())
		}
		if v.Path == "language" {
			diff(t, "shadowed", len(v.Shadowed), 1)
		}
	}
	diff(t, "values", got, map[string]string{
		"language":                      `"b" ` + userFile + ":2:16",
		"providers.corp.type":           `"openai" ` + userFile + ":3:35",
		"providers.corp.apiBase":        `"https://me:***@x.example/v1" ` + userFile + ":3:56",
		"providers.corp.apiKey":         `"***ghij" ` + userFile + ":3:101",
		`providers.corp.headers.X-Auth`: `"***" ` + userFile + ":3:150",
		`providers.corp.headers.X-Team`: `"blue" ` + userFile + ":3:169",
		"env.MY_TOKEN":                  `"***" ` + userFile + ":4:24",
		"env.PLAIN":                     `"***" ` + userFile + ":4:40",
		"providers.anthropic.apiKey":    `"***1234" environment ANTHROPIC_API_KEY`,
	})
	for _, text := range []string{string(c.JSON())} {
		for _, secret := range []string{"hunter2", "sk-0123", "tok\"", "pw\"", "very-secret"} {
			if strings.Contains(text, secret) {
				t.Errorf("the shown settings contain %q:\n%s", secret, text)
			}
		}
		if !json.Valid([]byte(text)) {
			t.Errorf("not JSON: %s", text)
		}
	}
	if c.Settings.Providers["corp"].APIKey != "sk-0123456789abcdefghij" {
		t.Error("masking changed the settings themselves")
	}
}

func TestEqualSettingsHaveEqualDigests(t *testing.T) {
	m := newMachine(t)
	m.write(userFile, `{"language": "a"}`)
	first := m.load().Digest()
	diff(t, "same", m.load().Digest(), first)
	m.write(userFile, `{"language": "b"}`)
	if m.load().Digest() == first {
		t.Error("another language, the same digest")
	}
}

func TestTwoInstancesShareNothing(t *testing.T) {
	a, b := newMachine(t), newMachine(t)
	a.write(projFile, `{"language": "a"}`)
	b.write(projFile, `{"language": "b", "permissions": {"deny": ["Bash"]}}`)
	a.env("ANTHROPIC_MODEL=m")
	ca, cb := a.load(), b.load()
	diff(t, "languages", []string{ca.Settings.Language, cb.Settings.Language}, []string{"a", "b"})
	diff(t, "models", []string{ca.Settings.Model, cb.Settings.Model}, []string{"m", ""})
	diff(t, "deny", ca.Settings.Permissions.Deny, []string(nil))
}

func TestSourcesLimitTheFiles(t *testing.T) {
	m := newMachine(t)
	m.write(userFile, `{"language": "user"}`)
	m.write(projFile, `{"language": "project"`) // broken, but not read
	m.opts.Sources = []config.Layer{config.User}
	diff(t, "language", m.load().Settings.Language, "user")
}

func TestManagedPolicyForbidsBypass(t *testing.T) {
	m := newMachine(t)
	m.write(managed, `{"permissions": {"disableBypassPermissionsMode": "disable"}}`)
	m.opts.Flags = []config.Flag{{
		Name: "--dangerously-skip-permissions", Key: "permissions.defaultMode",
		Value: "bypassPermissions",
	}}
	c := m.load()
	diff(t, "mode", c.Settings.Permissions.DefaultMode, "default")
	diff(t, "warnings", m.warnings(c), []string{
		"flag --dangerously-skip-permissions: permissions.defaultMode: bypassPermissions is forbidden by " + managed +
			":1:50 (permissions.disableBypassPermissionsMode); the mode is default",
	})
}

func TestManagedPolicyForbidsAuto(t *testing.T) {
	m := newMachine(t)
	m.write(userFile, `{"permissions": {"defaultMode": "auto"}}`)
	diff(t, "mode", m.load().Settings.Permissions.DefaultMode, "auto")
	m.write(managed, `{"permissions": {"disableAutoMode": "disable"}}`)
	c := m.load()
	diff(t, "mode", c.Settings.Permissions.DefaultMode, "default")
	diff(t, "warnings", m.warnings(c), []string{
		userFile + ":1:33: permissions.defaultMode: auto is forbidden by " + managed +
			":1:37 (permissions.disableAutoMode); the mode is default",
	})
}

func TestManagedDropInsAreReadInOrder(t *testing.T) {
	m := newMachine(t)
	m.write(managed, `{"language": "0"}`)
	m.write("etc/lathe/managed-settings.d/20.json", `{"language": "2"}`)
	m.write("etc/lathe/managed-settings.d/10.json", `{"language": "1", "theme": "dark"}`)
	m.write("etc/lathe/managed-settings.d/README", `not JSON`)
	c := m.load()
	diff(t, "settings", []string{c.Settings.Language, c.Settings.Theme}, []string{"2", "dark"})
}

func TestTheProjectIsTheNearestMarkedFolderBelowHome(t *testing.T) {
	m := newMachine(t)
	m.mkdir("home/.git")
	m.mkdir("home/.claude")
	m.mkdir("home/proj/a/b")
	m.mkdir("home/plain/sub")
	m.mkdir("home/proj/inner/.claude")
	for dir, want := range map[string]string{
		"home/proj/a/b": "home/proj", "home/plain/sub": "home/plain/sub", "home/proj/inner": "home/proj/inner",
		"home": "home",
	} {
		m.opts.Dir = m.path(dir)
		diff(t, dir, m.short(m.load().Paths().Root), want)
	}
}

func TestInTheHomeFolderTheUsersFileIsNotAProjects(t *testing.T) {
	m := newMachine(t)
	m.opts.Dir = m.path("home")
	m.write(claudeUser, `{"apiKeyHelper": "helper", "permissions": {"allow": ["Read"]}}`)
	c := m.load()
	diff(t, "helper", c.Settings.APIKeyHelper, "helper")
	diff(t, "warnings", c.Warnings, []config.Warning(nil))
}
