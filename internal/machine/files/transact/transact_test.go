package transact_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/machine/files/transact"
)

// The child works below the folder of one variable; the other has it kill itself at a phase: "changed 2" is the third
// time.
const (
	childVar = "LATHE_TEST_TRANSACT_CHILD"
	phaseVar = "LATHE_TEST_TRANSACT_PHASE"
)

func TestMain(m *testing.M) {
	if base := os.Getenv(childVar); base != "" {
		dieAt(os.Getenv(phaseVar))
		if strings.Contains(os.Getenv(phaseVar), "recover") {
			_, _ = transact.Recover(filepath.Join(base, "journals"))
			return
		}
		if _, err := patch(base); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func dieAt(when string) {
	name, at, _ := strings.Cut(when, " ")
	left, _ := strconv.Atoi(at)
	transact.OnPhase(func(phase string) {
		if phase == name {
			if left--; left < 0 {
				self, _ := os.FindProcess(os.Getpid())
				_ = self.Kill()
				select {}
			}
		}
	})
}

var before = map[string]string{"a.txt": "old a\n", "d/b.sh": "old b\n", "gone.txt": "going\n", "x.txt": "old x\n"}

var after = map[string]string{"a.txt": "new a\n", "d/b.sh": "new b\n", "new/deep/c.txt": "c\n", "x.txt": "new x\n"}

func project(t *testing.T) string {
	t.Helper()
	base := t.TempDir()
	for name, text := range before {
		path := filepath.Join(base, "project", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o644)
		if strings.HasSuffix(name, ".sh") {
			mode = 0o755
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	return base
}

// patch makes the change from before to after.
func patch(base string) (func(), error) {
	dir := filepath.Join(base, "project")
	roots, err := files.NewRoots(dir)
	if err != nil {
		return nil, err
	}
	defer roots.Close()
	var list []transact.Change
	for _, name := range []string{"a.txt", "d/b.sh", "new/deep/c.txt", "x.txt", "gone.txt"} {
		p, err := roots.Resolve(name, dir)
		if err != nil {
			return nil, err
		}
		t, err := roots.Hold(p)
		if err != nil {
			return nil, err
		}
		defer t.Close()
		c := transact.Change{Target: t, After: []byte(after[name]), Remove: after[name] == ""}
		if p.Info != nil {
			if c.Before, c.Info, err = t.Read(1 << 20); err != nil {
				return nil, err
			}
		}
		list = append(list, c)
	}
	if when := os.Getenv(phaseVar); strings.HasPrefix(when, "back") || strings.HasPrefix(when, "restored") {
		_ = os.WriteFile(filepath.Join(dir, "gone.txt"), []byte("somebody else's\n"), 0o644)
	}
	_, err = transact.Apply(context.Background(), filepath.Join(base, "journals"), list)
	return nil, err
}

// contents is all files of the project.
func contents(t *testing.T, base string) map[string]string {
	t.Helper()
	out := map[string]string{}
	dir := filepath.Join(base, "project")
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func same(a, b map[string]string) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

func TestAllFilesChange(t *testing.T) {
	base := project(t)
	if _, err := patch(base); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, base); !same(got, after) {
		t.Errorf("%v", got)
	}
	info, err := os.Stat(filepath.Join(base, "project", "d/b.sh"))
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o755 {
		t.Errorf("%v %v", info, err)
	}
	if left, _ := filepath.Glob(filepath.Join(base, "journals", "*.journal*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestATransactionThatFailsChangesNothing(t *testing.T) {
	base := project(t)
	t.Setenv(phaseVar, "back none") // somebody changes gone.txt, the last file, after it was read
	_, err := patch(base)
	if err == nil || !strings.Contains(err.Error(), "gone.txt") {
		t.Fatalf("%v", err)
	}
	want := map[string]string{"a.txt": "old a\n", "d/b.sh": "old b\n", "gone.txt": "somebody else's\n", "x.txt": "old x\n"}
	if got := contents(t, base); !same(got, want) {
		t.Errorf("%v", got)
	}
	if left, _ := filepath.Glob(filepath.Join(base, "journals", "files.[jb]*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// run runs a child that kills itself at a phase, and reports whether it came that far.
func run(t *testing.T, base, when string) (killed bool) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(exe)
	c.Env = append(os.Environ(), childVar+"="+base, phaseVar+"="+when)
	out, err := c.CombinedOutput()
	if c.ProcessState == nil {
		t.Fatal(err)
	}
	return !c.ProcessState.Exited() || runtime.GOOS == "windows" && err != nil && len(out) == 0
}

func TestAKillAtAnyStepLeavesAllFilesOrNone(t *testing.T) {
	for _, phase := range []string{"written", "begun", "changed", "ended"} {
		for n := 0; ; n++ {
			base := project(t)
			if !run(t, base, fmt.Sprintf("%s %d", phase, n)) {
				if n == 0 {
					t.Errorf("%s is never reached", phase)
				}
				break
			}
			for again := 0; again < 8 && run(t, base, fmt.Sprintf("recovered %d", again)); again++ { // it may be killed as well
			}
			note, err := transact.Recover(filepath.Join(base, "journals"))
			if err != nil {
				t.Fatalf("%s %d: %v", phase, n, err)
			}
			got := contents(t, base)
			if want := after; phase != "written" && !same(got, want) || phase == "written" && !same(got, before) {
				t.Errorf("killed at %s %d: %v (%s)", phase, n, got, note)
			}
			if info, err := os.Stat(filepath.Join(base, "project", "d/b.sh")); err != nil || runtime.GOOS != "windows" &&
				info.Mode().Perm() != 0o755 {
				t.Errorf("killed at %s %d: the mode of d/b.sh is lost: %v %v", phase, n, info, err)
			}
			if note, err := transact.Recover(filepath.Join(base, "journals")); note != "" || err != nil {
				t.Errorf("recovered twice: %s %v", note, err)
			}
		}
	}
}

func TestAKillWhileItIsTakenBackLeavesNoFileChanged(t *testing.T) {
	want := map[string]string{"a.txt": "old a\n", "d/b.sh": "old b\n", "gone.txt": "somebody else's\n", "x.txt": "old x\n"}
	for _, phase := range []string{"back", "restored"} {
		for n := 0; ; n++ {
			base := project(t)
			if !run(t, base, fmt.Sprintf("%s %d", phase, n)) {
				if n == 0 {
					t.Errorf("%s is never reached", phase)
				}
				break
			}
			if _, err := transact.Recover(filepath.Join(base, "journals")); err != nil {
				t.Error(err)
			}
			if got := contents(t, base); !same(got, want) {
				t.Errorf("killed at %s %d: %v", phase, n, got)
			}
		}
	}
}

func TestAFileThatSomebodyChangedSinceIsLeft(t *testing.T) {
	base := project(t)
	if !run(t, base, "changed 0") {
		t.Fatal("it was not killed")
	}
	if err := os.WriteFile(filepath.Join(base, "project", "x.txt"), []byte("mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	note, err := transact.Recover(filepath.Join(base, "journals"))
	if err != nil || !strings.Contains(note, "x.txt: it was changed since") {
		t.Errorf("%q %v", note, err)
	}
	want := map[string]string{"a.txt": "new a\n", "d/b.sh": "new b\n", "new/deep/c.txt": "c\n", "x.txt": "mine\n"}
	if got := contents(t, base); !same(got, want) {
		t.Errorf("%v", got)
	}
}

func TestADamagedJournalIsKeptAndReported(t *testing.T) {
	base := project(t)
	if !run(t, base, "changed 0") {
		t.Fatal("it was not killed")
	}
	name := filepath.Join(base, "journals", "files.journal")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data[:len(data)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	note, err := transact.Recover(filepath.Join(base, "journals"))
	if err != nil || !strings.Contains(note, "damaged") {
		t.Errorf("%q %v", note, err)
	}
	if note, err := transact.Recover(filepath.Join(base, "journals")); note != "" || err != nil {
		t.Errorf("%q %v", note, err)
	}
}
