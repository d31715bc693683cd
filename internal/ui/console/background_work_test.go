package console

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

func TestUserCommandReachesTheModelWithTheNextMessage(t *testing.T) {
	s := newPlace(t, talk3()).open(t, nil)
	s.prompt("first")
	s.command("!", "echo out; echo err >&2; exit 3")
	end := until(s, func(e event.ToolEnd) bool { return e.Call.Name == "!" })
	if v, ok := end.View.(event.Command); !ok || v.ExitCode != 3 || v.Output != "out\nerr\n" {
		t.Errorf("%+v", end.View)
	}
	id := s.session().ID()
	s.command("new", "") // the journal has it after a switch
	s.command("resume", id)
	o := until(s, func(o event.Opened) bool { return o.Session == id && len(o.History) > 0 })
	if last, ok := o.History[len(o.History)-1].(event.ToolEnd); !ok || last.Title != "echo out; echo err >&2; exit 3" {
		t.Errorf("%+v", o.History)
	}
	s.prompt("second")
	msgs := s.session().Messages()
	said := msgs[len(msgs)-2].PlainText()
	if !strings.Contains(said, "exit code 3") || !strings.Contains(said, "out\nerr") || !strings.HasSuffix(said,
		"second") {
		t.Errorf("%q", said)
	}
	if u := until(s, func(u event.UserMessage) bool {
		return strings.HasSuffix(u.Message.PlainText(), "second")
	}); u.Message.PlainText() != "second" {
		t.Errorf("shown: %q", u.Message.PlainText())
	}
	s.prompt("third")
	msgs = s.session().Messages()
	if said := msgs[len(msgs)-2].PlainText(); said != "third" {
		t.Errorf("published twice: %q", said)
	}
}

func TestUserCommandIsInterrupted(t *testing.T) {
	s := newPlace(t, talk3()).open(t, nil)
	done := make(chan error, 1)
	go func() {
		_, err := s.Command(t.Context(), "!", "echo begun; sleep 1000")
		done <- err
	}()
	until(s, func(o event.ToolOutput) bool { return strings.Contains(o.Text, "begun") })
	s.Interrupt()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if end := until[event.ToolEnd](s, nil); !end.View.(event.Command).Cancelled {
		t.Errorf("%+v", end.View)
	}
}

func TestAnEndlessOutputIsCut(t *testing.T) {
	s := newPlace(t, talk3()).open(t, nil)
	s.command("!", "head -c 3000000 /dev/zero | tr '\\0' 'x'; echo; echo the end")
	end := until[event.ToolEnd](s, nil)
	out := end.View.(event.Command).Output
	if len(out) > userShellKept+200 || !strings.Contains(out, "bytes left out") || !strings.HasSuffix(out, "the end\n") {
		t.Errorf("%d bytes", len(out))
	}
}

func TestANoteGoesToTheMemoryFile(t *testing.T) {
	p := newPlace(t, talk3())
	s := p.open(t, nil)
	s.command("#", "  always   test ")
	if got := p.read(t, "AGENTS.md"); got != "- always test\n" {
		t.Errorf("%q", got)
	}
	p.write(t, "CLAUDE.md", "# Rules")
	s.command("#", "be brief")
	if got := p.read(t, "CLAUDE.md"); got != "# Rules\n- be brief\n" {
		t.Errorf("%q", got)
	}
	if n := until(s, func(n event.Notice) bool { return strings.Contains(n.Text, "CLAUDE.md") }); n.Level != "info" {
		t.Errorf("%+v", n)
	}
	if _, err := s.Command(t.Context(), "#", " "); err == nil {
		t.Error("an empty note was taken")
	}
}

func TestASmallModelNamesTheSession(t *testing.T) {
	script := talk3()
	script.NoTools = &llmtest.Reply{Parts: []llmtest.Part{{Text: "\"Greeting the\u202e agent.\"\nmore"}}}
	p := newPlace(t, script)
	p.env = []string{"ANTHROPIC_SMALL_FAST_MODEL=claude-haiku-4-5"}
	s := p.open(t, nil)
	s.prompt("hello")
	st := until(s, func(st event.Status) bool { return st.Title != "hello" && st.Title != "" })
	if st.Title != "Greeting the agent" {
		t.Errorf("%q", st.Title)
	}
	if got := s.session().Log().Info().Title; got != st.Title {
		t.Errorf("journal: %q", got)
	}
	s.prompt("again")
	if n := len(p.srv.Requests()); n != 3 {
		t.Errorf("%d requests", n)
	}
}

func TestNoTitleWhenDisabled(t *testing.T) {
	p := newPlace(t, talk3())
	p.env = []string{"ANTHROPIC_SMALL_FAST_MODEL=claude-haiku-4-5"}
	p.user(t, `{"sessionTitles": false}`)
	s := p.open(t, nil)
	s.prompt("hello")
	s.prompt("again")
	if n := len(p.srv.Requests()); n != 2 {
		t.Errorf("%d requests", n)
	}
}

// user writes the user's settings.
func (p *place) user(t *testing.T, text string) {
	t.Helper()
	dir := filepath.Join(p.home, ".config", "lathe")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "settings.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFolderIsTrustedOnlyByTheUser(t *testing.T) {
	for answer, want := range map[string]bool{trustYes: true, trustNo: false} {
		p := newPlace(t, talk3())
		p.write(t, ".lathe/settings.json", `{"permissions": {"allow": ["Bash(evil \u202e*)"]}}`)
		s := p.open(t, nil)
		q := until[event.Asked](s, nil)
		if !strings.Contains(q.Question.Text, "permissions: allow[0]") || strings.Contains(q.Question.Text, "\u202e") {
			t.Errorf("%q", q.Question.Text)
		}
		p.write(t, ".lathe/settings.json", `{"permissions": {"allow": ["Bash(evil \u202e*)"]}} `)
		if err := s.Answer(s.session().ID(), q.ID, event.Answer{Choice: answer}); err != nil {
			t.Fatal(err)
		}
		until[event.Answered](s, nil)
		if got := s.inst.Config().Trusted(); got != want {
			t.Errorf("%s: trusted %v", answer, got)
		}
		if err := s.Answer(s.session().ID(), q.ID, event.Answer{Choice: trustYes}); err == nil {
			t.Error("answered twice")
		}
	}
}

