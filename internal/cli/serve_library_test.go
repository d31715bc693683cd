//go:build linux || darwin

package cli_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/client"
	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/face/supervisor"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// get reads an operation of a session.
func (p *servePlace) get(t *testing.T, path string) (out map[string]any) {
	t.Helper()
	if err := p.socket().Do(t.Context(), http.MethodGet, path, nil, &out); err != nil {
		t.Errorf("%s: %v", path, err)
	}
	return out
}

// send writes, and returns the answer.
func (p *servePlace) send(t *testing.T, method, path string, in any) (out map[string]any) {
	t.Helper()
	if err := p.socket().Do(t.Context(), method, path, in, &out); err != nil {
		t.Errorf("%s %s: %v", method, path, err)
	}
	return out
}

// turn has a turn that makes a file after a question, and ends the process of the session.
func (p *servePlace) turn(t *testing.T, s client.Session) {
	t.Helper()
	ctx := t.Context()
	if _, err := p.socket().Prompt(ctx, s.ID, client.Prompt{ID: "p1", Text: "ask me for a needle"}); err != nil {
		t.Fatal(err)
	}
	if err := answerAll(ctx, &overHTTP{p.socket(), s.ID}); err != nil {
		t.Fatal(err)
	}
	p.send(t, http.MethodPost, "/v1/sessions/"+s.ID+"/stop", nil)
}

func TestSessionsThatSleepAreReadWithoutAProcess(t *testing.T) {
	p := newServePlace(t)
	s := p.session(t)
	p.turn(t, s)
	at := "/v1/sessions/" + s.ID
	if got := p.get(t, at); got["live"] != false || got["turns"] != 1.0 {
		t.Errorf("%v", got)
	}
	for path, want := range map[string]string{
		at + "/history": "turn.end", at + "/diff": "made.txt", at + "/diff?turn=p1": "made.txt", at + "/usage": "costUSD",
		at + "/files": "made.txt", at + "/questions": "idle", "/v1/search?text=NEEDLE": s.ID, "/v1/projects": p.dir,
		"/v1/sessions?text=needle": s.ID, "/v1/sessions?dir=" + url.QueryEscape(p.dir): s.ID, "/v1/modes": "acceptEdits",
		"/v1/models": "claude", at + "/settings": "background.idleMinutes", "/v1/settings": "default",
	} {
		b, err := json.Marshal(p.get(t, path))
		if err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s has no %s: %.500s", path, want, b)
		}
	}
	if b, err := p.download(t, at+"/export?format=html"); err != nil || !strings.Contains(b, "needle") {
		t.Errorf("%v %.300s", err, b)
	}
	if j, err := p.Read(s.Job); err != nil || j.Live() {
		t.Errorf("reading woke it: %+v %v", j, err)
	}
	if got := p.send(t, http.MethodPatch, at, map[string]string{"title": "other name"}); got["title"] != "other name" {
		t.Errorf("%v", got)
	}
	copied := p.send(t, http.MethodPost, at+"/fork", map[string]string{})
	if copied["parent"] != s.ID {
		t.Errorf("%v", copied)
	}
	p.send(t, http.MethodPost, at+"/archive", nil)
	if err := p.socket().Do(t.Context(), http.MethodGet, at, nil, nil); err == nil {
		t.Error("it is listed after it was archived")
	}
	p.send(t, http.MethodPost, at+"/restore", nil)
	p.send(t, http.MethodDelete, at, nil)
	if err := p.socket().Do(t.Context(), http.MethodPost, at+"/restore", nil, nil); err == nil {
		t.Error("it came back after it was deleted")
	}
}

func (p *servePlace) download(t *testing.T, path string) (string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.address+path, nil)
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+p.must("serve", "token"))
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return string(b), err
}

