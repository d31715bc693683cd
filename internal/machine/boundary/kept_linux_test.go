package boundary_test

import (
	"os"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/permission"
)

// Files that choose what runs in a repository, or that agents read, change by a person's word only.
func TestACommandThatNobodyApprovedKeepsWhatChoosesPrograms(t *testing.T) {
	p := newPlace(t)
	b := p.open(t, "{}")
	there := []string{
		"AGENTS.md", "sub/CLAUDE.md", ".github/workflows/ci.yml", ".cargo/config.toml", "a.code-workspace",
		"sub/.vscode/tasks.json", "sub/.npmrc",
	}
	for _, name := range there {
		write(t, p.dir+"/"+name, "before")
	}
	run := func(reach permission.Reach, line string) {
		r, err := b.ForCopy([]string{p.dir}, nil, reach, boundary.Network{}, same)
		if err != nil {
			t.Fatal(err)
		}
		start(t, r, p.dir, line)
		r.Done()
	}
	missing := []string{
		"CLAUDE.md", ".gitmodules", "sub/AGENTS.md", "b.code-workspace", ".github/actions/x.yml", ".nvmrc", "sub/Jenkinsfile",
	}
	for _, name := range append(there, missing...) {
		run(permission.ReachEdit, "mkdir -p $(dirname "+name+"); echo after > "+name+"; rm -f main.go; echo x > made.txt")
	}
	run(permission.ReachEdit, "mv AGENTS.md old.md; rm -rf .cargo; mv sub other")
	for _, name := range there {
		if text, err := os.ReadFile(p.dir + "/" + name); string(text) != "before" {
			t.Errorf("%s was changed: %q %v", name, text, err)
		}
	}
	for _, name := range missing {
		if _, err := os.Lstat(p.dir + "/" + name); err == nil {
			t.Errorf("%s was made", name)
		}
	}
	if _, err := os.Lstat(p.dir + "/made.txt"); err != nil {
		t.Error("another file could not be made")
	}
	run(permission.ReachWrite, "echo after > AGENTS.md")
	if text, _ := os.ReadFile(p.dir + "/AGENTS.md"); string(text) != "after\n" {
		t.Errorf("an approved command could not change it: %q", text)
	}
	r, err := b.ForCopy([]string{p.dir}, nil, permission.ReachEdit, boundary.Network{}, same)
	if err != nil {
		t.Fatal(err)
	}
	r.Recorded()
	start(t, r, p.dir, "echo recorded > AGENTS.md; echo new > CLAUDE.md; echo x > .mcp.json")
	lines := strings.Join(r.Done(), "\n")
	for _, name := range []string{"AGENTS.md", "CLAUDE.md"} {
		if text, _ := os.ReadFile(p.dir + "/" + name); len(text) == 0 || !strings.Contains(lines, name) {
			t.Errorf("git could not change %s, or nothing says so: %q %s", name, text, lines)
		}
	}
	if _, err := os.Lstat(p.dir + "/.mcp.json"); err == nil {
		t.Error("a list of servers was made")
	}
}
