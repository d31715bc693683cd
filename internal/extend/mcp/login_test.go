package mcp_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/extend/mcp"
	"github.com/lathe-dev/lathe/internal/extend/mcp/oauth/oauthtest"
	"github.com/lathe-dev/lathe/internal/store/keyring"
)

func logins(t *testing.T) func(*mcp.Options) {
	file := filepath.Join(t.TempDir(), "logins")
	return func(o *mcp.Options) { o.Logins = func() *keyring.Store { return keyring.Open(file, nil) } }
}

func TestAServerIsUsedAfterALogin(t *testing.T) {
	w, keep := oauthtest.New(t, streamable(nil)), logins(t)
	servers := map[string]any{"off": map[string]any{"type": "http", "url": w.URL()}}
	b := newBench(t, servers, keep)
	b.start(t)
	if s := b.set.Status()[0]; s.State != mcp.NeedsAuth || !strings.Contains(s.Err, "lathe mcp login off") {
		t.Fatalf("%+v", s)
	}
	if err := b.set.Login(t.Context(), "off", mcp.Browser{Open: visit}); err != nil {
		t.Fatal(err)
	}
	if got := b.text(t, "mcp__off__echo", `{"text":"in"}`); got != "echo: in" {
		t.Errorf("%q", got)
	}
	if got := b.set.LoginOf("off"); !strings.Contains(got, w.Issuer.URL) || strings.Contains(got, "access-") {
		t.Errorf("%q", got)
	}
	w.Expire()
	if got := b.text(t, "mcp__off__echo", `{"text":"renewed"}`); got != "echo: renewed" {
		t.Errorf("%q", got)
	}
	again := newBench(t, servers, keep)
	again.start(t)
	if got := again.text(t, "mcp__off__echo", `{"text":"later"}`); got != "echo: later" {
		t.Errorf("%q", got)
	}
	if log := b.set.Log("off"); strings.Contains(log, "access-") || strings.Contains(log, "refresh-") {
		t.Errorf("the log has a token: %s", log)
	}
	if err := again.set.Logout(t.Context(), "off"); err != nil {
		t.Fatal(err)
	}
	if len(w.Revoked) != 2 || again.set.LoginOf("off") != "" {
		t.Errorf("%v, %q", w.Revoked, again.set.LoginOf("off"))
	}
}

func TestACallThatNeedsMoreRightsSaysHowToGiveThem(t *testing.T) {
	w := oauthtest.New(t, streamable(nil))
	b := newBench(t, map[string]any{"off": map[string]any{"type": "http", "url": w.URL()}}, logins(t))
	b.start(t)
	if err := b.set.Login(t.Context(), "off", mcp.Browser{Open: visit}); err != nil {
		t.Fatal(err)
	}
	w.Require("write")
	_, err := b.call(t.Context(), t, "mcp__off__echo", `{"text":"x"}`)
	if err == nil || !strings.Contains(err.Error(), `"write"`) || !strings.Contains(err.Error(), "lathe mcp login off") {
		t.Errorf("%v", err)
	}
	if s := b.set.Status()[0]; s.State != mcp.NeedsAuth {
		t.Errorf("%+v", s)
	}
	if err := b.set.Login(t.Context(), "off", mcp.Browser{Open: visit}); err != nil {
		t.Fatal(err)
	}
	if got := b.text(t, "mcp__off__echo", `{"text":"more"}`); got != "echo: more" {
		t.Errorf("%q", got)
	}
}

func TestAnEntryWithItsOwnAuthorizationHasNoLogin(t *testing.T) {
	w := oauthtest.New(t, streamable(nil))
	b := newBench(t, map[string]any{"off": map[string]any{
		"type": "http", "url": w.URL(),
		"headers": map[string]string{"authorization": "Bearer mine"},
	}}, logins(t))
	b.start(t)
	if s := b.set.Status()[0]; s.State != mcp.NeedsAuth || strings.Contains(s.Err, "mcp login") {
		t.Errorf("%+v", s)
	}
	if err := b.set.Login(t.Context(), "off", mcp.Browser{Open: visit}); err == nil {
		t.Error("a login beside the header")
	}
}
