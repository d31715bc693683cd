package conversation_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// lock is a server in front of the scripted model that lets only one key in.
type lock struct {
	*httptest.Server
	mu   sync.Mutex
	key  string
	seen []string // keys that came, in order
}

func (l *lock) change(key string) { l.mu.Lock(); l.key = key; l.mu.Unlock() }

func newLock(t *testing.T, behind string) *lock {
	target, err := url.Parse(behind)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	l := &lock{}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		key, good := r.Header.Get("X-Api-Key"), l.key
		if r.Method == http.MethodPost {
			l.seen = append(l.seen, key)
		}
		l.mu.Unlock()
		if key != good || r.Header.Get("Authorization") != "Bearer "+good {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key ` + key +
				`"}}`))
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(l.Close)
	return l
}

// helperPlace is a place whose key comes from a command that prints the file "key" and counts its runs.
func helperPlace(t *testing.T, settings string, replies int) (*place, *lock, *conversation.Instance) {
	t.Helper()
	var says []llmtest.Reply
	for range replies {
		says = append(says, llmtest.Say(llmtest.Text("Done.")))
	}
	p := newPlace(t, llmtest.Replies(says...))
	l := newLock(t, p.srv.URL())
	p.write(t, "key", "first-key\n")
	l.change("first-key")
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "ANTHROPIC_BASE_URL=" + l.URL}
	text := strings.ReplaceAll(`{"apiKeyHelper": "echo run >> DIR/runs; cat DIR/key"`+settings+`}`, "DIR", p.dir)
	cfg, err := config.Load(config.Options{Dir: p.dir, Environ: env, SettingsFlag: text, ManagedPaths: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	inst, err := conversation.Open(conversation.Options{Config: cfg, Dir: p.dir, Environ: env, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = inst.Close() })
	return p, l, inst
}

func TestKeyOfTheHelperIsKeptUntilItIsRefused(t *testing.T) {
	p, l, inst := helperPlace(t, "", 4)
	s := newSession(t, inst, conversation.SessionOptions{})
	prompt := func() error { _, err := s.Prompt(t.Context(), llm.UserText("go")); return err }
	if _, err := os.Stat(filepath.Join(p.dir, "runs")); err == nil {
		t.Error("the command ran before there was a request")
	}
	for range 2 {
		if err := prompt(); err != nil {
			t.Fatal(err)
		}
	}
	if runs := p.read(t, "runs"); runs != "run\n" {
		t.Errorf("two requests ran it %q", runs)
	}
	p.write(t, "key", "second-key")
	l.change("second-key")
	if err := prompt(); err != nil {
		t.Fatal(err)
	}
	if want := []string{"first-key", "first-key", "first-key", "second-key"}; !slices.Equal(l.seen, want) {
		t.Errorf("keys %v", l.seen)
	}
	l.change("third-key") // the command does not know it
	err := prompt()
	if e := llm.AsError(err); e == nil || e.Status != 401 || strings.Contains(err.Error(), "second-key") {
		t.Errorf("%v", err)
	}
}

func TestKeyOfTheHelperGrowsOld(t *testing.T) {
	p, _, inst := helperPlace(t, `, "apiKeyHelperTtlMs": 0`, 2)
	s := newSession(t, inst, conversation.SessionOptions{})
	for range 2 {
		if _, err := s.Prompt(t.Context(), llm.UserText("go")); err != nil {
			t.Fatal(err)
		}
	}
	if runs := p.read(t, "runs"); runs != "run\nrun\n" {
		t.Errorf("%q", runs)
	}
}

func TestHelperFailuresSayWhy(t *testing.T) {
	for cmd, want := range map[string]string{
		"echo no vault >&2; exit 3":  "exit code 3; no vault",
		"true":                       "it printed nothing",
		"echo two words":             "one word",
		"head -c 100000 /dev/zero":   "one word",
		"echo ok; echo extra-secret": "one word",
	} {
		p, _, inst := helperPlace(t, "", 0)
		inst.Config().Settings.APIKeyHelper = cmd
		s := newSession(t, inst, conversation.SessionOptions{})
		end, err := s.Prompt(t.Context(), llm.UserText("go"))
		if err == nil || end.Reason != event.EndFailed || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "extra-secret") {
			t.Errorf("%s: %v", cmd, err)
		}
		_ = p
	}
}

// The key is for one server; others that have none of their own never see it.
func TestKeyOfTheHelperGoesNowhereElse(t *testing.T) {
	p, _,
		inst := helperPlace(t,
		`, "providers": {"box": {"type": "openai", "apiBase": "http://127.0.0.1:1"}}, "stream": {"maxRetries": 0}`, 0)
	m, err := inst.Model(t.Context(), "box/llama")
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range m.Stream(t.Context(), &llm.Request{Messages: []llm.Message{llm.UserText("go")}}) {
		if err != nil {
			break // nobody is there
		}
	}
	if _, err := os.Stat(filepath.Join(p.dir, "runs")); err == nil {
		t.Error("the command ran")
	}
}
