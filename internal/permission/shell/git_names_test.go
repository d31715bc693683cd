package shell

import (
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
)

// repository makes the shelf a repository with two commits; the branch odd has files with names that no working tree
// can have.
func (s shelf) repository(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	if err := os.WriteFile(filepath.Join(s.home, "outside.txt"), []byte("KEY outside\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.git(t, "", "init", "-q")
	s.git(t, "", "add", "list", "notes.txt", "src", "a.txt", "two words.txt")
	s.git(t, "", "commit", "-qm", "one")
	s.git(t, "", "rm", "-q", "--cached", "a.txt")
	s.git(t, "", "commit", "-qm", "two .env")
	blob := s.git(t, "x\n", "hash-object", "-w", "--stdin")
	up := s.tree(t, map[string]string{"outside.txt": "100644 " + blob})
	odd := map[string]string{"..": "40000 " + up}
	for _, name := range []string{
		".env", "'.env'", "*", ".e*", "-c", "/etc/passwd", "a /etc/passwd", "a ../outside.txt",
		"src/../../outside.txt", "x\n.env", "list", "new.txt", `\.env`, `"`,
	} {
		odd[name] = "100644 " + blob
	}
	commit := s.git(t, "", "commit-tree", s.tree(t, odd), "-p", "HEAD", "-m", ".env")
	s.git(t, "", "update-ref", "refs/heads/odd", commit)
}

func (s shelf) git(t *testing.T, in string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = s.root, strings.NewReader(in)
	cmd.Env = append(tame(s.machine), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b.c", "GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@b.c")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// tree writes a tree object with these entries, which git itself would refuse.
func (s shelf) tree(t *testing.T, entries map[string]string) string {
	t.Helper()
	names := make([]string, 0, len(entries))
	for name := range entries {
		names = append(names, name)
	}
	sort.Strings(names)
	var b strings.Builder
	for _, name := range names {
		mode, hash, _ := strings.Cut(entries[name], " ")
		raw, err := hex.DecodeString(hash)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(mode + " " + name + "\x00" + string(raw))
	}
	return s.git(t, b.String(), "hash-object", "-t", "tree", "--literally", "-w", "--stdin")
}

// Tree withholds .env.
func (s shelf) Tree(_ string, o permission.TreeOptions) permission.Tree {
	if o.Past {
		return permission.Tree{Listed: true, Past: permission.Past{Known: true, Files: []string{".env"}}}
	}
	return permission.Tree{Listed: true, Withheld: []permission.Withheld{{Path: s.root + "/.env"}}}
}

func TestNamesOfThePastAreReadAsBashDoes(t *testing.T) {
	m := newShelf(t)
	m.repository(t)
	for _, line := range []string{
		"git log --name-only --format= -5 | sort -u | xargs wc -l",
		"git log --name-only --format= | sort | uniq | xargs wc -l; echo $?",
		"git log --pretty=format: --name-only -3 | sort -u | grep -v '^$' | xargs ls",
		"git log --pretty=format: --name-only -3 | xargs wc -l",
		"git show --name-only --format= HEAD | xargs wc -c",
		"git diff-tree --no-commit-id --name-only -r HEAD | xargs wc -l", "git diff --name-only HEAD~1 | xargs wc -l",
		"git ls-tree -r --name-only HEAD src | xargs wc -l", "wc -l $(git show --name-only --format= HEAD)",
		"for f in $(git log --name-only --format= -1); do wc -l $f; done",
		"git log --name-only --format= -1 | while read -r f; do wc -l \"$f\"; done",
		"git ls-files src | xargs -I{} git show HEAD:{}", "git ls-files src | xargs -I{} git show HEAD~1:{} | wc -l",
		"git ls-files src | xargs -I{} git log -1 --format='%s {}' -- {}",
		"git ls-files src | xargs git log --oneline --", "git ls-files -m | xargs -r git diff --stat --",
		"git ls-files src | xargs git diff --stat HEAD~1 --", "git diff --stat HEAD~1 -- $(git ls-files list)",
		"set -o pipefail; git log --name-only --format= nosuch 2>/dev/null | xargs -r wc; echo $?",
		"git log --name-only --format= -1 2>/dev/null | xargs wc -l",
		"git log --author=\"$(git log -1 --format=%an)\" --oneline | wc -l", "cat list | sort -u | xargs wc -l",
		"cat list | grep -v a.txt | xargs head -2", "head -1 list | xargs cat", "wc -l $(cat list)",
		"for f in $(cat list); do echo \"$f: $(wc -l < $f)\"; done",
		"while IFS= read -r f; do wc -l \"$f\"; done < list",
		"while read -r f; do [ -f \"$f\" ] && echo \"ok $f\" || echo \"missing <$f>\"; done < list",
		"cat list | while read -r f; do [ -f \"$f\" ] && head -1 \"$f\"; done", "tail -2 list | xargs -n1 basename",
		"sort -r list | xargs -I{} wc -c {}", "cat list | xargs -n1 wc -l | sort -n",
	} {
		ok, r := m.allowed(line)
		if !ok {
			t.Errorf("%q asks: %s", line, show(r))
			continue
		}
		if want, got := bash(t, m.machine, line), bash(t, m.machine, r.Command.Script); got != want {
			t.Errorf("%q prints\n%s\nits script %s prints\n%s", line, want, r.Command.Script, got)
		}
	}
}

func TestNamesOfThePastLeadNowhereElse(t *testing.T) {
	m := newShelf(t)
	m.repository(t)
	lists := []string{
		"git diff --name-only HEAD odd", "git diff --name-only HEAD...odd", "git diff --cached --name-only odd",
		"git show --name-only --format= odd", "git diff-tree --no-commit-id --name-only -r odd",
		"git ls-tree -r --name-only odd", "git ls-tree --name-only odd", "git log --name-only --format= odd",
		"git log --name-only --pretty=format: odd",
	}
	for _, list := range lists {
		for _, line := range []string{
			list + " | xargs cat", list + " | xargs -n1 cat", list + " | xargs -I{} cat {}", list + " | xargs -d '\\n' cat",
			list + " | sort -u | xargs cat", "cat $(" + list + ")", "for f in $(" + list + "); do cat $f; done",
			list + " | while read f; do cat \"$f\"; done", list + " | while IFS= read -r f; do cat $f; done",
			list + " | xargs -0 cat", "f=$(" + list + "); cat $f",
		} {
			ok, r := m.allowed(line)
			if !ok {
				continue
			}
			if got := bash(t, m.machine, r.Command.Script); strings.Contains(got, "KEY") || strings.Contains(got, "root:") {
				t.Errorf("%q prints\n%s\n%s", line, got, r.Command.Script)
			}
		}
	}
	for _, line := range []string{
		"git log --name-only --format=%s -5 | xargs cat", "git log --name-only -5 | xargs cat",
		"git show --name-only HEAD | xargs cat", "git log --format= -5 --stat | xargs cat",
		"git log --format= --name-only --line-prefix=x | xargs cat", "git log --format= --name-only --graph | xargs cat",
		"git ls-tree HEAD | xargs cat", "git diff --name-only --relative=.. HEAD | xargs cat",
		"git log --name-only --format= -z | xargs -0 cat",
		"git log --name-only --format= | xargs rm", "git log --name-only --format= | xargs sh",
		"git ls-files | xargs -I{} git show HEAD:../{}", "git ls-files | xargs -I{} git show {}",
		"git ls-files | xargs -I{} git show -{}", "git ls-files | xargs -I{} git show HEAD:{} --textconv",
		"find . | xargs -I{} git show HEAD:{}", "git ls-files | sed s/a/b/ | xargs -I{} git show HEAD:{}",
		"cd src; git ls-files | xargs -I{} git show HEAD:{}",
		"git ls-files | xargs git checkout --", "git ls-files | xargs git diff --no-index --", "cat list | xargs git add --",
		"git ls-files | xargs git log -p --", "echo x | xargs git push origin --", "git log --output=$(cat list)",
		"jq -n --arg v $(cat list) x", "jq --rawfile v \"$(tail -1 list)\" x", "jq --rawfile a --arg x \"$(tail -1 list)\"",
		"jq --indent --arg x \"$(tail -1 list)\"", "jq --slurpfile a --arg . \"$(tail -1 list)\"",
		"jq --argjson a --arg . \"$(tail -1 list)\"", "jq --args --arg . \"$(tail -1 list)\"", "git log \"$(tail -1 list)\"",
		"git log -\"$(tail -1 list)\"",
		"cat hidden | sort | xargs cat", "sort hidden | xargs cat", "head -5 out | xargs cat",
		"cat away | head -1 | xargs cat", "wc -l $(cat hidden)", "cat $(cat quoted)", "for f in $(cat out); do cat $f; done",
		"while read -r f; do cat \"$f\"; done < hidden", "while IFS=, read -r f; do cat \"$f\"; done < list",
		"cat hidden | while read f; do cat $f; done", "cat flag | sort | xargs wc", "cat list | sort | xargs -0 cat",
		"cat list | rev | xargs cat", "tail -f list | xargs cat", "cat list hidden | sort | xargs cat",
		"cat spaced | sort | xargs cat", "cat .env | sort | xargs echo; cat .env",
		"cd src; cat ../list | sort | xargs cat; cat ../.env",
	} {
		if ok, r := m.allowed(line); ok {
			t.Errorf("%q runs unasked: %s\n%s", line, show(r), r.Command.Script)
		}
	}
}

func TestACommitOutOfACommandIsNoFile(t *testing.T) {
	m := newShelf(t)
	m.repository(t)
	m.git(t, "", "tag", "secret", m.git(t, "KEY\n", "hash-object", "-w", "--stdin"))
	ran := 0
	for _, line := range []string{
		"git show $(git rev-parse secret)", "git show --stat $(git rev-parse --verify secret)",
		"a=$(git rev-parse secret); git show $a", "for a in $(git rev-parse secret); do git show $a; done",
		"git rev-parse secret | while read a; do git show $a; done",
		"git rev-parse secret | xargs git show", "git rev-parse secret | xargs -n1 git show -s",
		"git diff $(git rev-parse secret) HEAD:list", "git diff HEAD:list $(git rev-parse secret)",
		"git diff $(git rev-parse HEAD:list)..$(git rev-parse secret)", "git diff secret..$(git rev-parse HEAD)",
		"git show $(git rev-parse master)", "git show $(git rev-parse main)", "git show $(git rev-parse HEAD)",
	} {
		ok, r := m.allowed(line)
		if !ok {
			continue
		}
		ran++
		if got := bash(t, m.machine, r.Command.Script); strings.Contains(got, "KEY\n") {
			t.Errorf("%q prints\n%s\n%s", line, got, r.Command.Script)
		}
	}
	if ran < 6 {
		t.Errorf("%d lines run unasked", ran)
	}
}
