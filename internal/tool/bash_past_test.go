//go:build unix

package tool_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
)

// Every line here runs in the repository of secretProject, without any rule. None may show a secret unasked; those that
// show the past of other files must not ask.
func TestGitShowsNoSecretWithoutARule(t *testing.T) {
	env, p := secretProject(t)
	root := env.Roots.First()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a",
			"GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("stash", "-q")
	git("stash", "apply", "-q")
	secret, open, commit := git("rev-parse", "--short", "HEAD:.env"), git("rev-parse", "HEAD:sub/b.go"),
		git("rev-parse", "--short", "HEAD")
	old, tree := git("rev-parse", "HEAD~1:.env"), git("rev-parse", "HEAD^{tree}")
	for command, want := range map[string]permission.Effect{
		"git diff": permission.Allow, "git diff HEAD": permission.Allow, "git diff HEAD~1 HEAD": permission.Allow,
		"git diff --cached HEAD~1": permission.Allow, "git diff -a --binary HEAD": permission.Allow,
		"git diff-files -p": permission.Allow, "git diff-index -p HEAD": permission.Allow,
		"git diff-tree -p HEAD": permission.Allow, "git diff-tree -p HEAD~1 HEAD": permission.Allow, "git diff-tree -p " +
			tree + " HEAD~1": permission.Allow,
		"git log -p": permission.Allow, "git log -p --all -- .": permission.Allow, "git log -p -3 --stat": permission.Allow,
		"git log -U0": permission.Allow, "git whatchanged -p": permission.Allow, "git reflog -p": permission.Allow,
		"git show": permission.Allow, "git show HEAD": permission.Allow, "git show " + commit: permission.Allow,
		"git show v1 HEAD~1": permission.Allow, "git show HEAD:a.txt HEAD": permission.Allow,
		"git show HEAD -- .": permission.Allow,
		"git status -v":      permission.Ask, "git status -vv": permission.Ask, "git status -s": permission.Allow,
		"git stash show -p": permission.Allow, "git stash show -p stash@{0}": permission.Allow,
		"git --no-pager stash show -p 0":        permission.Allow,
		"git stash show -p --include-untracked": permission.Ask, "git stash list -p": permission.Ask,
		"git range-diff HEAD~1 HEAD HEAD": permission.Ask,
		"git grep " + marker:              permission.Allow, "git grep --cached " + marker: permission.Allow, "git grep " +
			marker + " HEAD": permission.Allow, "git grep -h A HEAD~1 -- . sub": permission.Allow,
		"git grep --untracked A":  permission.Allow,
		"git grep A HEAD -- .env": permission.Allow, "git log -p -- .env": permission.Ask,
		"git diff HEAD~1 -- sub/.env": permission.Ask, "git diff HEAD:.env HEAD~1:.env": permission.Ask,
		"git blame .env": permission.Ask, "git blame HEAD -- sub/.env": permission.Ask, "git annotate .env": permission.Ask,
		"git blame a.txt":    permission.Allow,
		"git show HEAD:.env": permission.Ask, "git show HEAD~1:./.env": permission.Ask, "git show :.env": permission.Ask,
		"git show HEAD:a.txt :sub/.env": permission.Ask, "git show --stat HEAD:.env": permission.Ask,
		"git cat-file -p HEAD:.env": permission.Ask, "git cat-file blob " + secret: permission.Ask, "git cat-file -p " +
			old: permission.Ask, "git cat-file -p " + open: permission.Allow, "git cat-file -p " + open[:9]: permission.Allow,
		"git cat-file -p HEAD": permission.Allow, "git cat-file -p HEAD^{tree}": permission.Allow, "git cat-file tree " +
			tree: permission.Allow, "git cat-file -t " + secret: permission.Allow,
		"git show " + secret: permission.Ask, "git show --stat " + secret: permission.Ask, "git show --stat " +
			old: permission.Allow, "git show " + old: permission.Allow, "git show " + open: permission.Allow, "git show " +
			old + "^{}": permission.Ask,
		"git --literal-pathspecs diff -- .": permission.Ask, "git --glob-pathspecs log -p": permission.Ask,
		"git --noglob-pathspecs grep A HEAD": permission.Ask, "git --icase-pathspecs show": permission.Ask,
		"git log -p --full-diff -- a.txt": permission.Ask, "git log -p --follow -- a.txt": permission.Allow,
		"git log -L1,1:a.txt": permission.Allow, "git log -L1,1:.env": permission.Ask,
		"git diff --check HEAD~1": permission.Allow, "git diff --stat -p": permission.Allow,
		"git diff --word-diff": permission.Allow, "git log --color-words": permission.Allow, "git log --cc": permission.Allow,
		"git format-patch --stdout HEAD~1": permission.Allow, "git archive HEAD": permission.Ask,
		"git bundle create - HEAD": permission.Ask, "git fast-export HEAD": permission.Ask,
		"git difftool HEAD": permission.Ask, "git checkout-index --stdout .env": permission.Ask,
		"timeout 9 git diff HEAD": permission.Allow, "LC_ALL=C git log -p": permission.Allow,
		"git log --format=%h -2 | xargs git show":                  permission.Allow,
		"git log --format=%h -2 | xargs -n1 git show -p":           permission.Allow,
		"git show $(git rev-parse HEAD)":                           permission.Allow,
		"git log --format=%H | while read h; do git show $h; done": permission.Allow,
		"cd sub && git show HEAD":                                  permission.Allow, "cd sub && git diff": permission.Allow,
		"git diff | grep " + marker: permission.Allow, "diff <(git show HEAD~1) <(git show HEAD)": permission.Allow,
		"x=$(git diff HEAD); echo \"$x\"": permission.Allow,
	} {
		out, d := unasked(t, env, p, command)
		if d.Effect != want {
			t.Errorf("%s: %s (%s), want %s", command, d.Effect, d.Reason, want)
		}
		if strings.Contains(out, "A="+marker) {
			t.Errorf("%s shows the secret:\n%s", command, out)
		}
		env.Dir.Set(root)
	}
	for command, part := range map[string]string{
		"git diff": "+line", "git log -p": "+package b // two", "git show": "package b",
		"git stash show -p": "+package b // three", "git log --format=%h -2 | xargs git show": "+package b // two",
		"git diff HEAD": "Left out", "git diff 4b825dc642cb6eb9a060e54bf8d69288fbee4904 HEAD": "+package b", "git diff " +
			commit + " HEAD~1": "-package b // two", "git show " + open: "package b", "git cat-file -p " + open: "package b",
		"git grep -h package HEAD": "package b", "git diff-tree -p HEAD": "package b",
	} {
		if out, d := unasked(t, env, p, command); !strings.Contains(out, part) {
			t.Errorf("%s does not show %q (%s):\n%s", command, part, d.Reason, out)
		}
	}
}

