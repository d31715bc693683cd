package git

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What a repository's configuration and lathe's own environment say about programs does not reach git, as git itself
// reads it.
func TestTheOverridesStandAboveTheRepositoryAndTheEnvironment(t *testing.T) {
	program, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	want := map[string]string{
		"core.fsmonitor": "false", "core.hookspath": os.DevNull, "core.pager": "cat", "core.sshcommand": "false",
		"core.askpass": "false",
		"core.editor":  "false", "core.alternaterefscommand": "false", "gpg.program": "false", "gpg.ssh.program": "false",
		"gpg.x509.program":  "false",
		"log.showsignature": "false", "safe.barerepository": "explicit", "credential.helper": "",
		"protocol.ext.allow": "never", "diff.external": "",
	}
	root := t.TempDir()
	keys := slices.Sorted(maps.Keys(want))
	for _, args := range append([][]string{{"init", "-q"}}, func() (out [][]string) {
		for _, key := range keys {
			out = append(out, []string{"config", key, "hostile"})
		}
		return out
	}()...) {
		c := exec.Command(program, args...)
		c.Dir, c.Env = root, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + root, "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
	env := harden([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + root, "GIT_DIR=/hostile", "GIT_EXTERNAL_DIFF=hostile", "GIT_SSH=hostile",
		"GIT_PROXY_COMMAND=hostile",
		"GIT_CONFIG_GLOBAL=/hostile", "GIT_CONFIG_PARAMETERS='alias.hostile=!hostile'", "GIT_ALLOW_PROTOCOL=ext:hostile",
		"GIT_EXEC_PATH=/hostile", "MANPAGER=hostile",
	}, Repo{Root: root, GitDir: filepath.Join(root, ".git"), CommonDir: filepath.Join(root, ".git")}, nil)
	for _, kv := range env {
		if strings.Contains(kv, "hostile") {
			t.Errorf("git gets %s", kv)
		}
	}
	for _, kv := range []string{
		"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat", "PAGER=cat", "GIT_EDITOR=false",
		"GIT_SEQUENCE_EDITOR=false", "GIT_ASKPASS=false",
		"GIT_SSH_COMMAND=false", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=", "GIT_EXTERNAL_DIFF=",
	} {
		if !slices.Contains(env, kv) {
			t.Errorf("git does not get %s", kv)
		}
	}
	for _, key := range keys {
		c := exec.Command(program, "config", "--get", key)
		c.Dir, c.Env = root, env
		if out, err := c.CombinedOutput(); err != nil || strings.TrimSuffix(string(out), "\n") != want[key] {
			t.Errorf("%s: git reads %q, %v", key, out, err)
		}
	}
}
