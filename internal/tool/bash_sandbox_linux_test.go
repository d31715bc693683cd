package tool_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/tool"
)

// confinedEnv is a session whose commands run in the sandbox, not below /tmp, which is another folder inside.
func confinedEnv(t *testing.T) *tool.Env {
	t.Helper()
	if s := confine.Detect(); s.Tier != confine.Full {
		t.Skipf("this machine has no tier full: %s", s.Why)
	}
	base, err := os.MkdirTemp("/var/tmp", "lathe-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	dir := filepath.Join(base, "work")
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	env, err := tool.NewEnv(dir)
	if err != nil {
		t.Fatal(err)
	}
	env.Boundary, err = boundary.Open(boundary.Options{
		Flag: "workspace", Dir: dir, Home: base, State: base + "/state",
		Cache: base + "/cache",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		env.Background.Close()
		env.Runner.Close()
		if err := env.Boundary.Close(); err != nil {
			t.Error(err)
		}
	})
	return env
}

func TestBashInTheSandboxKeepsItsFolder(t *testing.T) {
	env := confinedEnv(t)
	bash(t, env, `cd sub`)
	if got := env.Dir.Get(); filepath.Base(got) != "sub" {
		t.Errorf("the folder is %s", got)
	}
	if r := runBash(t, t.Context(), env, map[string]any{"command": "echo x >here; # " + strings.Repeat("long ",
		30_000)}); r.IsError {
		t.Errorf("a long command: %s", textOf(r))
	}
	if _, err := os.Stat(env.Dir.Get() + "/here"); err != nil {
		t.Error(err)
	}
}

func TestBashTellsTheModelWhatTheSandboxRefused(t *testing.T) {
	env := confinedEnv(t)
	r := runBash(t, t.Context(), env, map[string]any{"command": "echo x >../outside"})
	if text := textOf(r); !r.IsError || !strings.Contains(text, "sandbox") || !strings.Contains(text,
		"Read-only file system") {
		t.Errorf("got %s", text)
	}
	if text := bash(t, env, "exit 3"); strings.Contains(text, "sandbox") {
		t.Errorf("a failure with another cause: %s", text)
	}
	if text := bash(t, env, "mkdir .vscode"); !strings.Contains(text, "set aside") {
		t.Errorf("a protected folder that was made: %s", text)
	}
}

func TestBashInTheSandboxLeavesNothingRunning(t *testing.T) {
	env := confinedEnv(t)
	_, err := toolOf(env, "Bash").Prepare(t.Context(), llm.ToolCall{
		ID: "c", Name: "Bash",
		Input: []byte(`{"command": "sleep 1000 &", "leave_running": true}`),
	})
	if err == nil || !strings.Contains(err.Error(), "sandbox") {
		t.Errorf("got %v", err)
	}
}

// reopen gives the session a sandbox with other settings.
func reopen(t *testing.T, env *tool.Env, settings string) {
	t.Helper()
	base := filepath.Dir(env.Roots.First())
	b, err := boundary.Open(boundary.Options{Settings: []byte(settings), Dir: env.Roots.First(), Home: base, State: base +
		"/state", Cache: base + "/cache"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	env.Boundary = b
}

func TestExcludedCommandsRunOutsideOfTheSandbox(t *testing.T) {
	env := confinedEnv(t)
	reopen(t, env, `{"enabled": true, "excludedCommands": ["touch", "cp a *"]}`)
	for line, outside := range map[string]bool{
		"touch ../x": false, // a guard or a question about the folder stands above the pattern
		"touch x":    true, "touch x && ls": false /* its write is of no one part */, "cp a b": true, "cp c b": false,
		"touch x; rm x": false, "touch $(rm x)": false, "sh -c 'touch x'": false, "ls": false, "touchy x": false,
	} {
		if got := tool.Excluded(env, line); got != outside {
			t.Errorf("%s runs outside: %v", line, got)
		}
	}
	here, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		t.Fatal(err)
	}
	reopen(t, env, `{"enabled": true, "excludedCommands": ["readlink"]}`)
	if out := bash(t, env, "readlink /proc/self/ns/pid"); !strings.Contains(out, here) {
		t.Errorf("an excluded command ran in the sandbox: %s", out)
	}
	if out := bash(t, env, "command readlink /proc/self/ns/pid; sh -c :"); strings.Contains(out, here) {
		t.Errorf("a command that is not excluded ran outside: %s", out)
	}
}

func TestARefusedCommandRunsOutsideOnlyIfAPersonSaysSo(t *testing.T) {
	env := confinedEnv(t)
	target := filepath.Join(filepath.Dir(env.Roots.First()), "outside")
	line := map[string]any{"command": "echo x >" + target, "dangerouslyDisableSandbox": true}
	asked := []agent.Approval{}
	answer := false
	env.Again = func(_ context.Context, a agent.Approval, why string, _ bool) bool {
		if !strings.Contains(why, "Read-only") {
			t.Errorf("asked because %q", why)
		}
		asked = append(asked, a)
		return answer
	}
	if r := runBash(t, t.Context(), env, line); !r.IsError || len(asked) != 1 {
		t.Errorf("asked %d times: %s", len(asked), textOf(r))
	}
	if _, err := os.Stat(target); err == nil {
		t.Error("the file was written")
	}
	answer = true
	r := runBash(t, t.Context(), env, line)
	if text := textOf(r); r.IsError || len(asked) != 2 || !strings.Contains(text, "The user allowed one run outside") ||
		!strings.Contains(text, "Read-only") {
		t.Errorf("asked %d times: %s", len(asked), text)
	}
	if _, err := os.Stat(target); err != nil {
		t.Error(err)
	}
	if !strings.Contains(string(asked[0].Call.Input), `"dangerouslyDisableSandbox":true`) || asked[0].Preview == nil ||
		len(asked[0].Accesses) == 0 {
		t.Errorf("the question is %+v", asked[0])
	}
	if r := runBash(t, t.Context(), env, map[string]any{"command": "exit 3"}); !r.IsError || len(asked) != 2 {
		t.Errorf("a failure with another cause: asked %d times", len(asked))
	}
	reopen(t, env, `{"enabled": true, "allowUnsandboxedCommands": false}`)
	if r := runBash(t, t.Context(), env, line); !r.IsError || len(asked) != 2 {
		t.Errorf("the settings forbid it: asked %d times", len(asked))
	}
}

func TestConfinedCommandsRunUnaskedWhereTheSettingsSaySo(t *testing.T) {
	env := confinedEnv(t)
	request := func(tool, input string) permission.Request {
		return permission.Request{Tool: tool, Input: []byte(input)}
	}
	for settings, want := range map[string]bool{
		`{"enabled": true}`: false, `{"enabled": true, "autoAllowBashIfSandboxed": true}`: true,
	} {
		reopen(t, env, settings)
		if got := env.RunsUnasked(request("Bash", `{"command": "make"}`)); got != want {
			t.Errorf("%s: %v", settings, got)
		}
	}
	reopen(t, env, `{"enabled": true, "autoAllowBashIfSandboxed": true, "excludedCommands": ["docker"]}`)
	for _, r := range []permission.Request{
		request("Write", `{}`),
		request("Bash", `{"command": "make", "leave_running": true}`), request("Bash", `{"command": "docker ps"}`),
		request("Bash", `[]`),
	} {
		if env.RunsUnasked(r) {
			t.Errorf("%s %s runs unasked", r.Tool, r.Input)
		}
	}
	env.Boundary = nil
	if env.RunsUnasked(request("Bash", `{"command": "make"}`)) {
		t.Error("without a sandbox")
	}
}

func TestACommandInTheSandboxCannotRewriteTheScriptsOfAnother(t *testing.T) {
	env := confinedEnv(t)
	spy := `touch spying; while [ ! -e stop ]; do for f in /tmp/lathe-* /dev/.lathe/lathe-*.sh* /dev/.lathe/lathe-cwd*; do [ -f "$f" ] && echo "echo INJECTED; cd sub" >>"$f"; done; done; touch stopped`
	r := runBash(t, t.Context(), env, map[string]any{"command": spy, "run_in_background": true})
	if r.IsError {
		t.Fatal(textOf(r))
	}
	here := func(name string) bool { _, err := os.Stat(filepath.Join(env.Roots.First(), name)); return err == nil }
	if !await.Until(func() bool { return here("spying") }) {
		t.Fatal("the other command does not run")
	}
	bash := func(command string) string {
		return textOf(runBash(t, t.Context(), env, map[string]any{"command": command, "shell_id": "a"}))
	}
	bash("f() { echo mine; }")
	for range 5 {
		if got := bash("f; f; #" + strings.Repeat("long ", 30_000)); strings.Contains(got, "INJECTED") || strings.Count(got,
			"mine") != 2 {
			t.Errorf("got %s", got)
		}
	}
	if got := bash("pwd"); strings.Contains(got, "/sub") {
		t.Errorf("the folder is %s", got)
	}
	if err := os.WriteFile(filepath.Join(env.Roots.First(), "stop"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if !await.Until(func() bool { return here("stopped") }) {
		t.Error("the other command was ended")
	}
}

func TestAPersonMayLetARefusedCommandWriteTheProject(t *testing.T) {
	env := confinedEnv(t)
	base := filepath.Dir(env.Roots.First())
	if err := os.WriteFile(filepath.Join(base, "notes"), []byte("of the home folder\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	reopen(t, env, `{}`)
	ctx := agent.WithDecision(t.Context(), permission.Decision{Effect: permission.Allow, Reach: permission.ReachView})
	line := map[string]any{"command": "echo x >>made; cat " + base + "/notes"}
	asked, answer := 0, false
	env.Again = func(_ context.Context, _ agent.Approval, why string, outside bool) bool {
		if asked++; outside || !strings.Contains(why, "the home folder is hidden") {
			t.Errorf("outside: %v, %s", outside, why)
		}
		return answer
	}
	if r := runBash(t, ctx, env, line); asked == 0 || strings.Contains(textOf(r), "of the home folder") {
		t.Errorf("asked %d times: %s", asked, textOf(r))
	}
	answer, asked = true, 0
	if r := runBash(t, ctx, env, line); asked != 1 || r.IsError || !strings.Contains(textOf(r), "of the home folder") ||
		!strings.Contains(textOf(r), "ran again from its beginning") {
		t.Errorf("asked %d times: %s", asked, textOf(r))
	}
	if text, err := os.ReadFile(filepath.Join(env.Roots.First(), "made")); err != nil || string(text) != "x\n" {
		t.Errorf("the first run left something: %q, %v", text, err)
	}
}