func TestSettingsChangedAfterTheQuestionAreNotTrusted(t *testing.T) {
	p := newPlace(t, talk3())
	p.write(t, ".lathe/settings.json", `{"permissions": {"allow": ["Bash(make)"]}}`)
	s := p.open(t, nil)
	q := until[event.Asked](s, nil)
	p.write(t, ".lathe/settings.json", `{"permissions": {"allow": ["Bash"]}}`)
	if err := s.Answer(s.session().ID(), q.ID, event.Answer{Choice: trustYes}); err != nil {
		t.Fatal(err)
	}
	if s.inst.Config().Trusted() {
		t.Error("the new rule is trusted")
	}
}

func TestStatusLineCommandGetsTheSession(t *testing.T) {
	p := newPlace(t, talk3())
	p.user(t, `{"statusLine": {"type": "command", "command": "cat > in.json; printf 'line %s' $$"}}`)
	s := p.open(t, nil)
	s.prompt("hello")
	st := until(s, func(st event.Status) bool { return st.Line != "" && st.ContextUsed > 0 })
	if !strings.HasPrefix(st.Line, "line ") {
		t.Errorf("%q", st.Line)
	}
	var in struct {
		SessionID string `json:"session_id"`
		Model     struct{ ID string }
		Context   struct {
			Size int `json:"context_window_size"`
		} `json:"context_window"`
	}
	if err := json.Unmarshal([]byte(p.read(t, "in.json")), &in); err != nil || in.SessionID != s.session().ID() ||
		in.Model.ID == "" || in.Context.Size == 0 {
		t.Errorf("%+v %v", in, err)
	}
}

func TestChangedStatusLineShowsAtOnce(t *testing.T) {
	p := newPlace(t, talk3())
	p.user(t, `{"statusLine": {"type": "command", "command": "echo first"}}`)
	s := p.open(t, nil)
	until(s, func(st event.Status) bool { return st.Line == "first" })
	p.user(t, `{"statusLine": {"type": "command", "command": "echo second"}}`)
	until(s, func(st event.Status) bool { return st.Line == "second" })
	p.user(t, `{}`)
	until(s, func(st event.Status) bool { return st.Line == "" })
}

func TestAProjectsStatusLineDoesNotRunUntrusted(t *testing.T) {
	p := newPlace(t, talk3())
	p.write(t, ".lathe/settings.json", `{"statusLine": {"type": "command", "command": "touch ran"}}`)
	s := p.open(t, nil)
	if _, ok := s.lineSetting(); ok {
		t.Error("it would run")
	}
	if err := s.Answer(s.session().ID(), until[event.Asked](s, nil).ID, event.Answer{Choice: trustYes}); err != nil {
		t.Fatal(err)
	}
	if set, ok := s.lineSetting(); !ok || set.Command != "touch ran" {
		t.Errorf("%+v", set)
	}
}

func TestCompletion(t *testing.T) {
	p := newPlace(t, talk3())
	p.write(t, "src/main.go", "package main")
	s := p.open(t, nil)
	texts := func(q event.Query) (out []string) {
		for _, c := range s.Complete(t.Context(), q) {
			out = append(out, c.Text)
		}
		return out
	}
	if got := texts(event.Query{Kind: event.QueryCommand, Text: "mod"}); len(got) < 2 || got[0] != "mode" {
		t.Errorf("%v", got)
	}
	for range 3 {
		s.command("models", "")
	}
	if got := texts(event.Query{Kind: event.QueryCommand, Text: "mod"}); got[0] != "model" {
		t.Errorf("what is used is not first: %v", got)
	}
	if got := texts(event.Query{Kind: event.QueryArgument, Name: "mode", Text: "acc"}); len(got) != 1 ||
		got[0] != "acceptEdits" {
		t.Errorf("%v", got)
	}
	if got := texts(event.Query{Kind: event.QueryFile, Text: "main"}); len(got) == 0 || got[0] != "src/main.go" {
		t.Errorf("%v", got)
	}
	s.prompt("remember me")
	if got := texts(event.Query{Kind: event.QueryHistory, Text: "MEMBER"}); len(got) != 1 || got[0] != "remember me" {
		t.Errorf("%v", got)
	}
}

func TestCommandUseIsSaved(t *testing.T) {
	p := newPlace(t, talk3())
	s := p.open(t, nil)
	s.command("tokens", "")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := p.open(t, nil)
	if again.used.score("tokens") <= 0 || again.used.score("cost") != 0 {
		t.Error("it is forgotten")
	}
}

func TestAMessageWithMediaIsPrompted(t *testing.T) {
	s := newPlace(t, talk3()).open(t, nil)
	m := llm.Message{Role: llm.User, Parts: []llm.Part{
		llm.Text{Text: "look"},
		llm.Media{MIME: "image/png", Data: []byte("x"), Name: "a.png"},
	}}
	if err := s.Prompt(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if got := s.session().Messages()[0].Parts; len(got) < 3 {
		t.Errorf("%d parts", len(got))
	}
}
