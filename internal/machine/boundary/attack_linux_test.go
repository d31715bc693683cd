//go:build amd64 || arm64

package boundary_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Each line leaves something behind that git or an agent would run outside, or reads a secret. After it, a user's git
// in the project must not have run the planted program.
func TestLinksAndConfigurationOpenNoWayAround(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	for name, tt := range map[string]struct {
		prepare func(t *testing.T, p place)
		line    string
		fails   bool // the line itself is refused
	}{
		"a planted commondir": {
			nil,
			`cp -r .git evil && printf '[core]\n\trepositoryformatversion = 0\n\tfsmonitor = "touch RAN"\n' >evil/config && echo ../evil >.git/commondir`, false,
		},
		"a folder of hooks that the configuration names": {func(t *testing.T, p place) {
			gitIn(t, p.dir, "config", "core.hooksPath", "my-hooks")
			write(t, p.dir+"/my-hooks/README", "hooks")
		}, `printf '#!/bin/sh\ntouch RAN\n' >my-hooks/post-index-change && chmod +x my-hooks/*`, true},
		"a file that the configuration includes": {func(t *testing.T, p place) {
			gitIn(t, p.dir, "config", "include.path", "../team.gitconfig")
			write(t, p.dir+"/team.gitconfig", "")
		}, `printf '[core]\n\tfsmonitor = "touch RAN"\n' >team.gitconfig`, true},
		"a repository behind a link": {func(t *testing.T, p place) {
			if err := os.Rename(p.dir+"/.git", p.dir+"/store"); err != nil {
				t.Fatal(err)
			}
			link(t, "store", p.dir+"/.git")
		}, `printf '[core]\n\tfsmonitor = "touch RAN"\n' >>store/config`, true},
		"an agent's settings behind a link": {func(t *testing.T, p place) {
			write(t, p.dir+"/conf/settings.json", "{}")
			link(t, "conf", p.dir+"/.claude")
		}, `echo '{"hooks": 1}' >conf/settings.json`, true},
		"a secret behind a link": {func(t *testing.T, p place) {
			write(t, p.dir+"/conf/dev.env", "SECRET=1")
			link(t, "conf/dev.env", p.dir+"/.env")
		}, `cat conf/dev.env`, true},
		"a file that runs with its owner's rights": {nil, `cp /bin/sh sh && chmod u+s sh`, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			gitIn(t, p.dir, "init", "-q")
			write(t, p.dir+"/file", "text")
			gitIn(t, p.dir, "add", "file")
			if tt.prepare != nil {
				tt.prepare(t, p)
			}
			code, out, notes, _ := run(t, p.open(t, `{"enabled": true}`), p.dir, tt.line)
			if tt.fails == (code == 0) {
				t.Errorf("exit code %d: %s", code, out)
			}
			if strings.Contains(out, "SECRET") {
				t.Errorf("read %q", out)
			}
			write(t, p.dir+"/file", "other text")
			gitIn(t, p.dir, "status")
			gitIn(t, p.dir, "add", "file")
			if _, err := os.Stat(filepath.Join(p.dir, "RAN")); err == nil {
				t.Errorf("what was planted ran; %q", notes)
			}
		})
	}
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}
