package config_test

import "testing"

func TestOnlyThePolicysListOfServersCounts(t *testing.T) {
	const only = `, "allowManagedMcpServersOnly": true`
	for name, tt := range map[string]struct{ managed, user, want string }{
		"lists are joined": {
			`{"allowedMcpServers": [{"serverName": "a"}]}`,
			`{"allowedMcpServers": [{"serverName": "b"}]}`, `[{"serverName":"b"},{"serverName":"a"}]`,
		},
		"the policy's alone": {
			`{"allowedMcpServers": [{"serverName": "a"}]` + only + `}`,
			`{"allowedMcpServers": [{"serverName": "b"}]}`, `[{"serverName":"a"}]`,
		},
		"one that both have": {
			`{"allowedMcpServers": [{"serverName": "a"}]` + only + `}`,
			`{"allowedMcpServers": [{"serverName": "a"}]}`, `[{"serverName":"a"}]`,
		},
		"an empty one": {
			`{"allowedMcpServers": []` + only + `}`, `{"allowedMcpServers": [{"serverName": "b"}]}`,
			`[]`,
		},
		"the policy has none":   {`{"language": "x"` + only + `}`, `{"allowedMcpServers": [{"serverName": "b"}]}`, ``},
		"nobody has any at all": {`{"language": "x"` + only + `}`, `{}`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.write(managed, tt.managed)
			m.write(claudeUser, tt.user)
			diff(t, "list", string(m.load().AllowedMCPServers()), tt.want)
		})
	}
}
