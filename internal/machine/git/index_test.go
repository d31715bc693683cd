package git

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestTrackedFilesAreThoseOfGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is missing")
	}
	dir := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
		return string(out)
	}
	run("init", "-q")
	tracked := func() (string, error) {
		repo, ok := Find(dir)
		if !ok {
			t.Fatal("there is no repository")
		}
		var b strings.Builder
		err := Tracked(repo, func(path, hash []byte) { fmt.Fprintf(&b, "%s %s\n", Blob(hash), path) })
		return b.String(), err
	}
	if got, err := tracked(); got != "" || err != nil {
		t.Errorf("without an index: %q, %v", got, err)
	}
	for i := range 40 {
		name := filepath.Join(dir, strings.Repeat("d/", i%4), strings.Repeat("n", i%11+1)+fmt.Sprint(i))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, fmt.Append(nil, i), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run("add", "-A")
	run("add", "-N", ".")
	for _, version := range []string{"2", "3", "4"} {
		run("update-index", "--index-version", version)
		run("update-index", "--skip-worktree", "n0") // a flag of version 3
		want := run("ls-files", "-c", "--format=%(objectname) %(path)")
		if got, err := tracked(); got != want || err != nil {
			t.Errorf("version %s: %v\n%s, want\n%s", version, err, got, want)
		}
	}
	run("update-index", "--split-index")
	if got, err := tracked(); err == nil {
		t.Errorf("a split index is read: %q", got)
	}
	index := filepath.Join(dir, ".git", "index")
	data, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(data) {
		_ = readIndex(data[:n], func(path, entry []byte, _ uint16) {}) // damaged: no panic
	}
}
