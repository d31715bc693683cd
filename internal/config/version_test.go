package config_test

import (
	"testing"

	"github.com/lathe-dev/lathe/internal/config"
)

func TestARewriteAddsNoVersion(t *testing.T) {
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
