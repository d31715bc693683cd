package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/config"
)

// A machine is a home folder, a project below it and managed folders, all in a temporary folder.
type machine struct {
	t    testing.TB
	base string
	opts config.Options
}

func newMachine(t testing.TB) *machine {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, base: base}
	m.mkdir("home/proj/.git")
	m.opts = config.Options{
		Dir: m.path("home/proj"), Home: m.path("home"), Environ: []string{"PATH=/usr/bin"},
		ManagedPaths: []string{m.path("etc/claude-code/managed-settings.json"), m.path("etc/lathe/managed-settings.json")},
	}
	return m
}

const (
	claudeUser = "home/.claude/settings.json"
	userFile   = "home/.config/lathe/settings.json"
	claudeProj = "home/proj/.claude/settings.json"
	projFile   = "home/proj/.lathe/settings.json"
	localFile  = "home/proj/.lathe/settings.local.json"
	managed    = "etc/lathe/managed-settings.json"

	claudeManaged = "etc/claude-code/managed-settings.json"
)

func (m *machine) path(rel string) string { return filepath.Join(m.base, filepath.FromSlash(rel)) }

func (m *machine) mkdir(rel string) {
	m.t.Helper()
	if err := os.MkdirAll(m.path(rel), 0o755); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) write(rel, text string) string {
	m.t.Helper()
	m.mkdir(filepath.Dir(rel))
	if err := os.WriteFile(m.path(rel), []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
	return m.path(rel)
}

func (m *machine) read(rel string) string {
	m.t.Helper()
	data, err := os.ReadFile(m.path(rel))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(data)
}

func (m *machine) env(kv ...string) { m.opts.Environ = append(m.opts.Environ, kv...) }

func (m *machine) trust() { m.opts.Trust = func(string, string) bool { return true } }

func (m *machine) load() *config.Config {
	m.t.Helper()
	c, err := config.Load(m.opts)
	if err != nil {
		m.t.Fatal(err)
	}
	return c
}

// fail loads and returns the error's text without the machine's folder.
func (m *machine) fail() string {
	m.t.Helper()
	_, err := config.Load(m.opts)
	if err == nil {
		m.t.Fatal("Load succeeded; it should have failed")
	}
	var e *config.Error
	if !errors.As(err, &e) {
		m.t.Fatalf("the error is a %T, not an *Error: %v", err, err)
	}
	return m.short(err.Error())
}

func (m *machine) short(s string) string {
	s = strings.ReplaceAll(s, m.base+string(filepath.Separator), "")
	if filepath.Separator == '\\' {
		s = strings.ReplaceAll(s, `\`, "/")
	}
	return s
}

func (m *machine) warnings(c *config.Config) []string {
	var out []string
	for _, w := range c.Warnings {
		out = append(out, m.short(w.String()))
	}
	return out
}

func (m *machine) origin(c *config.Config, key string) string { return m.short(c.Origin(key).String()) }

func diff(t *testing.T, what string, got, want any) {
	t.Helper()
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestWithoutAnyFileTheDefaultsHold(t *testing.T) {
	c := newMachine(t).load()
	s := c.Settings
	diff(t, "model", s.Model, "") // the provider's default
	diff(t, "limits", []int{s.MaxOutputTokens, s.MaxTurns, s.CompactionThreshold}, []int{0, 0, 0})
	diff(t, "bash", s.Bash, config.Bash{
		DefaultTimeoutMs: 120000, MaxTimeoutMs: 600000, MaxOutputLength: 30000,
		Profile: "environment",
	})
	diff(t, "cache", s.ExploreCache, config.ExploreCache{Enabled: true, MaxEntries: 200, DirectoryTTLMs: 30000})
	diff(t, "stream", s.Stream, config.Stream{
		StallTimeoutMs: 60000, HeaderTimeoutMs: 120000, ContentTimeoutMs: 300000, MaxRetries: 3, RetryBaseMs: 1000,
		MaxRetryWaitMs: 30000,
	})
	diff(t, "mode", s.Permissions.DefaultMode, "default")
	diff(t, "switches", []bool{s.AutoCompactEnabled, s.IncludeGitInstructions, s.Debug}, []bool{true, true, false})
	diff(t, "origin", c.Origin("model"), config.Origin{})
	diff(t, "warnings", c.Warnings, []config.Warning(nil))
}

func TestTheHighestLayerWins(t *testing.T) {
	m := newMachine(t)
	step := func(want, origin string) {
		t.Helper()
		c := m.load()
		diff(t, "language", c.Settings.Language, want)
		diff(t, "origin", m.origin(c, "language"), origin)
	}
	set := func(rel, val string) { m.write(rel, "{\n  // a comment\n  \"language\": \""+val+"\",\n}") }
	step("", "default")
	set(claudeUser, "a")
	step("a", claudeUser+":3:15")
	set(userFile, "b")
	step("b", userFile+":3:15")
	set(claudeProj, "c")
	step("c", claudeProj+":3:15")
	set(projFile, "d")
	step("d", projFile+":3:15")
	set("home/proj/.claude/settings.local.json", "e")
	step("e", "home/proj/.claude/settings.local.json:3:15")
	set(localFile, "f")
	step("f", localFile+":3:15")
	m.opts.SettingsFlag = m.write("flag.json", `{"language": "g"}`)
	step("g", "flag.json:1:14")
	m.opts.Flags = []config.Flag{{Name: "--language", Key: "language", Value: "h"}}
	step("h", "flag --language")
	set("etc/claude-code/managed-settings.json", "i")
	step("i", "etc/claude-code/managed-settings.json:3:15")
	set(managed, "j")
	step("j", managed+":3:15")
}

func TestEnvironmentStandsAboveFilesAndBelowSettingsEnvAndFlags(t *testing.T) {
	m := newMachine(t)
	step := func(want, origin string) {
		t.Helper()
		c := m.load()
		diff(t, "model", c.Settings.Model, want)
		diff(t, "origin", m.origin(c, "model"), origin)
	}
	m.write(localFile, `{"model": "local"}`)
	step("", "default")
	m.trust()
	step("local", localFile+":1:11")
	m.env("ANTHROPIC_MODEL=process")
	step("process", "environment ANTHROPIC_MODEL")
	m.write(projFile, `{"env": {"ANTHROPIC_MODEL": "project"}}`)
	m.trust()
	step("process", "environment ANTHROPIC_MODEL")
	m.write(claudeUser, `{"env": {"ANTHROPIC_MODEL": "user"}}`)
	step("user", "env ANTHROPIC_MODEL in "+claudeUser+":1:29")
	m.opts.Flags = []config.Flag{{Name: "--model", Key: "model", Value: "flag"}}
	step("flag", "flag --model")
	m.write(managed, `{"model": "managed"}`)
	step("flag", "flag --model") // a managed model is only the default of new sessions
	m.opts.Flags = nil
	m.opts.Environ = nil
	m.write(claudeUser, `{}`)
	t.Setenv("ANTHROPIC_MODEL", "")
	t.Setenv("LATHE_MODEL", "")
	step("managed", managed+":1:11")
}

func BenchmarkLoad(b *testing.B) {
	m := newMachine(b)
	m.write(claudeUser,
		`{"model": "opus", "permissions": {"allow": ["Read", "Bash(go *)"]}, "hooks": {"Stop": [{"hooks": []}]}}`)
	m.write(userFile, "{\n// mine\n\"theme\": \"dark\", \"providers\": {\"x\": {\"type\": \"openai\", \"apiBase\": "+
		"\"https://x.example/v1\", \"apiKey\": \"{env:PATH}\"}}}")
	m.write(claudeProj, `{"permissions": {"deny": ["Read(.env)"], "allow": ["Bash(make *)"]}}`)
	m.write(projFile, `{"outputStyle": "plain"}`)
	m.write(localFile, `{"permissions": {"allow": ["Bash(npm *)"]}}`)
	m.write(managed, `{"permissions": {"deny": ["WebFetch"]}}`)
	b.ReportAllocs()
	for b.Loop() {
		m.load()
	}
}
