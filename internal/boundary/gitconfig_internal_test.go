package boundary

import "testing"

func TestOnlyHarmlessChangesOfAGitConfigurationStay(t *testing.T) {
	const old = "[core]\n\tbare = false\n\tfsmonitor = mine\n[remote \"origin\"]\n\turl = https://example.com/x\n"
	for _, tt := range []struct{ now, key string }{
		{old, ""},
		{old + "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n", ""},
		{old + "[user]\n\tname = A\n[remote \"b\"] url = git@example.com:x\n", ""},
		{"", ""},
		{old + "[core]\n\tfsmonitor = other\n", "core.fsmonitor"},
		{old + "[core] hooksPath = x\n", "core.hookspath"},
		{old + "[CORE]\n\tSSHCommand = x\n", "core.sshcommand"},
		{old + "[alias]\n\tst = !evil\n", "alias."},
		{old + "[include]\n\tpath = x\n", "include."},
		{old + "[filter \"x\"]\n\tclean = evil\n", "filter."},
		{old + "[remote \"b\"]\n\turl = ext::sh -c evil\n", "remote.url"},
		{old + "[remote \"b\"]\n\tuploadpack = evil\n", "remote.uploadpack"},
		{old + "[branch \"x\"]\n\tdescription = a\\\n[core]\n", "branch.description"},
		{old + "[branch \"x]\"] [alias] a = !evil\n", "alias."},
		{old + "[merge \"x\"]\n\tlog = 1\n", "merge.log"},
		{old + "[core.x]\n\tbare = 1\n", "core.x."},
		{old + "broken [alias]\n", "remote.broken [alias]"},
	} {
		if key := harmfulChange(old, tt.now); key != tt.key {
			t.Errorf("%q: %q, want %q", tt.now, key, tt.key)
		}
	}
}
