//go:build linux && (amd64 || arm64)

package tool_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/permission"
)

func TestTheChangesThatAPersonKeepsBecomeReal(t *testing.T) {
	line := `echo two >>changed; echo new >made; rm gone; chmod +x script; mv folder moved; ln -s changed link
mkdir -p deep/er && echo x >deep/er/file; printf '\0\1' >bytes; rm -r old; mkdir old && echo again >old/other`
	for _, kept := range []bool{true, false} {
		env := confinedEnv(t)
		dir := env.Roots.First()
		put := func(name, text string) {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"changed", "gone", "script", "folder/inner", "old/one"} {
			put(name, "one\n")
		}
		reopen(t, env, `{}`)
		asked := agent.Approval{}
		env.Keep = func(_ context.Context, a agent.Approval) (map[string]string, permission.Decision) {
			if asked = a; kept {
				return nil, permission.Decision{Effect: permission.Allow}
			}
			return nil, permission.Decision{Effect: permission.Deny, Reason: "no"}
		}
		ctx := agent.WithDecision(t.Context(), permission.Decision{Effect: permission.Allow, Reach: permission.ReachView})
		r := runBash(t, ctx, env, map[string]any{"command": line})
		if len(asked.Accesses) == 0 || r.IsError == kept {
			t.Errorf("kept: %v, asked about %d, %s", kept, len(asked.Accesses), textOf(r))
		}
		got := map[string]string{}
		for _, name := range []string{
			"changed", "made", "gone", "moved/inner", "folder/inner", "link", "deep/er/file", "bytes", "old/one", "old/other",
		} {
			data, _ := os.ReadFile(filepath.Join(dir, name))
			got[name] = string(data)
		}
		want := map[string]string{
			"changed": "one\ntwo\n", "made": "new\n", "moved/inner": "one\n", "link": "one\ntwo\n", "deep/er/file": "x\n",
			"bytes": "\x00\x01", "old/other": "again\n",
		}
		if !kept {
			want = map[string]string{"changed": "one\n", "gone": "one\n", "folder/inner": "one\n", "old/one": "one\n"}
		}
		for name, text := range got {
			if text != want[name] {
				t.Errorf("kept: %v, %s is %q, want %q", kept, name, text, want[name])
			}
		}
		fi, err := os.Stat(filepath.Join(dir, "script"))
		if err != nil || (fi.Mode()&0o100 != 0) != kept {
			t.Errorf("kept: %v, script has the mode %v, %v", kept, fi.Mode(), err)
		}
		if kept && strings.Contains(textOf(r), "not kept") {
			t.Error(textOf(r))
		}
	}
}
