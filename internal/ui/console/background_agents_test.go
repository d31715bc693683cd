package console

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/permission"
)

// The status line, /cost, the list of sessions and a resumed session all count what agents cost.
func TestTheCostOfAgentsCounts(t *testing.T) {
	s := newPlace(t, llmtest.Replies(
		when("", "Found it.", llmtest.Text("Done.")),
		when("look for it", "", llmtest.Text("Found it.")),
		when("launch", "", llmtest.Tool("Task", map[string]any{"description": "look", "prompt": "look for it"})),
	)).open(t, nil)
	s.prompt("launch")
	store, id := s.inst.Store(), s.session().ID()
	below, err := store.CostOfChildren(id)
	whole := below + s.session().Log().Info().CostUSD
	if err != nil || below <= 0 {
		t.Fatal(below, err)
	}
	want := fmt.Sprintf("$%.4f", whole)
	until(s, func(st event.Status) bool { return fmt.Sprintf("$%.4f", st.CostUSD) == want })
	if out := s.command("cost", ""); !strings.Contains(out.Text, "cost "+want) ||
		!strings.Contains(out.Text, fmt.Sprintf("agents: $%.4f", below)) {
		t.Errorf("not %s: %s", want, out.Text)
	}
	if items := s.command("sessions", "").Pick.Items; !strings.Contains(items[0].Detail, want) {
		t.Errorf("not %s: %+v", want, items[0])
	}
	s.command("new", "")
	s.command("resume", id)
	until(s, func(st event.Status) bool { return st.Session == id && fmt.Sprintf("$%.4f", st.CostUSD) == want })
}

func when(contains, result string, parts ...llmtest.Part) llmtest.Reply {
	return llmtest.Reply{When: &llmtest.When{Contains: contains, Result: result}, Parts: parts}
}

// An agent in the background that ends while nothing runs wakes the conversation; until then it takes messages.
func TestAnAgentThatEndsInTheBackgroundWakesTheConversation(t *testing.T) {
	p := newPlace(t, llmtest.Replies(
		when("has finished", "", llmtest.Text("I was woken.")),
		when("hurry up", "", llmtest.Text("I hurried.")),
		when("", "works in the background", llmtest.Text("Launched.")),
		when("wait for it", "", llmtest.Tool("Bash", map[string]any{"command": "until [ -e go ]; do sleep 0.01; done"})),
		when("launch", "", llmtest.Tool("Task", map[string]any{
			"description": "wait", "prompt": "wait for it",
			"run_in_background": true,
		})),
	))
	s := p.open(t, nil)
	if err := s.session().Grant("Bash", permission.Allow); err != nil {
		t.Fatal(err)
	}
	s.prompt("launch")
	until(s, func(b event.ToolStart) bool { return b.Call.Name == "Bash" })
	pick := s.command("tasks", "").Pick
	if pick == nil || len(pick.Items) != 1 || !strings.HasPrefix(pick.Items[0].Detail, "running") ||
		!pick.Items[0].Time.IsZero() || !strings.Contains(pick.Items[0].Preview, "wait\n") {
		t.Fatalf("%+v", pick)
	}
	page := s.command("tasks", pick.Items[0].ID).Page
	if page == nil || page.Back != "tasks" || page.Live == "" || page.Tell != "tasks tell "+pick.Items[0].ID ||
		!strings.Contains(page.Text, "> wait for it") || !strings.Contains(page.Text, "**Bash** `until") {
		t.Fatalf("%+v", page)
	}
	if again := s.command("agents", pick.Items[0].ID).Page; again == nil {
		t.Error("/agents ID shows nothing")
	}
	s.command("tasks", "tell "+pick.Items[0].ID+" hurry up")
	p.write(t, "go", "")
	until(s, func(b event.TurnStart) bool {
		return strings.Contains(b.Prompt.PlainText(), "has finished:\n\nI hurried.")
	})
	until(s, func(b event.PartDone) bool { t, ok := b.Part.(llm.Text); return ok && t.Text == "I was woken." })
	until[event.TurnEnd](s, nil)
	page = s.command("tasks", pick.Items[0].ID).Page
	if page == nil || page.Live != "" || !strings.Contains(page.Text, "I hurried.") {
		t.Errorf("%+v", page)
	}
	for _, m := range s.session().Messages() {
		if m.Role == llm.User && strings.Contains(m.PlainText(), "hurry up") {
			t.Error("the parent got the agent's message")
		}
	}
}
