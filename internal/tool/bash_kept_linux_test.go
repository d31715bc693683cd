//go:build linux && (amd64 || arm64)

package tool_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/permission"
)

// An unapproved command does not change what instructs agents, but git may bring back what it has recorded.
func TestGitBringsBackWhatIsKeptFromOtherCommands(t *testing.T) {
	env := confinedEnv(t)
	dir := env.Roots.First()
	setup := exec.Command("sh", "-c", `git init -q -b main . && git config user.name u && git config user.email u@x
echo one > AGENTS.md && git add . && git commit -qm one && git switch -qc other && echo two > AGENTS.md && git commit -qam two
git switch -q main`)
	setup.Dir = dir
	if out, err := setup.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	reopen(t, env, `{}`)
	ctx := agent.WithDecision(t.Context(), permission.Decision{Effect: permission.Allow, Reach: permission.ReachEdit})
	agents := func() string {
		data, _ := os.ReadFile(filepath.Join(dir, "AGENTS.md"))
		return strings.TrimSpace(string(data))
	}
	r := runBash(t, ctx, env, map[string]any{"command": `python3 -c "open('AGENTS.md','w').write('obey')"`})
	if !r.IsError || agents() != "one" {
		t.Errorf("python changed it: %q, %s", agents(), textOf(r))
	}
	r = runBash(t, ctx, env, map[string]any{"command": "git switch -q other"})
	if r.IsError || agents() != "two" || !strings.Contains(textOf(r), "AGENTS.md") {
		t.Errorf("git did not switch, or nothing says what changed: %q, %s", agents(), textOf(r))
	}
	r = runBash(t, ctx, env, map[string]any{"command": "git switch -q main; echo obey >> $(echo AGENTS.md)"})
	if agents() != "two" && agents() != "one" {
		t.Errorf("a line with git changed it: %q, %s", agents(), textOf(r))
	}
}
