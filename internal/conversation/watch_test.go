package conversation_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
)

func TestRulesOfARunningSessionFollowTheSettings(t *testing.T) {
	p := newPlace(t, editScript())
	inst := p.open(t, func(o *conversation.Options) { o.Mode = permission.Bypass })
	s := newSession(t, inst, conversation.SessionOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- inst.Watch(ctx, nil) }()
	sub := s.Subscribe(t.Context())
	dir := filepath.Join(p.home, ".config", "lathe")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	text := `{"model": "opus", "permissions": {"deny": ["Bash(rm *)"]}}`
	if err := os.WriteFile(filepath.Join(dir, "settings.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := firstOf[event.Notice](t, sub); n.Text != "settings: model takes effect at the next start" {
		t.Errorf("%+v", n)
	}
	c, err := s.Consider(t.Context(), llm.ToolCall{ID: "1", Name: "Bash", Input: []byte(`{"command":"rm x"}`)})
	if err != nil || c.Decision.Effect != permission.Deny {
		t.Errorf("%+v %v", c.Decision, err)
	}
	if s.Model().ID != llm.DefaultModel {
		t.Errorf("the model changed to %s", s.Model().ID)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A protection that appears while a session runs takes bypassPermissions away, with a notice. Once it is gone,
// the mode can be chosen again, and nothing goes back to it by itself.
func TestBypassFollowsTheSettingsOfARunningSession(t *testing.T) {
	p := newPlace(t, editScript())
	inst := p.open(t, func(o *conversation.Options) { o.Mode = permission.Bypass })
	s := newSession(t, inst, conversation.SessionOptions{})
	sub := s.Subscribe(t.Context())
	settings := func(text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(p.dir, ".lathe"), 0o700); err != nil {
			t.Fatal(err)
		}
		p.write(t, ".lathe/settings.json", text)
		if _, err := inst.Reload(); err != nil {
			t.Fatal(err)
		}
	}
	command := permission.Request{Tool: "Bash", Accesses: []permission.Access{{Kind: permission.Exec, Target: "make"}}}
	decide := func() permission.Effect {
		command.Mode = permission.Bypass
		return s.Policy().Decide(command).Effect
	}
	settings(`{"hooks": {"PreToolUse": [{"matcher": "Bash"}]}}`)
	if m := firstOf[event.ModeChanged](t, sub); m.Mode != permission.Default || s.Mode() != permission.Default {
		t.Errorf("%v, %v", m, s.Mode())
	}
	n := firstOf[event.Notice](t, sub)
	if !strings.Contains(n.Text, "hooks.PreToolUse") || !strings.Contains(n.Text, filepath.Join(p.dir, ".lathe",
		"settings.json")) {
		t.Errorf("%+v", n)
	}
	if err := s.SetMode(t.Context(), permission.Bypass); err == nil || decide() != permission.Ask {
		t.Errorf("bypass is back too early: %v, %s", err, decide())
	}
	if m := newSession(t, inst, conversation.SessionOptions{}).Mode(); m != permission.Default {
		t.Errorf("a new session began in %s", m)
	}
	settings(`{}`)
	if s.Mode() != permission.Default {
		t.Errorf("the mode went back to %s by itself", s.Mode())
	}
	if err := s.SetMode(t.Context(), permission.Bypass); err != nil || decide() != permission.Allow {
		t.Errorf("%v, %s", err, decide())
	}
}

// Rules that cannot be obeyed never replace those in force: the mistake is shown, and the denied call stays denied.
func TestABrokenRuleKeepsThoseInForce(t *testing.T) {
	p := newPlace(t, editScript())
	inst := p.open(t, func(o *conversation.Options) { o.Mode = permission.Bypass })
	s := newSession(t, inst, conversation.SessionOptions{})
	sub := s.Subscribe(t.Context())
	if err := os.MkdirAll(filepath.Join(p.dir, ".lathe"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.write(t, ".lathe/settings.json", `{"permissions": {"deny": ["Bash(rm *)"]}}`)
	if _, err := inst.Reload(); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`{"permissions": {"deny": ["Bahs(rm *)"]}}`: "did you mean Bash?",
		`{"permissions": {"deny": ["Bash(rm *"]}}`:  "permissions.deny[0]",
		``: "the file is empty",
	} {
		p.write(t, ".lathe/settings.json", text)
		if _, err := inst.Reload(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
		c, err := s.Consider(t.Context(), llm.ToolCall{ID: "1", Name: "Bash", Input: []byte(`{"command":"rm x"}`)})
		if err != nil || c.Decision.Effect != permission.Deny {
			t.Errorf("%s: %+v %v", text, c.Decision, err)
		}
	}
	if n := firstOf[event.Notice](t, sub); n.Level != "error" || !strings.Contains(n.Text, "did you mean Bash?; ") ||
		!strings.HasSuffix(n.Text, "; the settings in force stay") {
		t.Errorf("%+v", n)
	}
	p.write(t, ".lathe/settings.json", `{"permissions": {"deny": ["Bash(rm *)"]}}`)
	if _, err := inst.Amend([]byte(`{"permissions": {"deny": ["Raed"]}}`)); err == nil || !strings.Contains(err.Error(),
		"did you mean Read?") {
		t.Errorf("a host's rule: %v", err)
	}
	if _, err := inst.Reload(); err != nil {
		t.Errorf("the broken rule of the host stayed: %v", err)
	}
}

// A hook of ConfigChange refuses a change of the settings, with exit code 2 or in JSON: what was in force stays.
func TestAChangeThatAHookRefusesDoesNotCount(t *testing.T) {
	p := newPlace(t, editScript())
	settings := func(deny string) {
		t.Helper()
		dir := filepath.Join(p.home, ".config", "lathe")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		text := `{"permissions": {"deny": [` + deny + `]}, "hooks": {"ConfigChange": [
			{"matcher": "user_settings", "hooks": [{"type": "command", "command": "grep -q 'Bash[(]touch' '` + dir +
			`/settings.json' && { echo no rules on touch >&2; exit 2; }; exit 0"}]},
			{"hooks": [{"type": "command", "command": "grep -q 'Bash[(]curl' '` + dir +
			`/settings.json' && echo '{\"decision\":\"block\",\"reason\":\"no rules on curl\"}'; exit 0"}]}]}}`
		if err := os.WriteFile(filepath.Join(dir, "settings.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	settings(`"Bash(rm *)"`)
	inst := p.open(t, nil)
	s := newSession(t, inst, conversation.SessionOptions{})
	for _, c := range []struct{ command, why string }{
		{"touch x", "no rules on touch"},
		{"curl example.com", "no rules on curl"},
		{"ls", ""},
	} {
		settings(`"Bash(` + c.command + `)"`)
		_, err := inst.Reload()
		if got := err != nil && strings.Contains(err.Error(), c.why); c.why != "" && !got || c.why == "" && err != nil {
			t.Errorf("%s: the error is %v, want %q", c.command, err, c.why)
		}
		for command, denied := range map[string]bool{"rm x": c.why != "", c.command: c.why == ""} {
			got, err := s.Consider(t.Context(), llm.ToolCall{ID: "1", Name: "Bash", Input: []byte(`{"command":"` + command +
				`"}`)})
			if err != nil || (got.Decision.Effect == permission.Deny) != denied {
				t.Errorf("after %s: %s is %+v %v, denied: %v", c.command, command, got.Decision, err, denied)
			}
		}
	}
}
