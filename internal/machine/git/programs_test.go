//go:build unix

package git

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

// listed are key and value as git itself reads them from a configuration; ok is false when it refuses.
func listed(t interface{ Fatal(...any) }, text string) (out []setting, ok bool) {
	f, err := os.CreateTemp("", "lathe-config-*")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(f.Name())
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := exec.Command("git", "config", "--file", f.Name(), "--no-includes", "--list", "-z").Output()
	if err != nil {
		return nil, false
	}
	for _, l := range strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00") {
		if l == "" {
			continue
		}
		key, value, has := strings.Cut(l, "\n")
		if !has {
			value = "true"
		}
		out = append(out, setting{key, value})
	}
	return out, true
}

// checkParse holds the parser against git: it may refuse more, and must never read anything else.
func checkParse(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, text string,
) (refused bool) {
	want, ok := listed(t, text)
	got, err := parseConfig(text)
	if err != nil {
		return true
	}
	if !ok {
		return false // git stops at an error; more keys than it has do no harm
	}
	for _, list := range [][]setting{want, got} { // blanks within values are kept by new versions of git only
		for i := range list {
			list[i].value = strings.Map(blank, list[i].value)
		}
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(setting{})); d != "" {
		t.Fatalf("%q (-git +lathe):\n%s", text, d)
	}
	return false
}

func blank(r rune) rune {
	if strings.ContainsRune("\t\r\f\v", r) {
		return ' '
	}
	return r
}

func needGit(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
}

func TestConfigurationsAreReadAsGitReadsThem(t *testing.T) {
	needGit(t)
	for _, text := range []string{
		"[core]b = \"c\"\v\n", "[core]b = c\f\n", "[core]fsmonitor = false\v \n", "[core]b = \vc\n",
		"", "\n\n", "# x\n; y\n", "[core]\n\tbare = false\n", "[core]bare=false\n[a]b=c", "[core] bare\n",
		"[CoRe]\nFsMonitor = x\n",
		"[filter \"a.b\\\"c\\\\d\"]\nclean = sh -c \"a; b\" # c\n", "[filter.X]\nclean=y\n", "[a \"B\"] c = d\n",
		"[a] b = \"x\" y \"z\"  \n",
		"[a]\nb = x\\\n  y\n", "[a]\nb = x\\ty\\nz\\\\\n", "[a]\nb = \"x # y\" ; z\n", "[a]\r\nb = c\r\n",
		"\ufeff[a]\nb=c\n", "[a]\nb=\n[a]\nb\n",
		"[a]\nb-c9 = d\n", "[a]b\n", "[a]\tb = \t c\t d \t\n",
		"[remote \"origin\"]\n\turl = git@x:y\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
	} {
		if checkParse(t, text) {
			t.Errorf("%q is refused", text)
		}
	}
	for _, text := range []string{
		"x", "[a", "[]\n", "[a \"b]\n", "[a \"b\nc\"]\n", "[a]\n9=1\n", "[a]\nb=\"c\n",
		"[a]\nb=\\x\n", "b = c\n", "[a]\nb c\n", "[a]\x00", "[a b]\n", "[core]\vb = c\n",
	} {
		if _, err := parseConfig(text); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

func TestNoConfigurationIsReadOtherwiseThanByGit(t *testing.T) {
	needGit(t)
	piece := rapid.SampledFrom([]string{
		"[core]", "[filter \"x\"]", "[a.B]", "[", "]", "\"", "\\", "\n", "\n", "\r\n", " ", "\t", "=", "#", ";", "clean",
		"fsmonitor = x", "path",
		"\\\n", "\\\"", "\\n", "-", "9", ".", "é", "\v", "\f", "\r", "b = \"c\"", "\b",
	})
	rapid.Check(t, func(t *rapid.T) {
		checkParse(t, strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), ""))
	})
}

func FuzzParseConfigNeverPanics(f *testing.F) {
	f.Add("[a \"b\"]\nc = d \\\n e # f\n")
	f.Fuzz(func(_ *testing.T, text string) { _, _ = parseConfig(text) })
}

