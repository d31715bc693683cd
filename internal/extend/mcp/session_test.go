package mcp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/mcp/entry"
	"github.com/lathe-dev/lathe/internal/extend/mcp/serverset"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// folder is a project with a home and a scripted model.
type folder struct {
	home, dir string
	srv       *llmtest.Server
}

func newFolder(t *testing.T, script *llmtest.Script) *folder {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &folder{home: home, dir: filepath.Join(home, "project")}
	f.write(t, "project/.git/HEAD", "ref: refs/heads/main\n")
	f.serve(t, script)
	return f
}

// serve has another scripted model answer the instances that are opened from now on.
func (f *folder) serve(t *testing.T, script *llmtest.Script) {
	t.Helper()
	f.srv = llmtest.New(script, llmtest.Options{})
	if err := f.srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.srv.Close() })
}

func (f *folder) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(f.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (f *folder) open(t *testing.T, change func(*conversation.Options),
	so conversation.SessionOptions,
) *conversation.Session {
	t.Helper()
	s, err := f.instance(t, change).NewSession(t.Context(), so)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func (f *folder) instance(t *testing.T, change func(*conversation.Options)) *conversation.Instance {
	t.Helper()
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + f.home, "ANTHROPIC_BASE_URL=" + f.srv.URL(),
		"ANTHROPIC_API_KEY=sk-test",
	}
	cfg, err := config.Load(config.Options{Dir: f.dir, Environ: env, ManagedPaths: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	o := conversation.Options{Config: cfg, Dir: f.dir, Environ: env, Version: "test"}
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

func callEcho() *llmtest.Script {
	return llmtest.Replies(
		llmtest.Say(llmtest.Tool("mcp__off__echo", map[string]any{"text": "hello"})),
		llmtest.Say(llmtest.Text("Done.")),
	)
}

func configOf(t *testing.T, kinds map[string]any) string {
	return object(t, map[string]any{"mcpServers": kinds})
}

// request is the body of the nth request to the model.
func (f *folder) request(t *testing.T, n int) string {
	t.Helper()
	all := f.srv.Requests()
	if len(all) < n {
		t.Fatalf("%d requests", len(all))
	}
	return string(all[n-1].Body)
}

func TestTheModelCallsAServersTool(t *testing.T) {
	f := newFolder(t, callEcho())
	s := f.open(t, func(o *conversation.Options) {
		o.Servers = serverset.Flags{Configs: []string{configOf(t, map[string]any{"off": self("official")})}}
		o.Allowed = []string{"mcp__off"}
	}, conversation.SessionOptions{})
	if _, err := s.Prompt(t.Context(), llm.UserText("echo it")); err != nil {
		t.Fatal(err)
	}
	if first := f.request(t, 1); !strings.Contains(first, `"mcp__off__echo"`) {
		t.Errorf("the tools are few, so they are sent:\n%.3000s", first)
	}
	if second := f.request(t, 2); !strings.Contains(second, "echo: hello") {
		t.Errorf("%s", second)
	}
}

func TestRulesOnServersAndToolsHold(t *testing.T) {
	for name, c := range map[string]struct {
		allow, deny, want string
	}{
		"not allowed":       {"", "", "nobody can be asked"},
		"server":            {"mcp__off", "", "echo: hello"},
		"all of a server":   {"mcp__off__*", "", "echo: hello"},
		"tool":              {"mcp__off__echo", "", "echo: hello"},
		"another tool":      {"mcp__off__fail", "", "nobody can be asked"},
		"denied parameter":  {"mcp__off", "mcp__off__echo(text:hello)", "denied by the rule"},
		"another parameter": {"mcp__off", "mcp__off__echo(text:other)", "echo: hello"},
		"denied tool":       {"mcp__off", "mcp__off__echo", "There is no tool"},
		"denied server":     {"", "mcp__off", "There is no tool"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t, callEcho())
			s := f.open(t, func(o *conversation.Options) {
				o.Servers = serverset.Flags{Configs: []string{configOf(t, map[string]any{"off": self("official")})}}
				if c.allow != "" {
					o.Allowed = []string{c.allow}
				}
				if c.deny != "" {
					o.Disallowed = []string{c.deny}
				}
			}, conversation.SessionOptions{})
			if _, err := s.Prompt(t.Context(), llm.UserText("echo it")); err != nil {
				t.Fatal(err)
			}
			if got := f.request(t, 2); !strings.Contains(got, c.want) {
				t.Errorf("%s", got[max(0, len(got)-1500):])
			}
		})
	}
}

func TestAServerOfTheProjectWaitsForApprovalOfItsExactEntry(t *testing.T) {
	f := newFolder(t, llmtest.Replies(llmtest.Say(llmtest.Text("one")), llmtest.Say(llmtest.Text("two")),
		llmtest.Say(llmtest.Text("three"))))
	f.write(t, "project/.mcp.json", configOf(t, map[string]any{"off": self("official")}))
	s := f.open(t, nil, conversation.SessionOptions{})
	notices := s.Subscribe(t.Context())
	if _, err := s.Prompt(t.Context(), llm.UserText("hi")); err != nil {
		t.Fatal(err)
	}
	said := false
	for e := range notices.All(t.Context()) {
		if n, ok := e.Body.(event.Notice); ok && strings.Contains(n.Text, `"off"`) && strings.Contains(n.Text,
			"not approved") {
			said = true
		}
		if _, ok := e.Body.(event.TurnEnd); ok {
			break
		}
	}
	if body := f.request(t, 1); !said || strings.Contains(body, "mcp__off") {
		t.Errorf("said: %v\n%s", said, body)
	}

	a := entry.OpenApprovals(filepath.Join(f.home, ".local/state/lathe"), f.dir)
	places := entry.Places{ProjectDir: f.dir}
	found, _, err := entry.Read(places)
	if err != nil || len(found) != 1 {
		t.Fatalf("%+v %v", found, err)
	}
	if err := a.Set(&found[0], true); err != nil || !a.Approved(&found[0]) {
		t.Fatal(err)
	}
	f.write(t, "project/.mcp.json", configOf(t, map[string]any{"off": self("official", "MORE=1")}))
	changed, _, _ := entry.Read(places)
	if a.Approved(&changed[0]) || !a.Changed(&changed[0]) {
		t.Error("another entry counts as approved")
	}
}

// A person approves a server of the project in the dialog, and its tools arrive.
func TestAPersonApprovesAServerOfTheProject(t *testing.T) {
	f := newFolder(t, llmtest.Replies(llmtest.Say(llmtest.Text("one")), llmtest.Say(llmtest.Text("two"))))
	f.write(t, "project/.mcp.json", configOf(t, map[string]any{"off": self("official")}))
	s := f.open(t, nil, conversation.SessionOptions{Interactive: true})
	sub := s.Subscribe(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.Prompt(t.Context(), llm.UserText("hi"))
		done <- err
	}()
	for e := range sub.All(t.Context()) {
		if q, ok := e.Body.(event.Asked); ok {
			if !strings.Contains(q.Question.Title, "off") || !strings.Contains(q.Question.Text, os.Args[0]) {
				t.Errorf("%+v", q.Question)
			}
			if err := s.Answer(q.ID, event.Answer{Choice: "start"}); err != nil {
				t.Error(err)
			}
			break
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return strings.Contains(strings.Join(s.Tools(), " "), "mcp__off__echo") })
	if _, err := s.Prompt(t.Context(), llm.UserText("and now")); err != nil {
		t.Fatal(err)
	}
	if body := f.request(t, 2); !strings.Contains(body, "- mcp__off__*: ") {
		t.Errorf("the tools are announced:\n%s", body[max(0, len(body)-2500):])
	}
}
