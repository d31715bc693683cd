package config_test

import (
	"slices"
	"strings"
	"testing"
)

func TestThePolicyOfAHostRestricts(t *testing.T) {
	m := newMachine(t)
	m.write(userFile, `{"model": "haiku", "permissions": {"deny": ["Read"]}}`)
	m.opts.HostPolicy = `{
		"model": "opus", "env": {"A": "b"}, "permissions": {"deny": ["Bash"], "allow": ["Write"]}, "disableAllHooks": true
	}`
	c := m.load()
	if c.Settings.Model != "haiku" || len(c.Settings.Permissions.Allow) != 0 || c.Settings.Env["A"] != "" {
		t.Errorf("it widens: %s", c.JSON())
	}
	if got := c.Settings.Permissions.Deny; !slices.Contains(got, "Bash") || !slices.Contains(got, "Read") {
		t.Errorf("denied: %v", got)
	}
	if !c.Settings.AllowManagedHooksOnly {
		t.Error("the hooks of others run")
	}
}

func TestThePolicyOfAHostYieldsToTheAdministrators(t *testing.T) {
	m := newMachine(t)
	m.write(managed, `{"permissions": {"deny": ["Glob"]}}`)
	m.opts.HostPolicy = `{"permissions": {"deny": ["Bash"]}}`
	if got := m.load().Settings.Permissions.Deny; !slices.Equal(got, []string{"Glob"}) {
		t.Errorf("denied: %v", got)
	}
	m = newMachine(t)
	m.opts.HostPolicy = `[]`
	if got := m.fail(); !strings.Contains(got, "--managed-settings") {
		t.Error(got)
	}
}
