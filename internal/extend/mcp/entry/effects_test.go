package entry_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/lathe-dev/lathe/internal/extend/mcp/entry"
)

func TestTheEffectsOfAnEntryAreAllListedAsTheyAreWritten(t *testing.T) {
	for raw, want := range map[string]string{
		`{"command": "npx", "args": ["-y", "a b", "${PKG:-x}"], "env": {"NODE_OPTIONS": "--require=./x", "T": "${TOKEN}"}, "cwd": "sub"}`:                                                                                                             `[runs: npx -y "a b" ${PKG:-x} works in: sub sets: NODE_OPTIONS=--require=./x sets: T=${TOKEN} takes: PKG, TOKEN]`,
		`{"type": "http", "url": "https://x.example/${A}", "headers": {"X": "${B}"}, "headersHelper": "./h", "oauth": {"clientId": "me", "authServerMetadataUrl": "https://id.example/.well-known/openid-configuration", "privateKeyFile": "k.pem"}}`: "[address: https://x.example/${A} headers helper: ./h sends: X: ${B} takes: A, B, MCP_CLIENT_SECRET logs in as: me logs in at: https://id.example/.well-known/openid-configuration key file: k.pem]",
		`{"type": "sse", "url": "https://x.example/"}`: "[address: https://x.example/]",
	} {
		got, err := entry.Effects(json.RawMessage(raw))
		if err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s:\n%v %v", raw, got, err)
		}
	}
	for _, raw := range []string{
		`{}`, `[]`, `{"command": ["x"]}`, `{"url": "https://x.example"}`,
		`{"type": "http", "url": "file:///x"}`, `{"command": "x", "headersHelper": ["y"]}`,
	} {
		if got, err := entry.Effects(json.RawMessage(raw)); err == nil {
			t.Errorf("%s passes as %v", raw, got)
		}
	}
}

func TestOnlyTheUsersOwnEntriesLoosen(t *testing.T) {
	places := entry.Places{Private: func(name string) bool { return name == "KEY" }, Lookup: func(name string) (string,
		bool,
	) {
		return "v-" + name, true
	}}
	for scope, own := range map[entry.Scope]bool{
		entry.User: true, entry.Flag: true, entry.Project: false,
		entry.Plugin: false,
	} {
		e, err := places.Parse("s", json.RawMessage(
			`{"command": "x", "args": ["${KEY}"], "readOnlyTools": ["*"], "sampling": "allow", "samplingTokens": 1}`), scope)
		if err != nil {
			t.Fatal(err)
		}
		if e.ReadOnly("t") != own || e.SamplingAllowed() != own || (e.SamplingBudget(5) == 1) != own ||
			(e.Args[0] == "v-KEY") != own {
			t.Errorf("%s: %+v", scope, e)
		}
	}
}
