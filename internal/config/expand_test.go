package config_test

import (
	"os"
	"strings"
	"testing"
)

func TestVariablesAndFilesExpandInStrings(t *testing.T) {
	m := newMachine(t)
	m.env("NAME=wörld", "TURNS=12", "FLAG=yes", "EMPTY=")
	m.write("home/.config/lathe/key.txt", "sk-from-file\n")
	m.write("home/note", "two\nlines\r\n")
	m.write(userFile, `{
	  "language": "hello {env:NAME}, {file:~/note}, \\{env:NAME} {env} {other:x}{env:EMPTY}",
	  "maxTurns": "{env:TURNS}", "debug": "{env:FLAG}",
	  "providers": {"x": {"apiKey": "{file:key.txt}"}},
	  "hooks": {"Stop": [{"command": "run {env:TURNS}"}]}
	}`)
	s := m.load().Settings
	diff(t, "language", s.Language, "hello wörld, two\nlines, {env:NAME} {env} {other:x}")
	diff(t, "typed", []any{s.MaxTurns, s.Debug}, []any{12, true})
	diff(t, "key", s.Providers["x"].APIKey, "sk-from-file")
	diff(t, "raw", string(s.Hooks), `{"Stop":[{"command":"run 12"}]}`)
}

func TestAMissingVariableOrFileIsAnErrorWithItsPlace(t *testing.T) {
	for text, want := range map[string]string{
		`{"language": "{env:NOPE}"}`:                          `:1:14: language: {env:NOPE}: the variable is not set; set it, or take it out of the file`,
		`{"language": "{file:nope}"}`:                         `:1:14: language: {file:nope}: there is no file home/.config/lathe/nope; create it, or take it out of the settings`,
		`{"language": "{file:}"}`:                             `:1:14: language: {file:}: a path is missing`,
		`{"language": "{env:NOPE"}`:                           `:1:14: language: {env: has no closing brace`,
		"{\n\"hooks\": {\"A\": [{\"x\": [\"{env:NOPE}\"]}]}}": `:2:24: hooks.A[0].x[0]: {env:NOPE}: the variable is not set; set it, or take it out of the file`,
	} {
		m := newMachine(t)
		m.write(userFile, text)
		diff(t, text, m.fail(), userFile+want)
	}
	m := newMachine(t)
	m.write(claudeUser, `{"language": "{env:NOPE}", "theme": "dark"}`)
	c := m.load()
	diff(t, "another program's file", []any{c.Settings.Language, c.Settings.Theme, len(c.Warnings)}, []any{"", "dark", 1})
}

func TestAProjectReadsNoSecretsAndNothingOutside(t *testing.T) {
	m := newMachine(t)
	m.env("MY_API_KEY=sk", "DB_PASSWORD=pw", "BUILD=7")
	m.write("home/secret", "s3cret")
	m.write("home/proj/inside.txt", "fine")
	outside := "a project's file may only read files inside the project; write this key in your own settings"
	for text, want := range map[string]string{
		`{"language": "{env:MY_API_KEY}"}`:      `language: a project's file may not use {env:MY_API_KEY}, which looks like a secret; write this key in your own settings`,
		`{"language": "{env:DB_PASSWORD}"}`:     `language: a project's file may not use {env:DB_PASSWORD}, which looks like a secret; write this key in your own settings`,
		`{"language": "{file:../../secret}"}`:   `language: {file:../../secret}: ` + outside,
		`{"language": "{file:~/secret}"}`:       `language: {file:~/secret}: ` + outside,
		`{"language": "{file:../../nope}"}`:     `language: {file:../../nope}: ` + outside,
		`{"language": "{file:../link/secret}"}`: `language: {file:../link/secret}: ` + outside,
	} {
		m.write(projFile, text)
		if _, err := os.Lstat(m.path("home/proj/link")); err != nil {
			if err := os.Symlink(m.path("home"), m.path("home/proj/link")); err != nil {
				t.Fatal(err)
			}
		}
		diff(t, text, m.fail(), projFile+":1:14: "+want)
	}
	m.write(projFile, `{"language": "{file:../inside.txt} {env:BUILD}"}`)
	m.trust()
	diff(t, "inside", m.load().Settings.Language, "fine 7")
}

func TestAProjectGetsNothingOfTheEnvironmentUntilItIsTrusted(t *testing.T) {
	m := newMachine(t)
	m.env("INNOCENT=hunter2", "GH_PAT=ghp", "DATABASE_URL=postgres://u:p@h/d", "MYSQL_PWD=pw")
	m.write(projFile, `{
	  "language": "{env:INNOCENT}", "theme": "dark", "exploreCache": {"enabled": false}, "outputStyle": "x-{env:INNOCENT}",
	  "permissions": {"deny": ["Read(.env)", "Read({env:INNOCENT})"], "ask": ["Edit({env:INNOCENT})"]}
	}`)
	c := m.load()
	s := c.Settings
	diff(t, "before", []any{s.Language, s.Theme, s.OutputStyle, s.Permissions.Deny, len(s.Permissions.Ask)},
		[]any{"", "dark", "", []string{"Read(.env)"}, 0})
	diff(t, "held back", m.warnings(c), []string{projFile + ": language, outputStyle, permissions.deny, " +
		"permissions.ask: held back until you trust this folder (lathe config trust)"})
	for _, v := range c.Explain() {
		if strings.Contains(string(v.JSON), "hunter2") {
			t.Errorf("%s shows the value", v.Path)
		}
	}
	m.trust()
	s = m.load().Settings
	diff(t, "trusted", []any{s.Language, s.OutputStyle, len(s.Permissions.Deny), len(s.Permissions.Ask)},
		[]any{"hunter2", "x-hunter2", 2, 1})

	m.write(projFile, `{"effort": "{env:INNOCENT}"}`)
	if got := m.fail(); strings.Contains(got, "hunter2") {
		t.Errorf("the error prints the value: %s", got)
	}
	for _, name := range []string{"GH_PAT", "DATABASE_URL", "MYSQL_PWD"} {
		m.write(projFile, `{"language": "{env:`+name+`}"}`)
		if got := m.fail(); !strings.Contains(got, "looks like a secret") {
			t.Errorf("%s, trusted: %s", name, got)
		}
	}
}

func TestAnEndlessFileIsNotExpanded(t *testing.T) {
	m := newMachine(t)
	m.write(userFile, `{"language": "{file:/dev/zero}"}`)
	if got := m.fail(); !strings.Contains(got, "is not a regular file") {
		t.Error(got)
	}
}
