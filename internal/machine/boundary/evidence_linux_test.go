//go:build amd64 || arm64

package boundary_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/boundary"
)

// Errors that a command would have outside too are no reason to offer a run outside.
func TestOnlyWhatThePolicyRefusesIsARefusal(t *testing.T) {
	p := newPlace(t)
	write(t, p.home+"/.ssh/id", "KEY")
	write(t, p.dir+"/sub/.git/config", "[core]\n")
	write(t, p.dir+"/script.sh", "echo\n")
	write(t, p.dir+"/.env", "A=1")
	b := p.open(t, `{"enabled": true}`)
	for _, tt := range []struct {
		line string
		want bool
	}{
		{"cat " + p.home + "/.ssh/id", true},
		{"cat .env", true},
		{"echo x >../outside", true},
		{"echo x >" + p.home + "/file", true},
		{"mkdir .git; git config user.name x; echo x >" + filepath.Dir(p.home) + "/y", true},
		{`python3 -c 'import socket; socket.socket(socket.AF_UNIX)'`, true},
		{`python3 -c 'import urllib.request as u; u.ProxyHandler({}); u.build_opener(u.ProxyHandler({})).open("http://example.com")'`, true},

		{"./script.sh", false},
		{"echo 'Permission denied (publickey).' >&2; exit 1", false},
		{"echo 'remote: Permission denied to user.' >&2; exit 1", false},
		{"echo 'EACCES: the test expects this' >&2; exit 1", false},
		{"echo 'assert: Operation not permitted' >&2; exit 1", false},
		{"mkdir ro && chmod 500 ro && cat ro/none", false},
		{"echo \"open " + p.dir + "/script.sh: permission denied\"; exit 1", false},
		{"echo \"EROFS: read-only, " + p.dir + "/script.sh\"; exit 1", false},
	} {
		code, out, _, why := run(t, b, p.dir, tt.line)
		if code == 0 || (why != "") != tt.want {
			t.Errorf("%s: exit code %d, a refusal: %q; the output: %s", tt.line, code, why, out)
		}
	}
}

func TestAPathThatTheUserCannotWriteEitherIsNoRefusal(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root writes everywhere")
	}
	p := newPlace(t)
	c, err := p.open(t, `{"enabled": true}`).For([]string{p.dir}, boundary.Network{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Done()
	if why := c.Refusal(p.dir, "touch: cannot touch '/etc/x': Permission denied"); why != "" {
		t.Errorf("got %q", why)
	}
}
