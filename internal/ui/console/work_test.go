package console

import (
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// The commands about longer work.
func init() {
	exercises["btw"] = func(t *testing.T, s *seat, p *place) {
		s.shows("btw", "", "Nothing was asked yet")
		messages := len(s.session().Messages())
		if page := s.command("btw", "what *is* it?").Page; page == nil || page.Text == "" {
			t.Errorf("%+v", page)
		}
		if page := s.command("btw", "").Page; page == nil || !strings.Contains(page.Text, `what \*is\* it?`) {
			t.Errorf("%+v", page)
		}
		if n := len(s.session().Messages()); n != messages {
			t.Errorf("the conversation has %d messages, had %d", n, messages)
		}
	}
	exercises["recap"] = func(t *testing.T, s *seat, _ *place) {
		if out := s.command("recap", ""); out.Text == "" {
			t.Errorf("%+v", out)
		}
	}
	exercises["handoff"] = func(t *testing.T, s *seat, _ *place) {
		s.refuses("handoff", "", "say what the new session is for")
		before := s.session().ID()
		out := s.command("handoff", "write the docs")
		if out.Insert == "" || !strings.Contains(out.Text, before) || s.session().ID() == before {
			t.Errorf("%+v", out)
		}
	}
	exercises["search"] = func(t *testing.T, s *seat, _ *place) {
		s.refuses("search", "", "say what to search for")
		if p := s.command("search", "CHANGE").Pick; len(p.Items) != 1 || p.Items[0].Detail == "" {
			t.Errorf("%+v", p)
		}
		if p := s.command("search", "all zzzz").Pick; len(p.Items) != 0 {
			t.Errorf("%+v", p)
		}
	}
	exercises["goal"] = func(t *testing.T, s *seat, _ *place) {
		s.shows("goal", "", "There is no goal")
		s.refuses("goal", "--rounds x", "--rounds needs a value")
		s.refuses("goal", "--speed 3 fast", "has no option --speed")
		if p := s.command("goal", "--check 'go test ./...' --time 2h it is green").Prompt; p.PlainText() != "it is green" {
			t.Errorf("%+v", p)
		}
		s.shows("goal", "", "Goal (active): `it is green`", "decided by `go test ./...`", "0 rounds")
		if g := s.Status().Goal; g == nil || g.Condition != "it is green" {
			t.Errorf("%+v", g)
		}
		s.shows("goal", "clear", "cleared")
		s.shows("goal", "clear", "No goal is active")
	}
}

func init() {
	exercises["review"] = func(t *testing.T, s *seat, _ *place) {
		s.refuses("review", "--max-findings x", "not a number")
		s.refuses("review", "--quick", "has no option --quick")
		s.refuses("review", "", "in no git repository")
		s.refuses("review", "post", "no review of a pull request")
	}
	exercises["security-review"] = func(t *testing.T, s *seat, _ *place) {
		s.refuses("security-review", "", "in no git repository")
	}
}

// Rules are proposed for what the user allowed and would be asked about again, with counts and calls.
func TestRulesAreSuggestedFromUse(t *testing.T) {
	ask := func(path string) llmtest.Reply {
		return llmtest.Say(llmtest.Tool("Write", map[string]any{"file_path": "${WORKDIR}/" + path, "content": "x"}))
	}
	p := newPlace(t, llmtest.Replies(ask("docs/a.md"), ask("docs/b.md"), llmtest.Say(llmtest.Text("Done."))))
	s := p.open(t, nil)
	if _, err := s.Console.Prompt(t.Context(), port.Prompt{Message: llm.UserText("write")}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		q := until[event.Asked](s, nil)
		if err := s.Answer(s.session().ID(), q.ID, event.Answer{Choice: event.ChoiceOnce}); err != nil {
			t.Fatal(err)
		}
	}
	until[event.TurnEnd](s, nil)
	pick := s.command("permissions", "suggest").Pick
	if pick == nil || len(pick.Items) == 0 || pick.Command != "permissions allow" {
		t.Fatalf("%+v", pick)
	}
	total := 0
	for _, i := range pick.Items {
		total += strings.Count(i.Preview, "Write: ")
	}
	if total != 2 {
		t.Errorf("%+v", pick)
	}
	s.command("permissions", "allow "+pick.Items[0].ID)
	if next := s.command("permissions", "suggest").Pick; len(next.Items) >= len(pick.Items) {
		t.Errorf("the rule that was added is proposed again: %+v", next)
	}
}

func init() {
	exercises["verify"] = func(t *testing.T, s *seat, _ *place) {
		if p := s.command("verify", "the login").Prompt; p == nil || !strings.Contains(p.PlainText(), ".lathe/verify.md") ||
			!strings.HasSuffix(p.PlainText(), "in particular: the login") {
			t.Errorf("%+v", p)
		}
	}
	exercises["batch"] = func(t *testing.T, s *seat, _ *place) {
		s.refuses("batch", "", "say what to do")
		if p := s.command("batch", "rename Foo").Prompt; p == nil || !strings.Contains(p.PlainText(), "\n\nrename Foo\n\n") {
			t.Errorf("%+v", p)
		}
	}
}
