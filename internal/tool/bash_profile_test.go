//go:build unix

package tool_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/tool"
)

// withProfile is an Env whose home has this start-up file, in the environment that environ adds to PATH and HOME.
func withProfile(t *testing.T, mode, name, content string, environ ...string) (env *tool.Env, home string) {
	t.Helper()
	return withProfileOf(t, "bash", mode, name, content, environ...)
}

// withProfileOf is withProfile for one of the shells; the test is skipped where it is not installed.
func withProfileOf(t *testing.T, shell, mode, name, content string, environ ...string) (env *tool.Env, home string) {
	t.Helper()
	env = inShell(t, shell)
	home = t.TempDir()
	if err := os.WriteFile(filepath.Join(home, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	sh, err := exec.LookPath(shell)
	if err != nil {
		t.Fatal(err)
	}
	env.Environ = func() []string {
		return append([]string{"PATH=/usr/bin:/bin", "HOME=" + home, "SHELL=" + sh}, environ...)
	}
	env.Profile = env.Profile.For(mode)
	return env, home
}

func TestCommandsGetTheVariablesOfTheProfile(t *testing.T) {
	for _, name := range []string{".bashrc", ".bash_profile", ".profile"} {
		env, home := withProfile(t, tool.ProfileEnvironment, name,
			"echo noise; echo run >>~/runs\nexport PATH=\"$HOME/tools:$PATH\" GREETING='two\nlines' "+
				"KEPT=profile\nunexported=1\nfn() { echo no; }\n", "KEPT=ours")
		got := bash(t, env, `echo "$GREETING|$KEPT|$unexported|${PATH%%:*}"; fn`)
		if want := "two\nlines|ours||" + home + "/tools\n"; !strings.Contains(got, want) || !strings.Contains(got,
			"Exit code 127 (a program was not found)") {
			t.Errorf("%s: %q", name, got)
		}
		bash(t, env, "sh -c 'echo again'")
		if runs, _ := os.ReadFile(filepath.Join(home, "runs")); string(runs) != "run\n" {
			t.Errorf("%s: read %d times", name, strings.Count(string(runs), "run"))
		}
	}
}

func TestCommandsGetTheVariablesOfTheProfileOfZsh(t *testing.T) {
	for _, name := range []string{".zshenv", ".zprofile", ".zshrc", ".zlogin"} {
		env, home := withProfileOf(t, "zsh", tool.ProfileEnvironment, name,
			"echo noise; print run >>~/runs\ntypeset -U path; path=(~/tools $path)\nexport PATH GREETING=$'two\\nlines' "+
				"KEPT=profile\nunexported=1\nfn() { echo no }\n", "KEPT=ours")
		got := bash(t, env, `echo "$ZSH_VERSION|$GREETING|$KEPT|$unexported|${PATH%%:*}"; fn`)
		if _, rest, ok := strings.Cut(got, "|"); !ok || strings.HasPrefix(got, "|") || !strings.HasPrefix(rest,
			"two\nlines|ours||"+home+"/tools\n") {
			t.Errorf("%s: %q", name, got)
		}
		if !strings.Contains(got, "Exit code 127 (a program was not found)") {
			t.Errorf("%s: the function is there without the setting: %q", name, got)
		}
		bash(t, env, "sh -c 'echo again'")
		runs, _ := os.ReadFile(filepath.Join(home, "runs"))
		if name == ".zshenv" { // zsh itself reads it for every command
			continue
		}
		if string(runs) != "run\n" {
			t.Errorf("%s: read %d times", name, strings.Count(string(runs), "run"))
		}
	}
}

func TestFunctionsOfTheProfileOfZshAreThereIfTheSettingsSaySo(t *testing.T) {
	env, _ := withProfileOf(t, "zsh", tool.ProfileFunctions, ".zshrc", "greet() { echo \"hello $1\" }\n")
	if got := bash(t, env, "greet you; greet again"); got != "hello you\nhello again" {
		t.Errorf("%q", got)
	}
	off, _ := withProfileOf(t, "zsh", tool.ProfileOff, ".zshrc", "export GREETING=x\n")
	if got := bash(t, off, `sh -c 'echo "[$GREETING]"'`); got != "[]" {
		t.Errorf("off: %q", got)
	}
	broken, _ := withProfileOf(t, "zsh", tool.ProfileEnvironment, ".zshrc", "exit 3\n")
	if got := bash(t, broken, "sh -c 'echo works'"); !strings.HasPrefix(got, "works\n") || !strings.Contains(got,
		"start-up files of zsh could not be used: the shell ended in them with exit code 3") {
		t.Errorf("%q", got)
	}
}

func TestAPathThatTheProfileSetsAnewKeepsAnActivatedEnvironment(t *testing.T) {
	env, _ := withProfile(t, tool.ProfileEnvironment, ".profile", "PATH=/opt/x/bin:/usr/bin:/bin\n")
	env.Environ = func(base []string) func() []string {
		return func() []string { return append(base, "PATH=/project/.venv/bin:/usr/bin:/bin") }
	}(env.Environ())
	if got := bash(t, env, `sh -c 'echo "$PATH"'`); got != "/project/.venv/bin:/opt/x/bin:/usr/bin:/bin" {
		t.Errorf("%q", got)
	}
}

func TestFunctionsOfTheProfileAreThereIfTheSettingsSaySo(t *testing.T) {
	env, _ := withProfile(t, tool.ProfileFunctions, ".bashrc", "greet() { echo \"hello $1\"; }\n")
	if got := bash(t, env, "greet you; greet again"); got != "hello you\nhello again" {
		t.Errorf("%q", got)
	}
	off, _ := withProfile(t, tool.ProfileOff, ".bashrc", "export GREETING=x\n")
	if got := bash(t, off, `sh -c 'echo "[$GREETING]"'`); got != "[]" {
		t.Errorf("off: %q", got)
	}
}

func TestAProfileThatEndsTheShellIsReportedOnce(t *testing.T) {
	env, _ := withProfile(t, tool.ProfileEnvironment, ".bashrc", "exit 3\n")
	got := bash(t, env, "sh -c 'echo works'")
	if !strings.HasPrefix(got, "works\n") || !strings.Contains(got,
		"start-up files of bash could not be used: the shell ended in them with exit code 3") {
		t.Errorf("%q", got)
	}
	if got := bash(t, env, "sh -c 'echo again'"); strings.Contains(got, "start-up") {
		t.Errorf("%q", got)
	}
}

func TestProgramsThatNeedAScreenAreRefusedWithTheNextMove(t *testing.T) {
	env := inShell(t, "bash")
	prepare := func(command string) error {
		input, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		_, err = toolOf(env, "Bash").Prepare(t.Context(), llm.ToolCall{ID: "1", Name: "Bash", Input: input})
		return err
	}
	for command, hint := range map[string]string{
		"vim a.txt": "Edit", "cd x && FOO=1 /usr/bin/nano b": "Edit", "emacs -nw a": "Edit", "top": "ps aux",
		"watch -n1 ls": "run_in_background", "ls | htop": "ps aux",
		"git rebase -i HEAD~3": "GIT_SEQUENCE_EDITOR", "git -C sub rebase --interactive main": "--autosquash",
		"git add -p": "git apply --cached", "git clean -i": "Name the files",
		"npm init": "npm init -y", "python3": "python3 -c", "cd sub && node": "node -e", "psql mydb": "psql -c",
		"sqlite3 x.db":               "here-document",
		"docker run -it ubuntu bash": "Leave out -t", "kubectl exec -it pod -- sh": "Leave out -t",
		"crontab -e": "crontab -l", "tmux attach": "run_in_background",
		"gdb ./a": "-batch", "passwd": "Ask the user", "sudo vim /etc/hosts": "Edit", "make\nvim a": "Edit",
		"ssh-keygen": "-N ''", "tmux": "run_in_background",
	} {
		if err := prepare(command); err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("%s: %v", command, err)
		}
	}
	for _, command := range []string{
		"vim --version", "vim -es -c wq a", "vim +q a", "emacs --batch -l x.el", "top -b -n 1", "echo vim", "which vim",
		"git config core.editor vim", "cat top",
		"GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -i HEAD~2", "git -c sequence.editor=true rebase -i HEAD~2",
		"git rebase -i --autosquash main", "git rebase --continue",
		"git log -p", "git commit -m 'x\ntop of file\nvim b'", "git stash pop", "git stash -p | cat", "yes '' | npm init",
		"npm init -y", "npm init vite app", "npm install", "python3 a.py", "python3 -c 1",
		"echo 1 | python3", "python3 <<E\nprint(1)\nE", "python3 <x.py", "node --version", "sqlite3 x.db 'select 1'",
		"sqlite3 x.db < y.sql", "psql -c 'select 1' db", "docker run -d nginx",
		"docker run -i img cmd", "docker ps", "docker exec c ls -t", "crontab -l", "tmux new-session -d x", "tmux ls",
		"gdb -batch -ex bt ./a", "cat <<E\ntop\nE", "bun", "su -c ls", "# vim\nls",
	} {
		if err := prepare(command); err != nil {
			t.Errorf("%s: %v", command, err)
		}
	}
}

func TestExitCodesOfShellsAreExplained(t *testing.T) {
	env := inShell(t, "bash")
	for command, want := range map[string]string{
		"no-such-program-here":          "Exit code 127 (a program was not found)",
		"/etc/passwd":                   "Exit code 126 (it was found, but cannot be run",
		"timeout 0.01 tail -f x.txt":    "Exit code 124 (the time of `timeout` was over)",
		"bash -c 'kill -9 $$'; exit $?": "Exit code 137 (a program was ended by SIGKILL: often no memory was left)",
		"exit 42":                       "Exit code 42",
	} {
		if err := os.WriteFile(filepath.Join(env.Dir.Get(), "x.txt"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := bash(t, env, command); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q", command, got)
		}
	}
}
