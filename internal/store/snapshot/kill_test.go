package snapshot_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/store/snapshot"
)

// The child works below the folder of one variable; the other has it kill itself at a phase: "staged 2" is the third
// time.
const (
	childVar = "LATHE_TEST_SNAPSHOT_CHILD"
	phaseVar = "LATHE_TEST_SNAPSHOT_PHASE"
)

func TestMain(m *testing.M) {
	if base := os.Getenv(childVar); base != "" {
		child(base)
		return
	}
	os.Exit(m.Run())
}

var generations = []string{"a", "b", "d/c", "d/e/f", "g"}

// content is what a file of a generation holds; it can be told from a part of it.
func content(name string, generation int) string {
	return strings.Repeat(fmt.Sprintf("%s of generation %d\n", name, generation), 50) + "end\n"
}

func storeAt(base string) *snapshot.Store {
	dir := filepath.Join(base, "project")
	return snapshot.New(snapshot.Options{
		Dir:   filepath.Join(base, "store"),
		Roots: func() []string { return []string{dir} }, Limit: 64 << 10,
	})
}

// child writes generations, and undoes and redoes some, until it is killed. It reports each operation on stdout.
func child(base string) {
	s := storeAt(base)
	if name, at, ok := strings.Cut(os.Getenv(phaseVar), " "); ok {
		left, _ := strconv.Atoi(at)
		snapshot.OnPhase(func(phase string) {
			if phase == name {
				if left--; left < 0 {
					self, _ := os.FindProcess(os.Getpid())
					_ = self.Kill()
					select {}
				}
			}
		})
	}
	check := func(err error) {
		if err != nil && !errors.Is(err, snapshot.ErrNothing) {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
	}
	h := snapshot.History{Store: s, Sessions: []string{sessionID}}
	generation := int(time.Now().UnixNano())
	for {
		fmt.Println("step")
		end, err := s.Begin(nocancel{}, snapshot.Where{Session: sessionID, Title: "generation"}, nil)
		check(err)
		generation++
		for _, name := range generations {
			path := filepath.Join(base, "project", name)
			check(os.MkdirAll(filepath.Dir(path), 0o755))
			check(os.WriteFile(path, []byte(content(name, generation)), 0o644))
		}
		end()
		for range rand.IntN(3) {
			fmt.Println("undo")
			plan, err := h.Undo(1)
			check(err)
			if err == nil {
				_, err = plan.Apply(nil)
				check(err)
			}
		}
		if rand.IntN(2) == 0 {
			plan, err := h.Redo()
			check(err)
			if err == nil {
				_, err = plan.Apply(nil)
				check(err)
			}
		}
	}
}

// nocancel is a context that never ends.
type nocancel struct{}

func (nocancel) Deadline() (time.Time, bool) { return time.Time{}, false }
func (nocancel) Done() <-chan struct{}       { return nil }
func (nocancel) Err() error                  { return nil }
func (nocancel) Value(any) any               { return nil }

// Kills is the number of kills; LATHE_TEST_KILLS sets another one.
func kills() int {
	if n, err := strconv.Atoi(os.Getenv("LATHE_TEST_KILLS")); err == nil {
		return n
	}
	return 12
}

func TestAKillLeavesTheOldOrTheNewState(t *testing.T) {
	base := killedProject(t)
	interrupted := 0
	for i := range kills() {
		killOne(t, base, rand.IntN(6), time.Duration(rand.IntN(20_000))*time.Microsecond)
		if !recovered(t, base, fmt.Sprint("kill ", i)) {
			interrupted++
		}
	}
	t.Logf("%d of %d kills were in the midst of a step", interrupted, kills())
}

func killedProject(t *testing.T) string {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"project", "store"} {
		if err := os.Mkdir(filepath.Join(base, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return base
}

// recovered finishes or takes back what was cut off. It reports whether the files were whole before an interrupted step
// was undone.
func recovered(t *testing.T, base, when string) bool {
	t.Helper()
	dir := filepath.Join(base, "project")
	s := storeAt(base)
	if err := s.Recover(); err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	ok := whole(t, dir)
	if !ok {
		undoInterrupted(t, s, dir)
	}
	if v, err := s.Verify(); err != nil || len(v.Problems) > 1 || len(v.Problems) == 1 && !strings.Contains(v.Problems[0],
		"torn") {
		t.Fatalf("%s: %+v %v", when, v, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return ok
}

func TestAKillAtEveryPhaseLeavesTheOldOrTheNewState(t *testing.T) {
	base := killedProject(t)
	for _, phase := range []string{
		"begun", "ending", "planned", "marked", "staged", "changed", "performed", "recorded",
		"rewritten", "renamed", "dropping",
	} {
		for _, count := range []string{"0", "2"} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			cmd := exec.CommandContext(ctx, os.Args[0])
			cmd.Env = append(os.Environ(), childVar+"="+base, phaseVar+"="+phase+" "+count)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Exited() || ctx.Err() != nil {
				t.Fatalf("%s %s: %v %s", phase, count, err, out)
			}
			cancel()
			recovered(t, base, phase+" "+count)
		}
	}
}

// killOne runs the child and kills it a while after some of its operations began.
func killOne(t *testing.T, base string, operations int, later time.Duration) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVar+"="+base)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for n := 0; n <= operations && lines.Scan(); n++ {
		if strings.HasPrefix(lines.Text(), "failed") {
			t.Fatal(lines.Text())
		}
	}
	timer := time.NewTimer(later) // a random moment is the point: nothing is waited for
	<-timer.C
	_ = cmd.Process.Kill()
	rest, _ := io.ReadAll(out)
	_ = cmd.Wait()
	if strings.Contains(string(rest), "failed") {
		t.Fatalf("%s", rest)
	}
}

// whole reports whether all files are of one generation. A restore leaves no file half written, and none of its own.
func whole(t *testing.T, dir string) bool {
	t.Helper()
	of := map[string]bool{}
	for _, name := range generations {
		data, err := os.ReadFile(filepath.Join(dir, name))
		generation := "none"
		if err == nil {
			if _, generation, _ = strings.Cut(strings.SplitN(string(data), "\n", 2)[0], "generation "); !strings.HasSuffix(
				string(data), "end\n") {
				generation = "half"
			}
		}
		of[generation] = true
	}
	for line := range strings.Lines(tree(t, dir)) {
		if strings.Contains(line, files.TempPrefix) {
			t.Errorf("left over: %.200s", line)
		}
	}
	return len(of) == 1
}

// undoInterrupted takes back the step that the kill cut off.
func undoInterrupted(t *testing.T, s *snapshot.Store, dir string) {
	t.Helper()
	end, err := s.Begin(t.Context(), snapshot.Where{Session: sessionID, Title: "the next"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	end()
	plan, err := snapshot.History{Store: s, Sessions: []string{sessionID}}.Undo(1)
	if err != nil {
		t.Fatal(err)
	}
	if plan.Steps[0].Kinds[0] != snapshot.Interrupted {
		t.Errorf("the last step is %+v", plan.Steps[0])
	}
	out, err := plan.Apply(nil)
	if err != nil || len(out.Left) > 0 {
		t.Errorf("left %+v %v", out.Left, err)
	}
	if !whole(t, dir) {
		t.Errorf("the files are of several generations:\n%.2000s", tree(t, dir))
	}
}
