package config_test

import (
	"testing"

	"github.com/lathe-dev/lathe/internal/config"
)

const version0 = `{
  // written long ago
  "version": 0,
  "small_model": "haiku", // cheap
  "api_base": "https://x.example",
  "max_tokens": 9,
  "permissions": {"default_mode": "plan", "deny": ["WebFetch"]},
  "other": 1
}
`

func TestAnOldFileIsReadWithTodaysNames(t *testing.T) {
	for name, text := range map[string]string{"version 0": version0, "no version": `{"small_model": "haiku", "api_base": "https://x.example", "max_tokens": 9, "permissions": {"default_mode": "plan"}}`} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.write(userFile, text)
			s := m.load().Settings
			diff(t, "settings", []any{s.SmallModel, s.APIBase, s.MaxOutputTokens, s.Permissions.DefaultMode}, []any{"haiku", "https://x.example", 9, "plan"})
			diff(t, "untouched on disk", m.read(userFile), text)
		})
	}
}

func TestARewriteBringsAnOldFileUpToDate(t *testing.T) {
	m := newMachine(t)
	m.write(userFile, version0)
	set(t, m, "theme", "dark", config.User)
	diff(t, "file", m.read(userFile), `{
  // written long ago
  "version": 1,
  "smallModel": "haiku", // cheap
  "apiBase": "https://x.example",
  "maxOutputTokens": 9,
  "permissions": {"defaultMode": "plan", "deny": ["WebFetch"]},
  "other": 1,
  "theme": "dark"
}
`)
}

func TestAFileOfTodayKeepsOldNamesAsUnknownKeys(t *testing.T) {
	m := newMachine(t)
	m.write(userFile, `{"version": 1, "small_model": "x"}`)
	c := m.load()
	diff(t, "small model", c.Settings.SmallModel, "")
	diff(t, "warnings", len(c.Warnings), 1)
	m.write(userFile, `{"smallModel": "new", "small_model": "old"}`)
	diff(t, "both", m.load().Settings.SmallModel, "new")
}

func TestAFileWithoutOldNamesGetsNoVersion(t *testing.T) {
	m := newMachine(t)
	m.write(userFile, `{"model": "x"}`)
	set(t, m, "model", "y", config.User)
	diff(t, "file", m.read(userFile), `{"model": "y"}`)
}

func TestClaudesEffortLevelIsReadAsEffort(t *testing.T) {
	m := newMachine(t)
	m.write(claudeUser, `{"effortLevel": "high"}`)
	diff(t, "effort", m.load().Settings.Effort, "high")
	m.write(claudeUser, `{"effortLevel": "high", "effort": "low"}`)
	diff(t, "effort", m.load().Settings.Effort, "low")
}
