//go:build amd64 || arm64

package cli_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
)

// gitLines are lines of the model in one project, one after the other, each with a command that shows outside of the
// sandbox what they made of the repository, and its output. "make" is a program that keeps a line inside.
var gitLines = []struct{ line, look, want string }{
	{`git config user.name Zed 2>&1 | tail -1`, `git config user.name`, "Zed"},
	{`git config pull.rebase false; make`, `git config pull.rebase`, "false"},
	{`cd . && git checkout -q -b f origin/main && make`, `git config branch.f.merge`, "refs/heads/main"},
	{`(git branch g && git branch -u origin/main g) | cat; make`, `git rev-parse --abbrev-ref g@{u}`, "origin/main"},
	{
		`git branch h; git branch --set-upstream-to=origin/main h | cat && make`, `git rev-parse --abbrev-ref h@{u}`,
		"origin/main",
	},
	{`sh -c 'git checkout -q -b i origin/main'`, `git rev-parse --abbrev-ref i@{u}`, "origin/main"},
	{`for b in j jj; do git branch $b origin/main; done; make`, `git rev-parse --abbrev-ref jj@{u}`, "origin/main"},
	{
		`git checkout -q main && git push -u origin main 2>&1 | tail -5`, `git rev-parse --abbrev-ref main@{u}`,
		"origin/main",
	},
	{`git checkout -q main; git config user.email y@example.com; git checkout -q -b l; git add .; git commit -q --allow-empty -m two`, `git log --format=%s%ae --grep=two`, "twoy@example.com"},
	{
		`git push -u origin l 2>&1 | tail -5`,
		`git rev-parse --abbrev-ref l@{u}; git -C ../remote.git rev-parse -q --verify l >/dev/null && echo there`,
		"origin/l\nthere",
	},
	{`git remote add side ../other.git; make`, `git remote get-url side`, "../other.git"},
	{`git remote add up ../other.git && git remote rename up down | cat; git remote set-url down https://example.com/x && make`, `git remote get-url down`, "https://example.com/x"},
	{
		`git branch m && git branch -m m mm && git branch -D j | cat; make`,
		`git rev-parse -q --verify mm >/dev/null && echo mm; git config branch.j.remote`, "mm",
	},
	{`echo y >>Makefile; git stash -q | cat; make`, `git log -1 --format=%s -- Makefile`, "three"},
	{
		`git stash pop -q && git tag t1 | cat && git commit -qam three && git rebase -q origin/main | cat; make`,
		`git tag; git log --format=%s --grep=three; git stash list`, "t1\nthree",
	},
	{`git worktree add -q -b w1 ../wt1`, `git -C ../wt1 status -sb`, "## w1"},
	{`git worktree add -q -b w2 ../wt2 2>&1 | tail -1; make`, `git -C ../wt2 status -sb`, "## w2"},
	{`git worktree add -q -b w3 ../trees/wt3 && (cd ../trees/wt3 && make)`, `git -C ../trees/wt3 status -sb`, "## w3"},
	{`(cd .. && git -C p worktree add -q -b w4 ../wt4); make`, `git -C ../wt4 status -sb`, "## w4"},
	{
		`cd ../wt2 && echo z >z && git add z && git commit -qm there && make`, `git -C ../wt2 log --format=%s --grep=there`,
		"there",
	},
	{`git -C ../wt2 commit -q --allow-empty -m again; make`, `git -C ../wt2 log --format=%s --grep=again`, "again"},
	{`git worktree add -q -b w5 inner | cat; make`, `git -C inner status -sb`, "## w5"},
	{
		`git worktree add -q -b w0 ../wt0; git worktree remove ../wt0 | cat`,
		`ls -d ../wt0 2>/dev/null; git worktree list | grep -c wt0`, "0",
	},
	{`git worktree add -q -b taken ../taken/x/y nothing; make`, `ls -d ../taken 2>/dev/null; echo gone`, "gone"},
	{
		`git -c protocol.file.allow=always submodule add -q ../remote.git sub 2>&1 | cat; git commit -qm sub; make`,
		`git submodule status | cut -c43-; cat .gitmodules`,
		"sub (heads/main)\n[submodule \"sub\"]\n\tpath = sub\n\turl = ../remote.git",
	},
}

