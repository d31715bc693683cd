package call

import (
	"encoding/json"
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
)

func TestCallsOfEveryTool(t *testing.T) {
	for _, tc := range []struct {
		tool, input string
		want        permission.Effect
	}{
		{"Read", `{"file_path":"src/a.go"}`, permission.Allow},
		{"Read", `{"path":"/etc/passwd"}`, permission.Ask},
		{"Read", `{"path":"docs/key.md","_fs":"key.md -> /home/u/.ssh/id_ed25519"}`, permission.Ask},
		{"Read", `{"path":"d/../../.ssh/id_rsa"}`, permission.Ask},
		{"Read", `{"path":"link/../x","_fs":"link -> /home/u/other/sub"}`, permission.Ask},
		{"Read", `{"path":"loop","_fs":"loop -> loop"}`, permission.Ask},
		{"Read", `{"path":"p","_fs":"p is a fifo"}`, permission.Ask},
		{"Read", `{"path":"x","_fs":"hard link to a key"}`, permission.Ask},
		{"Read", `{"path":"node_modules/x","_fs":"hard link to the store"}`, permission.Allow},
		{"Read", `{"path":"/dev/zero"}`, permission.Ask},
		{"Read", `{"path":"~/.lathe/auth.json"}`, permission.Deny},
		{"Write", `{"file_path":"a.go"}`, permission.Ask},
		{"Edit", `{"path":"out","_fs":"out -> /home/u/.bashrc (symlink)"}`, permission.Deny},
		{"Edit", `{"path":"d/new.txt","_fs":"d -> /home/u (symlink)"}`, permission.Ask},
		{"Edit", `{"path":"a\u0000.txt"}`, permission.Deny},
		{"NotebookEdit", `{"notebook_path":".vscode/tasks.json"}`, permission.Deny},
		{"ApplyPatch", `{"patch":"*** Update File: .git/hooks/x\n"}`, permission.Deny},
		{"ApplyPatch", `{"patch":"nothing"}`, permission.Ask},
		{"Glob", `{"pattern":"**/*.go"}`, permission.Allow},
		{"Glob", `{"pattern":"/etc/*"}`, permission.Ask},
		{"Glob", `{"pattern":"../*"}`, permission.Ask},
		{"Glob", `{"pattern":"**/../../*"}`, permission.Ask},
		{"Grep", `{"pattern":"x","path":"/home/u/.ssh"}`, permission.Ask},
		{"Grep", `{"pattern":"x"}`, permission.Allow},
		{"Bash", `{"command":"ls"}`, permission.Allow},
		{"Bash", `{"command":"ls","cwd":"/home/u/link","_fs":"link -> /etc"}`, permission.Ask},
		{"Bash", `{"command":"touch marker","description":"List files","requires_approval":false}`, permission.Ask},
		{"WebFetch", `{"url":"https://example.test/"}`, permission.Ask},
		{"WebFetch", `{"url":"https://example.test%00.b.org/"}`, permission.Deny},
		{"WebFetch", `{"url":"http://rebind.example.test/","_dns":"first public, then 127.0.0.1"}`, permission.Deny},
		{"TodoWrite", `{"todos":[]}`, permission.Allow},
		{"Task", `{"subagent_type":"explore"}`, permission.Ask},
		{"mcp__files__read", `{"annotations":{"readOnlyHint":true}}`, permission.Ask},
		{"Batch", `{}`, permission.Ask},
	} {
		m := machine()
		req, err := m.Request(tc.tool, json.RawMessage(tc.input))
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
	r, err := permission.ParseRule("WebFetch(domain:example.com)", permission.Allow, permission.Source{})
	if err != nil {
		t.Fatal(err)
	}
	for to, want := range map[string]permission.Effect{"": permission.Allow, "https://example.com/b": permission.Allow, "http://169.254.169.254/": permission.Ask, "https://other.test/": permission.Ask} {
		req, err := m.Request("WebFetch", object("url", "https://example.com/a", "_redirect", to))
		if d := m.Policy([]permission.Rule{r}).Decide(req); d.Effect != want || err != nil {
			t.Errorf("%s: %+v %v", to, d, err)
		}
	}
}

func TestInputsThatNameNothingAreErrors(t *testing.T) {
	for tool, input := range map[string]string{"Bash": `{"command":" "}`, "Read": `{}`, "WebFetch": `{"url":""}`, "Write": `{"file_path":7}`} {
		if _, err := machine().Request(tool, json.RawMessage(input)); err == nil {
			t.Errorf("%s %s was taken", tool, input)
		}
	}
}
