//go:build unix

package tool_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/tool"
)

// marker stands in the secret file of secretProject.
const marker = "hunter2"

// secretProject is a repository with a secret that was committed, changed, and is changed now, and with rules.
func secretProject(t *testing.T, rules ...string) (*tool.Env, *permission.Policy) {
	t.Helper()
	needBash(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is missing")
	}
	env := bashIn(t, "bash")
	root := env.Roots.First()
	run := func(args ...string) {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a",
			"GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	write := func(name, text string) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run("init", "-q")
	for i, n := range []string{"one", "two", "three"} {
		write("sub/.env", "A="+marker+n+"\n")
		write(".env", "A="+marker+n+"\n")
		write("secrets/k", "K="+marker+n+"\n")
		write("a.txt", strings.Repeat("line\n", i+1))
		write("sub/b.go", "package b // "+n+"\n")
		if n != "three" {
			run("add", "-A")
			run("commit", "-qm", n)
		}
	}
	run("tag", "v1")
	var list []permission.Rule
	for _, text := range rules {
		r, err := permission.ParseRule(tool.Catalogue(), text, permission.Deny, permission.Source{Base: root})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	p := permission.NewPolicy(tool.Catalogue(), "/nonexistent", []string{root}, list)
	env.DeniedNames = p.DeniedNames
	env.MayRead = func(path string) permission.Effect {
		return p.Decide(permission.Request{Tool: "Read", Accesses: []permission.Access{{
			Kind: permission.Read, Target: path,
			Node: permission.File,
		}}, Mode: permission.Default, Dir: root}).Effect
	}
	return env, p
}

// unasked runs a command if nothing asks, and returns its output.
func unasked(t *testing.T, env *tool.Env, p *permission.Policy, command string) (output string, d permission.Decision) {
	t.Helper()
	return unaskedIn(t, env, p, permission.Default, command)
}

// unaskedIn is unasked in a mode.
func unaskedIn(t *testing.T, env *tool.Env, p *permission.Policy, mode permission.Mode, command string) (output string,
	d permission.Decision,
) {
	t.Helper()
	plan := planBash(t, env, command)
	d = p.Decide(permission.Request{Tool: "Bash", Accesses: plan.Accesses, Mode: mode, Dir: env.Dir.Get()})
	if d.Effect != permission.Allow {
		return "", d
	}
	r, err := plan.Run(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return textOf(r), d
}

func TestGitShowsNothingThatARuleDenies(t *testing.T) {
	env, p := secretProject(t, "Read(.env)", "Read(secrets/**)")
	blob := strings.TrimSpace(bash(t, env, "git rev-parse --short HEAD:.env"))
	other := strings.TrimSpace(bash(t, env, "git rev-parse --short HEAD~1:.env"))
	for command, want := range map[string]permission.Effect{
		"git diff":                                     permission.Allow,
		"git diff HEAD~1":                              permission.Allow,
		"git diff -- sub":                              permission.Allow,
		"git diff | grep -c line":                      permission.Allow,
		"git log -p":                                   permission.Allow,
		"git log -p -1 -- sub":                         permission.Allow,
		"git show":                                     permission.Allow,
		"git show HEAD~1":                              permission.Allow,
		"git show " + blob:                             permission.Deny,
		"git show " + blob + " -- a.txt":               permission.Deny,
		"git show " + other:                            permission.Allow, // git says that it is no commit
		"git diff " + blob + " " + other:               permission.Deny,
		"git diff " + other + ".." + blob:              permission.Allow,
		"git show " + blob + "^{}":                     permission.Ask,
		"git show " + blob + "^{blob}":                 permission.Ask,
		"git diff HEAD:sub HEAD~1:sub":                 permission.Allow,
		"git diff-tree -p HEAD~1:secrets HEAD:secrets": permission.Deny,
		"git log -p --full-diff -- a.txt":              permission.Ask,
		"git log -p --follow -- a.txt":                 permission.Ask,
		"git log -L1,2:a.txt":                          permission.Allow,
		"git log -L1,2:.env":                           permission.Deny,
		"git blame a.txt":                              permission.Allow,
		"git blame sub/.env":                           permission.Deny,
		"git show HEAD:a.txt":                          permission.Allow,
		"git show HEAD:.env":                           permission.Deny,
		"git show HEAD:sub/.env":                       permission.Deny,
		"git show :.env":                               permission.Deny,
		"git stash show -p":                            permission.Allow,
		"git format-patch --stdout HEAD~1":             permission.Allow,
		"git cat-file -p " + blob:                      permission.Deny,
		"git cat-file -p " + other:                     permission.Ask,
	} {
		out, d := unasked(t, env, p, command)
		if d.Effect != want {
			t.Errorf("%s: %s (%s), want %s", command, d.Effect, d.Reason, want)
		}
		if strings.Contains(out, marker) {
			t.Errorf("%s shows the secret:\n%s", command, out)
		}
	}
	if out, _ := unasked(t, env, p, "git diff HEAD~1"); !strings.Contains(out, "+package b // three") ||
		!strings.Contains(out, "Left out") || !strings.Contains(out, ".env") {
		t.Errorf("git diff shows too little, or does not say what it leaves out:\n%s", out)
	}
}

func TestListsOfFilesLeaveSecretsOut(t *testing.T) {
	env, p := secretProject(t, "Read(secrets/**)")
	for _, command := range []string{
		"git ls-files | xargs cat", "git ls-files sub | xargs -n1 cat", "git ls-files -z | xargs -0 cat",
		"git diff --name-only HEAD~1 | xargs cat", "git grep -l A | xargs cat", "cat $(git ls-files)",
		"find . -type f | xargs cat", "find . | xargs grep -h A", "find . -type f -exec cat {} +",
		"find sub -maxdepth 1 -type f -exec cat {} \\;", "find . -name '*.go' -o -name '.e*' | xargs cat",
		"find . -type f -print0 | xargs -0 cat",
		"for f in $(git ls-files); do cat \"$f\"; done", "git ls-files | while read f; do cat \"$f\"; done",
		"git ls-files | while read f; do wc -c < \"$f\"; done", "git ls-files | while read -r f; do head -1 < $f; done",
		"grep -rl A . | xargs cat", "F=$(git ls-files); cat $F", "cd sub && git ls-files | xargs cat",
		"for f in $(find . -type f); do head -1 $f; done",
	} {
		out, d := unasked(t, env, p, command)
		if d.Effect != permission.Allow {
			t.Errorf("%s asks: %s", command, d.Reason)
		}
		if strings.Contains(out, marker) {
			t.Errorf("%s shows the secret:\n%s", command, out)
		}
		env.Dir.Set(env.Roots.First())
	}
	if out, _ := unasked(t, env, p, "git ls-files | xargs cat"); !strings.Contains(out, "package b") {
		t.Errorf("it shows too little:\n%s", out)
	}
}