// A path that may stand for several files, and a name that may be that of a file's contents, show no secret.
func TestGitShowsNoSecretByOtherNames(t *testing.T) {
	for _, rules := range [][]string{nil, {"Read(.env)"}} {
		env, p := secretProject(t, rules...)
		root := env.Roots.First()
		git := func(args ...string) string {
			t.Helper()
			cmd := exec.Command("git", args...)
			cmd.Dir, cmd.Env = root, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_COMMITTER_NAME=a",
				"GIT_COMMITTER_EMAIL=a@b")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("git %v: %v %s", args, err, out)
			}
			return strings.TrimSpace(string(out))
		}
		git("tag", "blobtag", "HEAD:.env")
		git("tag", "-a", "-m", "about it", "blobnote", "HEAD:.env")
		git("tag", "-a", "-m", "released", "v2", "HEAD")
		git("branch", "other", "HEAD~1")
		secret := git("rev-parse", "HEAD:.env")
		mode := permission.Default
		if rules != nil {
			mode = permission.Bypass
			env.MayRead = func(string) permission.Effect { return permission.Allow }
		}
		for _, command := range []string{
			"git log -p --follow .", "git log -p --follow ./", "git log -p --follow -- .", "git log -p --follow :/",
			"git log -p --follow sub", "git log -p --follow -- sub", "git log -p --follow -- '*'", "git log -p --follow '.e*'",
			"git log -p --follow -- '.en?'", "git log -p --follow -- ':(top)'", "git whatchanged -p --follow .",
			"git reflog -p --follow .", "git show --follow HEAD -- .", "git log -p --follow", "git log -L1,1:a.txt -- .",
			"git cat-file -p blobtag", "git cat-file -p refs/tags/blobtag", "git cat-file -p blobnote^{}",
			"git cat-file blob blobtag",
			"git show --all", "git show --tags", "git show --glob=refs/tags", "git show --glob='refs/tags/b*' HEAD",
			"git show blobtag^{}", "git show blobnote^{blob}",
			"git for-each-ref --format='%(raw)'", "git for-each-ref --format '%(refname) %(*raw)'",
			"git tag -l --format='%(raw)'", "git branch --list --format='%(raw)'",
			"for t in $(git tag); do git show $t; done", "git tag | while read t; do git show $t; done", "git show $(git tag)",
			"git diff $(git for-each-ref --format='%(refname:short)' refs/tags)",
			"git log --format=%h -1 | xargs git show blobtag",
		} {
			if out, d := unaskedIn(t, env, p, mode, command); d.Effect == permission.Allow {
				t.Errorf("rules %v: %s does not ask:\n%s", rules, command, out)
			}
			env.Dir.Set(root)
		}
		for _, command := range []string{
			"git show blobtag", "git show blobnote", "git show tags/blobtag", "git show --stat blobtag",
			"git show HEAD blobtag", "git show HEAD a.txt blobtag", "b=blobtag; git show $b", "h=" + secret + "; git show $h",
			"git show $(echo blobtag)",
			"git grep '' blobtag", "git grep '' HEAD blobtag -- .", "git grep -e '' blobnote", "git grep '' " + secret,
			"git grep -h '' " + secret[:8], "git grep '' " + secret + "^{}", "git --no-pager grep '' blobtag",
			"git diff blobtag HEAD:a.txt", "git diff HEAD:a.txt..blobtag", "git diff blobtag -- a.txt",
			"git diff 4b825dc642cb6eb9a060e54bf8d69288fbee4904 blobtag", "cd sub && git show blobtag",
			"timeout 9 git show blobtag", "sh -c 'git show blobtag'",
			"git log -p blobtag", "git tag -l -n", "git for-each-ref --format='%(contents) %(*contents) %(subject)'",
			"git describe blobtag", "git show HEAD..blobtag", "git stash show -p blobtag", "git show blobtag@{0}",
			"git diff --merge-base blobtag",
			"git show blobtag -- .env", "git rev-list --objects blobtag", "git range-diff blobtag HEAD HEAD",
			"git archive blobtag", "git blame blobtag -- a.txt",
		} {
			if out, d := unaskedIn(t, env, p, mode, command); strings.Contains(out, "A="+marker) {
				t.Errorf("rules %v: %s shows the secret (%s):\n%s", rules, command, d.Reason, out)
			}
			env.Dir.Set(root)
		}
		for command, part := range map[string]string{
			"git show v1": "package b", "git show v2": "package b // two", "git show other": "package b // one",
			"git log v1..v2": "", "git log --oneline other..v2": "two", "git diff other v2": "+package b // two",
			"git diff other...v2": "+package b // two",
			"git tag -l -n":       "released", "git for-each-ref": "refs/tags/v2",
			"git for-each-ref --format='%(refname) %(subject)'": "released", "git grep -h package v1": "package b // two",
			"git grep -h package other -- sub": "package b // one",
			"git log -L1,1:a.txt":              "line", "git show --stat v2": "b.go", "git cat-file -p HEAD": "tree",
			"git cat-file -t v2": "tag", "git log -2 --pretty=raw": "tree", "git diff --merge-base other": "package b",
			"git diff other -- sub": "package b", "git diff-tree -p other v2": "package b",
		} {
			if rules != nil && strings.Contains(command, "grep") {
				continue // a deny rule makes any search of the past ask
			}
			if out, d := unaskedIn(t, env, p, mode, command); d.Effect != permission.Allow || !strings.Contains(out, part) ||
				strings.Contains(out, "A="+marker) {
				t.Errorf("rules %v: %s: %s (%s), want %q in:\n%s", rules, command, d.Effect, d.Reason, part, out)
			}
		}
	}
}

// A file that is gone from the index is still in the past.
func TestSecretsOfThePastStayOut(t *testing.T) {
	env, p := secretProject(t)
	root := env.Roots.First()
	for _, args := range [][]string{{"rm", "-q", "-f", ".env", "sub/.env"}, {"commit", "-qm", "gone"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a",
			"GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
	}
	for _, command := range []string{
		"git show", "git log -p", "git diff HEAD~1", "git diff HEAD~2 HEAD~1",
		"git grep A HEAD~1", "git diff-tree -p HEAD~1 HEAD",
	} {
		if out, d := unasked(t, env, p, command); d.Effect != permission.Allow || strings.Contains(out, "A="+marker) {
			t.Errorf("%s: %s (%s)\n%s", command, d.Effect, d.Reason, out)
		}
	}
}

// Templates such as .env.example are no secrets, and what a mode or a rule lets through is shown.
func TestGitLeavesOutNoMoreThanSecrets(t *testing.T) {
	env, p := secretProject(t)
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
	if out, d := unasked(t, env, p, "git diff HEAD -- ."); !strings.Contains(out, "A="+marker) {
		t.Errorf("%s: %s", d.Reason, out)
	}
}
