package app

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/permission"
)

func TestRulesOfARunningSessionFollowTheSettings(t *testing.T) {
	p := newPlace(t, editScript())
	inst := p.open(t, func(o *Options) { o.Mode = permission.Bypass })
	s := newSession(t, inst, SessionOptions{})
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
	d := s.policy.Decide(permission.Request{
		Tool: "Bash", Mode: permission.Bypass, Accesses: []permission.Access{{Kind: permission.Exec, Target: "rm x"}},
	})
	if d.Effect != permission.Deny {
		t.Errorf("%+v", d)
	}
	if s.Model().ID != "claude-sonnet-4-5" {
		t.Errorf("the model changed to %s", s.Model().ID)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
