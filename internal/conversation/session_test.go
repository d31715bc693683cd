package conversation_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/permission"
)

func (p *place) with(t *testing.T, settings string, env []string, change func(*conversation.Options)) (
	*conversation.Instance, error,
) {
	t.Helper()
	env = append(p.environ(), env...)
	cfg, err := config.Load(config.Options{Dir: p.dir, Environ: env, SettingsFlag: settings, ManagedPaths: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	o := conversation.Options{Config: cfg, Dir: p.dir, Environ: env, Version: "test"}
	if change != nil {
		change(&o)
	}
	inst, err := conversation.Open(o)
	if err == nil {
		t.Cleanup(func() { _ = inst.Close() })
	}
	return inst, err
}

// A compaction that comes too late would hold up the end of its session, which interrupts what runs once.
func TestAClosedSessionIsNotCompacted(t *testing.T) {
	s, err := newPlace(t, llmtest.Replies()).open(t, nil).NewSession(t.Context(), conversation.SessionOptions{})
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Compact(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("%v", err)
	}
}

func TestAddressOfTheCommandLineIsAlwaysUsed(t *testing.T) {
	const base = `{"apiBase": "http://localhost:1/v1"}`
	for _, tc := range []struct {
		env             []string
		settings, model string
		provider        string
	}{
		{nil, base, "claude-sonnet-4-5", "openai"},
		{[]string{"ANTHROPIC_API_KEY=a"}, base, "llama", "anthropic"},
		{[]string{"OPENAI_API_KEY=o"}, base, "claude-sonnet-4-5", "openai"},
		{[]string{"ANTHROPIC_API_KEY=a", "OPENAI_API_KEY=o"}, base, "claude-sonnet-4-5", "openai"},
		{[]string{"ANTHROPIC_API_KEY=a", "OPENAI_API_KEY=o"}, base, "", "openai"},
		{nil, `{"apiBase": "http://localhost:1", "apiKeyHelper": "echo k"}`, "", "anthropic"},
		{nil, `{"apiBase": "http://localhost:1", "provider": "anthropic"}`, "x", "anthropic"},
	} {
		inst, err := newPlace(t, nil).with(t, tc.settings, tc.env, nil)
		if err != nil {
			t.Fatal(err)
		}
		name, _, err := inst.Providers().Choose(tc.model)
		if err != nil || name != tc.provider || !strings.HasPrefix(inst.Providers().Provider(name).APIBase,
			"http://localhost:1") {
			t.Errorf("%v %s %q: %s at %q, %v", tc.env, tc.settings, tc.model, name, inst.Providers().Provider(name).APIBase, err)
		}
	}
}

func TestProvidersThatNeedNoKeyOfOurs(t *testing.T) {
	for _, tc := range []struct{ env, settings, want string }{
		{"ANTHROPIC_BASE_URL=http://localhost:1", "", "anthropic"},
		{"X=", `{"providers": {"anthropic": {"headers": {"Authorization": "Bearer x"}}}}`, "anthropic"},
		{"X=", `{"providers": {"b": {"apiKey": "k"}, "a": {"apiKey": "k"}}}`, "a"},
		{"ANTHROPIC_BASE_URL=https://api.anthropic.com", "", ""},
	} {
		inst, err := newPlace(t, nil).with(t, tc.settings, []string{tc.env}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 5 { // no order of a map decides
			if name, _, err := inst.Providers().Choose(""); name != tc.want || (err == nil) != (tc.want != "") {
				t.Errorf("%s %s: %q %v", tc.env, tc.settings, name, err)
			}
		}
	}
}

func TestSmallModel(t *testing.T) {
	for _, tc := range []struct{ env, settings, want string }{
		{"ANTHROPIC_API_KEY=a", "", llm.DefaultSmallModel},
		{"ANTHROPIC_API_KEY=a", `{"smallModel": "sonnet"}`, "claude-sonnet-"},
		{"OPENAI_API_KEY=a", `{"model": "gpt-5"}`, "gpt-5"},
		{"OPENAI_BASE_URL=http://localhost:1", `{"model": "llama"}`, "llama"},
	} {
		inst, err := newPlace(t, nil).with(t, tc.settings, []string{tc.env}, nil)
		if err != nil {
			t.Fatal(err)
		}
		m, err := inst.SmallModel(t.Context())
		if err != nil || (tc.want != "" && !strings.HasPrefix(m.Info().ID, tc.want)) {
			t.Errorf("%s %s: %v %v", tc.env, tc.settings, m, err)
		}
	}
}

func TestAForbiddenModeIsOneClearError(t *testing.T) {
	for key, mode := range map[string]permission.Mode{
		"disableBypassPermissionsMode": permission.Bypass,
		"disableAutoMode":              permission.Auto,
	} {
		_, err := newPlace(t, nil).with(t, `{"permissions": {"`+key+`": "disable"}}`, nil,
			func(o *conversation.Options) { o.Mode = mode })
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// Faulty rules are reported in the first turn, and a rule in another case still holds.
func TestFaultyRulesAreReportedInTheFirstTurn(t *testing.T) {
	p := newPlace(t, llmtest.Replies(llmtest.Say(llmtest.Text("Done."))))
	inst,
		err := p.with(t,
		`{"permissions": {"deny": ["bash", "Deploy(prod)", "mcp__x__y"], "allow": ["Read([x)", "Bahs(rm *)"]}}`, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := newSession(t, inst, conversation.SessionOptions{})
	sub := s.Subscribe(t.Context())
	if _, err := s.Prompt(t.Context(), llm.UserText("go")); err != nil {
		t.Fatal(err)
	}
	var told []string
	for e := range sub.All(t.Context()) {
		if n, ok := e.Body.(event.Notice); ok {
			told = append(told, n.Text)
		}
		if _, ok := e.Body.(event.TurnEnd); ok {
			break
		}
	}
	if all := strings.Join(told, "\n"); len(told) != 3 || !strings.Contains(all, "Deploy(prod)") || !strings.Contains(all,
		"did you mean Bash?") || !strings.Contains(all, "Read([x)") {
		t.Errorf("%q", told)
	}
	if slices.Contains(s.Tools(), "Bash") {
		t.Error("a deny rule in lower case has no effect")
	}
}

// A leading slash in a rule of --settings means the working folder.
func TestRulesOfTheCommandLineAreAnchored(t *testing.T) {
	p := newPlace(t, nil)
	p.write(t, "secret", "x")
	inst, err := p.with(t, `{"permissions": {"deny": ["Read(/secret)"]}}`, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := newSession(t, inst, conversation.SessionOptions{Detached: true})
	rs := s.Invoke(t.Context(), []llm.ToolCall{{ID: "1", Name: "Read", Input: []byte(`{"file_path":"secret"}`)}})
	if !strings.Contains(rs[0].PlainText(), "Permission denied") {
		t.Errorf("%+v", rs)
	}
}

// Rules are anchored where the files really are, also when the home folder is a link.
func TestRulesHoldBehindLinks(t *testing.T) {
	p := newPlace(t, nil)
	link := filepath.Join(t.TempDir(), "home")
	if err := os.Symlink(p.home, link); err != nil {
		t.Skipf("no link can be made here: %v", err)
	}
	p.home = link
	p.write(t, "secret", "x")
	inst, err := p.with(t, `{"permissions": {"deny": ["Read(~/project/secret)"]}}`, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := newSession(t, inst, conversation.SessionOptions{Detached: true})
	rs := s.Invoke(t.Context(), []llm.ToolCall{{ID: "1", Name: "Read", Input: []byte(`{"file_path":"secret"}`)}})
	if !rs[0].IsError || !strings.Contains(rs[0].PlainText(), "Permission denied") {
		t.Errorf("%+v", rs)
	}
}

func TestSteersAreNeverLost(t *testing.T) {
	p := newPlace(t, llmtest.Replies(
		llmtest.Say(llmtest.Tool("Read", map[string]any{"file_path": "${WORKDIR}/a.txt"})),
		llmtest.Say(llmtest.Text("Done."))))
	p.write(t, "a.txt", "one\n")
	s := newSession(t, p.open(t, func(o *conversation.Options) { o.MaxTurns = 1 }), conversation.SessionOptions{})
	if s.Steer(llm.UserText("early")) {
		t.Error("no turn runs, and a message for it was taken")
	}
	sub := s.Subscribe(t.Context())
	taken := make(chan bool, 1)
	go func() {
		for e := range sub.All(context.WithoutCancel(t.Context())) {
			if _, ok := e.Body.(event.ToolEnd); ok {
				taken <- s.Steer(llm.UserText("also this"))
				return
			}
		}
	}()
	end, err := s.Prompt(t.Context(), llm.UserText("go"))
	if err != nil || end.Reason != event.EndMaxSteps {
		t.Fatalf("%+v %v", end, err)
	}
	if left := s.TakeSteers(); <-taken && len(left) != 1 {
		t.Errorf("%d messages are left", len(left))
	}
}

func TestAnswersAfterTheFirstAreRefused(t *testing.T) {
	p := newPlace(t, editScript())
	p.write(t, "a.txt", "one\n")
	s := newSession(t, p.open(t, nil), conversation.SessionOptions{Interactive: true})
	sub := s.Subscribe(t.Context())
	done := make(chan error, 1)
	go func() { _, err := s.Prompt(context.WithoutCancel(t.Context()), llm.UserText("change it")); done <- err }()
	q := firstOf[event.Asked](t, sub)
	if err := s.Answer(q.ID, event.Answer{Choice: event.ChoiceOnce}); err != nil {
		t.Fatal(err)
	}
	if err := s.Answer(q.ID, event.Answer{Choice: event.ChoiceNo}); !errors.Is(err, event.ErrNoQuestion) {
		t.Errorf("%v", err)
	}
	if err := <-done; err != nil || p.read(t, "a.txt") != "two\n" {
		t.Errorf("%v", err)
	}
}

func TestCloseEndsATurnThatAsks(t *testing.T) {
	p := newPlace(t, editScript())
	p.write(t, "a.txt", "one\n")
	s := newSession(t, p.open(t, nil), conversation.SessionOptions{Interactive: true})
	sub := s.Subscribe(t.Context())
	done := make(chan event.TurnEnd, 1)
	go func() { end, _ := s.Prompt(context.WithoutCancel(t.Context()), llm.UserText("change it")); done <- end }()
	q := firstOf[event.Asked](t, sub)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if end := <-done; end.Reason != event.EndInterrupted || p.read(t, "a.txt") != "one\n" {
		t.Errorf("%+v", end)
	}
	if err := s.Answer(q.ID, event.Answer{Choice: event.ChoiceOnce}); !errors.Is(err, event.ErrNoQuestion) {
		t.Errorf("%v", err)
	}
	if _, err := s.Prompt(t.Context(), llm.UserText("more")); err == nil {
		t.Error("a closed session takes prompts")
	}
}

// "Always in this project" holds for the other sessions of the folder at once; "for this session" does not.
func TestAlwaysReachesOtherSessions(t *testing.T) {
	for _, tc := range []struct {
		answer event.Answer
		want   permission.Effect
	}{
		{event.Answer{Choice: event.ChoiceAlways}, permission.Allow},
		{event.Answer{Choice: event.ChoiceSession}, permission.Ask},
		{event.Answer{Choice: event.ChoiceAlways, Rules: []string{"Bash(("}}, permission.Ask},
	} {
		p := newPlace(t, bashScript("mkdir one"))
		inst := p.open(t, nil)
		a, b := newSession(t, inst, conversation.SessionOptions{Interactive: true}),
			newSession(t, inst, conversation.SessionOptions{})
		answering(t, a, tc.answer)
		if _, err := a.Prompt(t.Context(), llm.UserText("go")); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(p.dir, "one")); err != nil {
			t.Errorf("%+v: the call that was allowed did not run: %v", tc.answer, err)
		}
		c, err := b.Consider(t.Context(), llm.ToolCall{ID: "1", Name: "Bash", Input: []byte(`{"command":"mkdir two"}`)})
		if err != nil || c.Decision.Effect != tc.want {
			t.Errorf("%+v: %+v %v", tc.answer, c.Decision, err)
		}
	}
}
