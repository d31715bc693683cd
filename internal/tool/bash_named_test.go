//go:build unix

package tool_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/tool"
)

func TestACommandPastItsTimeGoesOnInTheBackground(t *testing.T) {
	b := behind(t)
	b.must("Bash", in{"command": "mkfifo go"})
	r, err := b.call("Bash", in{"command": "echo before; cat go; echo after; exit 3", "timeout": 200})
	if err != nil {
		t.Fatal(err)
	}
	id, _ := r.Meta["backgroundTaskId"].(string)
	if r.IsError || id == "" || !strings.Contains(text(r), "did not end within 200ms") || !strings.Contains(text(r),
		"\nbefore\n") || !strings.Contains(text(r), id) {
		t.Fatalf("%q, %+v", text(r), r.Meta)
	}
	if v := r.View.(event.Command); v.Background != id || r.Meta["backgroundedByUser"] != false ||
		r.Meta["timedOutAfterMs"] != int64(200) {
		t.Errorf("%+v, %+v", v, r.Meta)
	}
	if err := os.WriteFile(filepath.Join(b.dir, "go"), []byte("now\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := b.until(id, "after"); strings.Contains(got, "before") || !strings.Contains(got, "now\nafter") {
		t.Errorf("output after that: %q", got)
	}
	r, err = b.call("Bash", in{"command": "echo b; sleep 1000", "timeout": 200})
	if err != nil {
		t.Fatal(err)
	}
	id = r.Meta["backgroundTaskId"].(string)
	if got := b.must("TaskStop", in{"task_id": id}); !strings.Contains(got, id+" was ended") {
		t.Errorf("%q", got)
	}
}

// inNamed runs a command in a named shell.
func inNamed(t *testing.T, env *tool.Env, shell, command string) string {
	t.Helper()
	return textOf(runBash(t, t.Context(), env, map[string]any{"command": command, "shell_id": shell}))
}

func TestANamedShellKeepsItsState(t *testing.T) {
	for _, sh := range []string{"bash", "zsh"} {
		t.Run(sh, func(t *testing.T) {
			env := inShell(t, sh)
			env.Environ = func() []string { return append(os.Environ(), "FROM_OUTSIDE=first", "GONE=x") }
			if got := inNamed(t, env, "a", "x='one two'; export Y=$'l1\\nl2'; arr=(1 '2 3' \"4'5\"); greet() { echo \"hi "+
				"$1\"; }; alias ll='echo alias'; unset GONE; PATH=$PATH:/extra; cd sub"); !strings.Contains(got,
				`Shell "a" is new`) {
				t.Errorf("%q", got)
			}
			env.Environ = func() []string { return append(os.Environ(), "FROM_OUTSIDE=second", "GONE=x") }
			for command, want := range map[string]string{
				"echo \"$x|$Y\"; sh -c 'echo \"$Y\"'":   "one two|l1\nl2\nl1\nl2",
				"echo ${#arr[@]} \"${arr[@]}\"":         "3 1 2 3 4'5",
				"greet you":                             "hi you",
				"echo ${GONE-unset} $FROM_OUTSIDE":      "unset second",
				"case $PATH in *:/extra) echo ok; esac": "ok",
				"command pwd -P":                        filepath.Join(env.Roots.First(), "sub"),
				"echo $PWD":                             filepath.Join(env.Roots.First(), "sub"),
			} {
				if got := inNamed(t, env, "a", command); got != want {
					t.Errorf("%s: %q, want %q", command, got, want)
				}
			}
			if got := inNamed(t, env, "b", "echo \"[$x]\""); !strings.HasPrefix(got, "[]\n") {
				t.Errorf("another shell: %q", got)
			}
			if got := bash(t, env, "echo \"[$x]\"; pwd"); got != "[]\n"+env.Roots.First() {
				t.Errorf("without a shell: %q", got)
			}
		})
	}
}

func TestANamedShellSurvivesACommandThatFails(t *testing.T) {
	for _, sh := range []string{"bash", "zsh"} {
		t.Run(sh, func(t *testing.T) {
			env := inShell(t, sh)
			inNamed(t, env, "a", "x=1")
			for _, c := range []struct{ command, want string }{
				{"x=2; exit 3", "2"},
				{"set -e; x=3; false; x=4", "3"},
				{"set -u; x=4; IFS=x; set -f", "4"},
				{"x=5; kill -9 $$", "4"},
				{"f() { local inside=1; x=6; exit 1; }; f", "6"},
			} {
				inNamed(t, env, "a", c.command)
				if got := inNamed(t, env, "a", "echo $x"); got != c.want {
					t.Errorf("after %s: %q, want %q", c.command, got, c.want)
				}
			}
		})
	}
}

func TestANamedShellIsNeverReadOnly(t *testing.T) {
	env := bashIn(t, "bash")
	for _, command := range []string{"ls", "git status"} {
		accesses := accessesOf(t, env, map[string]any{"command": command, "shell_id": "a"})
		if c := accesses[0].Command; c.Class.ReadOnly() || c.Exact {
			t.Errorf("%s: %+v", command, c)
		}
	}
}

func accessesOf(t *testing.T, env *tool.Env, input map[string]any) []permission.Access {
	t.Helper()
	b, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := toolOf(env, "Bash").Prepare(t.Context(), llm.ToolCall{ID: "call_1", Name: "Bash", Input: b})
	if err != nil {
		t.Fatal(err)
	}
	return plan.Accesses
}

func TestANamedShellNeedsAName(t *testing.T) {
	env := bashIn(t, "bash")
	for _, name := range []string{"../x", "a b", strings.Repeat("x", 65)} {
		b, _ := json.Marshal(map[string]any{"command": "true", "shell_id": name})
		if _, err := toolOf(env, "Bash").Prepare(t.Context(), llm.ToolCall{ID: "c", Name: "Bash", Input: b}); err == nil ||
			!strings.Contains(err.Error(), "use up to 64 letters") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestACommandOnATerminal(t *testing.T) {
	env := bashIn(t, "bash")
	for command, want := range map[string]string{
		"[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo tty": "tty",
		"stty size": "50 160",
		"printf '\\033[31mred\\033[0m\\n10%%\\r50%%\\r100%%\\n'; echo $TERM": "red\n100%\nxterm",
		"read -r x; echo \"[$x] $?\"":                                        "[] 1",
		"seq 3; exit 4":                                                      "Exit code 4\n1\n2\n3",
		"seq 20000 | tail -1":                                                "20000",
	} {
		r := runBash(t, t.Context(), env, map[string]any{"command": command, "pty": true})
		if got := textOf(r); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
	r := runBash(t, t.Context(), env, map[string]any{"command": "seq 5000", "pty": true})
	if lines := strings.Split(textOf(r), "\n"); len(lines) != 5000 || lines[4999] != "5000" {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
	r = runBash(t, t.Context(), env, map[string]any{
		"command": "echo $$; setsid sleep 1000 & disown; echo left",
		"pty":     true,
	})
	if !strings.Contains(textOf(r), "left") {
		t.Errorf("%q", textOf(r))
	}
}

func TestARuleForALineDoesNotHoldWhereAShellHasDefinedSomething(t *testing.T) {
	env := bashIn(t, "bash")
	env.Environ = func() []string { // bash sets SHELL itself
		return slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "SHELL=") })
	}
	kept := func(shell string) bool {
		return accessesOf(t, env, map[string]any{"command": "npm test", "shell_id": shell})[0].Command.Kept
	}
	if inNamed(t, env, "moved", "cd sub"); kept("moved") || kept("new") {
		t.Error("a shell that defined nothing counts as one that did")
	}
	for shell, command := range map[string]string{
		"f": "npm() { echo mine; }", "a": "alias npm='echo mine'", "p": "PATH=$PWD:$PATH",
		"e": "export NODE_OPTIONS=--require=./x.js", "v": "x=1", "o": "shopt -s dotglob",
		"u": "unset HOME",
	} {
		if inNamed(t, env, shell, command); !kept(shell) {
			t.Errorf("after %s a rule for the line npm test would hold", command)
		}
	}
}

func TestAShellThatChangedSinceTheDecisionRunsNothing(t *testing.T) {
	env := bashIn(t, "bash")
	input, err := json.Marshal(map[string]any{"command": "greet", "shell_id": "a"})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := toolOf(env, "Bash").Prepare(t.Context(), llm.ToolCall{ID: "call_1", Name: "Bash", Input: input})
	if err != nil {
		t.Fatal(err)
	}
	inNamed(t, env, "a", "greet() { echo hi; }")
	if r, err := plan.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "call it again") {
		t.Errorf("%v, %v", r, err)
	}
}
