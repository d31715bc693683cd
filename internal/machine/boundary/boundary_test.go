//go:build linux && (amd64 || arm64)

package boundary_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
	"github.com/lathe-dev/lathe/internal/permission"
)

// place is a project, a home folder and lathe's folders, not below /tmp, which is another one inside.
type place struct{ dir, home, config, state, cache string }

func newPlace(t *testing.T) place {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "lathe-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// a link that a test made can lead anywhere
		_ = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				return os.Chmod(path, 0o700)
			}
			return nil
		})
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	p := place{dir + "/project", dir + "/home", dir + "/home/config", dir + "/home/state", dir + "/cache"}
	for _, d := range []string{p.dir, p.config, p.state, p.cache} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p place) options(flag, settings string) boundary.Options {
	return boundary.Options{
		Settings: []byte(settings), Flag: flag, Dir: p.dir, Home: p.home, Config: p.config,
		State: p.state, Cache: p.cache,
	}
}

// open skips where the machine has no full sandbox.
func (p place) open(t *testing.T, settings string) *boundary.Boundary {
	t.Helper()
	if s := confine.Detect(); s.Tier != confine.Full {
		t.Skipf("this machine has no tier full: %s", s.Why)
	}
	b, err := boundary.Open(p.options("", settings))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// run runs a line in the sandbox of one folder.
func run(t *testing.T, b *boundary.Boundary, dir, line string) (code int, out string, notes []string, why string) {
	t.Helper()
	c, err := b.For([]string{dir}, boundary.Network{})
	if err != nil {
		t.Fatal(err)
	}
	code, out = start(t, c, dir, line)
	notes = c.Done()
	return code, out, notes, c.Refusal(dir, out)
}

// start runs a line in a confinement.
func start(t *testing.T, c *boundary.Run, dir, line string) (code int, out string) {
	t.Helper()
	r := sandbox.New()
	defer r.Close()
	var buf bytes.Buffer
	exit, err := r.Run(t.Context(), sandbox.Spec{
		Argv: []string{"bash", "-c", line}, Dir: dir, Env: sandbox.Overlay(os.Environ(), c.Environ()), Stdout: &buf,
		Stderr: &buf, Confine: c.Confinement,
	})
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return exit.Code, buf.String()
}

func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("git", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=A",
		"GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func TestTheSandboxCanBeSwitchedOff(t *testing.T) {
	p := newPlace(t)
	for _, o := range []boundary.Options{
		p.options("off", ""), p.options("off", `{"enabled": true}`),
		p.options("", `{"enabled": false, "failIfUnavailable": true}`),
	} {
		if b, err := boundary.Open(o); b != nil || err != nil {
			t.Errorf("%s %s: got %v, %v", o.Flag, o.Settings, b, err)
		}
	}
	if _, err := boundary.Open(p.options("tight", "")); err == nil || !strings.Contains(err.Error(),
		"read-only, workspace") {
		t.Errorf("got %v", err)
	}
}

func TestAMissingTierIsAnErrorOrANote(t *testing.T) {
	p := newPlace(t)
	for _, s := range []confine.Support{{Why: "no kernel"}, {Tier: confine.Landlock, ABI: 3, Why: "no kernel"}} {
		for settings, flag := range map[string]string{`{"enabled": true, "failIfUnavailable": true}`: "", `{}`: "workspace"} {
			o := p.options(flag, settings)
			o.Detect = func() confine.Support { return s }
			if _, err := boundary.Open(o); err == nil || !strings.Contains(err.Error(), "no kernel") {
				t.Errorf("%v, %s %s: got %v", s.Tier, flag, settings, err)
			}
		}
		o := p.options("", `{"enabled": true}`)
		o.Detect = func() confine.Support { return s }
		b, err := boundary.Open(o)
		if err != nil || !strings.Contains(b.Note(), "no kernel") || b.BypassForbidden(o.Settings,
			func() error { return nil }) == nil || b.Confined() != (s.Tier == confine.Landlock) {
			t.Errorf("%v: got %v, %v", s.Tier, b, err)
		}
	}
}

// Commands run unasked in the full tier only, and only where the settings say so.
func TestCommandsRunUnaskedInTheFullTierOnly(t *testing.T) {
	p := newPlace(t)
	for _, tier := range []confine.Tier{confine.None, confine.Landlock, confine.Full} {
		for settings, allowed := range map[string]bool{
			`{"enabled": true}`: false,
			`{"enabled": true, "autoAllowBashIfSandboxed": true}`: true, `{"autoAllowBashIfSandboxed": true}`: true,
		} {
			o := p.options("", settings)
			o.Detect = func() confine.Support { return confine.Support{Tier: tier, Why: "of the test"} }
			b, err := boundary.Open(o)
			if err != nil {
				t.Fatal(err)
			}
			if got := b.RunsUnasked(); got != (allowed && tier == confine.Full) {
				t.Errorf("%s in the tier %s: unasked is %v", settings, tier, got)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestSecretsCannotBeReadInside(t *testing.T) {
	p := newPlace(t)
	for _, name := range []string{p.dir + "/.env", p.dir + "/.env.local", p.home + "/.ssh/id", p.config +
		"/settings.json", p.home + "/more"} {
		write(t, name, "secret-of-mine")
	}
	write(t, p.dir+"/.env.example", "example")
	b := p.open(t, `{"enabled": true, "filesystem": {"denyRead": ["~/more"]}}`)
	_, out, _, _ := run(t, b, p.dir, "cat .env .env.local ~/x "+p.home+"/.ssh/id "+p.config+"/settings.json "+p.home+
		"/more; ls "+p.home+"/.ssh; cat .env.example")
	if strings.Contains(out, "secret-of-mine") || !strings.Contains(out, "example") || strings.Contains(out, "\nid\n") {
		t.Errorf("got %s", out)
	}
}

func TestSettingsWidenAndNarrowWhatCanBeWritten(t *testing.T) {
	p := newPlace(t)
	write(t, p.home+"/open/file", "")
	write(t, p.dir+"/keep/file", "")
	b := p.open(t, `{"enabled": true, "filesystem": {"allowWrite": ["~/open"], "denyWrite": ["keep"]}}`)
	code, out, _, why := run(t, b, p.dir, "echo 1 >>"+p.home+"/open/file && echo 2 >new && echo 3 >>keep/file")
	if code == 0 || !strings.Contains(out, "keep/file: Read-only file system") || strings.Contains(out, "open") {
		t.Errorf("got %d: %s", code, out)
	}
	if !strings.Contains(why, "sandbox") || !strings.Contains(why, "keep/file: Read-only file system") {
		t.Errorf("the refusal is told as %q", why)
	}
}

func TestReadOnlyModeWritesNothing(t *testing.T) {
	p := newPlace(t)
	b := p.open(t, `{"enabled": true, "mode": "read-only"}`)
	if code, out, _, _ := run(t, b, p.dir, "touch x"); code == 0 || !strings.Contains(out, "Read-only") {
		t.Errorf("got %d: %s", code, out)
	}
}

func TestPlantedFilesAreSetAside(t *testing.T) {
	p := newPlace(t)
	gitIn(t, p.dir, "init", "-q")
	if err := os.RemoveAll(p.dir + "/.git/hooks"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(p.home, p.dir+"/.idea"); err != nil {
		t.Fatal(err)
	}
	b := p.open(t, `{"enabled": true}`)
	_, out, notes,
		_ := run(t, b, p.dir,
		`mkdir .git/hooks .vscode && echo x >.git/hooks/pre-commit && echo '{}' >.vscode/tasks.json && ln -sfn /etc .idea && echo '{}' >.mcp.json`)
	if len(notes) != 4 {
		t.Fatalf("got %q: %s", notes, out)
	}
	for _, name := range []string{".git/hooks", ".vscode", ".mcp.json", ".idea"} {
		if _, err := os.Lstat(filepath.Join(p.dir, name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
	kept, _ := filepath.Glob(p.state + "/set-aside/*/hooks/pre-commit")
	if len(kept) != 1 {
		t.Errorf("the hook was not kept: %q", notes)
	}
}

func TestARepositoryMadeInsideStays(t *testing.T) {
	p := newPlace(t)
	b := p.open(t, `{"enabled": true}`)
	code, out, notes, _ := run(t, b, p.dir, "git init -q . && git status")
	if code != 0 || len(notes) != 0 {
		t.Errorf("got %d, %q: %s", code, notes, out)
	}
	if err := os.RemoveAll(p.dir + "/.git"); err != nil {
		t.Fatal(err)
	}
	if _, out, notes, _ = run(t, b, p.dir, "git init -q . && git config core.fsmonitor ./x"); len(notes) != 1 ||
		!strings.Contains(notes[0], ".git/config") {
		t.Errorf("a program in the configuration: %q: %s", notes, out)
	}
}

// commit is a commit with the identity in the environment: the configuration is read-only.
const commit = `export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.com GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.com; git add -A && git commit -qm inside && git log --oneline`

func TestGitCommitWorksInside(t *testing.T) {
	p := newPlace(t)
	gitIn(t, p.dir, "init", "-q")
	write(t, p.dir+"/sub/file", "x")
	gitIn(t, p.dir, "add", "-A")
	gitIn(t, p.dir, "commit", "-qm", "first")
	gitIn(t, p.dir, "worktree", "add", "-q", p.dir+".other")
	b := p.open(t, `{"enabled": true}`)
	for _, dir := range []string{p.dir, p.dir + "/sub", p.dir + ".other"} {
		write(t, dir+"/new", dir)
		if code, out, notes, _ := run(t, b, dir, commit); code != 0 || !strings.Contains(out, "inside") || len(notes) > 0 {
			t.Errorf("%s: got %d, %q: %s", dir, code, notes, out)
		}
		hook := "echo x >$(git rev-parse --git-common-dir)/hooks/post-commit"
		if code, out, _, _ := run(t, b, dir, hook); code == 0 {
			t.Errorf("%s: a hook was written: %s", dir, out)
		}
	}
}

func TestAGitFileDoesNotOpenAnotherFolder(t *testing.T) {
	p := newPlace(t)
	other := p.home + "/repo"
	if err := os.MkdirAll(other, 0o700); err != nil {
		t.Fatal(err)
	}
	gitIn(t, other, "init", "-q")
	gitIn(t, other, "-c", "user.name=u", "-c", "user.email=u@example.com", "commit", "-q", "--allow-empty", "-m", "x")
	gitIn(t, other, "worktree", "add", "-q", p.home+"/tree")
	for name, text := range map[string]string{
		"HEAD": "ref: refs/heads/main\n", "commondir": other + "/.git\n",
		"gitdir": p.dir + "/.git\n",
	} {
		write(t, p.dir+"/own/"+name, text)
		if name != "gitdir" {
			write(t, other+"/.git/worktrees/half/"+name, text)
		}
	}
	b := p.open(t, `{"enabled": true}`)
	for what, named := range map[string]string{
		"a repository": other + "/.git", "another's work tree": other + "/.git/worktrees/tree",
		"one that does not say whose it is":     other + "/.git/worktrees/half",
		"a folder here that names a repository": p.dir + "/own",
	} {
		write(t, p.dir+"/.git", "gitdir: "+named+"\n")
		if code, out, _, _ := run(t, b, p.dir, "touch "+other+"/.git/planted"); code == 0 {
			t.Errorf("the .git file names %s, and its folder can be written: %s", what, out)
		}
	}
}

func TestEverydayProgramsWorkInside(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	p := newPlace(t)
	write(t, p.dir+"/go.mod", "module example.com/x\n\ngo 1.21\n")
	write(t, p.dir+"/main.go", "package main\n\nfunc main() { println(\"built\") }\n")
	write(t, p.dir+"/main_test.go", "package main\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestIt(t *testing.T) "+
		"{\n\tif err := os.WriteFile(t.TempDir()+\"/x\", nil, 0o600); err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n")
	write(t, p.dir+"/c/x.c", "#include <stdio.h>\nint main(void) { puts(\"compiled\"); return 0; }\n")
	write(t, p.dir+"/c/Makefile", "all:\n\t@$(CC) -o x x.c && ./x\n")
	b := p.open(t, `{"enabled": true}`)
	for _, tt := range []struct{ program, line, want string }{
		{"go", "go build -o x . && ./x && go test -vet=off .", "built"},
		{"gcc", "cd c && gcc -g -o x x.c && ./x", "compiled"},
		{"make", "make -C c", "compiled"},
		{
			"python3",
			`python3 -c 'import tempfile, subprocess, multiprocessing, socket; tempfile.TemporaryFile(); s = socket.socketpair(); p = multiprocessing.Pool(2); print(p.map(abs, [-7])); print(subprocess.check_output(["echo", "spawned"]))'`, "[7]\nb'spawned",
		},
		{
			"node",
			`node -e 'require("child_process").exec("echo spawned", (e, out) => { require("http").createServer((q, r) => r.end("served")).listen(0, "127.0.0.1", function () { require("http").get({port: this.address().port, host: "127.0.0.1"}, r => { r.on("data", d => { console.log(out + d); process.exit(0) }) }) }) })'`, "spawned\nserved",
		},
		{"gdb", `gdb -q -batch -ex 'break main' -ex run -ex bt c/x`, "main ()"},
		{"script", `script -qec 'tty' /dev/null`, "/dev/pts/"},
	} {
		t.Run(tt.program, func(t *testing.T) {
			if _, err := exec.LookPath(tt.program); err != nil {
				t.Skipf("%s is not installed", tt.program)
			}
			if code, out, notes, _ := run(t, b, p.dir, tt.line); code != 0 || !strings.Contains(out, tt.want) || len(notes) > 0 {
				t.Errorf("exit code %d, %q: %s", code, notes, out)
			}
		})
	}
}

// The settings' paths hold for the same files in a copy of the project.
func TestPathsOfTheSettingsHoldInACopyOfTheProject(t *testing.T) {
	p := newPlace(t)
	b := p.open(t, `{"enabled": true, "filesystem": {"denyRead": ["hidden"], "denyWrite": ["kept"]}}`)
	tree := p.dir + ".worktrees/1"
	write(t, tree+"/hidden/a", "secret")
	write(t, tree+"/kept", "kept")
	c, err := b.ForCopy([]string{tree}, nil, permission.ReachWrite, boundary.Network{},
		func(path string) string { return strings.Replace(path, p.dir, tree, 1) })
	if err != nil {
		t.Fatal(err)
	}
	r := sandbox.New()
	defer r.Close()
	var out bytes.Buffer
	_, err = r.Run(t.Context(), sandbox.Spec{
		Argv: []string{"sh", "-c", "cat hidden/a; echo x > kept; echo x > free"}, Dir: tree,
		Env: sandbox.Overlay(os.Environ(), c.Environ()), Stdout: &out, Stderr: &out, Confine: c.Confinement,
	})
	c.Done()
	if err != nil || strings.Contains(out.String(), "secret") {
		t.Errorf("%q %v", out.String(), err)
	}
	for name, want := range map[string]string{"/kept": "kept", "/free": "x\n"} {
		if text, err := os.ReadFile(tree + name); err != nil || string(text) != want {
			t.Errorf("%s: %q %v", name, text, err)
		}
	}
}
