package config_test

import (
	"encoding/json"
	"os"
	"os/user"
	"testing"

	"github.com/lathe-dev/lathe/internal/config"
)

func TestVariablesSetTheirKeys(t *testing.T) {
	m := newMachine(t)
	m.env("ANTHROPIC_API_KEY=sk-ant", "ANTHROPIC_AUTH_TOKEN=tok", "ANTHROPIC_BASE_URL=http://127.0.0.1:1/x",
		"ANTHROPIC_BETAS=a, b,",
		"ANTHROPIC_CUSTOM_HEADERS=X-One: 1\nX-Two:2:3\n", "OPENAI_API_KEY=sk-o", "OPENAI_BASE_URL=https://o.example/v1",
		"ANTHROPIC_SMALL_FAST_MODEL=tiny", "ANTHROPIC_DEFAULT_OPUS_MODEL=big", "ANTHROPIC_MAX_TOKENS=100",
		"MAX_THINKING_TOKENS=0",
		"BASH_DEFAULT_TIMEOUT_MS=1", "BASH_MAX_TIMEOUT_MS=2", "BASH_MAX_OUTPUT_LENGTH=3", "CLAUDE_CODE_EFFORT_LEVEL=high",
		"ANTHROPIC_COMPACTION_THRESHOLD=160000", "DISABLE_AUTO_COMPACT=1", "LATHE_LOG=debug", "LATHE_DEBUG=1",
		"NODE_EXTRA_CA_CERTS=/a,b.pem", "SSL_CERT_FILE=/c.pem", "CLAUDE_CODE_MAX_RETRIES=0", "LATHE_SHELL=/bin/zsh")
	s := m.load().Settings
	diff(t, "providers", s.Providers, map[string]config.Provider{
		"anthropic": {
			APIKey: "sk-ant", AuthToken: "tok", APIBase: "http://127.0.0.1:1/x", Betas: []string{"a", "b"},
			Headers: map[string]string{"X-One": "1", "X-Two": "2:3"},
		},
		"openai": {APIKey: "sk-o", APIBase: "https://o.example/v1"},
	})
	diff(t, "models", []any{s.SmallModel, s.ModelAliases["opus"], s.MaxOutputTokens, *s.MaxThinkingTokens, s.Effort},
		[]any{"tiny", "big", 100, 0, "high"})
	diff(t, "bash", s.Bash, config.Bash{
		DefaultTimeoutMs: 1, MaxTimeoutMs: 2, MaxOutputLength: 3, Shell: "/bin/zsh",
		Profile: "environment",
	})
	diff(t, "rest", []any{s.CompactionThreshold, s.AutoCompactEnabled, s.Log.Level, s.Debug, s.Stream.MaxRetries},
		[]any{160000, false, "debug", true, 0})
	diff(t, "certificates", s.Network.CACerts, []string{"/a,b.pem", "/c.pem"})
}

func TestOfTwoVariablesForOneKeyTheMoreSpecificCounts(t *testing.T) {
	m := newMachine(t)
	m.env("ANTHROPIC_MODEL=a", "LATHE_MODEL=l", "ANTHROPIC_MAX_TOKENS=1", "ANTHROPIC_MAX_OUTPUT_TOKENS=2", "LATHE_DEBUG=")
	c := m.load()
	diff(t, "values", []any{c.Settings.Model, c.Settings.MaxOutputTokens, c.Settings.Debug}, []any{"l", 2, false})
	diff(t, "origin", c.Origin("model").String(), "environment LATHE_MODEL")
}

