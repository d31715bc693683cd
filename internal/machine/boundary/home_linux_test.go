//go:build linux && (amd64 || arm64)

package boundary_test

import (
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/permission"
)

func TestACommandThatNobodyApprovedSeesNoHomeFolder(t *testing.T) {
	p := newPlace(t)
	write(t, p.home+"/Documents/letter", "private")
	write(t, p.home+"/.cargo/bin/tool", "a tool")
	write(t, p.home+"/.cargo/credentials.toml", "token")
	write(t, p.home+"/.gitconfig", "[user]\n\tname = me\n")
	write(t, p.dir+"/file", "project")
	line := "cat " + p.home + "/Documents/letter " + p.home + "/.cargo/credentials.toml; cat " + p.home +
		"/.cargo/bin/tool " + p.home + "/.gitconfig " + p.dir + "/file; ls -A /root /home"
	b := p.open(t, "")
	for _, reach := range []permission.Reach{
		permission.ReachEdit, permission.ReachView, permission.ReachRead, permission.ReachWrite,
	} {
		r, err := b.ForCopy([]string{p.dir}, nil, reach, boundary.Network{}, func(path string) string { return path })
		if err != nil {
			t.Fatal(err)
		}
		_, out := start(t, r, p.dir, line)
		r.Done()
		if !strings.Contains(out, "a tool") || !strings.Contains(out, "name = me") || !strings.Contains(out, "project") ||
			strings.Contains(out, "token") {
			t.Errorf("%q: %s", reach, out)
		}
		if strings.Contains(out, "private") == reach.Unasked() {
			t.Errorf("%q sees the home folder wrongly: %s", reach, out)
		}
	}
}

func TestAConfigurationWithPasswordsIsHidden(t *testing.T) {
	p := newPlace(t)
	write(t, p.home+"/.gitconfig", "[url \"https://me:hunter2@example.com\"]\n\tinsteadOf = x\n")
	r, err := p.open(t, "").ForCopy([]string{p.dir}, nil, permission.ReachView, boundary.Network{},
		func(path string) string { return path })
	if err != nil {
		t.Fatal(err)
	}
	defer r.Done()
	if _, out := start(t, r, p.dir, "cat "+p.home+"/.gitconfig"); strings.Contains(out, "hunter2") {
		t.Error(out)
	}
}
