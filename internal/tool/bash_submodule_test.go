//go:build unix

package tool_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// A .gitmodules file overrules the configuration that keeps git out of submodules; the safe form must not care.
func TestGitRunsNoFilterOfASubmodule(t *testing.T) {
	needBash(t)
	env := bashIn(t, "bash")
	root := env.Roots.First()
	sub, ran := filepath.Join(root, "sub"), filepath.Join(root, "ran")
	run := func(dir string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{
			"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b", "-c",
			"protocol.file.allow=always",
		}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("git %v: %s", args, out)
		}
	}
	if err := os.MkdirAll(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run(sub, "init", "-q")
	write(filepath.Join(sub, "f"), "x\n")
	write(filepath.Join(sub, ".gitattributes"), "f filter=z\n")
	run(sub, "add", "-A")
	run(sub, "commit", "-qm", "a")
	run(root, "init", "-q")
	run(root, "add", "sub")
	run(root, "commit", "-qm", "b")
	run(sub, "config", "filter.z.clean", "touch '"+ran+"'; cat")
	for _, ignore := range []string{"", "none"} {
		if ignore != "" {
			write(filepath.Join(root, ".gitmodules"), "[submodule \"sub\"]\n\tpath = sub\n\turl = ./sub\n\tignore = "+ignore+
				"\n")
		}
		for _, line := range []string{
			"git status", "git status -s -- .", "git diff", "git diff --stat HEAD",
			"git diff-files", "git diff-index HEAD", "git describe --always", "git submodule status", "git ls-files -m",
		} {
			later := time.Now().Add(time.Hour)
			if err := os.Chtimes(filepath.Join(sub, "f"), later, later); err != nil {
				t.Fatal(err)
			}
			if plan := planBash(t, env, line); plan.Writes() {
				continue // a person decides
			}
			bash(t, env, line)
			if _, err := os.Stat(ran); err == nil {
				t.Errorf("%s ran the filter of a submodule (ignore = %q)", line, ignore)
				_ = os.Remove(ran)
			}
		}
	}
}
