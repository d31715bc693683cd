//go:build linux && (amd64 || arm64)

package tool_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/machine/files/transact"
	"github.com/lathe-dev/lathe/internal/permission"
)

// viewsVar is the file in which the child says where its project is.
const viewsVar = "LATHE_TEST_VIEWS"

// TestViewsInAChild has a person keep what commands did in their private views, until another test kills it.
func TestViewsInAChild(t *testing.T) {
	said := os.Getenv(viewsVar)
	if said == "" {
		t.Skip("it is the child of TestAKillLeavesAKeptViewDoneOrNot")
	}
	env := confinedEnv(t)
	dir := env.Roots.First()
	for _, f := range []string{"a", "b", "c"} {
		if err := os.WriteFile(filepath.Join(dir, f), []byte(roundText(0)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	reopen(t, env, `{}`)
	env.Journals = filepath.Join(filepath.Dir(dir), "journals")
	env.Keep = func(context.Context, agent.Approval) (map[string]string, permission.Decision) {
		return nil, permission.Decision{Effect: permission.Allow}
	}
	if err := os.WriteFile(said+".new", []byte(dir), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(said+".new", said); err != nil {
		t.Fatal(err)
	}
	ctx := agent.WithDecision(t.Context(), permission.Decision{Effect: permission.Allow, Reach: permission.ReachView})
	for n := range editRounds {
		line := fmt.Sprintf("m=%d; n=%d; sed -i -e \"s/begin $m$/begin $n/\" -e \"s/end $m$/end $n/\" a b c\n"+
			"echo x >made$n; rm -f made$m; ln -sfn made$n now; mkdir dir$n; rm -rf dir$m", n, n+1)
		if r := runBash(t, ctx, env, map[string]any{"command": line}); r.IsError {
			t.Fatal(textOf(r))
		}
	}
}

// A kill while the changes of a command are made real leaves its files, links and folders as before or, after the
// journal was read, all of them as the command made them.
func TestAKillLeavesAKeptViewDoneOrNot(t *testing.T) {
	confinedEnv(t) // skips where there is no view
	for round := range 6 {
		said := filepath.Join(t.TempDir(), "project")
		child := exec.Command(os.Args[0], "-test.run=^TestViewsInAChild$")
		child.Env = append(os.Environ(), viewsVar+"="+said)
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- child.Wait() }()
		dir, watched := "", []string{"a", "b", "c"}[round%3]
		killWhen(t, child, ended, func() bool {
			if dir == "" {
				data, _ := os.ReadFile(said)
				dir = string(data)
			}
			return dir != "" && roundOf(filepath.Join(dir, watched)) > round
		})
		t.Cleanup(func() { os.RemoveAll(filepath.Dir(dir)) })
		if _, err := transact.Recover(filepath.Join(filepath.Dir(dir), "journals")); err != nil {
			t.Fatal(err)
		}
		a, b, c := roundOf(filepath.Join(dir, "a")), roundOf(filepath.Join(dir, "b")), roundOf(filepath.Join(dir, "c"))
		if a < round || a != b || b != c {
			t.Errorf("killed after %d: a has %d, b %d, c %d", round, a, b, c)
		}
		if list, _ := filepath.Glob(filepath.Join(dir, "made*")); a > 0 &&
			(len(list) != 1 || filepath.Base(list[0]) != fmt.Sprintf("made%d", a)) {
			t.Errorf("killed after %d: made %v, want that of %d", round, list, a)
		}
		link, _ := os.Readlink(filepath.Join(dir, "now"))
		if list, _ := filepath.Glob(filepath.Join(dir, "dir*")); a > 0 && (link != fmt.Sprintf("made%d", a) ||
			len(list) != 1 || filepath.Base(list[0]) != fmt.Sprintf("dir%d", a)) {
			t.Errorf("killed after %d: the link leads to %s, the folders are %v, want those of %d", round, link, list, a)
		}
	}
}
