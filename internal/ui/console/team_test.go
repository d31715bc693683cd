package console

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/permission"
)

// A team works beside the conversation: one row for each worker, which can be looked into, steered and ended; it stops
// and goes on.
func TestATeamWorksBesideTheConversation(t *testing.T) {
	task := func(title string) llmtest.Part {
		return llmtest.Tool("TaskCreate", map[string]any{"title": title, "prompt": "do " + title})
	}
	wait := llmtest.Tool("Bash", map[string]any{"command": "until [ -e go ]; do sleep 0.01; done"})
	p := newPlace(t, llmtest.Replies(
		when("hello", "", llmtest.Text("Hello.")),
		when("The workers have ended", "", llmtest.Text("All is done.")),
		when("The goal: two things", "Task 2", llmtest.Text("Made.")),
		when("hurry up", "", llmtest.Text("I hurried.")),
		when("Your task: one", "", wait),
		when("Your task: two", "", wait),
		when("The goal: two things", "", task("one"), task("two")),
	))
	runGit(t, p.dir, "init", "-q", "-b", "main")
	p.write(t, "a.txt", "a\n")
	runGit(t, p.dir, "add", "a.txt")
	runGit(t, p.dir, "commit", "-qm", "first")
	s := p.open(t, nil)
	if err := s.session().Grant("Bash", permission.Allow); err != nil {
		t.Fatal(err)
	}
	s.command("team", "--workers 2 --time 10m two things")
	for range 2 {
		until(s, func(b event.ToolStart) bool { return b.Call.Name == "Bash" })
	}
	s.refuses("team", "another", "a team works already")
	pick := s.command("team", "").Pick
	if pick == nil || len(pick.Items) != 3 || pick.Live != "team" || !strings.Contains(pick.Title, "works") {
		t.Fatalf("%+v", pick)
	}
	for _, i := range pick.Items[1:] {
		if !i.Current || !strings.Contains(i.Detail, "running") || !strings.Contains(i.Preview, "Bash") {
			t.Errorf("%+v", i)
		}
	}
	if s.Status().Background != 1 {
		t.Error("a team that works does not count as something in the background")
	}
	s.refuses("background", "", "nothing runs") // its workers are waited for
	s.shows("team", "worker-2", "running", "two")
	s.command("team", "tell worker-1 hurry up")
	s.command("team", "end worker-2")
	if got := s.command("team", "").Pick.Items[2]; got.Current {
		t.Errorf("%+v", got)
	}
	release(t, p)
	until(s, func(b event.Notice) bool {
		return strings.Contains(b.Text, "the team has ended") && strings.Contains(b.Text, "2 (failed")
	})
	pick = s.command("team", "").Pick
	if !strings.Contains(pick.Items[1].Detail, "done") || !strings.Contains(pick.Items[1].Preview, "I hurried.") ||
		!strings.Contains(pick.Items[2].Detail, "failed") {
		t.Errorf("%+v", pick.Items)
	}
	s.prompt("hello")
	until[event.TurnEnd](s, nil)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// release lets the workers' commands end.
func release(t *testing.T, p *place) {
	t.Helper()
	trees, err := filepath.Glob(p.dir + ".worktrees/agent-*")
	if err != nil || len(trees) == 0 {
		t.Fatalf("%v %v", trees, err)
	}
	for _, dir := range trees {
		if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestATeamEndsWithItsConversationAndGoesOnInTheNext(t *testing.T) {
	p := newPlace(t, llmtest.Replies(
		when("lathe was ended", "", llmtest.Text("Nothing is left.")),
		when("The workers have ended", "", llmtest.Text("All is done.")),
		when("The goal: wait", "Task 1", llmtest.Text("Made.")),
		when("Your task: one", "", llmtest.Tool("Bash", map[string]any{"command": "until [ -e go ]; do sleep 0.01; done"})),
		when("The goal: wait", "", llmtest.Tool("TaskCreate", map[string]any{"title": "one", "prompt": "do one"})),
	))
	runGit(t, p.dir, "init", "-q", "-b", "main")
	p.write(t, "a.txt", "a\n")
	runGit(t, p.dir, "add", "a.txt")
	runGit(t, p.dir, "commit", "-qm", "first")
	s := p.open(t, nil)
	if err := s.session().Grant("Bash", permission.Allow); err != nil {
		t.Fatal(err)
	}
	s.command("team", "wait")
	until(s, func(b event.ToolStart) bool { return b.Call.Name == "Bash" })
	s.command("clear", "")
	if pick := s.command("team", "").Pick; !strings.Contains(pick.Title, "stopped") {
		t.Errorf("%+v", pick)
	}
	if err := s.session().Grant("Bash", permission.Allow); err != nil {
		t.Fatal(err)
	}
	s.command("team", "resume")
	until(s, func(b event.Notice) bool { return strings.Contains(b.Text, "worker-1 begins") })
	s.command("team", "stop")
	until(s, func(b event.Notice) bool { return strings.Contains(b.Text, "the team was stopped") })
	s.command("team", "end worker-1")
	if got := s.command("team", "").Pick.Items[1]; got.Current || !strings.Contains(got.Detail, "cancel") {
		t.Errorf("%+v", got)
	}
}
