package console

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// slow is a script whose first reply waits for an answer to a question, so a turn runs as long as a test
// needs.
func slow(more ...string) *llmtest.Script {
	s := llmtest.Replies(llmtest.Say(llmtest.Tool("Bash", map[string]any{"command": "touch made.txt"})))
	for _, text := range more {
		s.Replies = append(s.Replies, llmtest.Say(llmtest.Text(text)))
	}
	return s
}

// begin starts a turn that waits for an answer.
func (s *seat) begin(text string) (id string, ended chan error) {
	s.t.Helper()
	ended = make(chan error, 1)
	go func() { ended <- s.Prompt(s.t.Context(), llm.UserText(text)) }()
	return until(s, func(a event.Asked) bool { return a.Question.Permission != nil }).ID, ended
}

func (s *seat) wait(ended chan error) {
	s.t.Helper()
	select {
	case err := <-ended:
		if err != nil {
			s.t.Fatal(err)
		}
	case <-time.After(20 * time.Second):
		s.t.Fatal("the turn does not end")
	}
}

// prompts lists the user's messages in the session in front.
func (s *seat) prompts() (out []string) {
	for _, m := range s.session().Messages() {
		if text := session.StripContext(m).PlainText(); m.Role == llm.User && text != "" {
			out = append(out, text)
		}
	}
	return out
}

func (s *seat) wantSaid(want ...string) {
	s.t.Helper()
	if got := strings.Join(s.prompts(), " | "); got != strings.Join(want, " | ") {
		s.t.Errorf("prompts: %s", got)
	}
}

func TestOnlyOneTurnRuns(t *testing.T) {
	s := newPlace(t, slow("done")).open(t, nil)
	id, ended := s.begin("go")
	if _, err := s.Command(t.Context(), "new", ""); !errors.Is(err, ErrBusy) {
		t.Errorf("%v", err)
	}
	if out := s.command("status", ""); !strings.Contains(out.Text, "model") {
		t.Errorf("%+v", out)
	}
	if err := s.Answer(s.session().ID(), id, event.Answer{Choice: event.ChoiceOnce}); err != nil {
		t.Fatal(err)
	}
	s.wait(ended)
	s.wantSaid("go")
}

func TestASteeredMessageComesBeforeAQueuedOne(t *testing.T) {
	s := newPlace(t, slow("steered answered", "queued answered")).open(t, nil)
	if s.Steer(llm.UserText("nobody"), false) || s.Steer(llm.UserText("nobody"), true) {
		t.Error("steered without a turn")
	}
	id, ended := s.begin("go")
	if !s.Steer(llm.UserText("later"), true) || !s.Steer(llm.UserText("now"), false) {
		t.Error("not taken")
	}
	st := until(s, func(st event.Status) bool { return len(st.Waiting) == 2 })
	if now, later := st.Waiting[0], st.Waiting[1]; now.Text != "now" || now.After || later.Text != "later" || !later.After {
		t.Errorf("%v", st.Waiting)
	}
	if err := s.Answer(s.session().ID(), id, event.Answer{Choice: event.ChoiceOnce}); err != nil {
		t.Fatal(err)
	}
	s.wait(ended)
	s.wantSaid("go", "now", "later")
	until(s, func(u event.UserMessage) bool { return u.Steered && u.Message.PlainText() == "now" })
	until(s, func(ts event.TurnStart) bool { return ts.Prompt.PlainText() == "later" })
}

func TestTheNewestMessageIsTakenBackFirst(t *testing.T) {
	s := newPlace(t, slow("done")).open(t, nil)
	id, ended := s.begin("go")
	s.Steer(llm.UserText("a queued"), true)
	s.Steer(llm.UserText("b steered"), false)
	s.Steer(llm.UserText("c queued"), true)
	for _, want := range []string{"c queued", "b steered", "a queued"} {
		if m, ok := s.Unqueue(); !ok || m.PlainText() != want {
			t.Errorf("%q, %v; want %q", m.PlainText(), ok, want)
		}
	}
	if _, ok := s.Unqueue(); ok {
		t.Error("there was one more")
	}
	if err := s.Answer(s.session().ID(), id, event.Answer{Choice: event.ChoiceOnce}); err != nil {
		t.Fatal(err)
	}
	s.wait(ended)
	s.wantSaid("go")
}

func TestAnInterruptionKeepsWhatWasNotDelivered(t *testing.T) {
	s := newPlace(t, slow("answered", "queued answered")).open(t, nil)
	_, ended := s.begin("go")
	s.Steer(llm.UserText("steered"), false)
	s.Steer(llm.UserText("queued"), true)
	s.session().Interrupt()
	s.wait(ended)
	if end := until[event.TurnEnd](s, nil); end.Reason != event.EndInterrupted {
		t.Errorf("%+v", end)
	}
	if n := until[event.Notice](s, nil); !strings.Contains(n.Text, "2 messages were not sent") {
		t.Errorf("%q", n.Text)
	}
	s.wantSaid("go")
	if m, ok := s.Unqueue(); !ok || m.PlainText() != "queued" {
		t.Errorf("%v", m)
	}
	s.prompt("on")
	s.wantSaid("go", "on", "steered")
}

func TestEscSendsTheMessagesThatWaitAtOnce(t *testing.T) {
	s := newPlace(t, slow("answered", "queued answered")).open(t, nil)
	_, ended := s.begin("go")
	s.Steer(llm.UserText("queued"), true)
	s.Steer(llm.UserText("steered"), false)
	s.Steer(llm.UserText("steered too"), false)
	s.Interrupt()
	s.wait(ended)
	if end := until[event.TurnEnd](s, nil); end.Reason != event.EndInterrupted {
		t.Errorf("%+v", end)
	}
	s.wantSaid("go", "steered", "steered too", "queued")
}

