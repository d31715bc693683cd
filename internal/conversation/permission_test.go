package conversation_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/permission"
)

func bashScript(commands ...string) *llmtest.Script {
	var replies []llmtest.Reply
	for _, c := range commands {
		replies = append(replies, llmtest.Say(llmtest.Tool("Bash", map[string]any{"command": c})))
	}
	return llmtest.Replies(append(replies, llmtest.Say(llmtest.Text("Done.")))...)
}

// answering answers every question and keeps it: the first ones with the first answers, all others with the last.
func answering(t *testing.T, s *conversation.Session, answers ...event.Answer) func() []event.Question {
	var mu sync.Mutex
	var asked []event.Question
	sub := s.Subscribe(t.Context())
	go func() {
		for e := range sub.All(t.Context()) {
			if q, ok := e.Body.(event.Asked); ok {
				mu.Lock()
				asked = append(asked, q.Question)
				mu.Unlock()
				_ = s.Answer(q.ID, answers[0]) // the session may be closed by now
				answers = answers[min(1, len(answers)-1):]
			}
		}
	}()
	return func() []event.Question {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(asked)
	}
}

// A call that a guard refuses is put to a person once, with the danger named, and never for more than one call, also
// in the mode that asks nothing, and also when the other side answers "always".
func TestADangerousCallIsConfirmedOnceOnly(t *testing.T) {
	for choice, want := range map[string]bool{event.ChoiceOnce: true, event.ChoiceAlways: true, event.ChoiceNo: false} {
		cmd := "touch .envrc .mcp.json"
		p := newPlace(t, bashScript(cmd, cmd))
		s := newSession(t, p.open(t, func(o *conversation.Options) { o.Mode = permission.Bypass }),
			conversation.SessionOptions{Interactive: true})
		asked := answering(t, s, event.Answer{Choice: choice, Text: "because", Rules: []string{"Bash", "Edit"}})
		if _, err := s.Prompt(t.Context(), llm.UserText("go")); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(p.dir, ".mcp.json")); (err == nil) != want {
			t.Errorf("%s: %v", choice, err)
		}
		qs := asked()
		if len(qs) != 2 {
			t.Fatalf("%s: asked %d times", choice, len(qs))
		}
		q := qs[0]
		if len(q.Options) != 3 || q.Options[0].ID != event.ChoiceOnce || !strings.HasPrefix(q.Reason, "Dangerous: ") ||
			!strings.Contains(q.Reason, "agents and editors start") {
			t.Errorf("%+v", q)
		}
		if _, err := os.Stat(filepath.Join(p.dir, ".lathe", "settings.local.json")); err == nil {
			t.Errorf("%s: a rule was kept", choice)
		}
	}
}

func TestADangerousCallIsRefusedWhenNobodyIsThere(t *testing.T) {
	p := newPlace(t, bashScript("touch .mcp.json"))
	s := newSession(t, p.open(t, func(o *conversation.Options) {
		o.Mode, o.Allowed = permission.Bypass, []string{"Bash", "Edit"}
	}), conversation.SessionOptions{})
	sub := s.Subscribe(t.Context())
	if _, err := s.Prompt(t.Context(), llm.UserText("go")); err != nil {
		t.Fatal(err)
	}
	d := firstOf[event.Denied](t, sub).Decision
	if d.Layer != permission.LayerGuards || !strings.Contains(d.Reason, "no rule or mode allows it") {
		t.Errorf("%+v", d)
	}
}

// A compound gets one rule for each part; the rules are shown, kept and reach the next session.
func TestAlwaysKeepsOneRuleForEachPart(t *testing.T) {
	p := newPlace(t, bashScript("mkdir one && touch one/a", "mkdir two && touch two/b"))
	s := newSession(t, p.open(t, nil), conversation.SessionOptions{Interactive: true})
	asked := answering(t, s, event.Answer{Choice: event.ChoiceAlways})
	if _, err := s.Prompt(t.Context(), llm.UserText("go")); err != nil {
		t.Fatal(err)
	}
	qs := asked()
	if len(qs) != 1 {
		t.Fatalf("asked %d times", len(qs))
	}
	i := slices.IndexFunc(qs[0].Options, func(o event.Option) bool { return o.ID == event.ChoiceAlways })
	if i < 0 || qs[0].Options[i].Help != "Bash(mkdir *)\nBash(touch *)" {
		t.Errorf("%+v", qs[0].Options)
	}
	if kept := p.read(t, ".lathe/settings.local.json"); !strings.Contains(kept, `"Bash(mkdir *)"`) ||
		!strings.Contains(kept, `"Bash(touch *)"`) {
		t.Errorf("%s", kept)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "two", "b")); err != nil {
		t.Error(err)
	}
}

