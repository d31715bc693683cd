//go:build unix

package tool_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/tool"
)

// guarded makes a usual project: sources, secrets, a repository, a link that leads out.
func guarded(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "o.txt"), []byte("token=OUT\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.put("a.txt", "token=1\n")
	b.put("src/b.txt", "token=2\n")
	b.put(".env", "token=SECRET\n")
	b.put("src/.env.local", "token=SECRET\n")
	b.put("deploy/server.pem", "token=SECRET\n")
	b.put("odd [x]*.key", "token=SECRET\n")
	b.put("deploy/.docker/config.json", "token=SECRET\n")
	b.put(".config/gh/hosts.yml", "token=SECRET\n")
	b.put("src/.viminfo", "token=SECRET\n")
	b.put("private/k.txt", "token=SECRET\n")
	b.put(".ignore", "!.env\n")
	if err := os.Symlink(outside, filepath.Join(b.dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {
		"-c", "user.name=a", "-c", "user.email=a@b", "-c",
		"commit.gpgsign=false", "commit", "-qm", "x",
	}} {
		git := exec.Command("git", args...)
		git.Dir = b.dir
		if err := git.Run(); err != nil {
			t.Skip("git is not there")
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	deny, err := permission.ParseRule(tool.Catalogue(), "Read(private/**)", permission.Deny, permission.Source{})
	if err != nil {
		t.Fatal(err)
	}
	p := permission.NewPolicy(tool.Catalogue(), home, []string{b.dir}, []permission.Rule{deny})
	b.env.DeniedNames = p.DeniedNames
	b.env.MayRead = func(path string) permission.Effect {
		return p.Decide(permission.Request{
			Tool: "Read", Dir: b.dir, Mode: permission.Default,
			Accesses: []permission.Access{{Kind: permission.Read, Target: path, Node: permission.File}},
		}).Effect
	}
	return b
}

// recursive are lines that read a whole tree.
var recursive = []struct {
	line, program string
}{
	{"grep -rn token .", "grep"},
	{"grep -rn token", "grep"},
	{"grep -rn --include='*' -- token .", "grep"},
	{"grep -d recurse token . | head -50", "grep"},
	{"grep -rh token a.txt src deploy", "grep"},
	{"grep -Rn token .", "grep"},
	{"rg -uu token", "rg"},
	{"rg --hidden token .", "rg"},
	{"rg token -g '*'", "rg"},
	{"rg token", "rg"},
	{"ag --hidden token", "ag"},
	{"ag -u token", "ag"},
	{"ag -a token", "ag"},
	{"rg -L token", "rg"},
	{"git grep --untracked token", "git"},
	{"git grep --untracked --no-exclude-standard token -- .", "git"},
	{"git grep token HEAD", "git"},
	{"git grep --cached token", "git"},
	{"git log -p", "git"},
	{"git show HEAD", "git"},
	{"git diff-tree -p --root HEAD", "git"},
	{"timeout 9 git show", "git"},
	{"git cat-file --batch-all-objects --batch", "git"},
	{"diff -r src deploy", "diff"},
	{"diff -rN . src", "diff"},
	{"cp -r . /tmp/copy", "cp"},
	{"tar cf - .", "tar"},
	{"tar -c -f x.tar src", "tar"},
}

// A search leaves out files that may not be read, and a shell line that reads them asks.
func TestNoSearchReadsASecretUnasked(t *testing.T) {
	for _, tt := range recursive {
		t.Run(tt.line, func(t *testing.T) {
			if _, err := exec.LookPath(tt.program); err != nil {
				t.Skip(tt.program + " is not there")
			}
			b := guarded(t)
			if got := b.must("Grep", in{"pattern": "token", "output_mode": "content"}); strings.Contains(got, "SECRET") ||
				strings.Contains(got, "OUT") || !strings.Contains(got, "token=1") {
				t.Error("Grep:", got)
			}
			d := permission.NewPolicy(tool.Catalogue(), "/home/u", []string{b.dir}, nil).Decide(permission.Request{
				Tool: "Bash", Dir: b.dir, Mode: permission.Default, Accesses: b.accesses(tt.line),
			})
			if d.Effect != permission.Allow {
				return
			}
			got := b.must("Bash", in{"command": tt.line})
			if strings.Contains(got, "SECRET") || strings.Contains(got, "OUT") {
				t.Errorf("it read what may not be read:\n%s", got)
			}
			if tt.program != "diff" && !strings.Contains(got, "token=") {
				t.Errorf("it read nothing:\n%s", got)
			}
		})
	}
}

func (b *bench) accesses(line string) []permission.Access {
	b.t.Helper()
	plan, err := b.prepare("Bash", in{"command": line})
	if err != nil {
		b.t.Fatal(err)
	}
	return plan.Accesses
}

func BenchmarkHiddenFiles(b *testing.B) {
	env, err := tool.NewEnv(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	for i := range 1000 {
		dir := filepath.Join(env.Roots.First(), fmt.Sprintf("d%d", i%30), fmt.Sprintf("e%d", i))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		for j := range 10 {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("some_file_%d.go", j)), nil, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	p := permission.NewPolicy(tool.Catalogue(), "/home/u", []string{env.Roots.First()}, nil)
	req := permission.Request{Tool: "Read", Dir: "/", Mode: permission.Default}
	env.Readings = func() func(string) permission.Effect { return p.Readings(req).Effect }
	env.MayRead = env.Readings()
	b.ReportMetric(1030, "folders")
	for b.Loop() {
		if !env.Hides() {
			b.Fatal("too many")
		}
	}
}

func TestNamesWithinACopiedFolderAreLookedAt(t *testing.T) {
	b := newBench(t)
	b.put("t/.git/hooks/pre-commit", "x")
	b.put("t/.vscode/tasks.json", "x")
	b.put("t/AGENTS.md", "x")
	b.put("t/plain.txt", "x")
	b.put("plain/a/b.txt", "x")
	b.put("src/x", "x")
	p := permission.NewPolicy(tool.Catalogue(), "/home/u", []string{b.dir}, nil)
	for line, want := range map[string]permission.Effect{
		"cp -r t/. .":            permission.Deny,
		"cp -a t/. src":          permission.Deny,
		"cp -r t src":            permission.Deny,
		"cp -r t/.vscode .":      permission.Deny,
		"mv t src":               permission.Deny,
		"mv t/.vscode .":         permission.Deny,
		"mv t/AGENTS.md .":       permission.Ask,
		"cp -r plain src":        permission.Allow,
		"cp -r plain/. src/":     permission.Allow,
		"mv plain src":           permission.Allow,
		"cp t/plain.txt plain/a": permission.Allow,
	} {
		d := p.Decide(permission.Request{Tool: "Bash", Dir: b.dir, Mode: permission.AcceptEdits, Accesses: b.accesses(line)})
		if d.Effect != want {
			t.Errorf("%s: %s (%s), want %s", line, d.Effect, d.Reason, want)
		}
	}
}