// hostileLines try to make git run a program.
var hostileLines = []string{
	`git config core.hooksPath evil; make`,
	`git config core.fsmonitor "touch ran; false" | cat`,
	`git config alias.st '!touch ran' && git checkout -q -b bad origin/main`,
	`git config include.path ../evil; git config core.sshCommand ./evil; git config credential.helper '!./evil'; make`,
	`git config filter.x.clean ./evil; git config remote.origin.uploadpack ./evil; git config remote.e.url ext::./evil`,
	`sed -i 's/\[core\]/[core]\n\tfsmonitor = .\/evil/' .git/config; git status`,
	`sed -i --follow-symlinks 's/\[core\]/[core]\n\tfsmonitor = .\/evil/' .git/config; git status`,
	`printf '[include]\n\tpath = ../evil\n' >>.git/config; git status`,
	`cp .git/config c; printf '[core]\n\tfsmonitor = ./evil\n' >>c; mv -f c .git/config; git status`,
	`mv .git g; mkdir .git; cp -r g/* .git; printf '[core]\n\tfsmonitor = ./evil\n' >>.git/config; git status`,
	`rm -f .git/config; ln -s ../evil .git/config; git status`,
	`d=$(readlink .git/config); rm -f $d; ln -s $PWD/evil $d; git status`,
	`git init -q other; git -C other config core.fsmonitor ./evil; make`,
	`git worktree add -q -b w6 wt6; printf '[core]\n\tfsmonitor = ./evil\n' >.git/worktrees/wt6/config.worktree; git config extensions.worktreeConfig true; make`,
	`git worktree add -q -b w7 wt7; mkdir fake; cp -r .git/. fake; printf '[core]\n\tfsmonitor = ./evil\n' >>fake/config; echo $PWD/fake >.git/worktrees/wt7/commondir; make`,
	`git -c protocol.file.allow=always submodule add -q ../remote.git sub2; echo 'touch ran' >.git/modules/sub2/hooks/post-checkout; chmod +x .git/modules/sub2/hooks/post-checkout; make`,
}

func TestEverydayGitWorksInTheDefaultSandbox(t *testing.T) {
	if s := confine.Detect(); s.Tier != confine.Full || os.Getuid() != 0 {
		t.Skipf("this needs root and the tier full: %s", s.Why)
	}
	for _, uid := range []int{0, nobody} {
		for _, mode := range []string{"default", "bypassPermissions"} {
			if uid == 0 && mode == "bypassPermissions" {
				continue
			}
			t.Run(fmt.Sprintf("uid %d, %s", uid, mode), func(t *testing.T) {
				g := newGitUser(t, uid)
				var lines []string
				for _, l := range gitLines {
					lines = append(lines, l.line)
				}
				results := g.lathe(mode, lines)
				for i, l := range gitLines {
					if got := g.look(l.look); got != l.want {
						t.Errorf("%s\nmade %q, not %q. Its result: %s", l.line, got, l.want, results[i])
					}
				}
			})
		}
	}
}

func TestNoLineMakesGitRunAProgram(t *testing.T) {
	if s := confine.Detect(); s.Tier != confine.Full || os.Getuid() != 0 {
		t.Skipf("this needs root and the tier full: %s", s.Why)
	}
	for _, uid := range []int{0, nobody} {
		t.Run(fmt.Sprint("uid ", uid), func(t *testing.T) {
			g := newGitUser(t, uid)
			before := g.look("git config --local --list")
			var lines []string
			for i, line := range hostileLines { // in a script, so that only the sandbox sees what it does
				g.look("cat >git" + fmt.Sprint(i) + ".sh <<'END'\n" + line + "\nEND\n")
				lines = append(lines, fmt.Sprintf("sh git%d.sh", i))
			}
			for i, result := range g.lathe("default", lines) {
				t.Logf("%s: %s", hostileLines[i], result)
			}
			for line := range strings.Lines(g.look("git config --local --list")) {
				line = strings.TrimSpace(line)
				section, _, _ := strings.Cut(line, ".")
				if !strings.Contains(before, line) && !slices.Contains([]string{"branch", "submodule", "extensions"}, section) {
					t.Errorf("the configuration has %q", line)
				}
			}
			g.look("rm -f ran; git status; for d in other sub2 wt6 wt7; do git -C $d status; done; git -C sub2 checkout -q " +
				"HEAD; true")
			if got := g.look("find .. -name ran; ls -d .git/hooks/*[!e] 2>/dev/null"); got != "" {
				t.Errorf("a planted program ran, or would: %s", got)
			}
		})
	}
}

