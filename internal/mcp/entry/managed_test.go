package entry_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/mcp/entry"
)

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func names(entries []entry.Entry) string {
	var out []string
	for _, e := range entries {
		out = append(out, string(e.Scope)+":"+e.Name)
	}
	return strings.Join(out, " ")
}

func TestTheAdministratorsFileHasAllServers(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, ".mcp.json", `{"mcpServers": {"project": {"command": "p"}}}`)
	places := entry.Places{
		Managed: []string{filepath.Join(dir, "managed-mcp.json")}, ProjectDir: dir, Dir: dir,
		Flags: []string{`{"mcpServers": {"flag": {"command": "f"}}}`}, Settings: json.RawMessage(`{"mine": {"command": "m"}}`),
	}
	if got, _, err := entry.Read(places); err != nil || names(got) != "flag:flag project:project settings:mine" {
		t.Errorf("without the file: %s %v", names(got), err)
	}
	write(t, dir, "managed-mcp.json", `{"mcpServers": {"official": {"command": "o"}}}`)
	got, faults, err := entry.Read(places)
	if err != nil || names(got) != "managed:official" || len(faults) != 1 || !strings.Contains(faults[0], "--mcp-config") {
		t.Errorf("%s %q %v", names(got), faults, err)
	}
	write(t, dir, "managed-mcp.json", `{}`)
	if got, _, err := entry.Read(places); err != nil || len(got) > 0 {
		t.Errorf("an empty file allows none: %s %v", names(got), err)
	}
	write(t, dir, "managed-mcp.json", `{`)
	if _, _, err := entry.Read(places); err == nil || !strings.Contains(err.Error(), "managed-mcp.json") {
		t.Error("a broken file is a policy that is lost:", err)
	}
}

func TestTheAdministratorsListsRefuseServers(t *testing.T) {
	flags := `{"mcpServers": {"a": {"command": "npx", "args": ["x"]}, "b": {"command": "npx", "args": ["y"]}, "c": {"type": "http", "url": "https://mcp.example.com/v1"}, "d": {"type": "http", "url": "https://evil.example.org/mcp"}}}`
	for _, c := range []struct{ allowed, denied, want string }{
		{"", "", "flag:a flag:b flag:c flag:d"},
		{`[{"serverName": "a"}, {"serverUrl": "https://*.example.com/*"}]`, "", "flag:a flag:c"},
		{`[{"serverCommand": ["npx", "y"]}]`, "", "flag:b"},
		{`[]`, "", ""},
		{"", `[{"serverName": "a"}, {"serverUrl": "*evil*"}]`, "flag:b flag:c"},
		{`[{"serverName": "a"}]`, `[{"serverCommand": ["npx", "x"]}]`, ""},
		{`{`, "", ""},
	} {
		policy := entry.Policy{}
		if c.allowed != "" {
			policy.Allowed = json.RawMessage(c.allowed)
		}
		if c.denied != "" {
			policy.Denied = json.RawMessage(c.denied)
		}
		got, faults, err := entry.Read(entry.Places{Flags: []string{flags}, Strict: true, Policy: policy})
		if err != nil || names(got) != c.want || c.want != "flag:a flag:b flag:c flag:d" && len(faults) == 0 {
			t.Errorf("%+v: %s %q %v", c, names(got), faults, err)
		}
	}
}
