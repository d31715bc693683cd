package conversation_test

import (
	"context"
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

// place is a machine of a test's own: a home, a project, a scripted model.
type place struct {
	home, dir string
	vars      []string // of the environment
	srv       *llmtest.Server
}

func newPlace(t *testing.T, script *llmtest.Script) *place {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{home: home, dir: filepath.Join(home, "project")}
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if script != nil {
		p.srv = llmtest.New(script, llmtest.Options{Vars: map[string]string{"WORKDIR": p.dir}})
		if err := p.srv.Start("127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.srv.Close() })
	}
	return p
}

func (p *place) environ() []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "LANG=C.UTF-8"}
	env = append(env, p.vars...)
	if p.srv != nil {
		env = append(env, "ANTHROPIC_BASE_URL="+p.srv.URL(), "ANTHROPIC_API_KEY=sk-test")
	}
	return env
}

func (p *place) open(t *testing.T, change func(*conversation.Options)) *conversation.Instance {
	t.Helper()
	cfg, err := config.Load(config.Options{Dir: p.dir, Environ: p.environ(), ManagedPaths: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	o := conversation.Options{Config: cfg, Dir: p.dir, Environ: p.environ(), Version: "test"}
	if change != nil {
		change(&o)
	}
	inst, err := conversation.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = inst.Close() })
	return inst
}

