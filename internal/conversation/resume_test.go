package conversation_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/permission"
)

func TestAResumedConversationHasWhatItHad(t *testing.T) {
	todo := map[string]any{"todos": []map[string]string{{"content": "change it", "status": "in_progress"}}}
	p := newPlace(t, llmtest.Replies(
		llmtest.Say(llmtest.Tool("TodoWrite", todo), llmtest.Tool("Read", map[string]any{"file_path": "${WORKDIR}/a.txt"})),
		llmtest.Say(llmtest.Tool("Write", map[string]any{"file_path": "${WORKDIR}/b.txt", "content": "new\n"})),
		llmtest.Say(llmtest.Text("Looked.")),
		llmtest.Say(llmtest.Tool("Edit", map[string]any{
			"file_path": "${WORKDIR}/a.txt", "old_string": "one",
			"new_string": "two",
		})),
		llmtest.Say(llmtest.Tool("Edit", map[string]any{
			"file_path": "${WORKDIR}/b.txt", "old_string": "new",
			"new_string": "newer",
		})),
		llmtest.Say(llmtest.Text("Done.")),
	))
	p.write(t, "a.txt", "one\n")
	first := p.open(t, func(o *conversation.Options) { o.AppendSystem = "Speak like a pirate." })
	s := newSession(t, first, conversation.SessionOptions{Interactive: true})
	answerWith(t, s, s.Subscribe(t.Context()), event.Answer{Choice: event.ChoiceSession, Rules: []string{"Edit(/**)"}})
	if _, err := s.Prompt(t.Context(), llm.UserText("look at it")); err != nil {
		t.Fatal(err)
	}
	if err := s.SetModel(t.Context(), "claude-opus-4-1"); err != nil {
		t.Fatal(err)
	}
	if err := s.Log().SetModel(t.Context(), "claude-opus-4-1"); err != nil {
		t.Fatal(err)
	}
	id, cost := s.ID(), s.Log().Info().CostUSD
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	// nobody is there: a call that is not granted is refused
	again := newSession(t, p.open(t, nil), conversation.SessionOptions{Resume: id})
	if got := again.Model().ID; got != "claude-opus-4-1" {
		t.Errorf("model %s", got)
	}
	if diff := cmp.Diff([]event.TodoItem{{Content: "change it", Status: "in_progress"}},
		again.Env().Todos.Get()); diff != "" {
		t.Errorf("todos: %s", diff)
	}
	if got := again.Spent(); got != cost || cost == 0 {
		t.Errorf("spent %v, want %v", got, cost)
	}
	system, err := again.System(t.Context())
	if err != nil || !strings.Contains(system[0].(llm.Text).Text, "like a pirate") {
		t.Errorf("the appended system prompt is lost: %v", err)
	}
	end, err := again.Prompt(t.Context(), llm.UserText("now change it"))
	if err != nil || end.Reason != event.EndCompleted {
		t.Fatalf("%+v %v", end, err)
	}
	if a, b := p.read(t, "a.txt"), p.read(t, "b.txt"); a != "two\n" || b != "newer\n" {
		t.Errorf("a.txt %q, b.txt %q: both were known, and editing was granted", a, b)
	}
}

func TestAFileChangedWhileNobodyLookedIsReadAgain(t *testing.T) {
	p := newPlace(t, llmtest.Replies(
		llmtest.Say(llmtest.Tool("Read", map[string]any{"file_path": "${WORKDIR}/a.txt"})),
		llmtest.Say(llmtest.Text("Looked.")),
		llmtest.Say(llmtest.Tool("Write", map[string]any{"file_path": "${WORKDIR}/a.txt", "content": "mine\n"})),
		llmtest.Say(llmtest.Text("Done.")),
	))
	p.write(t, "a.txt", "one\n")
	edits := func(o *conversation.Options) { o.Mode = permission.AcceptEdits }
	s := newSession(t, p.open(t, edits), conversation.SessionOptions{})
	if _, err := s.Prompt(t.Context(), llm.UserText("look at it")); err != nil {
		t.Fatal(err)
	}
	id := s.ID()
	_ = s.Close()
	p.write(t, "a.txt", "somebody else's\n")
	again := newSession(t, p.open(t, edits), conversation.SessionOptions{Resume: id})
	if _, err := again.Prompt(t.Context(), llm.UserText("write it")); err != nil {
		t.Fatal(err)
	}
	if got := p.read(t, "a.txt"); got != "somebody else's\n" {
		t.Errorf("it was overwritten: %q", got)
	}
}

func TestTheMoneyLimitHoldsOverAResume(t *testing.T) {
	p := newPlace(t, llmtest.Replies(llmtest.Say(llmtest.Text("One.")), llmtest.Say(llmtest.Text("Two."))))
	s := newSession(t, p.open(t, nil), conversation.SessionOptions{})
	if _, err := s.Prompt(t.Context(), llm.UserText("one")); err != nil {
		t.Fatal(err)
	}
	id, cost := s.ID(), s.Log().Info().CostUSD
	_ = s.Close()
	again := newSession(t, p.open(t, func(o *conversation.Options) { o.MaxBudgetUSD = cost / 2 }),
		conversation.SessionOptions{Resume: id})
	if end, err := again.Prompt(t.Context(), llm.UserText("two")); err != nil || end.Reason != event.EndBudget {
		t.Errorf("%+v %v", end, err)
	}
}
