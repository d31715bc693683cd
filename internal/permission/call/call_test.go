package call_test

import (
	"encoding/json"
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

func TestCallsOfEveryTool(t *testing.T) {
	for _, tc := range []struct {
		tool, input string
		want        permission.Effect
		fixture     call.Fixture
	}{
		{"Read", `{"file_path":"src/a.go"}`, permission.Allow, call.Fixture{}},
		{"Read", `{"path":"/etc/passwd"}`, permission.Ask, call.Fixture{}},
		{"Read", `{"path":"docs/key.md"}`, permission.Ask, call.Fixture{Files: "key.md -> /home/u/.ssh/id_ed25519"}},
		{"Read", `{"path":"d/../../.ssh/id_rsa"}`, permission.Ask, call.Fixture{}},
		{"Read", `{"path":"link/../x"}`, permission.Ask, call.Fixture{Files: "link -> /home/u/other/sub"}},
		{"Read", `{"path":"loop"}`, permission.Ask, call.Fixture{Files: "loop -> loop"}},
		{"Read", `{"path":"p"}`, permission.Ask, call.Fixture{Files: "p is a fifo"}},
		{"Read", `{"path":"x"}`, permission.Ask, call.Fixture{Files: "hard link to a key"}},
		{"Read", `{"path":"node_modules/x"}`, permission.Allow, call.Fixture{Files: "hard link to the store"}},
		{"Read", `{"path":"/dev/zero"}`, permission.Ask, call.Fixture{}},
		{"Read", `{"path":"~/.lathe/auth.json"}`, permission.Deny, call.Fixture{}},
		{"Write", `{"file_path":"a.go"}`, permission.Ask, call.Fixture{}},
		{"Edit", `{"path":"out"}`, permission.Deny, call.Fixture{Files: "out -> /home/u/.bashrc (symlink)"}},
		{"Edit", `{"path":"d/new.txt"}`, permission.Ask, call.Fixture{Files: "d -> /home/u (symlink)"}},
		{"Edit", `{"path":"a\u0000.txt"}`, permission.Deny, call.Fixture{}},
		{"NotebookEdit", `{"notebook_path":".vscode/tasks.json"}`, permission.Deny, call.Fixture{}},
		{"ApplyPatch", `{"patch":"*** Update File: .git/hooks/x\n"}`, permission.Deny, call.Fixture{}},
		{"ApplyPatch", `{"patch":"nothing"}`, permission.Ask, call.Fixture{}},
		{"Glob", `{"pattern":"**/*.go"}`, permission.Allow, call.Fixture{}},
		{"Glob", `{"pattern":"/etc/*"}`, permission.Ask, call.Fixture{}},
		{"Glob", `{"pattern":"../*"}`, permission.Ask, call.Fixture{}},
		{"Glob", `{"pattern":"**/../../*"}`, permission.Ask, call.Fixture{}},
		{"Grep", `{"pattern":"x","path":"/home/u/.ssh"}`, permission.Ask, call.Fixture{}},
		{"Grep", `{"pattern":"x"}`, permission.Allow, call.Fixture{}},
		{"Bash", `{"command":"ls"}`, permission.Allow, call.Fixture{}},
		{"Bash", `{"command":"ls"}`, permission.Ask, call.Fixture{Files: "link -> /etc", Dir: "/home/u/link"}},
		{
			"Bash", `{"command":"touch marker","description":"List files","requires_approval":false}`, permission.Ask,
			call.Fixture{},
		},
		{"WebFetch", `{"url":"https://example.test/"}`, permission.Ask, call.Fixture{}},
		{"WebFetch", `{"url":"https://example.test%00.b.org/"}`, permission.Deny, call.Fixture{}},
		{
			"WebFetch", `{"url":"http://rebind.example.test/"}`, permission.Deny,
			call.Fixture{DNS: "first public, then 127.0.0.1"},
		},
		{"TodoWrite", `{"todos":[]}`, permission.Allow, call.Fixture{}},
		{"Task", `{"subagent_type":"explore"}`, permission.Allow, call.Fixture{}},
		{"mcp__files__read", `{"annotations":{"readOnlyHint":true}}`, permission.Ask, call.Fixture{}},
		{"Batch", `{}`, permission.Allow, call.Fixture{}},
	} {
		m := machine()
		req, err := m.Request(tc.tool, json.RawMessage(tc.input), tc.fixture)
		if err != nil {
			t.Errorf("%s %s: %v", tc.tool, tc.input, err)
			continue
		}
		if d := m.Policy(nil).Decide(req); d.Effect != tc.want {
			t.Errorf("%s %s: %s (%s), want %s", tc.tool, tc.input, d.Effect, d.Reason, tc.want)
		}
	}
}

func TestARedirectToAPrivateAddressIsAnotherAccess(t *testing.T) {
	m := machine()
	r, err := permission.ParseRule(tools, "WebFetch(domain:example.com)", permission.Allow, permission.Source{})
	if err != nil {
		t.Fatal(err)
	}
	for to, want := range map[string]permission.Effect{
		"": permission.Allow, "https://example.com/b": permission.Allow,
		"http://169.254.169.254/": permission.Ask, "https://other.test/": permission.Ask,
	} {
		req, err := m.Request("WebFetch", object("url", "https://example.com/a"), call.Fixture{Redirect: to})
		if d := m.Policy([]permission.Rule{r}).Decide(req); d.Effect != want || err != nil {
			t.Errorf("%s: %+v %v", to, d, err)
		}
	}
}

func TestInputsThatNameNothingAreErrors(t *testing.T) {
	for tool, input := range map[string]string{
		"Bash": `{"command":" "}`, "Read": `{}`, "WebFetch": `{"url":""}`,
		"Write": `{"file_path":7}`,
	} {
		if _, err := machine().Request(tool, json.RawMessage(input), call.Fixture{}); err == nil {
			t.Errorf("%s %s was taken", tool, input)
		}
	}
}

// Names count alike for the Read tool and for a command that reads the file, whatever working folder they lie in.
func TestReadAndTheShellAnswerAlikeAboutSecrets(t *testing.T) {
	asks := []string{
		".env", ".env.local", "id_rsa", "server.pem", "SERVER.PEM", ".npmrc", ".viminfo", ".lesshst", ".bash_history",
		"login.keychain-db", "credentials.json", "terraform.tfstate",
		".docker/config.json", ".Docker/Config.json", ".config/gh/hosts.yml", ".config/hub", ".cargo/credentials",
		".cargo/credentials.toml", ".claude/.credentials.json", ".codex/auth.json",
		".ssh/config", ".mozilla/x/y", ".m2/settings.xml", ".thunderbird/x/y", "Library/Keychains/x", "etc/ssl/private/x",
		"sub/.aws/config", "sub/.docker/config.json",
	}
	allows := []string{
		"known_hosts", "authorized_keys", ".env.example", ".env.schema", "config.json", "docker/config.json",
		".docker/nginx.conf", ".docker/config.json/x",
		"gh/hosts.yml", ".config/app/hosts.yml", "keychains/x", "auth.json", "a.go",
	}
	for want, paths := range map[permission.Effect][]string{permission.Ask: asks, permission.Allow: allows} {
		for _, path := range paths {
			for tool, input := range map[string]json.RawMessage{
				"Read": object("path", path),
				"Bash": object("command", "cat "+path),
			} {
				m := machine()
				req, err := m.Request(tool, input, call.Fixture{})
				if err != nil {
					t.Fatal(err)
				}
				if d := m.Policy(nil).Decide(req); d.Effect != want {
					t.Errorf("%s %s: %s (%s), want %s", tool, path, d.Effect, d.Reason, want)
				}
			}
		}
	}
}

// A working folder inside a folder with secrets can be worked in; the places that begin above it still ask.
func TestAWorkingFolderAmongSecretsCanBeWorkedIn(t *testing.T) {
	for _, tt := range []struct {
		dir, path string
		want      permission.Effect
	}{
		{"/home/u/.ssh", "config", permission.Allow},
		{"/home/u/.ssh", "id_rsa", permission.Ask},
		{"/home/u/.config/gh", "hosts.yml", permission.Allow},
		{"/home/u/.config", "gh/hosts.yml", permission.Ask},
		{"/home/u/.docker", "config.json", permission.Ask},
	} {
		for tool, input := range map[string]json.RawMessage{
			"Read": object("path", tt.path),
			"Bash": object("command", "cat "+tt.path),
		} {
			m := call.NewMachine(tools, tt.dir, "/home/u")
			req, err := m.Request(tool, input, call.Fixture{})
			if err != nil {
				t.Fatal(err)
			}
			if d := m.Policy(nil).Decide(req); d.Effect != tt.want {
				t.Errorf("%s %s in %s: %s (%s), want %s", tool, tt.path, tt.dir, d.Effect, d.Reason, tt.want)
			}
		}
	}
}