func TestEveryDecisionIsWrittenWithItsEvidence(t *testing.T) {
	p := newPlace(t, bashScript("ls", "rm gone"))
	s := newSession(t, p.open(t, nil), conversation.SessionOptions{})
	if _, err := s.Prompt(t.Context(), llm.UserText("go")); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	var noted []string
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, `"decision"`) && strings.Contains(line, `"effect"`) {
			noted = append(noted, line)
		}
	}
	if len(noted) != 2 {
		t.Fatalf("%d decisions: %s", len(noted), noted)
	}
	for i, want := range [][]string{
		{`"effect":"allow"`, `"layer":"analysis"`, `"class":"list"`, `"text":"ls"`},
		{`"effect":"deny"`, `"class":"destructive"`, `"findings":["remove"]`, `"tool":"Bash"`, `"mode":"default"`},
	} {
		for _, w := range want {
			if !strings.Contains(noted[i], w) {
				t.Errorf("%s is missing in %s", w, noted[i])
			}
		}
	}
}

func TestARuleThatFailsItsExampleIsAnError(t *testing.T) {
	p := newPlace(t, nil)
	text := `{"permissions": {"deny": [{"rule": "Bash(rm *)", "match": ["rm x"], "not_match": ["git rm x", "sudo rm x"]}]}}`
	_, err := p.with(t, text, []string{"ANTHROPIC_API_KEY=a"}, nil)
	if err == nil || !strings.Contains(err.Error(), "Bash(rm *)") || !strings.Contains(err.Error(), `"sudo rm x"`) ||
		!strings.Contains(err.Error(), "--settings:1:") {
		t.Errorf("%v", err)
	}
	if _, err := p.with(t, strings.Replace(text, `, "sudo rm x"`, "", 1), []string{"ANTHROPIC_API_KEY=a"},
		nil); err != nil {
		t.Error(err)
	}
}

// A project that nobody trusts may refuse and ask, and not allow.
func TestAnUntrustedProjectOnlyNarrows(t *testing.T) {
	p := newPlace(t, nil)
	if err := os.Mkdir(filepath.Join(p.dir, ".lathe"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.write(t, ".lathe/settings.json",
		`{"permissions": {"allow": ["Bash(make *)"], "deny": ["Bash(git log *)"], "ask": ["Bash(ls *)"],
		"rules": [{"permission": "bash", "pattern": "npm *", "action": "allow"}, {"permission": "bash", "pattern": "cat *", "action": "deny"}], "defaultMode": "bypassPermissions"}}`)
	s := newSession(t, p.open(t, nil), conversation.SessionOptions{Detached: true})
	if s.Mode() != permission.Default {
		t.Error(s.Mode())
	}
	for cmd, want := range map[string]permission.Effect{
		"make x": permission.Ask, "git log -3": permission.Deny, "ls": permission.Ask, "npm test": permission.Ask,
		"cat a": permission.Deny, "pwd": permission.Allow,
	} {
		c, err := s.Consider(t.Context(), llm.ToolCall{ID: "1", Name: "Bash", Input: []byte(`{"command":"` + cmd + `"}`)})
		if err != nil || c.Decision.Effect != want {
			t.Errorf("%s: %+v %v", cmd, c.Decision, err)
		}
	}
}

func TestARuleDecidesOnRepetition(t *testing.T) {
	p := newPlace(t, bashScript("pwd", "pwd", "pwd", "pwd", "pwd"))
	inst, err := p.with(t, `{"permissions": {"rules": [{"permission": "doom_loop", "pattern": "*", "action": "allow"}]}}`,
		nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := newSession(t, inst, conversation.SessionOptions{Interactive: true})
	asked := answering(t, s, event.Answer{Choice: event.ChoiceOnce})
	end, err := s.Prompt(t.Context(), llm.UserText("go"))
	if err != nil || end.Reason != event.EndCompleted || len(asked()) != 0 {
		t.Errorf("%+v %v, asked %d times", end, err, len(asked()))
	}
}
