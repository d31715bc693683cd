package tool_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/boundary"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/sandbox/confine"
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
	env.Boundary, err = boundary.Open(boundary.Options{Flag: "workspace", Dir: dir, Home: base, State: base + "/state", Cache: base + "/cache"})
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
	if r := runBash(t, t.Context(), env, map[string]any{"command": "echo x >here; # " + strings.Repeat("long ", 30_000)}); r.IsError {
		t.Errorf("a long command: %s", textOf(r))
	}
	if _, err := os.Stat(env.Dir.Get() + "/here"); err != nil {
		t.Error(err)
	}
}

func TestBashTellsTheModelWhatTheSandboxRefused(t *testing.T) {
	env := confinedEnv(t)
	r := runBash(t, t.Context(), env, map[string]any{"command": "echo x >../outside"})
	if text := textOf(r); !r.IsError || !strings.Contains(text, "sandbox") || !strings.Contains(text, "Read-only file system") {
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
	_, err := toolOf(env, "Bash").Prepare(t.Context(), llm.ToolCall{ID: "c", Name: "Bash", Input: []byte(`{"command": "sleep 1000 &", "leave_running": true}`)})
	if err == nil || !strings.Contains(err.Error(), "sandbox") {
		t.Errorf("got %v", err)
	}
}