func (p *place) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (p *place) read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func newSession(t *testing.T, i *conversation.Instance, o conversation.SessionOptions) *conversation.Session {
	t.Helper()
	s, err := i.NewSession(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func editScript() *llmtest.Script {
	return llmtest.Replies(
		llmtest.Say(llmtest.Text("I read it first."), llmtest.Tool("Read", map[string]any{"file_path": "${WORKDIR}/a.txt"})),
		llmtest.Say(llmtest.Tool("Edit", map[string]any{
			"file_path": "${WORKDIR}/a.txt", "old_string": "one",
			"new_string": "two",
		})),
		llmtest.Say(llmtest.Text("Done.")),
	)
}

func TestAPromptDoesTheWholeJob(t *testing.T) {
	p := newPlace(t, editScript())
	p.write(t, "a.txt", "one\n")
	s := newSession(t, p.open(t, func(o *conversation.Options) { o.Mode = permission.AcceptEdits }),
		conversation.SessionOptions{})
	end, err := s.Prompt(t.Context(), llm.UserText("change it"))
	if err != nil || end.Reason != event.EndCompleted || end.Steps != 3 {
		t.Fatalf("%+v %v", end, err)
	}
	if got := p.read(t, "a.txt"); got != "two\n" {
		t.Errorf("%q", got)
	}
	if end.CostUSD <= 0 {
		t.Errorf("no cost: %+v", end)
	}
}

func TestWhatWouldAskIsRefusedWhenNobodyIsThere(t *testing.T) {
	p := newPlace(t, editScript())
	p.write(t, "a.txt", "one\n")
	s := newSession(t, p.open(t, nil), conversation.SessionOptions{})
	sub := s.Subscribe(t.Context())
	if _, err := s.Prompt(t.Context(), llm.UserText("change it")); err != nil {
		t.Fatal(err)
	}
	if got := p.read(t, "a.txt"); got != "one\n" {
		t.Errorf("it was changed: %q", got)
	}
	if d := firstOf[event.Denied](t, sub); d.Call.Name != "Edit" || !strings.Contains(d.Decision.Reason,
		"nobody can be asked") {
		t.Errorf("%+v", d)
	}
}

// firstOf waits for the first event of a kind.
func firstOf[T event.Body](t *testing.T, sub *event.Subscription) (out T) {
	t.Helper()
	for e := range sub.All(t.Context()) {
		if b, ok := e.Body.(T); ok {
			return b
		}
	}
	t.Fatalf("no %T", out)
	return out
}

func answerWith(t *testing.T, s *conversation.Session, sub *event.Subscription, a event.Answer) {
	go func() {
		for e := range sub.All(context.WithoutCancel(t.Context())) {
			if q, ok := e.Body.(event.Asked); ok {
				if err := s.Answer(q.ID, a); err != nil {
					t.Error(err)
				}
			}
		}
	}()
}

func TestAnswersOfAPersonDecide(t *testing.T) {
	for _, tc := range []struct {
		answer event.Answer
		want   string
		reason event.EndReason
	}{
		{event.Answer{Choice: event.ChoiceOnce}, "two\n", event.EndCompleted},
		{event.Answer{Choice: event.ChoiceSession}, "two\n", event.EndCompleted},
		{event.Answer{Choice: event.ChoiceAlways}, "two\n", event.EndCompleted},
		{event.Answer{Choice: event.ChoiceNo}, "one\n", event.EndCompleted},
		{event.Answer{Choice: event.ChoiceStop}, "one\n", event.EndRefused},
		{event.Answer{Choice: event.ChoiceNo, Interrupt: true}, "one\n", event.EndRefused},
		{event.Answer{Choice: event.ChoiceNo, Text: "use another file"}, "one\n", event.EndCompleted},
		{event.Answer{Choice: event.ChoiceNever}, "one\n", event.EndCompleted},
	} {
		t.Run(tc.answer.Choice+tc.answer.Text, func(t *testing.T) {
			p := newPlace(t, editScript())
			p.write(t, "a.txt", "one\n")
			s := newSession(t, p.open(t, nil), conversation.SessionOptions{Interactive: true})
			answerWith(t, s, s.Subscribe(t.Context()), tc.answer)
			end, err := s.Prompt(t.Context(), llm.UserText("change it"))
			if err != nil || end.Reason != tc.reason {
				t.Fatalf("%+v %v", end, err)
			}
			if got := p.read(t, "a.txt"); got != tc.want {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestAnEditCanBeAcceptedWithAllThatFollow(t *testing.T) {
	p := newPlace(t, editScript())
	p.write(t, "a.txt", "one\n")
	s := newSession(t, p.open(t, nil), conversation.SessionOptions{Interactive: true})
	sub := s.Subscribe(t.Context())
	answerWith(t, s, s.Subscribe(t.Context()), event.Answer{Choice: event.ChoiceEdits})
	if _, err := s.Prompt(t.Context(), llm.UserText("change it")); err != nil {
		t.Fatal(err)
	}
	q := firstOf[event.Asked](t, sub).Question
	if !slices.ContainsFunc(q.Options, func(o event.Option) bool { return o.ID == event.ChoiceEdits }) {
		t.Errorf("it is not offered: %+v", q.Options)
	}
	if got := p.read(t, "a.txt"); got != "two\n" || s.Mode() != permission.AcceptEdits {
		t.Errorf("%q in mode %s", got, s.Mode())
	}
}

func TestAlwaysIsKeptForTheProject(t *testing.T) {
	p := newPlace(t, editScript())
	p.write(t, "a.txt", "one\n")
	s := newSession(t, p.open(t, nil), conversation.SessionOptions{Interactive: true})
	answerWith(t, s, s.Subscribe(t.Context()), event.Answer{Choice: event.ChoiceNever})
	if _, err := s.Prompt(t.Context(), llm.UserText("change it")); err != nil {
		t.Fatal(err)
	}
	if kept := p.read(t, ".lathe/settings.local.json"); !strings.Contains(kept, "Edit(/"+p.dir+"/a.txt)") {
		t.Errorf("%s", kept)
	}
	again := newSession(t, p.open(t, func(o *conversation.Options) { o.Mode = permission.Bypass }),
		conversation.SessionOptions{})
	again.Invoke(t.Context(), []llm.ToolCall{{ID: "1", Name: "Read", Input: []byte(`{"file_path":"a.txt"}`)}})
	edit := llm.ToolCall{ID: "2", Name: "Edit", Input: []byte(
		`{"file_path":"a.txt","old_string":"one","new_string":"two"}`)}
	c, err := again.Consider(t.Context(), edit)
	if err != nil || c.Decision.Effect != permission.Deny || !strings.Contains(c.Decision.Reason, "Edit(/") {
		t.Errorf("%+v %v", c.Decision, err)
	}
}

func TestResumeGoesOnWithTheSamePrefix(t *testing.T) {
	p := newPlace(t, editScript())
	p.write(t, "a.txt", "one\n")
	inst := p.open(t, func(o *conversation.Options) { o.Mode = permission.AcceptEdits })
	s := newSession(t, inst, conversation.SessionOptions{})
	if _, err := s.Prompt(t.Context(), llm.UserText("change it")); err != nil {
		t.Fatal(err)
	}
	id, before := s.ID(), s.Messages()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	latest, err := inst.Store().Latest(inst.Dir())
	found := latest.ID
	if err != nil || found != id {
		t.Fatalf("%q %v", found, err)
	}
	s = newSession(t, inst, conversation.SessionOptions{Resume: id})
	if got := s.Messages(); len(got) != len(before) {
		t.Errorf("%d messages, had %d", len(got), len(before))
	}
	if _, err := s.Prompt(t.Context(), llm.UserText("and now?")); err != nil {
		t.Fatal(err)
	}
	reqs := p.srv.Requests()
	a, b := reqs[len(reqs)-2].Body, reqs[len(reqs)-1].Body
	if i := strings.Index(string(a), `"messages":`); i < 0 || !strings.Contains(string(b), "I read it first.") {
		t.Errorf("%s", b)
	}
}

func TestTwoInstancesShareNothing(t *testing.T) {
	a, b := newPlace(t, editScript()), newPlace(t, editScript())
	a.write(t, "a.txt", "one\n")
	b.write(t, "a.txt", "one\n")
	sa := newSession(t, a.open(t, func(o *conversation.Options) { o.Mode = permission.AcceptEdits }),
		conversation.SessionOptions{})
	sb := newSession(t, b.open(t, nil), conversation.SessionOptions{})
	done := make(chan error)
	for _, s := range []*conversation.Session{sa, sb} {
		go func() { _, err := s.Prompt(context.WithoutCancel(t.Context()), llm.UserText("change it")); done <- err }()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if a.read(t, "a.txt") != "two\n" || b.read(t, "a.txt") != "one\n" {
		t.Error("one folder's mode reached the other")
	}
}

func TestNoKeyNamesThreeWays(t *testing.T) {
	p := newPlace(t, nil)
	_, err := p.open(t, nil).NewSession(t.Context(), conversation.SessionOptions{})
	if err == nil || !strings.Contains(err.Error(), "lathe demo") {
		t.Errorf("%v", err)
	}
}

func TestDetachedSessionsNeedNoModel(t *testing.T) {
	p := newPlace(t, nil)
	p.write(t, "a.txt", "hello\n")
	s := newSession(t, p.open(t, nil), conversation.SessionOptions{Detached: true})
	rs := s.Invoke(t.Context(), []llm.ToolCall{{ID: "1", Name: "read_file", Input: []byte(`{"path":"a.txt"}`)}})
	if len(rs) != 1 || rs[0].IsError || !strings.Contains(rs[0].PlainText(), "hello") {
		t.Errorf("%+v", rs)
	}
	if _, err := os.Stat(filepath.Join(p.home, ".local", "share", "lathe")); err == nil {
		t.Error("a detached session left something on disk")
	}
}

func TestWhichProviderAModelGoesTo(t *testing.T) {
	both := []string{"ANTHROPIC_API_KEY=a", "OPENAI_API_KEY=o"}
	for _, tc := range []struct {
		env              []string
		settings, model  string
		provider, wanted string
	}{
		{both[:1], "", "", "anthropic", llm.DefaultModel},
		{both, "", "sonnet", "anthropic", ""},
		{both, "", "gpt-5", "openai", "gpt-5"},
		{both[1:], "", "claude-sonnet-4-5", "openai", "claude-sonnet-4-5"},
		{[]string{"OPENAI_BASE_URL=http://localhost:1/v1"}, "", "llama", "openai", "llama"},
		{both[:1], `{"providers":{"box":{"type":"openai","apiBase":"http://localhost:1"}}}`, "box/llama", "box", "llama"},
	} {
		p := newPlace(t, nil)
		env := append(p.environ(), tc.env...)
		cfg, err := config.Load(config.Options{Dir: p.dir, Environ: env, SettingsFlag: tc.settings, ManagedPaths: []string{}})
		if err != nil {
			t.Fatal(err)
		}
		inst, err := conversation.Open(conversation.Options{Config: cfg, Dir: p.dir, Environ: env})
		if err != nil {
			t.Fatal(err)
		}
		name, _, err := inst.Providers().Choose(tc.model)
		if err != nil || name != tc.provider {
			t.Errorf("%v %q: %s %v, want %s", tc.env, tc.model, name, err, tc.provider)
		}
		m, err := inst.Model(t.Context(), tc.model)
		if err != nil || (tc.wanted != "" && m.Info().ID != tc.wanted) {
			t.Errorf("%q: %v", tc.model, err)
		}
	}
}
