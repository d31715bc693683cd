package tool_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/files/transact"
	"github.com/lathe-dev/lathe/internal/tool"
)

const (
	editsVar   = "LATHE_TEST_EDITS" // the folder of the child that edits
	editRounds = 200
)

// roundText is a file of the child after so many rounds: at its begin and at its end stands the number.
func roundText(n int) string {
	return fmt.Sprintf("begin %d\n%s\nend %d\n", n, strings.Repeat("a line that stays as it is\n", 2000), n)
}

// TestEditsInAChild changes files in the folder of another test, which kills it: one by Edit, three together by
// ApplyPatch.
func TestEditsInAChild(t *testing.T) {
	base := os.Getenv(editsVar)
	if base == "" {
		t.Skip("it is the child of TestAKillLeavesEachEditAndPatchDoneOrNot")
	}
	env, err := tool.NewEnv(filepath.Join(base, "project"))
	if err != nil {
		t.Fatal(err)
	}
	env.Journals = filepath.Join(base, "journals")
	call := func(name string, input in) {
		raw, _ := json.Marshal(input)
		plan, err := toolOf(env, name).Prepare(t.Context(), llm.ToolCall{ID: "c", Name: name, Input: raw})
		if err == nil {
			_, err = plan.Run(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	call("Read", in{"file_path": "edited", "limit": 2})
	for n := range editRounds {
		var p strings.Builder
		p.WriteString("*** Begin Patch\n")
		for _, f := range []string{"a", "b", "c"} {
			fmt.Fprintf(&p, "*** Update File: %s\n@@\n-begin %d\n+begin %d\n@@\n-end %d\n+end %d\n", f, n, n+1, n, n+1)
		}
		fmt.Fprintf(&p, "*** Add File: made%d\n+x\n", n+1)
		if n > 0 {
			fmt.Fprintf(&p, "*** Delete File: made%d\n", n)
		}
		call("ApplyPatch", in{"patch": p.String() + "*** End Patch\n"})
		call("MultiEdit", in{"file_path": "edited", "edits": []in{
			{"old_string": fmt.Sprintf("begin %d\n", n), "new_string": fmt.Sprintf("begin %d\n", n+1)},
			{"old_string": fmt.Sprintf("end %d\n", n), "new_string": fmt.Sprintf("end %d\n", n+1)},
		}})
	}
}

// roundOf is the number in a file of the child, or -1 where the file is not whole.
func roundOf(path string) int {
	data, err := os.ReadFile(path)
	if err != nil {
		return -1
	}
	first, _, _ := strings.Cut(string(data), "\n")
	n, err := strconv.Atoi(strings.TrimPrefix(first, "begin "))
	if err != nil || string(data) != roundText(n) {
		return -1
	}
	return n
}

// The kill comes at another point of a write each time: the parent looks at the files without a pause, and kills as
// soon as it sees a change of one.
func TestAKillLeavesEachEditAndPatchDoneOrNot(t *testing.T) {
	for round := range 12 {
		base, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(base, "project")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, f := range []string{"a", "b", "c", "edited"} {
			if err := os.WriteFile(filepath.Join(dir, f), []byte(roundText(0)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		child := exec.Command(os.Args[0], "-test.run=^TestEditsInAChild$")
		child.Env = append(os.Environ(), editsVar+"="+base)
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- child.Wait() }()
		watched := filepath.Join(dir, []string{"a", "b", "c", "edited"}[round%4])
		killWhen(t, child, ended, func() bool { return roundOf(watched) > round })
		if _, err := transact.Recover(filepath.Join(base, "journals")); err != nil {
			t.Fatal(err)
		}
		a, b, c, edited := roundOf(filepath.Join(dir, "a")), roundOf(filepath.Join(dir, "b")),
			roundOf(filepath.Join(dir, "c")), roundOf(filepath.Join(dir, "edited"))
		if a < round || a != b || b != c || edited < 0 || edited != a && edited != a-1 {
			t.Errorf("killed after %d: a has %d, b %d, c %d, edited %d", round, a, b, c, edited)
		}
		if list, _ := filepath.Glob(filepath.Join(dir, "made*")); a > 0 &&
			(len(list) != 1 || filepath.Base(list[0]) != fmt.Sprintf("made%d", a)) {
			t.Errorf("killed after %d: made %v, want that of %d", round, list, a)
		}
	}
}