func TestATurnThatFailsSaysSoOnce(t *testing.T) {
	script := llmtest.Replies()
	script.Faults = []llmtest.Fault{{Kind: "status", Status: 400, Times: -1}}
	s := newPlace(t, script).open(t, nil)
	if err := s.Prompt(t.Context(), llm.UserText("go")); err != nil {
		t.Errorf("published twice: %v", err)
	}
	if end := until[event.TurnEnd](s, nil); end.Err == "" {
		t.Errorf("%+v", end)
	}
}

func TestGoingBackOpensAnotherBranch(t *testing.T) {
	s := newPlace(t, talk3()).open(t, nil)
	s.prompt("first")
	s.prompt("second")
	out := s.command("rewind", "")
	if out.Pick == nil || len(out.Pick.Items) != 2 || out.Pick.Items[0].Label != "second" {
		t.Fatalf("%+v", out.Pick)
	}
	out = s.command("rewind", out.Pick.Items[0].ID)
	if out.Insert != "second" {
		t.Errorf("%+v", out)
	}
	if o := until(s, func(o event.Opened) bool { return len(o.History) > 0 }); len(o.History) != 3 {
		t.Errorf("%d bodies", len(o.History))
	}
	s.prompt("other")
	s.wantSaid("first", "other")
	tree := s.command("tree", "").Pick
	var got []string
	for _, i := range tree.Items {
		line := strings.Repeat(".", i.Depth) + i.Label
		if i.Current {
			line += "*"
		}
		got = append(got, line)
	}
	if strings.Join(got, " ") != "first* .second .other*" {
		t.Errorf("%v", got)
	}
	s.command("tree", tree.Items[1].ID)
	s.wantSaid("first", "second")
	s.prompt("third")
	s.wantSaid("first", "second", "third")
}

func TestTheFirstMessageCanBeEditedToo(t *testing.T) {
	s := newPlace(t, talk3()).open(t, nil)
	s.prompt("first")
	id := s.command("rewind", "").Pick.Items[0].ID
	if out := s.command("rewind", id); out.Insert != "first" {
		t.Errorf("%+v", out)
	}
	s.prompt("better")
	s.wantSaid("better")
	if m := s.session().Messages()[0]; len(m.Parts) < 2 { // the context is restored
		t.Errorf("%+v", m)
	}
}

func TestRetrySendsTheLastPromptAgain(t *testing.T) {
	s := newPlace(t, talk3()).open(t, nil)
	s.prompt("first")
	s.prompt("second")
	out := s.command("retry", "")
	if out.Prompt == nil || out.Prompt.PlainText() != "second" {
		t.Fatalf("%+v", out)
	}
	if err := s.Prompt(t.Context(), *out.Prompt); err != nil {
		t.Fatal(err)
	}
	s.wantSaid("first", "second")
}

// A turn that has done some work when its request fails goes on from there, and so does one whose wait Esc ended.
func TestRetryGoesOnWithATurnWhoseRequestFailed(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		script := llmtest.Replies(llmtest.Say(llmtest.Tool("Glob", map[string]any{"pattern": "*"})),
			llmtest.Say(llmtest.Text("never")), llmtest.Say(llmtest.Text("done")))
		script.Replies[1].Faults = []llmtest.Fault{{Kind: "status", Status: 400, Times: -1}}
		if stopped {
			script.Replies[1].Faults[0].Status = 529
		}
		s := newPlace(t, script).open(t, nil)
		ended := make(chan error, 1)
		go func() { ended <- s.Prompt(t.Context(), llm.UserText("look")) }()
		if stopped {
			until[event.Retry](s, nil)
			s.Interrupt()
		}
		s.wait(ended)
		out := s.command("retry", "")
		if out.Prompt == nil || !strings.Contains(out.Prompt.PlainText(), "Go on where you stopped") {
			t.Fatalf("stopped %v: %+v", stopped, out)
		}
		s.wantSaid("look")
	}
}

func TestAForkLeavesTheOriginalAndKeepsTheManner(t *testing.T) {
	s := newPlace(t, talk3()).open(t, nil)
	s.prompt("first")
	old := s.session().ID()
	s.command("permissions", "allow Bash(make) in session")
	s.command("effort", "high")
	s.command("fork", "the copy")
	if id := s.session().ID(); id == old {
		t.Fatal("the same session")
	}
	s.prompt("second")
	s.wantSaid("first", "second")
	st := s.Status()
	if st.Title != "the copy" || st.Effort != "high" {
		t.Errorf("%+v", st)
	}
	if got := s.command("permissions", "").Pick.Items; len(got) != 1 || got[0].Label != "allow Bash(make)" {
		t.Errorf("%+v", got)
	}
	s.command("resume", old)
	s.wantSaid("first")
}

func TestDroppedMessagesAreToldAgainOnResume(t *testing.T) {
	s := newPlace(t, slow("done")).open(t, nil)
	_, ended := s.begin("go")
	s.Steer(llm.UserText("queued"), true)
	s.session().Interrupt()
	s.wait(ended)
	id := s.session().ID()
	s.command("new", "")
	s.command("resume", id)
	opened := until(s, func(o event.Opened) bool { return o.Session == id })
	dropped := func(b event.Body) bool {
		n, ok := b.(event.Notice)
		return ok && n.Level == "warning" && strings.Contains(n.Text, "queued messages dropped with their conversation: 1")
	}
	if !slices.ContainsFunc(opened.History, dropped) {
		t.Errorf("the warning is not in the history: %+v", opened.History)
	}
}
