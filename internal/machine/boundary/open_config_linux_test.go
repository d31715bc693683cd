//go:build amd64 || arm64

package boundary_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/boundary"
)

func TestOnlyGitCommandsThatWriteTheConfigurationMayDoSo(t *testing.T) {
	p := newPlace(t)
	line := func(programs string, covered ...string) boundary.Line {
		return boundary.Line{Programs: strings.Fields(programs), Covered: func(patterns []string) bool {
			return !slices.ContainsFunc(covered, func(p string) bool { return !slices.Contains(patterns, p) })
		}}
	}
	b, requested := p.open(t, ""), p.open(t, `{"enabled": true}`)
	for _, tt := range []struct {
		line boundary.Line
		want bool
	}{
		{line("git", "git config:*"), true},
		{line("git echo", "git remote:*", "echo:*"), true},
		{line("git", "git commit:*"), false},
		{line("git make", "git config:*", "make:*"), false},
		{line("make", "git config:*"), false},
	} {
		if got := b.Configures(tt.line); got != tt.want {
			t.Errorf("%v: %v", tt.line.Programs, got)
		}
		if requested.Configures(tt.line) {
			t.Errorf("%v: the requested sandbox opens the configuration", tt.line.Programs)
		}
	}
}

// A configuration is opened only where its folder cannot be exchanged and what it said can be put back.
func TestOnlyTheConfigurationOfAHeldRepositoryIsOpened(t *testing.T) {
	for name, tt := range map[string]struct {
		prepare  string // in the project's folder, which has a repository
		settings string
		stays    string // protected; "": the configuration is opened
	}{
		"a repository":          {"true", "", ""},
		"hooks are missing":     {"rm -r .git/hooks", "", ".git/config"},
		"hooks are a link":      {"mv .git/hooks h && ln -s ../h .git/hooks", "", ".git/config"},
		"hooks are a file":      {"rm -r .git/hooks && touch .git/hooks", "", ".git/config"},
		"a large configuration": {"head -c 1100000 /dev/zero | tr '\\0' '#' >>.git/config", "", ".git/config"},
		"a folder that is none": {
			"mkdir -p conf/hooks && touch conf/config",
			`{"filesystem": {"denyWrite": ["conf/config", "conf/hooks"]}}`, "conf/config",
		},
		"another file of the user's": {"true", `{"filesystem": {"denyWrite": [".git/description"]}}`, ".git/description"},
	} {
		p := newPlace(t)
		gitIn(t, p.dir, "init", "-q")
		sh(t, p.dir, tt.prepare)
		r, err := p.open(t, tt.settings).For([]string{p.dir}, boundary.Network{})
		if err != nil {
			t.Fatal(err)
		}
		before := slices.Clone(r.Policy.Protect)
		r.OpenConfig()
		opened := slices.DeleteFunc(before, func(path string) bool { return slices.Contains(r.Policy.Protect, path) })
		var want []string
		if tt.stays != ".git/config" {
			want = []string{filepath.Join(p.dir, ".git/config")}
		}
		if !slices.Equal(opened, want) || tt.stays != "" && !slices.Contains(r.Policy.Protect,
			filepath.Join(p.dir, tt.stays)) {
			t.Errorf("%s: %q are opened, want %q", name, opened, want)
		}
		if notes := r.Done(); len(notes) > 0 {
			t.Errorf("%s: %q", name, notes)
		}
	}
}

func sh(t *testing.T, dir, line string) {
	t.Helper()
	c := exec.Command("sh", "-c", line)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", line, err, out)
	}
}
