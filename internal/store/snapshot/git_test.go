package snapshot_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lathe-dev/lathe/internal/store/snapshot"
)

func (p *place) git(args ...string) {
	p.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	_ = cmd.Run() // what does not work in the present state changes nothing
}

// gitFolder is a digest of all that git keeps.
func gitFolder(t testing.TB, dir string) string {
	t.Helper()
	h := sha256.New()
	err := filepath.WalkDir(filepath.Join(dir, ".git"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(h, "%s %x\n", path, sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

func needProgram(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is not installed", name)
	}
}

func TestGitInBetweenLosesNothingAndIsNotTouched(t *testing.T) {
	needProgram(t, "git")
	rapid.Check(t, func(r *rapid.T) {
		p := newPlace(t)
		p.t = r
		p.git("init", "-q", "-b", "main")
		for range rapid.IntRange(1, 4).Draw(r, "at first") {
			change(r, p.dir)
		}
		p.git("add", "-A")
		p.git("commit", "-qm", "first", "--allow-empty")
		if rapid.Bool().Draw(r, "from git") {
			p.settle()
			p.open(fromGit())
		}
		var states []string
		for range rapid.IntRange(1, 3).Draw(r, "steps") {
			before := tree(t, p.dir)
			op := rapid.SampledFrom([]string{
				"commit", "reset", "branch", "amend", "stash", "clean", "touch", "gc",
				"none",
			}).Draw(r, "git")
			p.step(func() {
				change(r, p.dir)
				change(r, p.dir)
				switch op {
				case "commit":
					p.git("add", "-A")
					p.git("commit", "-qm", "more")
				case "reset":
					p.git("reset", "-q", "--hard")
				case "branch":
					p.git("checkout", "-qB", "other", "HEAD~1")
				case "amend":
					p.git("commit", "-qa", "--amend", "-m", "other")
				case "touch":
					p.sameStat(filepath.Join(p.dir, "a"))
				case "stash":
					p.git("stash", "-qu")
				case "clean":
					p.git("clean", "-qfd")
				case "gc":
					p.git("reset", "-q", "--hard", "HEAD~1")
					p.git("reflog", "expire", "--expire=now", "--all")
					p.git("gc", "-q", "--prune=now")
				}
			})
			if tree(t, p.dir) != before {
				states = append(states, before)
			}
		}
		last, kept := tree(t, p.dir), gitFolder(t, p.dir)
		for i := range states {
			out := p.undo(1, nil)
			if pruned(out) {
				return // and the files are named
			}
			if got, want := tree(t, p.dir), states[len(states)-1-i]; got != want || len(out.Left) > 0 {
				r.Fatalf("undo gives\n%s\nwant\n%s\nleft %+v", got, want, out.Left)
			}
		}
		for range states {
			p.redo()
		}
		if got := tree(t, p.dir); got != last {
			r.Fatalf("redo gives\n%s\nwant\n%s", got, last)
		}
		if gitFolder(t, p.dir) != kept {
			r.Fatal("git's folder was changed")
		}
	})
}

// pruned reports whether files were left alone because git let go of their contents within a step.
func pruned(out snapshot.Outcome) bool {
	return slices.ContainsFunc(out.Left, func(f snapshot.PlannedFile) bool {
		return strings.Contains(f.Blocked, "git does not have it")
	})
}

// sameStat changes a file and keeps its size and its time.
func (p *place) sameStat(path string) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	_ = os.WriteFile(path, []byte(strings.Repeat("#", int(info.Size()))), 0o644)
	_ = os.Chtimes(path, info.ModTime(), info.ModTime())
}

func TestABuildAndAnInstallationAreTakenBack(t *testing.T) {
	for name, tc := range map[string]struct{ program, file, text, made string }{
		"go": {"go", "go.mod", "module example.com/hello\n\ngo 1.21\n", "hello"},
		"npm": {
			"npm", "package.json", `{"name":"hello","version":"1.0.0","dependencies":{"dep":"file:./dep"}}`,
			"node_modules",
		},
	} {
		t.Run(name, func(t *testing.T) {
			needProgram(t, tc.program)
			p := newPlace(t)
			p.write(tc.file, tc.text)
			p.write("main.go", "package main\n\nfunc main() { println(\"hello\") }\n")
			p.write("dep/package.json", `{"name":"dep","version":"1.0.0"}`)
			before := tree(t, p.dir)
			args := map[string][]string{"go": {"build", "-o", "hello", "."}, "npm": {
				"install", "--offline", "--no-audit",
				"--no-fund",
			}}[name]
			p.step(func() {
				cmd := exec.Command(tc.program, args...)
				cmd.Dir = p.dir
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			})
			after := tree(t, p.dir)
			if !strings.Contains(after, tc.made) {
				t.Fatalf("nothing was made:\n%s", after)
			}
			if out := p.undo(1, nil); len(out.Left) > 0 || tree(t, p.dir) != before {
				t.Errorf("left %+v, the tree is\n%.2000s", out.Left, tree(t, p.dir))
			}
			p.redo()
			if tree(t, p.dir) != after {
				t.Error("redo does not bring it back")
			}
		})
	}
}
