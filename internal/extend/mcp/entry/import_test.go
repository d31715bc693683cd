package entry_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/lathe-dev/lathe/internal/extend/mcp/entry"
)

// The files of each program, as its manual writes them, and the entries that they become.
func TestTheFilesOfOtherProgramsAreTakenOver(t *testing.T) {
	for program, c := range map[string]struct{ file, text, want string }{
		"Claude Code": {
			".mcp.json",
			`{"mcpServers": {"a": {"type": "http", "url": "https://a.example/${PART:-x}", "headersHelper": "./h"}}}`,
			`{"a":{"type":"http","url":"https://a.example/${PART:-x}","headersHelper":"./h"}}`,
		},
		"Claude Desktop": {
			"claude_desktop_config.json",
			`{"globalShortcut": "", "mcpServers": {"a": {"command": "npx", "args": ["-y", "a"], "env": {"K": "v"}}}}`,
			`{"a":{"command":"npx","args":["-y","a"],"env":{"K":"v"}}}`,
		},
		"Codex": {
			"config.toml", "[mcp_servers.a]\nurl = \"https://a.example\"\nbearer_token_env_var = \"T\"\nstartup_timeout_sec " +
				"= 2.5\nenabled_tools = [\"x\"]\ndisabled_tools = [\"y\"]\n",
			`{"a":{"type":"http","url":"https://a.example","headers":{"Authorization":"Bearer ${T}"},"startupTimeout":2500,"enabledTools":["x"],"disabledTools":["y"]}}`,
		},
		"opencode": {
			"opencode.json", `{"mcp": {
				"a": {"type": "local", "command": ["npx", "a"], "environment": {"K": "{env:KEY}"}, "enabled": false, "timeout": 7000},
				"b": {"type": "remote", "url": "https://b.example", "headers": {"Authorization": "Bearer {env:B_TOKEN}"}}}}`,
			`{"a":{"command":"npx","args":["a"],"env":{"K":"${KEY}"},"disabled":true,"startupTimeout":7000},
			  "b":{"type":"http","url":"https://b.example","headers":{"Authorization":"Bearer ${B_TOKEN}"}}}`,
		},
		"VS Code": {
			"mcp.json", `{
				"inputs": [{"type": "promptString", "id": "api-key", "password": true}], // asked for there
				"servers": {"a": {"type": "stdio", "command": "npx", "args": ["${env:PKG}"], "env": {"K": "${input:api-key}"}}},
			}`,
			`{"a":{"type":"stdio","command":"npx","args":["${PKG}"],"env":{"K":"${API_KEY}"}}}`,
		},
	} {
		t.Run(program, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), c.file)
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := entry.Source{File: file}.Import()
			if err != nil {
				t.Fatal(err)
			}
			if g, w := sorted(t, got), sorted(t, json.RawMessage(c.want)); g != w {
				t.Errorf("%s\nnot %s", g, w)
			}
			for name, raw := range got {
				if _, err := (&entry.Places{}).Parse(name, raw, entry.User); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// sorted is a value as JSON with sorted keys.
func sorted(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var plain any
	if err := json.Unmarshal(data, &plain); err != nil {
		t.Fatal(err)
	}
	data, _ = json.Marshal(plain)
	return string(data)
}

func TestOfAStrictCommandLineNoOtherServersAreRead(t *testing.T) {
	dir := t.TempDir()
	const other = `{"mcpServers": {"other": {"command": "x"}}}`
	for _, name := range []string{".mcp.json", "claude.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(other), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for strict, want := range map[bool]int{true: 1, false: 5} {
		got, faults, err := entry.Read(entry.Places{
			ProjectDir: dir, ClaudeJSON: filepath.Join(dir, "claude.json"),
			Settings: json.RawMessage(`{"set": {"command": "x"}}`),
			Plugins: func() map[string]entry.PluginServer {
				return map[string]entry.PluginServer{"plug": {Raw: json.RawMessage(`{"command": "x"}`)}}
			},
			Flags: []string{`{"mcpServers": {"mine": {"command": "x"}}}`}, Strict: strict,
		})
		if err != nil || len(faults) > 0 || len(got) != want || got[0].Name != "mine" {
			t.Errorf("strict %v: %+v %v %v", strict, got, faults, err)
		}
	}
}
