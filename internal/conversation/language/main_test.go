package language_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation/language"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/lsp/lsptest"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/tool"
)

// TestMain is also the language server of the tests.
func TestMain(m *testing.M) {
	if lsptest.Serve() {
		return
	}
	os.Exit(m.Run())
}

// seat is a session with the language support of a folder, and without a model.
type seat struct {
	t      *testing.T
	dir    string
	env    *tool.Env
	joined *language.Joined
	conf   *config.Config

	mu      sync.Mutex
	events  []event.Body
	hooks   []string
	notices []string
}

func newSeat(t *testing.T) *seat {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &seat{t: t, dir: dir, conf: &config.Config{}}
	if s.env, err = tool.NewEnv(dir); err != nil {
		t.Fatal(err)
	}
	s.env.InContext = func(string) bool { return true }
	runner := sandbox.New()
	s.env.Runner = runner
	f := language.New(language.Options{
		Config: func() *config.Config { return s.conf }, Dir: dir, Runner: runner,
		Environ: os.Environ, Tools: tool.Catalogue(),
	})
	s.env.Language = f.Pool()
	s.joined = f.Join(language.Conversation{
		Env: s.env, Main: true,
		Publish: func(b event.Body) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.events = append(s.events, b)
		},
		Notice: func(_, text string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.notices = append(s.notices, text)
		},
		Watched: func() []string { return []string{".wanted"} },
		Changed: func(_ context.Context, path, how string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.hooks = append(s.hooks, how+" "+filepath.Base(path))
		},
	})
	t.Cleanup(func() {
		_, _ = s.joined.Leave(), f.Close()
		runner.Close()
		_ = s.env.Roots.Close()
	})
	return s
}

func (s *seat) path(name string) string { return filepath.Join(s.dir, name) }

func (s *seat) put(name, text string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(s.path(name)), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(s.path(name), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *seat) content(name string) string {
	s.t.Helper()
	data, err := os.ReadFile(s.path(name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}

// call runs a tool as the loop does, with the hooks after it.
func (s *seat) call(name string, input map[string]any) string {
	s.t.Helper()
	raw, _ := json.Marshal(input)
	c := llm.ToolCall{ID: "call", Name: name, Input: raw}
	for _, one := range tool.All(s.env) {
		if one.Spec().Name != name {
			continue
		}
		plan, err := one.Prepare(s.t.Context(), c)
		if err != nil {
			s.t.Fatal(err)
		}
		if plan.Close != nil {
			defer plan.Close()
		}
		r, err := plan.Run(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		if _, err := s.joined.Diagnose(s.t.Context(), c, r); err != nil {
			s.t.Fatal(err)
		}
		return llm.ToolResult{Parts: r.Parts}.PlainText()
	}
	s.t.Fatalf("no tool %s", name)
	return ""
}

// step begins a step and returns the messages that it adds.
func (s *seat) step() string {
	s.t.Helper()
	var b strings.Builder
	for _, before := range []func(context.Context) ([]llm.Message, error){s.joined.Format, s.joined.OthersChanges} {
		list, err := before(context.Background())
		if err != nil {
			s.t.Fatal(err)
		}
		for _, m := range list {
			b.WriteString(m.PlainText())
		}
	}
	return b.String()
}

// program writes a shell script.
func (s *seat) program(name, script string) string {
	s.t.Helper()
	if runtime.GOOS == "windows" {
		s.t.Skip("needs a shell")
	}
	path := filepath.Join(s.t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		s.t.Fatal(err)
	}
	return path
}

func (s *seat) git(args ...string) {
	s.t.Helper()
	c := exec.Command("git", append([]string{"-C", s.dir, "-c", "user.name=t", "-c", "user.email=t@example.com"},
		args...)...)
	if out, err := c.CombinedOutput(); err != nil {
		s.t.Fatalf("git %v: %v %s", args, err, out)
	}
}

// trusts loads settings under which programs of the folder may run.
func (s *seat) trusts() {
	s.t.Helper()
	home := s.t.TempDir()
	o := config.Options{
		Dir: s.dir, Home: home, ConfigHome: filepath.Join(home, "c"), StateHome: filepath.Join(home, "s"),
		CacheHome: home, DataHome: home, Environ: []string{}, ManagedPaths: []string{},
	}
	c, err := config.Load(o)
	if err == nil {
		err = c.Trust()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	if s.conf = c; !c.TrustsPrograms() {
		s.t.Fatal("the folder is not trusted")
	}
}
