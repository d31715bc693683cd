//go:build unix

package git

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newGit(t testing.TB) *Git {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	r := sandbox.New()
	t.Cleanup(r.Close)
	g := New(r)
	g.Timeout = 20 * time.Second // the tests' machine may be busy
	return g.WithEnviron(func() []string { return environ(t) })
}

// environ is one in which the user has no configuration of their own.
func environ(testing.TB) []string {
	return append(os.Environ(), "HOME=/nonexistent", "XDG_CONFIG_HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1")
}

// sh runs a script with plain git in dir.
func sh(t testing.TB, dir, script string) string {
	t.Helper()
	cmd := exec.Command("bash", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(environ(t), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@b",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=init.defaultBranch", "GIT_CONFIG_VALUE_0=main",
		"GIT_CONFIG_KEY_1=protocol.file.allow", "GIT_CONFIG_VALUE_1=always")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

func repo(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	sh(t, dir,
		`git init -q; mkdir sub; echo one >sub/f; git add .; git commit -qm "first	commit"; echo two >>sub/f; git commit -qam second`)
	return dir
}

func TestInfoTellsTheState(t *testing.T) {
	dir := repo(t)
	sh(t, dir, `echo x >"a b"; git add "a b"; echo y >>sub/f; echo z >"new
line"; git mv -k none there; git mv sub/f sub/g; echo more >>sub/g`)
	info := newGit(t).Info(t.Context(), filepath.Join(dir, "sub"))
	if info.Err != nil || !info.IsRepo || info.Root != dir || info.Branch != "main" || info.Worktree {
		t.Fatalf("got %+v", info)
	}
	if want := sh(t, dir, "git rev-parse HEAD"); info.Head != want {
		t.Errorf("HEAD is %s, want %s", info.Head, want)
	}
	want := &Status{Staged: 2, Changed: 1, Untracked: 1, Lines: []string{"A  a b", "RM sub/g", "?? new\nline"}}
	if diff := cmp.Diff(want, info.Status); diff != "" {
		t.Error(diff)
	}
	var subjects []string
	for _, c := range info.Commits {
		subjects = append(subjects, c.Subject)
	}
	if diff := cmp.Diff([]string{"second", "first\tcommit"}, subjects); diff != "" {
		t.Error(diff)
	}
}

func TestInfoOfManyChangesIsBounded(t *testing.T) {
	dir := repo(t)
	sh(t, dir, `for i in {1..100}; do echo $i >f$i; done`)
	info := newGit(t).Info(t.Context(), dir)
	if s := info.Status; s == nil || len(s.Lines) != statusLines || s.More != 60 || s.Untracked != 100 {
		t.Errorf("got %+v, %v", info.Status, info.Err)
	}
}

func TestInfoOfBrokenOrNoRepositories(t *testing.T) {
	g := newGit(t)
	for name, tt := range map[string]struct {
		script string
		repo   bool
	}{
		"none":              {`true`, false},
		"empty":             {`git init -q`, true},
		"HEAD missing":      {`git init -q; rm .git/HEAD`, false},
		"HEAD is a fifo":    {`git init -q; rm .git/HEAD; mkfifo .git/HEAD`, false},
		"HEAD is garbage":   {`git init -q; head -c 100 /dev/urandom >.git/HEAD`, true},
		"config is garbage": {`git init -q; echo '[[[' >.git/config`, true},
		"config is a fifo":  {`git init -q; rm .git/config; mkfifo .git/config`, true},
		"index is garbage":  {`git init -q; echo x >.git/index`, true},
		"objects missing":   {`git init -q; rm -r .git/objects`, false},
		".git is a loop":    {`ln -s .git .git`, false},
		".git leads away":   {`echo 'gitdir: /nonexistent' >.git`, false},
		"bare":              {`git init -q --bare .`, false},
		"looks like one":    {`mkdir objects refs; echo 'ref: refs/heads/x' >HEAD; echo '[core]' >config`, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := *g
			if strings.Contains(name, "fifo") {
				g.Timeout = 300 * time.Millisecond
			}
			dir := t.TempDir()
			sh(t, dir, tt.script)
			info := g.Info(t.Context(), dir)
			if info.IsRepo != tt.repo {
				t.Errorf("got %+v", info)
			}
		})
	}
}

// hostile makes a repository in which every key that can name a program names one that leaves a mark.
func hostile(t *testing.T) (dir, mark string) {
	t.Helper()
	dir = repo(t)
	mark = filepath.Join(t.TempDir(), "ran")
	evil := filepath.Join(dir, "evil")
	if err := os.WriteFile(evil, []byte("#!/bin/sh\necho \"$0 $*\" >>'"+mark+"'\ncat 2>/dev/null\nexit 0\n"),
		0o700); err != nil {
		t.Fatal(err)
	}
	sh(t, dir, `
		for key in core.fsmonitor core.pager core.sshCommand core.editor core.askPass core.alternateRefsCommand core.gitProxy \
			diff.external diff.evil.command diff.evil.textconv filter.evil.clean filter.evil.smudge filter.evil2.process \
			gpg.program gpg.ssh.program pager.status pager.log credential.helper merge.evil.driver uploadpack.packObjectsHook \
			sequence.editor interactive.diffFilter remote.origin.uploadpack trailer.x.command; do
			git config "$key" "$PWD/evil"
		done
		git config filter.evil.required true; git config filter.evil2.required true; git config log.showSignature true
		git config alias.status "!$PWD/evil"; git config alias.log "!$PWD/evil"; git config diff.submodule diff
		git config include.path ../included; printf '[filter "three"]\n\tclean = %s\n\trequired = true\n' "$PWD/evil" >included
		git config extensions.worktreeConfig true; git config --worktree filter.four.clean "$PWD/evil"
		printf '* diff=evil filter=evil\n*.p filter=evil2\n*.3 filter=three\n*.4 filter=four\n' >.gitattributes
		cp .gitattributes .git/info/attributes
		for h in post-index-change pre-commit post-checkout fsmonitor-watchman reference-transaction; do cp evil .git/hooks/$h; done
		git config core.hooksPath .git/hooks
		for f in sub/f x.p x.3 x.4; do echo changed >>$f; done
		touch -d '2001-01-01' sub/f
		mkdir nested; cd nested; mkdir -p objects refs; echo 'ref: refs/heads/main' >HEAD
		printf '[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tfsmonitor = %s\n\tworktree = /\n' "$OLDPWD/evil" >config`)
	os.Remove(mark)
	return dir, mark
}

func TestNothingOfAHostileRepositoryRuns(t *testing.T) {
	dir, mark := hostile(t)
	g := newGit(t)
	for _, d := range []string{dir, filepath.Join(dir, "sub"), filepath.Join(dir, "nested"), filepath.Join(dir, ".git")} {
		info := g.Info(t.Context(), d)
		if info.Err != nil || info.Status == nil || len(info.Commits) != 2 {
			t.Errorf("%s: got %+v", d, info)
		}
		if b, err := os.ReadFile(mark); err == nil {
			t.Fatalf("%s: something ran: %s", d, b)
		}
	}
	r, _ := Find(dir)
	for _, args := range [][]string{
		{"diff", "--no-ext-diff", "--no-textconv"},
		{"diff", "--stat", "--no-ext-diff", "--no-textconv"},
		{"ls-files"},
		{"grep", "one"},
		{"show", "--no-ext-diff", "--no-textconv", "HEAD"},
		{"blame", "--no-textconv", "sub/f"},
		{"check-ignore", "-v", "sub/f"},
		{"status"},
		{"log", "-p", "--no-ext-diff", "--no-textconv"},
	} {
		_, err := g.Run(t.Context(), r, args...)
		var ok bool
		if ok = err == nil || strings.Contains(err.Error(), "exit code 1"); !ok {
			t.Errorf("%v: %v", args, err)
		}
		if b, err := os.ReadFile(mark); err == nil {
			t.Fatalf("%v: something ran: %s", args, b)
		}
	}
	sh(t, dir, "git status >/dev/null 2>&1 || true")
	if _, err := os.Stat(mark); err != nil {
		t.Error("plain git ran nothing either: the test proves nothing")
	}
}

func TestNothingOfAHostileSubmoduleRuns(t *testing.T) {
	g := newGit(t)
	dir, mark := repo(t), filepath.Join(t.TempDir(), "ran")
	sh(t, dir,
		`git init -q ../m; cd ../m; echo x >f; git add f; git commit -qm x; cd "$OLDPWD"; git submodule --quiet add ../m mod; git commit -qam sub
		printf '#!/bin/sh\ntouch `+mark+`\ncat\n' >evil; chmod +x evil
		git -C mod config core.fsmonitor "$PWD/evil"; git -C mod config filter.e.clean "$PWD/evil"; echo '* filter=e' >mod/.gitattributes
		echo y >>mod/f; git -C mod config core.hooksPath "$PWD"; cp evil post-index-change`)
	os.Remove(mark)
	info := g.Info(t.Context(), dir)
	if _, err := os.Stat(mark); err == nil || info.Err != nil {
		t.Errorf("something ran, or %v", info.Err)
	}
	sh(t, dir, "git status >/dev/null")
	if _, err := os.Stat(mark); err != nil {
		t.Error("plain git ran nothing either: the test proves nothing")
	}
}

func TestAWorkTreeElsewhereIsNotSearched(t *testing.T) {
	dir, other := repo(t), t.TempDir()
	sh(t, other, "echo x >secret")
	sh(t, dir, "git config core.worktree "+other)
	info := newGit(t).Info(t.Context(), dir)
	if info.Status == nil || !info.Status.Clean() {
		t.Errorf("got %+v, %v", info.Status, info.Err)
	}
}

func TestTheEnvironmentCannotRedirectGit(t *testing.T) {
	dir, other := repo(t), repo(t)
	g := newGit(t).WithEnviron(func() []string {
		return append(environ(t), "GIT_DIR="+other+"/.git", "GIT_INDEX_FILE=/x", "GIT_CONFIG_PARAMETERS='core.fsmonitor=/x'",
			"GIT_TRACE=/x")
	})
	info := g.Info(t.Context(), dir)
	if info.Err != nil || info.Root != dir || !info.Status.Clean() {
		t.Errorf("got %+v", info)
	}
}

func TestGitInsideTheWorkTreeIsNotRun(t *testing.T) {
	dir := repo(t)
	sh(t, dir, `mkdir bin; printf '#!/bin/sh\ntouch %s/ran\n' "$PWD" >bin/git; chmod +x bin/git`)
	g := newGit(t).WithEnviron(func() []string { return []string{"PATH=" + dir + "/bin:bin:."} })
	if info := g.Info(t.Context(), dir); !errors.Is(info.Err, ErrNotInstalled) || info.Branch != "main" {
		t.Errorf("got %+v", info)
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("it ran")
	}
}

func TestGitIsEndedAfterItsTime(t *testing.T) {
	dir := repo(t)
	slow := t.TempDir()
	sh(t, slow, `printf '#!/bin/sh\nsleep 1000\n' >git; chmod +x git`)
	g := newGit(t).WithEnviron(func() []string { return []string{"PATH=" + slow + ":/usr/bin:/bin"} })
	g.Timeout = 100 * time.Millisecond
	info := g.Info(t.Context(), dir)
	if info.Err == nil || !strings.Contains(info.Err.Error(), "longer than 100ms") || info.Branch != "main" {
		t.Errorf("got %+v", info)
	}
}

func TestTooMuchOutputIsCut(t *testing.T) {
	dir := repo(t)
	sh(t, dir, `for i in {1..200}; do : >file_with_a_long_name_$i; done`)
	g := newGit(t)
	g.MaxOutput = 1000
	info := g.Info(t.Context(), dir)
	if info.Status == nil || !info.Status.Cut || info.Status.Untracked < 5 {
		t.Errorf("got %+v, %v", info.Status, info.Err)
	}
}

func TestFindReadsHeadAsGitDoes(t *testing.T) {
	newGit(t)
	for name, script := range map[string]string{
		"loose":    `true`,
		"packed":   `git pack-refs --all`,
		"branch":   `git checkout -qb feature/x-1`,
		"detached": `git checkout -q --detach`,
		"unborn":   `git checkout -q --orphan fresh`,
		"worktree": `git worktree add -q ../w-$$ -b wt >/dev/null; cd ../w-$$`,
		"submodule": `git init -q ../m-$$; git -C ../m-$$ commit -q --allow-empty -m x; git submodule --quiet add ../m-$$ mod
			cd mod`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := repo(t)
			out := sh(t, dir, script+`
				pwd -P; git rev-parse --show-toplevel; git rev-parse --verify -q HEAD || echo; git symbolic-ref -q --short HEAD || echo`)
			want := append(strings.Split(out, "\n"), "", "")
			got, ok := Find(want[0])
			if !ok || got.Root != want[1] || got.Head != want[2] || got.Branch != want[3] {
				t.Errorf("got %+v, want %q", got, want[:4])
			}
			if got.Worktree != (name == "worktree") {
				t.Errorf("a linked worktree: %v", got.Worktree)
			}
		})
	}
}

