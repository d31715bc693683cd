package llmtest

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, s *Script, o Options) *Server {
	t.Helper()
	srv := New(s, o)
	if err := srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return srv
}

const readTool = `{"name":"Read","input_schema":{"type":"object","properties":{"file_path":{"type":"string"}},"required":["file_path"]}}`

func messages(extra, list string) string {
	return `{"model":"m","max_tokens":100,"stream":true,"tools":[` + readTool + `]` + extra + `,"messages":` + list + `}`
}

func ask(t *testing.T, srv *Server, path, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", "k")
	req.Header.Set("Authorization", "Bearer k")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func text(t *testing.T, resp *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const hello = `[{"role":"user","content":"hello"}]`

func TestReplyIsChosenByTheNumberOfAssistantMessages(t *testing.T) {
	srv := start(t, Replies(Say(Text("one"), Tool("Read", map[string]any{"file_path": "${WORKDIR}/a"})),
		Say(Text("two"))), Options{Vars: map[string]string{"WORKDIR": `/w"x`}})
	for range 2 {
		got := text(t, ask(t, srv, "/v1/messages", messages("", hello)))
		if !strings.Contains(got, `"text":"one"`) || !strings.Contains(got, `{\"file_path\":\"/w\\\"x/a\"}`) {
			t.Fatalf("first reply: %s", got)
		}
	}
	second := `[{"role":"user","content":"hello"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"Read","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}]`
	if got := text(t, ask(t, srv, "/v1/messages", messages("", second))); !strings.Contains(got, `"text":"two"`) {
		t.Fatalf("second reply: %s", got)
	}
	reqs := srv.Requests()
	if len(reqs) != 3 || reqs[2].Turn != 1 || reqs[2].Reply != 1 || reqs[2].Status != 200 || reqs[2].Tools != 1 {
		t.Errorf("requests: %+v", reqs)
	}
	if got := reqs[0].Header.Get("X-Api-Key"); got != "[redacted]" {
		t.Errorf("key was recorded as %q", got)
	}
}

func TestFaultsStrikeOneAfterTheOther(t *testing.T) {
	r := Say(Text(Fill(400)))
	r.Chunk = 20
	r.Faults = []Fault{
		{Kind: "status", Status: 529, Times: 2, RetryAfter: "1"},
		{Kind: "reset", At: "50%"},
		{Kind: "close", At: "-3"},
		{Kind: "end", At: "event -1"},
	}
	srv := start(t, Replies(r), Options{})
	for range 2 {
		resp := ask(t, srv, "/v1/messages", messages("", hello))
		if resp.StatusCode != 529 || resp.Header.Get("Retry-After") != "1" || !strings.Contains(text(t, resp),
			"overloaded_error") {
			t.Fatalf("status %d", resp.StatusCode)
		}
	}
	b, err := io.ReadAll(ask(t, srv, "/v1/messages", messages("", hello)).Body)
	if !errors.Is(err, syscall.ECONNRESET) || len(b) == 0 {
		t.Fatalf("reset: %d bytes, %v", len(b), err)
	}
	half := len(b)
	b, err = io.ReadAll(ask(t, srv, "/v1/messages", messages("", hello)).Body)
	if !errors.Is(err, io.ErrUnexpectedEOF) || len(b) < 2*half-3 || len(b) > 2*half {
		t.Fatalf("close: %d bytes after %d, %v", len(b), half, err)
	}
	got := text(t, ask(t, srv, "/v1/messages", messages("", hello)))
	if strings.Contains(got, "message_stop") || !strings.Contains(got, "message_delta") {
		t.Fatalf("end: %s", got)
	}
	if got := text(t, ask(t, srv, "/v1/messages", messages("", hello))); !strings.Contains(got, "message_stop") {
		t.Fatalf("after all faults: %s", got)
	}
}

func TestStallLastsUntilTheClientLeaves(t *testing.T) {
	r := Say(Text("hello"))
	r.Faults = []Fault{{Kind: "stall", At: "event 3"}}
	srv := start(t, Replies(r), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL()+"/v1/messages",
		strings.NewReader(messages("", hello)))
	req.Header.Set("X-Api-Key", "k")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	sc := bufio.NewScanner(resp.Body)
	for n := 0; n < 2 && sc.Scan(); {
		if sc.Text() == "" {
			n++
		}
	}
	cancel()
	wait, done := context.WithTimeout(t.Context(), 10*time.Second)
	defer done()
	if err := srv.WaitEnded(wait, 1); err != nil {
		t.Fatal(err)
	}
	if r := srv.Requests()[0]; !r.Gone || r.Fault != "stall" {
		t.Errorf("request: %+v", r)
	}
}

func TestCloseEndsAStalledResponse(t *testing.T) {
	r := Say(Text("hello"))
	r.Faults = []Fault{{Kind: "stall", At: "start"}}
	srv := New(Replies(r), Options{})
	if err := srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	req, _ := http.NewRequest(http.MethodPost, srv.URL()+"/v1/messages", strings.NewReader(messages("", hello)))
	req.Header.Set("X-Api-Key", "k")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	failed := make(chan error, 1)
	go func() {
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		failed <- err
	}()
	if err := srv.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := srv.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err == nil {
		t.Error("the stalled request was answered")
	}
}

func TestRequestsAreWrittenToAFolder(t *testing.T) {
	dir := t.TempDir()
	srv := New(Replies(Say(Text("hi"))), Options{Record: dir})
	if err := srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	body := messages("", hello)
	text(t, ask(t, srv, "/v1/messages", body))
	if err := srv.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "bodies", "0001.json"))
	if err != nil || string(got) != body {
		t.Errorf("body %q, %v", got, err)
	}
	line, err := os.ReadFile(filepath.Join(dir, "requests.jsonl"))
	if err != nil || !strings.Contains(string(line), `"wire":"anthropic"`) || strings.Contains(string(line), `"k"`) {
		t.Errorf("line %s, %v", line, err)
	}
}
