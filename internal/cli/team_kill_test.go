//go:build unix

package cli_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// teamKills is how often TestATeamSurvivesKillsOfItsProcesses kills one; 100 times with LATHE_ENDURANCE.
func teamKills() int {
	if os.Getenv("LATHE_ENDURANCE") != "" {
		return 100
	}
	return 5
}

// teamScript has a coordinator make four tasks, of which the second comes after the first, and the last two conflict.
func teamScript() *llmtest.Script {
	names := []string{"one", "two", "three", "four"}
	coordinator := func(matches string, parts ...llmtest.Part) llmtest.Reply {
		return llmtest.Reply{When: &llmtest.When{System: "You coordinate", Matches: matches}, Parts: parts}
	}
	make := func(from int) (out []llmtest.Part) {
		for _, name := range names[from:] {
			in := map[string]any{"title": name, "prompt": "write " + name}
			if name == "two" {
				in["after"] = []int{1}
			}
			out = append(out, llmtest.Tool("TaskCreate", in))
		}
		return out
	}
	s := &llmtest.Script{Replies: []llmtest.Reply{
		{When: &llmtest.When{Result: "did-it"}, Parts: []llmtest.Part{llmtest.Text("Written.")}},
		{When: &llmtest.When{System: "You coordinate", Result: "Task "}, Parts: []llmtest.Part{llmtest.Text("Made.")}},
	}}
	for i, name := range names {
		s.Replies = append(s.Replies, coordinator(fmt.Sprintf(`(?m)^%d\. %s: (conflict|failed)`, i+1, name),
			llmtest.Tool("TaskUpdate", map[string]any{"id": i + 1, "status": "pending"})))
	}
	s.Replies = append(s.Replies, coordinator(`4\. four:`, llmtest.Text("All is done.")))
	for i := 3; i > 0; i-- {
		s.Replies = append(s.Replies, coordinator(fmt.Sprintf(`%d\. %s:`, i, names[i-1]), make(i)...))
	}
	s.Replies = append(s.Replies, coordinator("", make(0)...))
	for _, name := range names {
		file := map[bool]string{true: "c.txt", false: name + ".txt"}[name == "three" || name == "four"]
		command := fmt.Sprintf("grep -qs %s %s || { sleep 0.2; echo %s >>%s; }; echo did-it", name, file, name, file)
		s.Replies = append(s.Replies, llmtest.Reply{
			When:  &llmtest.When{Contains: "Your task: " + name},
			Parts: []llmtest.Part{llmtest.Tool("Bash", map[string]any{"command": command})},
		})
	}
	return s
}

// Two processes work on one board. One of them is killed at random, again and again, and another one takes its place:
// every task is done once, the conflict is solved, and nothing is merged twice.
func TestATeamSurvivesKillsOfItsProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	bin, home := buildLathe(t), t.TempDir()
	dir := filepath.Join(home, "project")
	srv := llmtest.New(teamScript(), llmtest.Options{})
	if err := srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "ANTHROPIC_BASE_URL=" + srv.URL(),
		"ANTHROPIC_API_KEY=sk-test",
	}
	run := func(name string, args ...string) string {
		t.Helper()
		c := exec.Command(name, args...)
		c.Dir, c.Env = dir, env
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	run("git", "init", "-q", "-b", "main")
	run("git", "add", "a.txt")
	run("git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one")

	start := func(args ...string) *exec.Cmd {
		c := exec.Command(bin, append([]string{"team"}, args...)...)
		c.Args = append(c.Args, "--workers", "2", "--permission-mode", "acceptEdits", "--allowedTools", "Bash")
		c.Dir, c.Env = dir, env
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	procs := []*exec.Cmd{start("write four things")}
	board := filepath.Join(home, ".local/share/lathe/projects/*/teams/*.json")
	for found, end := 0, time.Now().Add(time.Minute); found == 0; time.Sleep(5 * time.Millisecond) {
		list, err := filepath.Glob(board)
		if found = len(list); err != nil || time.Now().After(end) {
			t.Fatalf("no board was made: %v", err)
		}
	}
	procs = append(procs, start("join"))
	for range teamKills() {
		time.Sleep(time.Duration(rand.IntN(400)) * time.Millisecond)
		i := rand.IntN(len(procs))
		_ = procs[i].Process.Kill()
		_ = procs[i].Wait()
		procs[i] = start("join")
	}
	for _, p := range procs {
		_ = p.Wait() // one may end because the other was over first
	}
	out := run(bin, "team", "show", "--json")
	var s struct {
		Branch string
		Over   bool
		Tasks  []struct {
			Title, Status, Note, Worktree string
			Left                          []string
		}
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil || !s.Over || len(s.Tasks) < 4 {
		t.Fatalf("%v: %s", err, out)
	}
	named := map[string]bool{}
	for _, task := range s.Tasks {
		if task.Status != "done" {
			t.Errorf("%+v", task)
		}
		for _, path := range append(task.Left, task.Worktree) {
			named[filepath.Base(path)] = true
		}
	}
	trees, err := os.ReadDir(dir + ".worktrees")
	if err != nil {
		t.Fatal(err)
	}
	for _, tree := range trees {
		if strings.HasPrefix(tree.Name(), "agent-") && !named[tree.Name()] {
			t.Errorf("the worktree %s is not on the board:\n%s", tree.Name(), out)
		}
	}
	for name, want := range map[string][]string{"one.txt": {"one"}, "two.txt": {"two"}, "c.txt": {"four", "three"}} {
		got := strings.Fields(run("git", "show", s.Branch+":"+name))
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s has %q, want %q", name, got, want)
		}
	}
	if now := run("git", "status", "--porcelain"); now != "" {
		t.Errorf("the user's own files changed: %s", now)
	}
	if out := run("git", "rev-parse", "--abbrev-ref", "HEAD"); strings.TrimSpace(out) != "main" {
		t.Error(out)
	}
}
