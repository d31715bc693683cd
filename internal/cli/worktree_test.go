//go:build unix

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository makes the folder of d a repository with one commit.
func (d *driven) git(args ...string) string {
	d.t.Helper()
	c := exec.Command("git", append([]string{
		"-c", "user.name=x", "-c", "user.email=x@example.com", "-c",
		"init.defaultBranch=main",
	}, args...)...)
	c.Dir = d.dir
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := c.CombinedOutput()
	if err != nil {
		d.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// once runs lathe with a prompt in the folder of d.
func (d *driven) once(args ...string) (out, stderr string, code int) {
	d.t.Helper()
	c := exec.Command(d.cmd.Path, append([]string{"-p"}, args...)...)
	var o, e strings.Builder
	c.Dir, c.Env, c.Stdout, c.Stderr = d.dir, d.cmd.Env, &o, &e
	_ = c.Run() // the exit code is checked
	return o.String(), e.String(), c.ProcessState.ExitCode()
}

func TestAWorktreeHoldsTheWorkOfARun(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	d := drive(t, `
reply
  when result="File created"
  say Done.
reply
  when contains="write it"
  call Write {"file_path":"made.txt","content":"x\n"}
final
  say Done.
`)
	d.end()
	if _, stderr, code := d.once("--worktree", "one", "hi"); code != 2 || !strings.Contains(stderr,
		"not in a git repository") {
		t.Errorf("%d %s", code, stderr)
	}
	d.git("init", "-q")
	if _, stderr, code := d.once("--worktree=one", "hi"); code != 2 || !strings.Contains(stderr, "a commit") {
		t.Errorf("%d %s", code, stderr)
	}
	d.write("a.txt", "a\n")
	d.git("add", ".")
	d.git("commit", "-qm", "first")
	hook := filepath.Join(d.dir, ".git", "hooks", "post-checkout")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\ntouch "+d.dir+"/ran\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../x", "a/b", "-x", "a..b", "", ".hidden", strings.Repeat("x", 65), "a b", "a\nb"} {
		if _, stderr, code := d.once("--worktree="+name, "hi"); code != 2 || !strings.Contains(stderr, "not a name") {
			t.Errorf("%q: %d %s", name, code, stderr)
		}
	}

	// Nothing is changed: it is gone, with its branch.
	if out, stderr, code := d.once("--worktree", "hi there"); code != 0 || out != "Done.\n" || !strings.Contains(stderr,
		"is removed") {
		t.Errorf("%d %s %s", code, out, stderr)
	}
	if b := d.git("branch", "--list", "worktree-*"); b != "" {
		t.Errorf("branches are left: %s", b)
	}
	trees := d.dir + ".worktrees"
	if _, err := os.Lstat(trees); err == nil {
		t.Error("the folder of the worktrees is left")
	}

	// A changed work tree stays, and a second run continues in it.
	one := filepath.Join(trees, "one")
	if _, stderr, code := d.once("-w", "one", "--permission-mode", "acceptEdits", "write it"); code != 0 ||
		!strings.Contains(stderr, "the work is in "+one) {
		t.Errorf("%d %s", code, stderr)
	}
	if b, err := os.ReadFile(filepath.Join(one, "made.txt")); err != nil || string(b) != "x\n" {
		t.Errorf("%q %v", b, err)
	}
	if _, err := os.Stat(filepath.Join(d.dir, "made.txt")); err == nil {
		t.Error("the run worked in the repository itself")
	}
	if out, _, code := d.once("-w", "one", "--output-format", "stream-json", "hi"); code != 0 || !strings.Contains(out,
		`"cwd":"`+one+`"`) {
		t.Errorf("%d %s", code, out)
	}
	if _, err := os.Stat(filepath.Join(one, "made.txt")); err != nil {
		t.Error("the second run removed the work of the first")
	}
	if _, err := os.Stat(filepath.Join(d.dir, "ran")); err == nil {
		t.Error("a hook of the repository ran")
	}
}

// Hooks of the user make the folder of a run in the place of git, also where there is no repository, and get it back if
// nothing was changed.
func TestHooksMakeTheWorktreeOfARun(t *testing.T) {
	d := drive(t, `
reply
  when result="File created"
  say Done.
reply
  when contains="write it"
  call Write {"file_path":"made.txt","content":"x\n"}
final
  say Done.
`)
	d.end()
	top := filepath.Dir(d.dir)
	settings := func(create string) string {
		return `{"hooks": {"WorktreeCreate": [{"hooks": [{"type": "command", "command": "` + create + `"}]}],
			"WorktreeRemove": [{"hooks": [{"type": "command", "command": "cat > ` + top +
			`/removed; echo put away >&2; exit 2"}]}]}}`
	}
	file := filepath.Join(top, ".claude", "settings.json")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	write(settings(`cat > ` + top + `/asked; n=$(sed 's/.*\"name\":\"\\([a-z]*\\)\".*/\\1/' ` + top +
		`/asked); mkdir -p ../trees/$n; echo ../trees/$n`))
	one := filepath.Join(top, "trees", "one")

	out, stderr, code := d.once("--worktree", "one", "--output-format", "stream-json", "hi")
	if code != 0 || !strings.Contains(out, `"cwd":"`+one+`"`) || !strings.Contains(stderr, "working in "+one+
		", made by a hook") {
		t.Fatalf("%d %s %s", code, out, stderr)
	}
	if text, err := os.ReadFile(filepath.Join(top, "removed")); err == nil {
		if !strings.Contains(string(text), `"worktree_path":"`+one+`"`) || !strings.Contains(stderr, "put away") ||
			!strings.Contains(stderr, "nothing was changed") {
			t.Errorf("%s %s", text, stderr)
		}
	} else if !strings.Contains(stderr, "was there before") { // the file system does not say when it was made
		t.Errorf("%v %s", err, stderr)
	}
	_ = os.Remove(filepath.Join(top, "removed"))
	for _, prompt := range []string{"write it", "hi"} { // the second run changes nothing, and the work of the first stays
		if _, stderr, code := d.once("-w", "one", "--permission-mode", "acceptEdits", prompt); code != 0 ||
			!strings.Contains(stderr, one) {
			t.Errorf("%d %s", code, stderr)
		}
		if _, err := os.Stat(filepath.Join(one, "made.txt")); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(top, "removed")); err == nil {
			t.Errorf("%s: the hooks were told to remove work", prompt)
		}
	}

	write(settings("echo no room >&2; exit 1"))
	if _, stderr, code := d.once("--worktree", "two", "hi"); code != 2 || !strings.Contains(stderr, "no room") {
		t.Errorf("%d %s", code, stderr)
	}
	if n := len(d.srv.Requests()); n != 4 {
		t.Errorf("%d requests", n)
	}
}
