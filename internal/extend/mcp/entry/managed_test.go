package entry_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/extend/mcp/entry"
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
		Flags:    []string{`{"mcpServers": {"flag": {"command": "f"}}}`},
		Settings: json.RawMessage(`{"mine": {"command": "m"}}`),
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

func TestTheAdministratorsAddressesCannotBeImitated(t *testing.T) {
	for _, c := range []struct {
		pattern, url    string
		allowed, denied bool
	}{
		{"https://*.example.com/*", "https://mcp.example.com/v1", true, true},
		{"https://*.example.com/*", "HTTPS://MCP.Example.com:443/v1", true, true},
		{"https://*.Example.com:443/*", "https://mcp.example.com/v1", true, true},
		// a list of what is denied is read as widely as it can be
		{"https://*.example.com/*", "https://evil.test/a.example.com/v1", false, true},
		{"https://*.example.com/*", "https://evil.test?a.example.com/v1", false, true},
		{"https://*.example.com/*", "https://evil.test#a.example.com/v1", false, true},
		{"https://*.example.com/*", "https://example.com/v1", false, false},
		{"https://a.test/v1/*", "https://a.test/v1/../admin", false, true},
		{"https://a.test/v1/*", "https://a.test/v1/%2e%2e/admin", false, true},
		{"https://a.test/admin/*", "https://a.test/v1/../admin/x", true, true},
		{"https://a.test", "https://a.test/", true, true},
		{"https://a.test*", "https://a.test/v1?x=1", true, true},
		{"https://a.test/v1", "https://a.test/V1", false, true},
		{"http*://a.test:8080/*", "http://a.test:8080/mcp", true, true},
		{"*a.test*", "https://A.test/mcp", true, true},
		{"*", "http://b.test", true, true},
		{"http://b.test/x", "http://b.test:80/x", true, true},
	} {
		list, _ := json.Marshal([]map[string]string{{"serverUrl": c.pattern}})
		flag, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"s": map[string]string{
			"type": "http",
			"url":  c.url,
		}}})
		for policy, kept := range map[*entry.Policy]bool{{Allowed: list}: c.allowed, {Denied: list}: !c.denied} {
			got, faults, err := entry.Read(entry.Places{Flags: []string{string(flag)}, Strict: true, Policy: *policy})
			if err != nil || len(got) == 1 != kept {
				t.Errorf("%s, %s, denied %v: %s %q %v", c.pattern, c.url, policy.Denied != nil, names(got), faults, err)
			}
		}
	}
}

func TestANameIsNotEnoughBesideCommandsAndAddresses(t *testing.T) {
	flags := `{"mcpServers": {"a": {"command": "npx", "args": ["x"]}, "b": {"command": "sh"}, "c": {"type": "http", "url": "https://c.test"}, "d": {"type": "sse", "url": "https://d.test"}}}`
	for allowed, want := range map[string]string{
		`[{"serverName": "a"}, {"serverName": "b"}, {"serverName": "c"}]`:                                       "flag:a flag:b flag:c",
		`[{"serverName": "a"}, {"serverName": "b"}, {"serverName": "c"}, {"serverCommand": ["npx", "x"]}]`:      "flag:a flag:c",
		`[{"serverName": "a"}, {"serverName": "c"}, {"serverName": "d"}, {"serverUrl": "https://c.test"}]`:      "flag:a flag:c",
		`[{"serverName": "b"}, {"serverName": "d"}, {"serverCommand": ["x"]}, {"serverUrl": "https://c.test"}]`: "flag:c",
	} {
		got, _, err := entry.Read(entry.Places{
			Flags: []string{flags}, Strict: true,
			Policy: entry.Policy{Allowed: json.RawMessage(allowed)},
		})
		if err != nil || names(got) != want {
			t.Errorf("%s: %s, want %s (%v)", allowed, names(got), want, err)
		}
	}
}
