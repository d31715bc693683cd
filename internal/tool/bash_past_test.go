//go:build unix

package tool_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/tool"
)

// readers are lines that read the files and the history of secretProject. Some name secrets.
var readers = []string{
	"git diff",
	"git diff HEAD",
	"git diff HEAD~1 HEAD",
	"git diff --cached HEAD~1",
	"git diff -a --binary HEAD",
	"git diff-files -p",
	"git diff-index -p HEAD",
	"git diff-tree -p HEAD",
	"git diff-tree -p HEAD~1 HEAD",
	"git log -p",
	"git log -p --all -- .",
	"git log -p -3 --stat",
	"git log -U0",
	"git whatchanged -p",
	"git reflog -p",
	"git show",
	"git show HEAD",
	"git show v1 HEAD~1",
	"git show HEAD:a.txt HEAD",
	"git show HEAD -- .",
	"git status -v",
	"git status -vv",
	"git status -s",
	"git stash show -p",
	"git stash show -p stash@{0}",
	"git --no-pager stash show -p 0",
	"git stash show -p --include-untracked",
	"git stash list -p",
	"git range-diff HEAD~1 HEAD HEAD",
	"git grep -h A HEAD~1 -- . sub",
	"git grep --untracked A",
	"git grep A HEAD -- .env",
	"git log -p -- .env",
	"git diff HEAD~1 -- sub/.env",
	"git diff HEAD:.env HEAD~1:.env",
	"git blame .env",
	"git blame HEAD -- sub/.env",
	"git annotate .env",
	"git blame a.txt",
	"git show HEAD:.env",
	"git show HEAD~1:./.env",
	"git show :.env",
	"git show HEAD:a.txt :sub/.env",
	"git show --stat HEAD:.env",
	"git cat-file -p HEAD:.env",
	"git cat-file -p HEAD",
	"git cat-file -p HEAD^{tree}",
	"git --literal-pathspecs diff -- .",
	"git --glob-pathspecs log -p",
	"git --noglob-pathspecs grep A HEAD",
	"git --icase-pathspecs show",
	"git log -p --full-diff -- a.txt",
	"git log -p --follow -- a.txt",
	"git log -L1,1:a.txt",
	"git log -L1,1:.env",
	"git diff --check HEAD~1",
	"git diff --stat -p",
	"git diff --word-diff",
	"git log --color-words",
	"git log --cc",
	"git format-patch --stdout HEAD~1",
	"git archive HEAD",
	"git bundle create - HEAD",
	"git fast-export HEAD",
	"git difftool HEAD",
	"git checkout-index --stdout .env",
	"timeout 9 git diff HEAD",
	"LC_ALL=C git log -p",
	"git log --format=%h -2 | xargs git show",
	"git log --format=%h -2 | xargs -n1 git show -p",
	"git show $(git rev-parse HEAD)",
	"git log --format=%H | while read h; do git show $h; done",
	"cd sub && git show HEAD",
	"cd sub && git diff",
	"diff <(git show HEAD~1) <(git show HEAD)",
	"x=$(git diff HEAD); echo \"$x\"",
	"git diff 4b825dc642cb6eb9a060e54bf8d69288fbee4904 HEAD",
	"git grep -h package HEAD",
	"git log -p --follow .",
	"git log -p --follow ./",
	"git log -p --follow -- .",
	"git log -p --follow :/",
	"git log -p --follow sub",
	"git log -p --follow -- sub",
	"git log -p --follow -- '*'",
	"git log -p --follow '.e*'",
	"git log -p --follow -- '.en?'",
	"git log -p --follow -- ':(top)'",
	"git whatchanged -p --follow .",
	"git reflog -p --follow .",
	"git show --follow HEAD -- .",
	"git log -p --follow",
	"git log -L1,1:a.txt -- .",
	"git show --all",
	"git show --tags",
	"git show --glob=refs/tags",
	"git show --glob='refs/tags/b*' HEAD",
	"git for-each-ref --format='%(raw)'",
	"git for-each-ref --format '%(refname) %(*raw)'",
	"git tag -l --format='%(raw)'",
	"git branch --list --format='%(raw)'",
	"for t in $(git tag); do git show $t; done",
	"git tag | while read t; do git show $t; done",
	"git show $(git tag)",
	"git diff $(git for-each-ref --format='%(refname:short)' refs/tags)",
	"git tag -l -n",
	"git for-each-ref --format='%(contents) %(*contents) %(subject)'",
	"git show v1",
	"git show v2",
	"git show other",
	"git log v1..v2",
	"git log --oneline other..v2",
	"git diff other v2",
	"git diff other...v2",
	"git for-each-ref",
	"git for-each-ref --format='%(refname) %(subject)'",
	"git grep -h package v1",
	"git grep -h package other -- sub",
	"git show --stat v2",
	"git cat-file -t v2",
	"git log -2 --pretty=raw",
	"git diff --merge-base other",
	"git diff other -- sub",
	"git diff-tree -p other v2",
	"git diff HEAD~1",
	"git diff HEAD~2 HEAD~1",
	"git grep A HEAD~1",
	"git diff --cached",
	"git diff HEAD -- .",
	"git ls-files | xargs cat",
	"git ls-files sub | xargs -n1 cat",
	"git ls-files -z | xargs -0 cat",
	"git diff --name-only HEAD~1 | xargs cat",
	"git grep -l A | xargs cat",
	"cat $(git ls-files)",
	"find . -type f | xargs cat",
	"find . | xargs grep -h A",
	"find . -type f -exec cat {} +",
	"find sub -maxdepth 1 -type f -exec cat {} \\;",
	"find . -name '*.go' -o -name '.e*' | xargs cat",
	"find . -type f -print0 | xargs -0 cat",
	"for f in $(git ls-files); do cat \"$f\"; done",
	"git ls-files | while read f; do cat \"$f\"; done",
	"git ls-files | while read f; do wc -c < \"$f\"; done",
	"git ls-files | while read -r f; do head -1 < $f; done",
	"grep -rl A . | xargs cat",
	"F=$(git ls-files); cat $F",
	"cd sub && git ls-files | xargs cat",
	"for f in $(find . -type f); do head -1 $f; done",
}