// gitUser is a user with a repository, which has a remote beside it.
type gitUser struct {
	t    *testing.T
	uid  int
	base string
}

func newGitUser(t *testing.T, uid int) *gitUser {
	t.Helper()
	base, err := os.MkdirTemp("/var/tmp", "lathe-git-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	program, err := os.ReadFile(buildLathe(t))
	if err == nil {
		err = os.WriteFile(base+"/lathe", program, 0o600)
	}
	for path, mode := range map[string]os.FileMode{base: 0o755, base + "/lathe": 0o755} {
		if err == nil {
			err = os.Chmod(path, mode)
		}
	}
	if err == nil {
		err = os.MkdirAll(base+"/home/p", 0o700)
	}
	for _, path := range []string{base + "/home", base + "/home/p"} {
		if err == nil {
			err = os.Chown(path, uid, uid)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	g := &gitUser{t, uid, base}
	g.look(
		`printf 'all:\n\t@true\n' >Makefile; printf '#!/bin/sh\ntouch ran\n' >evil; chmod +x evil; mkdir .vscode; echo '{}' >.vscode/settings.json
git init -q -b main && git config user.name A && git config user.email a@example.com && git add -A && git commit -qm one && git init -q --bare -b main ../remote.git &&
git push -q ../remote.git main && git remote add origin ../remote.git && git fetch -q`)
	return g
}

// command is a program of the user's, outside of the sandbox.
func (g *gitUser) command(argv ...string) *exec.Cmd {
	c := asNobody(g.t, g.base, argv)
	if g.uid == 0 {
		c = exec.Command(argv[0], argv[1:]...)
		c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
	}
	c.Dir = g.base + "/home/p"
	c.Env = []string{
		"HOME=" + g.base + "/home", "PATH=/usr/local/bin:/usr/bin:/bin", "PWD=" + c.Dir,
		"GIT_CONFIG_NOSYSTEM=1",
	}
	return c
}

// look returns the output of a line.
func (g *gitUser) look(line string) string {
	g.t.Helper()
	out, err := g.command("sh", "-c", line).Output()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		g.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// lathe has the model run lines, and returns their results.
func (g *gitUser) lathe(mode string, lines []string) []string {
	g.t.Helper()
	var script strings.Builder
	for _, line := range lines {
		input, err := json.Marshal(map[string]string{"command": line})
		if err != nil {
			g.t.Fatal(err)
		}
		fmt.Fprintf(&script, "reply\n  call Bash %s\n", input)
	}
	parsed, err := llmtest.Parse([]byte(script.String() + "final\n  say Done.\n"))
	if err != nil {
		g.t.Fatal(err)
	}
	server := llmtest.New(parsed, llmtest.Options{})
	if err := server.Start("127.0.0.1:0"); err != nil {
		g.t.Fatal(err)
	}
	defer server.Close()
	c := g.command(g.base+"/lathe", "-p", "--output-format", "stream-json", "--verbose", "--permission-mode", mode,
		"--allowedTools", "Bash", "--", "go")
	c.Env = append(c.Env, "ANTHROPIC_BASE_URL="+server.URL(), "ANTHROPIC_API_KEY=sk-test")
	out, err := c.Output()
	if err != nil {
		g.t.Fatalf("%v: %s", err, out)
	}
	var results []string
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, `"type":"tool_result"`) {
			results = append(results, line)
		}
	}
	if len(results) != len(lines) {
		g.t.Fatalf("%d results of %d lines: %s", len(results), len(lines), out)
	}
	return results
}
