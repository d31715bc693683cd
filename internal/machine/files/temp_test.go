package files_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/machine/files/transact"
)

// The child works in the folder of one variable. Another says what it does, where it kills itself, and how its
// temporary files are named.
const (
	tempDirVar  = "LATHE_TEST_TEMP_DIR"
	tempTaskVar = "LATHE_TEST_TEMP_TASK"
)

var tempFiles = []string{"a.txt", "d/b.txt", "new/c.txt", "z.txt"}

// TestHelperDiesWithATemporaryName is the process that is killed.
func TestHelperDiesWithATemporaryName(t *testing.T) {
	base := os.Getenv(tempDirVar)
	if base == "" {
		t.Skip("only as a child of another test")
	}
	var task, name string
	var left int
	if _, err := fmt.Sscan(os.Getenv(tempTaskVar), &task, &left, &name); err != nil {
		t.Fatal(err)
	}
	if name == "named" {
		files.NameEveryTemp()
	}
	files.OnTemp(func() {
		if left--; left < 0 {
			self, _ := os.FindProcess(os.Getpid())
			_ = self.Kill()
			select {}
		}
	})
	if task == "recover" {
		if _, err := transact.Recover(filepath.Join(base, "journals")); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := changeAll(t, base, task == "fail"); (err != nil) != (task == "fail") {
		t.Fatal(err)
	}
}

// changeAll changes all files in one transaction; fail: somebody else changes the last one meanwhile.
func changeAll(t *testing.T, base string, fail bool) error {
	dir := filepath.Join(base, "project")
	roots, err := files.NewRoots(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer roots.Close()
	var list []transact.Change
	for _, name := range tempFiles {
		p, err := roots.Resolve(name, dir)
		if err != nil {
			t.Fatal(err)
		}
		target, err := roots.Hold(p)
		if err != nil {
			t.Fatal(err)
		}
		defer target.Close()
		c := transact.Change{Target: target, After: []byte("new")}
		if p.Info != nil {
			if c.Before, c.Info, err = target.Read(1 << 20); err != nil {
				t.Fatal(err)
			}
		}
		list = append(list, c)
	}
	if fail {
		putTemp(t, filepath.Join(dir, "z.txt"), "somebody else's")
	}
	_, err = transact.Apply(context.Background(), filepath.Join(base, "journals"), list)
	return err
}

func putTemp(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// killedWithTemp runs the task in a child that kills itself. It reports whether the child was killed before the task
// was complete.
func killedWithTemp(t *testing.T, base, task string) bool {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^TestHelperDiesWithATemporaryName$")
	c.Env = append(os.Environ(), tempDirVar+"="+base, tempTaskVar+"="+task)
	out, err := c.CombinedOutput()
	if err != nil && len(out) > 0 {
		t.Fatalf("%s: %v\n%s", task, err, out)
	}
	return err != nil
}

// temps are the temporary files of the project.
func temps(t *testing.T, base string) (out []string) {
	t.Helper()
	for _, pattern := range []string{"", "d", "new"} {
		list, err := filepath.Glob(filepath.Join(base, "project", pattern, files.TempPrefix+"*"))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, list...)
	}
	return out
}

func TestATransactionThatIsKilledLeavesNoTemporaryFile(t *testing.T) {
	for _, name := range []string{"unnamed", "named"} {
		// A transaction that fails goes forward when it is killed before it fails, and else back.
		for task, want := range map[string]string{"change": "[new new new new]", "fail": "[old old  somebody else's]"} {
			t.Run(name+" "+task, func(t *testing.T) {
				last := ""
				for n := 0; ; n++ {
					got := killAndRecover(t, task, n, name)
					if got == "" {
						break
					}
					if last = got; got != want && (task != "fail" || got != "[new new new somebody else's]") {
						t.Errorf("killed at %d: %s", n, got)
					}
				}
				if last != want {
					t.Errorf("killed at the end: %s, want %s", last, want)
				}
			})
		}
	}
}

// killAndRecover kills a transaction at its nth temporary name, and returns what the files are after it; empty: it has
// not so many names.
func killAndRecover(t *testing.T, task string, n int, name string) string {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"a.txt", "d/b.txt", "z.txt"} {
		putTemp(t, filepath.Join(base, "project", f), "old")
	}
	if !killedWithTemp(t, base, fmt.Sprint(task, " ", n, " ", name)) {
		return ""
	}
	if left := temps(t, base); len(left) != 1 {
		t.Fatalf("killed at %d, where no temporary file can be: %q", n, left)
	}
	others := filepath.Join(base, "project", files.TempPrefix+"OTHERS")
	putTemp(t, others, "of another process")
	for again := range 3 { // what recovers is killed as well
		killedWithTemp(t, base, fmt.Sprint("recover ", again, " ", name))
	}
	if _, err := transact.Recover(filepath.Join(base, "journals")); err != nil {
		t.Fatal(err)
	}
	if left := temps(t, base); len(left) != 1 || left[0] != others {
		t.Errorf("killed at %d: left are %q, want that of another process only", n, left)
	}
	var got []string
	for _, f := range tempFiles {
		data, _ := os.ReadFile(filepath.Join(base, "project", f))
		got = append(got, string(data))
	}
	return fmt.Sprint(got)
}