func TestABadVariableIsAWarningExceptForLathesOwnAndEndpoints(t *testing.T) {
	m := newMachine(t)
	m.env("BASH_MAX_TIMEOUT_MS=soon", "ANTHROPIC_CUSTOM_HEADERS=nonsense")
	c := m.load()
	diff(t, "value", c.Settings.Bash.MaxTimeoutMs, 600000)
	diff(t, "warnings", m.warnings(c), []string{
		`environment ANTHROPIC_CUSTOM_HEADERS: providers.anthropic.headers: found a value that is not shown here, allowed: an object; this key is left out`,
		`environment BASH_MAX_TIMEOUT_MS: bash.maxTimeoutMs: found "soon", allowed: a whole number, at least 1; this key is left out`,
	})
	for kv, want := range map[string]string{
		"LATHE_LOG=loud":                    `environment LATHE_LOG: log.level: found "loud", allowed: "trace", "debug", "info", "warn", "error", "off"; change or unset the variable`,
		"ANTHROPIC_BASE_URL=localhost:8080": `environment ANTHROPIC_BASE_URL: providers.anthropic.apiBase: found "localhost:8080", allowed: a URL that begins with http:// or https://; change or unset the variable`,
	} {
		m := newMachine(t)
		m.env(kv)
		diff(t, kv, m.fail(), want)
	}
}

func TestEnvTellsWhatCountsForLatheItself(t *testing.T) {
	m := newMachine(t)
	m.trust()
	m.env("ONE=process", "TWO=process")
	m.write(claudeUser, `{"env": {"TWO": "user", "N": 3, "ON": true, "THREE": "user"}}`)
	m.write(projFile, `{"env": {"ONE": "project", "FOUR": "project"}}`)
	m.write(managed, `{"env": {"THREE": "managed"}}`)
	c := m.load()
	got := map[string]string{}
	for _, name := range []string{"ONE", "TWO", "THREE", "N", "ON", "FOUR"} {
		if v, o, ok := c.Env(name); ok {
			got[name] = v + " from " + o.Layer.String()
		}
	}
	diff(t, "env", got, map[string]string{
		"ONE": "process from environment", "TWO": "user from settings env", "THREE": "managed from settings env",
		"N": "3 from settings env", "ON": "true from settings env",
	})
	diff(t, "for children", c.Settings.Env, map[string]string{
		"TWO": "user", "N": "3", "ON": "true", "ONE": "project",
		"FOUR": "project", "THREE": "managed",
	})
}

func TestPathsFollowXDGAndClaudesVariables(t *testing.T) {
	p := config.ResolvePaths([]string{
		"HOME=/h", "XDG_CONFIG_HOME=/c", "XDG_STATE_HOME=relative",
		"CLAUDE_CONFIG_DIR=/cl",
	}, "")
	diff(t, "paths", p, config.Paths{
		Home: "/h", ConfigHome: "/c/lathe", DataHome: "/h/.local/share/lathe", StateHome: "/h/.local/state/lathe",
		CacheHome: "/h/.cache/lathe", ClaudeHome: "/cl",
	})
	m := newMachine(t)
	m.env("CLAUDE_CONFIG_DIR=" + m.path("elsewhere"))
	m.write("elsewhere/settings.json", `{"language": "there"}`)
	m.write(claudeUser, `{"language": "here"}`)
	diff(t, "language", m.load().Settings.Language, "there")
}

func TestFilesListsWhatWasLookedFor(t *testing.T) {
	m := newMachine(t)
	m.write(projFile, "{}")
	var got []string
	for _, f := range m.load().Files() {
		text, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, m.short(string(text)))
	}
	diff(t, "files", got, []string{
		`{"path":"` + claudeUser + `","layer":"user","foreign":true,"found":false}`,
		`{"path":"` + userFile + `","layer":"user","found":false}`,
		`{"path":"` + claudeProj + `","layer":"project","foreign":true,"found":false}`,
		`{"path":"` + projFile + `","layer":"project","found":true}`,
		`{"path":"home/proj/.claude/settings.local.json","layer":"local","foreign":true,"found":false}`,
		`{"path":"` + localFile + `","layer":"local","found":false}`,
		`{"path":"etc/claude-code/managed-settings.json","layer":"managed","foreign":true,"found":false}`,
		`{"path":"` + managed + `","layer":"managed","found":false}`,
	})
}

func TestWithoutAHomeFolderTheUsersEntryCounts(t *testing.T) {
	u, err := user.Current()
	if err != nil {
		t.Skip(err)
	}
	if real := os.Getenv("HOME"); real != "" && real != u.HomeDir {
		t.Skip("this user's home is elsewhere")
	}
	diff(t, "home", config.ResolvePaths([]string{}, "").Home, u.HomeDir)
}
