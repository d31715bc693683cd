//go:build unix

package tool_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/tool"
)

// warningOf is the warning that the dialog of a command shows.
func warningOf(t testing.TB, env *tool.Env, command string) string {
	t.Helper()
	plan := planBash(t, env, command)
	v := plan.Preview.(event.Command)
	if looks := plan.Accesses[0].Command.Class == permission.ClassDestructive; looks != (v.Warning != nil) {
		t.Errorf("%s: %s with warning %q", command, plan.Accesses[0].Command.Class, v.Warning)
	}
	return strings.Join(v.Warning, "\n")
}

func TestTheDialogSaysWhichFilesWouldBeLost(t *testing.T) {
	needBash(t)
	env := bashIn(t, "bash")
	root := env.Roots.First()
	put := func(name string, n int) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(root+"/"+name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(root+"/"+name, make([]byte, n), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 30 {
		put(fmt.Sprintf("build/a/%d.o", i), 1000)
	}
	put("build/b/x", 24)
	put("one two", 5)
	for i := range 8 {
		put(fmt.Sprintf("many/%d.log", i), 10)
	}
	if err := os.Symlink(root+"/build", root+"/link"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		command string
		want    []string
	}{
		{"rm -rf build", []string{"build: 31 files in 3 folders, 29.3 kB"}},
		{"rm -rf build 'one two'", []string{"build: 31 files", "one two: 1 file, 5 bytes"}},
		{"cd build && rm -rf a", []string{"build/a: 30 files in 1 folder"}},
		{"rm many/*.log", []string{"many/0.log: 1 file, 10 bytes", "and 3 more: 3 files, 30 bytes"}},
		{"find build -name '*.o' -delete", []string{"find -delete removes what it finds.", "build: 31 files"}},
		{"truncate -s 0 'one two'", []string{"one two: 1 file, 5 bytes"}},
		{"rm -rf nothing-here", []string{"rm removes files: nothing-here."}},
		{"ls", nil},
		{"touch x", nil},
		{"echo x >build/b/x", nil},
	} {
		wantIn(t, warningOf(t, env, tt.command), tt.want...)
	}
}

func TestTheLookAtWhatWouldBeLostIsBounded(t *testing.T) {
	needBash(t)
	env := bashIn(t, "bash")
	for i := range 3 {
		dir := filepath.Join(env.Roots.First(), "big", strconv.Itoa(i))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for j := range 500 {
			if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(j)), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if files, cut, text := tool.MeasureRoot(env); !cut || files > 200 || !strings.HasPrefix(text, "more than ") {
		t.Errorf("%d files, cut %v: %s", files, cut, text)
	}
}

func TestAWarningStaysShort(t *testing.T) {
	needBash(t)
	env := bashIn(t, "bash")
	got := warningOf(t, env, "rm "+strings.Repeat("nothing-here-", 300)+
		strings.Repeat("; kill 123456789; pkill none$X; docker rm x; git -C none clean -f; dropdb a", 40))
	if lines := strings.Count(got, "\n"); lines > 30 || len(got) > 10_000 {
		t.Errorf("%d lines, %d bytes", lines, len(got))
	}
}

// gitHere makes a repository with a remote in the first root.
func gitHere(t testing.TB, env *tool.Env) func(script string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	root := env.Roots.First()
	environ := []string{
		"HOME=/nonexistent", "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a",
		"GIT_AUTHOR_EMAIL=a@b",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
	}
	env.Environ = func() []string { return environ }
	sh := func(script string) {
		t.Helper()
		cmd := exec.Command("bash", "-ec", script)
		cmd.Dir, cmd.Env = root, environ
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", script, err, out)
		}
	}
	remote := t.TempDir()
	sh(`git init -q -b main; git init -q --bare ` + remote + `; git remote add origin ` + remote + `
echo 1 >a; echo 1 >b; git add .; git commit -qm one; git push -q -u origin main; echo 2 >>a; git commit -qam two`)
	return sh
}

func TestTheDialogSaysWhichWorkWouldBeLost(t *testing.T) {
	needBash(t)
	env := bashIn(t, "bash")
	sh := gitHere(t, env)
	wantIn(t, warningOf(t, env, "git reset --hard"), "There are no uncommitted changes")
	sh(
		`echo 3 >>a; echo 3 >>b; git add b; echo n >new.txt; mkdir d; echo 1 >d/x; echo 12 >d/y; echo '*.log' >.git/info/exclude; echo log >x.log`)
	wantIn(t, warningOf(t, env, "git reset --hard HEAD~1"), "Uncommitted: 1 staged, 1 changed, 0 in conflict: ", "a, b",
		"1 commit would leave main")
	wantIn(t, warningOf(t, env, "git checkout -- ."), "1 staged, 1 changed")
	wantIn(t, warningOf(t, env, "git checkout ."), "1 staged, 1 changed",
		"2 paths that git does not know may be overwritten")
	wantIn(t, warningOf(t, env, "git restore a"), "Uncommitted")
	wantIn(t, warningOf(t, env, "cd d && git restore x"), "Uncommitted")
	wantIn(t, warningOf(t, env, "git -C d restore x"), "Uncommitted")
	wantIn(t, warningOf(t, env, "git clean -fd"), "git would remove 3 files in 3 folders, 7 bytes", "d/", "new.txt")
	wantIn(t, warningOf(t, env, "git clean -fdx"), "x.log")
	wantIn(t, warningOf(t, env, "git push --force"), "1 commit would be published to origin/main",
		"were not fetched yet would be thrown away")
	sh(`git branch side; git checkout -q side; git stash -q; echo s >>a; git commit -qam side; git checkout -q main`)
	wantIn(t, warningOf(t, env, "git branch -D side"), "side: 1 commit is on no other branch")
	wantIn(t, warningOf(t, env, "git stash drop"), "In the stash: stash@{0}")
	wantIn(t, warningOf(t, env, "cd $X && git reset --hard"), "not known")
	sh(`git reset -q --hard HEAD~1`)
	wantIn(t, warningOf(t, env, "git push -f origin main"), "0 commits would be published")
}

func TestTheDialogSaysWhichProcessesWouldEnd(t *testing.T) {
	needBash(t)
	env := bashIn(t, "bash")
	cmd := exec.Command("sleep", "1000.125")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	pid := strconv.Itoa(cmd.Process.Pid)
	wantIn(t, warningOf(t, env, "kill -9 "+pid), "It would end 1 process: "+pid+" sleep 1000.125")
	wantIn(t, warningOf(t, env, "pkill -f 'sleep 1000[.]125'"), pid+" sleep 1000.125")
	wantIn(t, warningOf(t, env, "kill "+strconv.Itoa(os.Getpid())),
		"lathe itself, or a process it runs in, is among them.")
	wantIn(t, warningOf(t, env, "killall no-such-program-here"), "No process that runs now is meant.")
}

func BenchmarkBashPrepareDestructive(b *testing.B) {
	env := bashIn(b, "bash")
	for b.Loop() {
		planBash(b, env, "rm -rf sub")
	}
}
