package language_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation/language"
	"github.com/lathe-dev/lathe/internal/extend/lsp"
	"github.com/lathe-dev/lathe/internal/extend/lsp/lsptest"
)

func TestTheServersHearOfChangesByOthers(t *testing.T) {
	s := newSeat(t)
	s.trusts()
	_, srv := lsptest.Pool(t, nil)
	servers, err := json.Marshal(map[string]any{"fixed": map[string]any{
		"command": []string{os.Args[0]}, "languages": lsptest.Definition(srv).Languages, "env": lsptest.Definition(srv).Env,
	}})
	if err != nil {
		t.Fatal(err)
	}
	s.conf.Settings.LSP = config.LSP{Enabled: true, WaitMs: 20_000, StartMs: 20_000, RequestMs: 20_000, Servers: servers}
	s.watched()
	s.put("a"+lsptest.Extension, "one\n")
	s.call("Read", map[string]any{"file_path": "a" + lsptest.Extension})
	if !await.Until(func() bool { return strings.Contains(srv.Log(), "textDocument/didOpen") }) {
		t.Fatalf("the server was not started: %s", srv.Log())
	}
	s.put("a"+lsptest.Extension, "by somebody else\n")
	if !await.Until(func() bool { return strings.Contains(srv.Log(), "textDocument/didChange ") }) {
		t.Errorf("the server did not hear of it: %s", srv.Log())
	}
}

func TestEachSettingReachesTheServers(t *testing.T) {
	var c config.Config
	if err := json.Unmarshal(
		[]byte(
			`{"enabled": true, "warnings": true, "waitMs": 1, "startMs": 2, "requestMs": 3, "idleMinutes": 4, "maxMemoryMB": 5, "maxCPUMinutes": 6,
		"servers": {"a": {"command": ["x"]}, "wrong": 1}}`), &c.Settings.LSP); err != nil {
		t.Fatal(err)
	}
	want := lsp.Settings{
		Enabled: true, Warnings: true, WaitMs: 1, StartMs: 2, RequestMs: 3, IdleMinutes: 4, MaxMemoryMB: 5, MaxCPUMinutes: 6,
		Servers: map[string]lsp.Definition{"a": {Command: []string{"x"}}},
	}
	if d := cmp.Diff(want, language.ServerSettings(&c)); d != "" {
		t.Error(d)
	}
}
