package boundary

import (
	"os"
	"path/filepath"
	"testing"
)

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

// The hooks of such a repository would run at the user's next push.
func TestNoFolderThatCommandsWriteBecomesARemote(t *testing.T) {
	top := t.TempDir()
	if err := os.Symlink("p", filepath.Join(top, "link")); err != nil {
		t.Skip(err)
	}
	write(t, top+"/p/evil/HEAD", "x")
	c := &openConfig{
		path: top + "/p/.git/config",
		text: []byte("[core]\n\tbare = false\n[remote \"own\"]\n\turl = kept\n"), written: []string{
			top + "/p",
			top + "/cache",
		},
	}
	for url, harmful := range map[string]bool{
		"https://example.com/x": false, "git@example.com:x/y.git": false, "ssh://git@example.com/x": false,
		"../remote.git": false, top + "/remote.git": false, "file://" + top + "/r": false,
		"evil": true, "./evil": true, "sub/../evil": true, "../p/evil": true, top + "/p/evil": true, "file://" + top +
			"/p/evil": true, top + "/cache/x": true, top + "/link/evil": true,
		"/proc/self/cwd/evil": true, ".": true, "a/b:c": true,
	} {
		for _, key := range []string{"url", "pushurl"} {
			if got := c.harmful(string(c.text) + "[remote \"origin\"]\n\t" + key + " = " + url + "\n"); (got != "") != harmful {
				t.Errorf("%s = %s: %q", key, url, got)
			}
		}
	}
	for value, harmful := range map[string]bool{
		".": false, "own": false, "evil": true, "./evil": true,
		"https://example.com/x": false,
	} {
		for _, key := range []string{"remote", "pushRemote"} {
			if got := c.harmful(string(c.text) + "[branch \"main\"]\n\t" + key + " = " + value + "\n"); (got != "") != harmful {
				t.Errorf("branch.main.%s = %s: %q", key, value, got)
			}
		}
	}
}