// tiers calls a test with a project whose commands run without a sandbox and, where the machine has it, in the full
// one.
func tiers(t *testing.T, test func(t *testing.T, env *tool.Env, p *permission.Policy, held bool), rules ...string) {
	t.Helper()
	t.Run("none", func(t *testing.T) {
		env, p := secretProject(t, rules...)
		test(t, env, p, false)
	})
	t.Run("full", func(t *testing.T) {
		if s := confine.Detect(); s.Tier != confine.Full {
			t.Skip(s.Why)
		}
		env, p := secretProject(t, rules...)
		state := t.TempDir()
		box, err := boundary.Open(boundary.Options{
			Dir: env.Roots.First(), Home: state + "/home", State: state + "/state", Cache: state + "/cache",
		})
		if err != nil {
			t.Fatal(err)
		}
		env.Boundary = box
		t.Cleanup(func() {
			env.Background.Close()
			env.Runner.Close()
			_ = box.Close()
		})
		test(t, env, p, true)
	})
}

func TestNoLineShowsSecretsUnasked(t *testing.T) {
	tiers(t, func(t *testing.T, env *tool.Env, p *permission.Policy, held bool) {
		root, asked := env.Roots.First(), 0
		for _, line := range readers {
			out, d := unasked(t, env, p, line)
			if d.Effect != permission.Allow {
				asked++
			}
			if strings.Contains(out, "A="+marker) {
				t.Errorf("%s shows the secret:\n%s", line, out)
			}
			env.Dir.Set(root)
		}
		if t.Logf("%d of %d lines ask", asked, len(readers)); held && asked > len(readers)/2 {
			t.Errorf("%d of %d lines ask", asked, len(readers))
		}
	})
}

func TestNoLineShowsWhatARuleDenies(t *testing.T) {
	tiers(t, func(t *testing.T, env *tool.Env, p *permission.Policy, _ bool) {
		root := env.Roots.First()
		for _, line := range readers {
			if out, _ := unaskedIn(t, env, p, permission.Bypass, line); strings.Contains(out, "A="+marker) ||
				strings.Contains(out, "K="+marker) {
				t.Errorf("%s shows what a rule denies:\n%s", line, out)
			}
			env.Dir.Set(root)
		}
	}, "Read(.env)", "Read(secrets/**)")
}

func TestGitShowsEverythingElseUnasked(t *testing.T) {
	tiers(t, func(t *testing.T, env *tool.Env, p *permission.Policy, held bool) {
		for line, part := range map[string]string{
			"git diff": "+line", "git log -p": "+package b // two", "git show": "package b",
			"git diff HEAD~1": "+package b // three", "git show v1": "package b", "git show HEAD:a.txt": "line",
			"git log -L1,1:a.txt": "line", "git blame a.txt": "line", "git log --stat": "b.go",
			"git show --stat HEAD -- sub": "b.go", "git diff HEAD~1 -- sub": "package b",
			"git stash list": "", "git grep -h package": "package b",
			"find . -type f | xargs cat": "package b", "grep -r package .": "package b",
		} {
			out, d := unasked(t, env, p, line)
			if !strings.Contains(out, part) || held && d.Effect != permission.Allow {
				if held || d.Effect == permission.Allow {
					t.Errorf("%s: %s (%s), want %q in:\n%s", line, d.Effect, d.Reason, part, out)
				}
			}
		}
	})
}

// A file that is gone from the index is still in the past.
func TestSecretsOfThePastStayOut(t *testing.T) {
	tiers(t, func(t *testing.T, env *tool.Env, p *permission.Policy, _ bool) {
		root := env.Roots.First()
		for _, args := range [][]string{{"rm", "-q", "-f", ".env", "sub/.env"}, {"commit", "-qm", "gone"}} {
			cmd := exec.Command("git", args...)
			cmd.Dir, cmd.Env = root, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a",
				"GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v %s", err, out)
			}
		}
		for _, line := range []string{"git show", "git log -p", "git diff HEAD~1", "git diff HEAD~2 HEAD~1"} {
			if out, d := unasked(t, env, p, line); d.Effect != permission.Allow || strings.Contains(out, "A="+marker) {
				t.Errorf("%s: %s (%s)\n%s", line, d.Effect, d.Reason, out)
			}
		}
	})
}

// Templates such as .env.example are no secrets, and what a mode or a rule lets through is shown.
func TestGitLeavesOutNoMoreThanSecrets(t *testing.T) {
	tiers(t, func(t *testing.T, env *tool.Env, p *permission.Policy, _ bool) {
		if err := os.WriteFile(filepath.Join(env.Roots.First(), ".env.example"), []byte("PORT=1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("git", "add", ".env.example")
		cmd.Dir = env.Roots.First()
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		if out, d := unasked(t, env, p, "git diff --cached"); !strings.Contains(out, "PORT=1") || strings.Contains(out,
			"A="+marker) {
			t.Errorf("%s: %s", d.Reason, out)
		}
		env.MayRead = func(string) permission.Effect { return permission.Allow }
		if out, d := unasked(t, env, p, "git diff HEAD~1 HEAD -- ."); !strings.Contains(out, "A="+marker) {
			t.Errorf("%s: %s", d.Reason, out)
		}
	})
}
