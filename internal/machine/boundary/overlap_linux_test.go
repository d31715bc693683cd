//go:build linux && (amd64 || arm64)

package boundary_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

// background is a command that runs beside others: it waits for the file go before its line.
func background(t *testing.T, b *boundary.Boundary, dir, line string) (end func() []string) {
	t.Helper()
	c, err := b.For([]string{dir}, boundary.Network{})
	if err != nil {
		t.Fatal(err)
	}
	r := sandbox.New()
	t.Cleanup(r.Close)
	wait, finish, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { wait.Close(); finish.Close() })
	p, err := r.Start(t.Context(), sandbox.Spec{
		Argv: []string{"bash", "-c", "read; " + line}, Dir: dir,
		Env: os.Environ(), Stdin: wait, Confine: c.Confinement,
	})
	if err != nil {
		t.Fatal(err)
	}
	return func() []string {
		if _, err := finish.WriteString("\n"); err != nil {
			t.Fatal(err)
		}
		p.Wait()
		return c.Done()
	}
}

// The second command begins when what the first one plants is there, and plants it again when the first has ended.
func TestTwoCommandsAtOncePlantNothing(t *testing.T) {
	p := newPlace(t)
	b := p.open(t, `{"enabled": true}`)
	gitIn(t, p.dir, "init", "-q")
	gitIn(t, p.dir, "init", "-q", "inner")
	const plant = `mkdir -p .husky sub/.vscode inner/.git/hooks; echo evil >.husky/pre-commit; echo evil >sub/.vscode/tasks.json; echo evil >.envrc
		echo evil >inner/.git/hooks/pre-commit; printf '[core]\n\tfsmonitor = evil\n' >inner/.git/config; printf evil >inner/.git/commondir; true`
	first, err := b.For([]string{p.dir}, boundary.Network{})
	if err != nil {
		t.Fatal(err)
	}
	if code, out := start(t, first, p.dir, plant); code != 0 {
		t.Fatal(out)
	}
	end := background(t, b, p.dir, plant)
	if lines := first.Done(); len(lines) == 0 {
		t.Error("the first command planted nothing")
	}
	if lines := end(); len(lines) == 0 {
		t.Error("nothing of the second command was set aside")
	}
	for _, name := range []string{
		".husky", "sub/.vscode", ".envrc", "inner/.git/hooks/pre-commit",
		"inner/.git/commondir",
	} {
		if _, err := os.Lstat(filepath.Join(p.dir, name)); err == nil {
			t.Errorf("%s stayed", name)
		}
	}
	if text, err := os.ReadFile(p.dir + "/inner/.git/config"); err == nil && len(text) < 60 {
		t.Errorf("inner/.git/config is %s", text)
	}
}

func TestARepositoryBelowIsNotLedElsewhere(t *testing.T) {
	for what, plant := range map[string]string{
		"commondir":                `echo ../../evil >inner/.git/commondir`,
		"config.worktree":          `printf '[core]\n\tfsmonitor = evil\n' >inner/.git/config.worktree`,
		"info/attributes":          `echo '* filter=evil' >inner/.git/info/attributes`,
		"a file .git":              `mv inner/.git inner/old; echo 'gitdir: ../evil' >inner/.git`,
		"a link .git":              `mv inner/.git inner/old; ln -s ../evil inner/.git`,
		"a link of hooks":          `mv inner/.git/hooks inner/.git/old; ln -s ../../evil/hooks inner/.git/hooks`,
		"a file that was a link":   `ln -sfn ../evil linked/.git`,
		"a hook with its old time": `echo evil >inner/.git/hooks/pre-push; touch -r inner/.git/hooks inner/.git/hooks/pre-push`,
		"a bare repository":        `mkdir -p bare/objects bare/refs; echo 'ref: refs/heads/x' >bare/HEAD; printf '[core]\n\tfsmonitor = evil\n' >bare/config`,
		"hooks of a bare one":      `git init -q --bare bare; echo evil >bare/hooks/post-receive`,
	} {
		t.Run(what, func(t *testing.T) {
			p := newPlace(t)
			b := p.open(t, `{"enabled": true}`)
			gitIn(t, p.dir, "init", "-q", "inner")
			write(t, p.dir+"/inner/.git/hooks/pre-push", "good")
			write(t, p.dir+"/inner/.git/info/exclude", "")
			write(t, p.dir+"/linked/real/HEAD", "x")
			if err := os.Symlink("real", p.dir+"/linked/.git"); err != nil {
				t.Fatal(err)
			}
			write(t, p.dir+"/evil/hooks/pre-commit", "evil")
			code, out, lines, _ := run(t, b, p.dir, plant)
			if code != 0 || len(lines) == 0 {
				t.Errorf("exit code %d, set aside: %q, %s", code, lines, out)
			}
			if code, out, lines, _ := run(t, b, p.dir, "true"); code != 0 || len(lines) != 0 {
				t.Errorf("exit code %d, a second time: %q, %s", code, lines, out)
			}
		})
	}
}

func TestARepositoryThatACommandMakesBelowStays(t *testing.T) {
	p := newPlace(t)
	b := p.open(t, `{"enabled": true}`)
	code, out, lines,
		_ := run(t, b, p.dir,
		`git init -q --bare sub/bare && git init -q sub/work && mkdir -p sub/work/hooks && git clone -q sub/bare sub/copy 2>&1 && mv sub other && ls -d other/*`)
	if code != 0 || len(lines) != 0 {
		t.Errorf("exit code %d, set aside: %q, %s", code, lines, out)
	}
	if code, out, lines, _ := run(t, b, p.dir, `mv other again && git -C again/work status -s`); code != 0 ||
		len(lines) != 0 {
		t.Errorf("exit code %d, set aside: %q, %s", code, lines, out)
	}
}

func TestWhatAHookPlantsIsToldWithTheNextCommand(t *testing.T) {
	p := newPlace(t)
	b := p.open(t, `{"enabled": true}`)
	c, done, err := b.ForHook(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	r := sandbox.New()
	defer r.Close()
	if _, err := r.Run(t.Context(), sandbox.Spec{
		Argv: []string{"mkdir", ".codex", ".husky"}, Dir: p.dir,
		Confine: c,
	}); err != nil {
		t.Fatal(err)
	}
	done()
	_, _, lines, _ := run(t, b, p.dir, "ls -a")
	if len(lines) != 2 {
		t.Errorf("got %q", lines)
	}
	if _, _, lines, _ := run(t, b, p.dir, "true"); len(lines) != 0 {
		t.Errorf("a second time: %q", lines)
	}
}
