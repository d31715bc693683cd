//go:build linux && (amd64 || arm64)

package boundary_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/permission"
)

// The exceptions of the default sandbox lead no further: its /tmp, its git configuration, its Unix sockets and the
// machine's network.
func TestTheDefaultSandboxesExceptionsOpenNothingElse(t *testing.T) {
	p := newPlace(t)
	b := p.open(t, "")
	gitIn(t, p.dir, "init", "-q")
	write(t, p.home+"/.ssh/id", "secret")
	write(t, p.dir+"/.env", "secret")
	write(t, p.home+"/mine", "mine")
	inTmp, err := os.CreateTemp("", "lathe-victim-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(inTmp.Name())
	for _, line := range []string{
		"echo evil >" + inTmp.Name() + "; rm -f " + inTmp.Name(), "mv " + inTmp.Name() + " /tmp/elsewhere",
		"cat " + p.home + "/.ssh/id " + p.dir + "/.env", "echo evil >" + p.home + "/mine", "ls -R " + p.cache +
			"/sandbox/tmp | grep -q secret",
		"mv .git gone; mkdir -p .git/hooks && echo evil >.git/hooks/pre-commit", "rm -rf .git/hooks; ln -s " + p.home +
			" .git/hooks",
		"rm -f .git/config; ln -s " + p.home + "/mine .git/config; echo evil >>.git/config",
		"rm -f .git/config; mkfifo .git/config",
		"printf '[core]\\n\\tfsmonitor = evil\\n' >>.git/config; sleep 0.2; cat .git/config",
		"git config --local include.path ../evil; git config alias.x '!evil'",
		"mkdir -p .claude .lathe .vscode; echo evil >.envrc", "kill -9 " + "$PPID 1", "(setsid sleep 1000 &)",
	} {
		r, err := b.ForCopy([]string{p.dir}, nil, permission.ReachOpen, boundary.Network{}, same)
		if err != nil {
			t.Fatal(err)
		}
		r.OpenConfig()
		_, out := start(t, r, p.dir, line)
		notes := r.Done()
		if strings.Contains(out, "secret") {
			t.Errorf("%s: %s", line, out)
		}
		for _, name := range []string{".claude", ".lathe", ".vscode", ".envrc", ".git/hooks/pre-commit"} {
			if _, err := os.Lstat(filepath.Join(p.dir, name)); err == nil {
				t.Errorf("%s left %s: %q", line, name, notes)
			}
		}
		config, err := os.ReadFile(p.dir + "/.git/config")
		if err != nil || strings.Contains(string(config), "evil") {
			t.Errorf("%s: the configuration: %s, %v, %q", line, config, err, notes)
		}
		if mine, _ := os.ReadFile(p.home + "/mine"); string(mine) != "mine" {
			t.Errorf("%s wrote outside: %s", line, mine)
		}
		if _, err := os.Stat(inTmp.Name()); err != nil {
			t.Errorf("%s removed a file of the machine's /tmp", line)
		}
	}
}
