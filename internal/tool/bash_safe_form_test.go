//go:build unix

package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/tool"
)

// planBash prepares one command.
func planBash(t testing.TB, env *tool.Env, command string) *agent.Plan {
	t.Helper()
	raw, err := json.Marshal(in{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := toolOf(env, "Bash").Prepare(context.Background(), llm.ToolCall{ID: "c", Name: "Bash", Input: raw})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func needBash(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
}

func TestBashSaysWhatACommandWouldDo(t *testing.T) {
	needBash(t)
	env := bashIn(t, "bash")
	for _, tt := range []struct {
		command  string
		class    permission.Class
		parallel bool
	}{
		{"ls -la", permission.ClassList, true},
		{"cat sub/x | head -3", permission.ClassRead, true},
		{"grep -rn foo .", permission.ClassSearch, true},
		{"cd sub && ls", permission.ClassList, false},
		{"touch x", permission.ClassWrite, false},
		{"go test ./...", permission.ClassWrite, false},
		{"unheard-of --flag", permission.ClassWrite, false},
		{"ls; touch x", permission.ClassWrite, false},
	} {
		plan := planBash(t, env, tt.command)
		a := plan.Accesses[0]
		if a.Kind != permission.Exec || a.Target != tt.command || a.Command == nil || a.Command.Class != tt.class ||
			plan.Parallel != tt.parallel {
			t.Errorf("%s: %+v, %+v, parallel %v", tt.command, a, a.Command, plan.Parallel)
		}
		if safe := tt.command != "go test ./..." && tt.command != "unheard-of --flag"; safe != a.Command.Plain() ||
			a.Command.Class.ReadOnly() == plan.Writes() {
			t.Errorf("%s: plain %v, writes %v", tt.command, a.Command.Plain(), plan.Writes())
		}
	}
	plan := planBash(t, env, "echo x >out.txt")
	var wrote bool
	for _, a := range plan.Accesses {
		wrote = wrote || a.Kind == permission.Write && a.Target == filepath.Join(env.Roots.First(), "out.txt")
	}
	if !wrote {
		t.Errorf("the redirection is not seen: %+v", plan.Accesses)
	}
}

func TestAReadOnlyCommandRunsCleanly(t *testing.T) {
	needBash(t)
	env := bashIn(t, "bash")
	root := env.Roots.First()
	mark := filepath.Join(t.TempDir(), "ran")
	evil := "#!/bin/sh\necho \"$0\" >>" + mark + "\n"
	if err := os.MkdirAll(root+"/bin", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ls", "cat", "git", "head", "grep", "bash"} {
		if err := os.WriteFile(filepath.Join(root, "bin", name), []byte(evil), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	start := filepath.Join(root, "start.sh")
	if err := os.WriteFile(start, []byte("echo start >>"+mark+"\nls() { echo f >>"+mark+"; }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	env.Environ = func() []string {
		return append([]string{
			"HOME=/nonexistent", "BASH_ENV=" + start, "ENV=" + start, "BASH_FUNC_ls%%=() { echo function >>" + mark + "; }",
			"PROMPT_COMMAND=echo p >>" + mark, "GIT_EXTERNAL_DIFF=" + root + "/bin/ls", "GIT_PAGER=" + root + "/bin/ls",
			"LESSOPEN=|" + root + "/bin/ls %s",
			"SHELLOPTS=xtrace", "PS4=$(echo ps4 >>" + mark + ")", "MY_TOKEN=hunter2",
		}, "PATH="+root+"/bin:.:bin:/usr/local/bin:/usr/bin:/bin")
	}
	if err := os.WriteFile(root+"/f.txt", []byte("one\ntwo\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		"cat f.txt":                     "one\ntwo",
		"ls f.txt":                      "f.txt",
		"cat f.txt | head -1":           "one",
		"grep -c o *.txt":               "2",
		"cat < f.txt":                   "one\ntwo",
		"grep nothing f.txt":            "(Exit code 1: no lines matched)",
		"ls f.txt && cat none":          "none: No such file or directory",
		"cd sub && pwd":                 root + "/sub",
		"echo 'a  b'  \"c\"":            "a  b c",
		"ls f.txt >/dev/null; echo end": "end",
		"cat":                           "(no output)",
	} {
		env.Dir.Set(root)
		plan := planBash(t, env, command)
		if c := plan.Accesses[0].Command; !c.Class.ReadOnly() {
			t.Errorf("%s: is %s: %+v", command, c.Class, c)
			continue
		}
		r, err := plan.Run(t.Context())
		if err != nil {
			t.Errorf("%s: %v", command, err)
			continue
		}
		if got := textOf(r); got != want && !strings.HasSuffix(got, want) {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
		if ran, err := os.ReadFile(mark); err == nil {
			t.Errorf("%s ran %s", command, ran)
			os.Remove(mark)
		}
	}
	if got := bash(t, env, "echo $MY_TOKEN"); got != "hunter2" { // approved: as the user would have it
		t.Errorf("the user's environment is gone: %q", got)
	}
	env.ChildEnv.ScrubCredentials = true
	if got := bash(t, env, "echo $MY_TOKEN."); got != "." {
		t.Errorf("a credential is there although they are scrubbed: %q", got)
	}
}

func TestReadOnlyGitRunsNothingOfTheRepository(t *testing.T) {
	needBash(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	env := bashIn(t, "bash")
	env.Environ = func() []string { return []string{"HOME=/nonexistent", "PATH=/usr/local/bin:/usr/bin:/bin"} }
	root := env.Roots.First()
	if out, err := exec.Command("git", "-C", root, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.WriteFile(root+"/f", []byte("x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	plan := planBash(t, env, "git status --short")
	if c := plan.Accesses[0].Command; !c.Class.ReadOnly() {
		t.Fatalf("%+v", c)
	}
	// The configuration names a program between the check and the run.
	if out, err := exec.Command("git", "-C", root, "config", "core.fsmonitor", "touch "+root+
		"/ran; false").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r, err := plan.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := textOf(r); !strings.HasPrefix(got, "?? f") {
		t.Errorf("%q", got)
	}
	if _, err := os.Stat(root + "/ran"); err == nil {
		t.Error("the repository's program ran")
	}
	if c := planBash(t, env, "git status --short").Accesses[0].Command; c.Class.ReadOnly() {
		t.Errorf("git would run a program of the repository and still counts as read-only: %+v", c)
	}
}

func TestAReadOnlyCommandMovesTheFolderToo(t *testing.T) {
	needBash(t)
	env := bashIn(t, "sh")
	for _, tt := range []struct{ command, dir string }{
		{"cd sub", "sub"},
		{"cd deep && ls", "sub/deep"},
		{"cd ../.. && pwd", "."},
		{"ls sub", "."},
	} {
		plan := planBash(t, env, tt.command)
		if !plan.Accesses[0].Command.Class.ReadOnly() {
			t.Errorf("%s is not read-only", tt.command)
		}
		if _, err := plan.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := filepath.Join(env.Roots.First(), tt.dir); env.Dir.Get() != want {
			t.Errorf("%s: in %s", tt.command, env.Dir.Get())
		}
	}
}

func TestACommandRunsOnlyInTheFolderItWasApprovedFor(t *testing.T) {
	env := bashIn(t, "bash")
	root, outside := env.Roots.First(), t.TempDir()
	for name, change := range map[string]func() error{
		"the session went elsewhere": func() error { env.Dir.Set(root + "/sub/deep"); return nil },
		"a link took its place": func() error {
			if err := os.Rename(root+"/sub", root+"/old"); err != nil {
				return err
			}
			return os.Symlink(outside, root+"/sub")
		},
		"another folder took its place": func() error {
			if err := os.Rename(root+"/sub", root+"/old"); err != nil {
				return err
			}
			return os.Mkdir(root+"/sub", 0o755)
		},
		"it is gone": func() error { return os.RemoveAll(root + "/sub") },
	} {
		if err := os.RemoveAll(root + "/sub"); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(root+"/sub/deep", 0o755); err != nil {
			t.Fatal(err)
		}
		env.Dir.Set(root + "/sub")
		plan := planBash(t, env, "touch made")
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if _, err := plan.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "working folder was "+root+"/sub") {
			t.Errorf("%s: %v", name, err)
		}
		for _, dir := range []string{root, outside, root + "/sub", root + "/sub/deep"} {
			if _, err := os.Stat(dir + "/made"); err == nil {
				t.Errorf("%s: it ran in %s", name, dir)
			}
		}
		os.RemoveAll(root + "/old")
	}
}

func TestTheShellIsFoundWithoutASession(t *testing.T) {
	env := &tool.Commands{Files: &tool.Files{Environ: func() []string { return []string{"PATH=/usr/bin:/bin"} }}}
	if path, err := env.ShellPath(); err != nil || !filepath.IsAbs(path) {
		t.Errorf("%q, %v", path, err)
	}
}

func TestBashWorksWhereEveryProgramLiesInTheWorkingFolder(t *testing.T) {
	env, err := tool.NewEnv("/")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(env.Runner.Close)
	env.Environ = func() []string { return []string{"PATH=/usr/bin:/bin"} }
	plan := planBash(t, env, "ls -d /")
	if os.Geteuid() == 0 && plan.Accesses[0].Command.Class.ReadOnly() {
		t.Error("a program that lathe could replace runs without a question")
	}
	r, err := plan.Run(t.Context())
	if err != nil || textOf(r) != "/" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestAReadOnlyCommandGivesTheSameAsThePlainShell runs commands both ways.
func TestAReadOnlyCommandGivesTheSameAsThePlainShell(t *testing.T) {
	needBash(t)
	env := bashIn(t, "bash")
	env.Environ = func() []string { return []string{"HOME=/nonexistent", "PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"} }
	root := env.Roots.First()
	for name, content := range map[string]string{
		"a b.txt": "1\n2\n", "n-": "dash\n", "it's": "quote\n", "é.txt": "é\n",
		"sub/c.go": "package c\n", "$HOME": "d\n", "x*y": "star\n",
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	looked := 0
	for _, command := range []string{
		"ls", "ls -1 *", "cat *.txt", "cat ./*", "cat -- *", "cat 'a b.txt'", `cat a\ b.txt`, `cat "it's"`, `cat '$HOME'`,
		"cat 'x*y'", "cat x\\*y", "grep -r package .", "grep -rn '[12]' --include='*.txt' .",
		"cat none; echo $?", "cat none && echo no || echo yes", "ls none 2>&1 | head -1", "false; true", "false",
		"head -n 1 -- n-", "wc -l *.txt", "sort -r 'a b.txt' | tail -1", "find . -name '*.go'",
		"echo {a,b}c", "echo a{1..3}", "echo \"a  b\" 'c'", "echo -e 'a\\tb'", "printf '%s\\n' a b",
		"cd sub && cat c.go; pwd", "test -f c.go || echo none", "[ -d sub ] && echo folder", "! false && echo yes",
		"cat <<'E'\n$HOME `x`\nE", "cat < 'a b.txt'", "(cd sub && pwd); pwd", "{ echo a; echo b; } | wc -l",
		"echo a # comment", "ls sub;\nls sub", "true && \\\n echo x", "echo ~", "stat -c %s 'a b.txt'", "diff 'a b.txt' ./n-",
	} {
		env.Dir.Set(root)
		plan := planBash(t, env, command)
		if !plan.Accesses[0].Command.Class.ReadOnly() {
			continue
		}
		looked++
		r, err := plan.Run(t.Context())
		if err != nil {
			t.Errorf("%s: %v", command, err)
			continue
		}
		cmd := exec.Command("bash", "--noprofile", "--norc", "-c", command)
		cmd.Dir, cmd.Env = root, []string{"HOME=/nonexistent", "PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "PWD=" + root}
		out, err := cmd.CombinedOutput()
		code := 0
		if err != nil {
			code = cmd.ProcessState.ExitCode()
		}
		want := strings.TrimRight(string(out), "\n")
		got, _ := r.Meta["stdout"].(string)
		got = strings.TrimRight(got, "\n")
		for _, prog := range []string{"/usr/bin/", "/bin/"} { // programs name themselves by how they were called
			got = strings.ReplaceAll(got, prog, "")
		}
		if d := cmp.Diff(fmt.Sprint(want, code), fmt.Sprint(got, r.Meta["exitCode"])); d != "" && !strings.HasPrefix(want,
			"bash:") {
			t.Errorf("%s\n%s", command, d)
		}
	}
	t.Logf("%d of the commands are read-only", looked)
	if looked < 25 {
		t.Errorf("only %d of the commands are read-only", looked)
	}
}

func BenchmarkBashPrepare(b *testing.B) {
	env := bashIn(b, "bash")
	for name, command := range map[string]string{
		"ls":       "ls -la",
		"compound": "cd sub && git log --oneline -5 | head -20; grep -rn 'func main' . | wc -l",
		"test":     "go test ./internal/... -run 'TestX' -count=1 2>&1 | tail -50",
	} {
		raw, err := json.Marshal(in{"command": command})
		if err != nil {
			b.Fatal(err)
		}
		tl := toolOf(env, "Bash")
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := tl.Prepare(b.Context(), llm.ToolCall{ID: "c", Name: "Bash", Input: raw}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