func TestKeysThatNameProgramsAreNamed(t *testing.T) {
	needGit(t)
	dir := repo(t)
	keys := func() []string {
		t.Helper()
		got, err := Programs(filepath.Join(dir, "sub"))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := keys(); got != nil {
		t.Errorf("a plain repository: %q", got)
	}
	sh(t, dir,
		`git config user.name x; git remote add origin https://x/y; git config core.fsmonitor true; git config branch.main.rebase true
git config diff.mnemonicPrefix true; git config alias.st status; git config core.worktree ..; git config filter.off.clean ''
git config core.hooksPath .husky; git config core.editor vim; git config merge.tool meld; git config core.pager delta
git config credential.helper store; git config filter.lfs.clean 'git-lfs clean -- %f'`)
	if got := keys(); got != nil {
		t.Errorf("harmless keys: %q", got)
	}
	for key, value := range map[string]string{
		"core.fsmonitor": "./evil", "diff.external": "evil", "diff.x.textconv": "evil",
		"diff.X y.command": "evil", "filter.lfs.clean": "evil", "filter.a.b.process": "evil", "merge.m.driver": "evil",
		"gpg.program":     "evil",
		"gpg.ssh.program": "evil", "include.path": "x",
		"includeif.gitdir:/x.path": "x",
		"alias.st":                 "!evil", "pager.log": "evil", "remote.origin.uploadpack": "evil",
		"core.worktree": "/etc", "submodule.s.update": "!evil",
		"core.alternaterefscommand": "evil",
	} {
		sh(t, dir, `cp .git/config new; git config -f new '`+key+`' '`+value+`'`)
		config := filepath.Join(dir, ".git/config")
		old, err := os.ReadFile(config)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "new"), config); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{key}, keys()); d != "" {
			t.Errorf("%s: %s", key, d)
		}
		if err := os.WriteFile(config, old, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWhereTheConfigurationCannotBeToldTheReasonIsGiven(t *testing.T) {
	needGit(t)
	dir := repo(t)
	bare := filepath.Join(dir, "sub/bare")
	sh(t, dir,
		`git init -q --bare sub/bare; mkdir -p sub/common; cp sub/bare/HEAD sub/common; echo ../bare >sub/common/commondir`)
	for _, at := range []string{bare, bare + "/refs", filepath.Join(dir, "sub/common"), filepath.Join(dir, ".git")} {
		if keys, err := Programs(at); err == nil || !strings.Contains(err.Error(), "no .git") {
			t.Errorf("%s: %q, %v", at, keys, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ".git/config"), []byte("[core\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Programs(dir); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("broken: %v", err)
	}
	if keys, err := Programs(t.TempDir()); keys != nil || err != nil {
		t.Errorf("no repository: %q, %v", keys, err)
	}
}

func TestALinkedWorktreeHasTheConfigurationOfBoth(t *testing.T) {
	needGit(t)
	dir := repo(t)
	sh(t, dir, `git config extensions.worktreeConfig true; git worktree add -q ../`+filepath.Base(dir)+`-w; cd ../`+
		filepath.Base(dir)+`-w
git config --worktree core.fsmonitor ./evil; git config diff.external evil`)
	w := dir + "-w"
	t.Cleanup(func() { os.RemoveAll(w) })
	got, err := Programs(w)
	if d := cmp.Diff([]string{"diff.external", "core.fsmonitor"}, got); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
}

// TestReadOnlyGitRunsNothing runs read-only commands as Bash runs them, in a repository whose
// configuration and attributes name programs wherever git takes one.
func TestReadOnlyGitRunsNothing(t *testing.T) {
	g := newGit(t)
	dir := repo(t)
	mark := filepath.Join(t.TempDir(), "ran")
	evil := filepath.Join(dir, "evil.sh")
	if err := os.WriteFile(evil, []byte("#!/bin/sh\necho \"$0 $*\" >>'"+mark+"'\ncat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	sh(t, dir,
		`echo '* filter=f diff=d' >.gitattributes; git add .gitattributes; git commit -qm attributes; echo changed >>sub/f
printf '#!/bin/sh\necho hook >>`+mark+`\n' >.git/hooks/post-index-change; chmod +x .git/hooks/*
for k in core.fsmonitor core.pager pager.log diff.external diff.d.textconv filter.f.clean filter.f.process gpg.program core.sshCommand; do git config $k "`+evil+`"; done
git config filter.f.required true; git config log.showSignature true`)
	over, err := g.ReadOnlyEnv(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	sh(t, dir, "git status >/dev/null 2>&1 || true")
	if err := os.Remove(mark); err != nil {
		t.Fatalf("plain git runs nothing either, so this test shows nothing: %v", err)
	}
	dirs := sandbox.ToolDirs(os.Getenv("PATH"), nil)
	for _, args := range []string{
		"status", "diff", "diff --stat", "log -p", "show", "blame sub/f", "grep one",
		"ls-files -m", "check-ignore x",
	} {
		cmd := exec.Command("git", strings.Fields(args)...)
		cmd.Dir, cmd.Env = dir, sandbox.ReadOnlyEnv(environ(t), dirs, over)
		_ = cmd.Run() // that a diff fails instead is as good
		if ran, err := os.ReadFile(mark); err == nil {
			t.Errorf("git %s ran %s", args, ran)
			os.Remove(mark)
		}
	}
}

func TestReadOnlyGitPrintsTheSameAsPlainGit(t *testing.T) {
	g := newGit(t)
	dir := repo(t)
	sh(t, dir, `echo changed >>sub/f; echo '*.bin filter=own' >.gitattributes; echo x >a.bin`)
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[filter \"own\"]\nclean = tr x y\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	over, err := g.ReadOnlyEnv(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	plain := append(environ(t), "HOME="+home, "LC_ALL=C")
	for _, args := range []string{
		"status", "diff", "diff --stat", "log -p", "show", "blame HEAD sub/f", "grep one",
		"ls-files -m", "branch -a", "hash-object a.bin",
	} {
		run := func(env []string) string {
			cmd := exec.Command("git", strings.Fields(args)...)
			cmd.Dir, cmd.Env = dir, env
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("git %s: %v", args, err)
			}
			return string(out)
		}
		if d := cmp.Diff(run(plain), run(sandbox.ReadOnlyEnv(plain, sandbox.ToolDirs(os.Getenv("PATH"), nil),
			over))); d != "" {
			t.Errorf("git %s:\n%s", args, d)
		}
	}
}

func BenchmarkPrograms(b *testing.B) {
	needGit(b)
	dir := repo(b)
	for b.Loop() {
		if _, err := Programs(filepath.Join(dir, "sub")); err != nil {
			b.Fatal(err)
		}
	}
}