func TestASleepingSessionIsWokenByAPrompt(t *testing.T) {
	p := newServePlace(t)
	s := p.session(t)
	p.turn(t, s)
	at := "/v1/sessions/" + s.ID
	made := filepath.Join(p.dir, "made.txt")
	p.send(t, http.MethodPost, at+"/undo", map[string]any{})
	if _, err := os.Stat(made); err == nil {
		t.Error("undo left the file")
	}
	p.send(t, http.MethodPost, at+"/redo", map[string]any{})
	if _, err := os.Stat(made); err != nil {
		t.Error("redo brought no file")
	}
	for _, view := range []string{"/mcp", "/agents", "/hooks", "/context"} {
		if len(p.get(t, at+view)) == 0 {
			t.Errorf("%s shows nothing", view)
		}
	}
	p.must("rm", s.Job) // now it is only in the store
	if r, err := p.socket().Prompt(t.Context(), s.ID, client.Prompt{Text: "hello"}); err != nil || r.State != "begun" {
		t.Errorf("%+v %v", r, err)
	}
	if jobs, err := p.List(); err != nil || len(jobs) != 1 || jobs[0].SessionID != s.ID {
		t.Errorf("%+v %v", jobs, err)
	}
}

func TestSettingsAreWrittenAsTheyWereRead(t *testing.T) {
	p := newServePlace(t)
	version := p.get(t, "/v1/settings")["version"]
	write := map[string]any{"key": "effort", "value": "high", "version": version}
	now := p.send(t, http.MethodPut, "/v1/settings", write)
	b, err := json.Marshal(now)
	if err != nil || !strings.Contains(string(b), `"high"`) || !strings.Contains(string(b), "settings.json") {
		t.Errorf("%s", b)
	}
	write["value"] = "low"
	err = p.socket().Do(t.Context(), http.MethodPut, "/v1/settings", write, nil)
	if err == nil || !strings.Contains(err.Error(), "read them again") {
		t.Errorf("an old version was written over: %v", err)
	}
}

// A command of a session gets no token, and is turned away at the socket.
func TestACommandOfASessionDoesNotGetIn(t *testing.T) {
	p := newServePlace(t)
	command := "env -u ANTHROPIC_API_KEY HOME=" + p.home + " " + p.lathe + " serve pair; HOME=" + p.home + " " + p.lathe +
		" serve token; echo tried"
	p.jobsPlace.serve(llmtest.Replies(llmtest.Say(llmtest.Tool("Bash", map[string]any{"command": command}))))
	id := p.must("--bg", "--dangerously-skip-permissions", "--sandbox=off", "try it")
	if !await.Until(func() bool {
		j, err := p.Read(id)
		return err == nil && j.State == supervisor.Done
	}) {
		t.Fatalf("%s", p.must("ps"))
	}
	out := p.must("logs", id)
	if !strings.Contains(out, "tried") || strings.Contains(out, "lathe_") || strings.Contains(out, "code:") ||
		strings.Count(out, "it runs in a session") < 2 {
		t.Errorf("a command got in:\n%s", out)
	}
}

func TestWhatCannotBeDoneSaysWhatToDo(t *testing.T) {
	p := newServePlace(t)
	s := p.session(t)
	p.turn(t, s)
	p.must("rm", s.Job)
	log, err := session.NewStore(filepath.Join(p.home, ".local", "share", "lathe")).Open(t.Context(), s.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	c := p.socket()
	_, prompt := c.Prompt(t.Context(), s.ID, client.Prompt{Text: "hello"})
	_, effort := c.CreateSession(t.Context(), client.NewSession{Dir: p.dir, Effort: "endless"})
	_, folder := c.CreateSession(t.Context(), client.NewSession{Dir: filepath.Join(p.dir, "nowhere")})
	_, unknown := c.Session(t.Context(), "0190aaaa-0000-7000-8000-000000000000")
	for name, x := range map[string]struct {
		err    error
		status int
		says   string
	}{
		"in use":    {prompt, http.StatusConflict, "/bg"},
		"no effort": {effort, http.StatusUnprocessableEntity, "endless"},
		"no folder": {folder, http.StatusNotFound, "/v1/projects"},
		"unknown":   {unknown, http.StatusNotFound, "/v1/sessions"},
	} {
		problem, ok := errors.AsType[*client.Problem](x.err)
		if !ok || problem.Status != x.status || !strings.Contains(x.err.Error(), x.says) {
			t.Errorf("%s: %v", name, x.err)
		}
	}
	if jobs, err := p.List(); err != nil || len(jobs) != 0 {
		t.Errorf("jobs are left: %+v %v", jobs, err)
	}
}