func TestFindDoesNotWaitForAFIFO(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, ".git"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, ok := Find(dir); ok && r.Root == dir {
		t.Errorf("got %+v", r)
	}
}

func TestTheMainBranchIsKnownWithoutARemote(t *testing.T) {
	newGit(t)
	dir := repo(t)
	sh(t, dir, `git branch -M master; git checkout -qb work`)
	if r, _ := Find(dir); r.Main != "master" || r.Branch != "work" {
		t.Errorf("got %+v", r)
	}
}

func TestMainBranchIsThatOfOrigin(t *testing.T) {
	newGit(t)
	dir := repo(t)
	sh(t, dir, `git clone -q . clone; cd clone; git checkout -qb other`)
	if r, _ := Find(filepath.Join(dir, "clone")); r.Main != "main" || r.Branch != "other" {
		t.Errorf("got %+v", r)
	}
}

func TestHardenLeavesNoOtherGitVariable(t *testing.T) {
	env := harden([]string{"GIT_DIR=/x", "GIT_SSH=/x", "HOME=/h", "PAGER=evil", "PATH=/bin"}, Repo{Root: "/r/x"}, nil)
	if slices.ContainsFunc(env, func(kv string) bool {
		return strings.Contains(kv, "=/x") || strings.Contains(kv, "evil")
	}) {
		t.Errorf("got %v", env)
	}
	if !slices.Contains(env, "HOME=/h") || !slices.Contains(env, "GIT_CEILING_DIRECTORIES=/r") {
		t.Errorf("got %v", env)
	}
}

func FuzzParseStatus(f *testing.F) {
	f.Add("# branch.ab +1 -2\x001 M. N... 100644 100644 100644 a b f\x002 R. N... 1 1 1 a b R100 new\x00old\x00? x\x00")
	f.Fuzz(func(t *testing.T, s string) {
		got := parseStatus(s)
		if len(got.Lines) > statusLines || got.More > len(s) {
			t.Errorf("got %+v", got)
		}
	})
}

func BenchmarkGitInfo(b *testing.B) {
	dir, g := repo(b), newGit(b)
	for b.Loop() {
		if info := g.Info(b.Context(), dir); info.Err != nil {
			b.Fatal(info.Err)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	dir := repo(b)
	for b.Loop() {
		if _, ok := Find(filepath.Join(dir, "sub")); !ok {
			b.Fatal("not found")
		}
	}
}
