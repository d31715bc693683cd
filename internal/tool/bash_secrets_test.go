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
