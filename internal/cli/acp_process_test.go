//go:build linux || darwin

package cli_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/face/acp/acptest"
	"github.com/lathe-dev/lathe/internal/face/supervisor"
)

// editor is lathe acp with a client of the protocol.
type editor struct {
	*acptest.Client
	p   *jobsPlace
	cmd *exec.Cmd
	end func() // closes stdin and waits

	form    func(params json.RawMessage) object                               // answers elicitation/create; nil: not known
	buffers func(method string, params json.RawMessage) (any, *acptest.Error) // fs/ methods; nil: not known

	mu     sync.Mutex
	asked  []map[string]any // permission requests
	choose string           // the kind of option that the client selects; empty: it leaves them open
}

// editor starts lathe acp.
func (p *jobsPlace) editor(t *testing.T, schema string, args ...string) *editor {
	t.Helper()
	e := &editor{p: p, choose: "allow_once"}
	e.cmd = exec.Command(p.lathe, append([]string{"acp"}, args...)...)
	e.cmd.Dir, e.cmd.Env = p.dir, p.environ()
	var stderr strings.Builder
	e.cmd.Stderr = &stderr
	in, err := e.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := e.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := e.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e.end = sync.OnceFunc(func() {
		_ = in.Close()
		if err := e.cmd.Wait(); err != nil || stderr.Len() > 0 {
			t.Errorf("lathe acp ended: %v\n%s", err, stderr.String())
		}
	})
	t.Cleanup(e.end)
	e.Client = acptest.New(t, out, in, schema)
	e.Answer = e.answer
	return e
}

// answer answers the agent's requests.
func (e *editor) answer(ctx context.Context, method string, params json.RawMessage) (any, *acptest.Error) {
	if method == "elicitation/create" && e.form != nil {
		return e.form(params), nil
	}
	if strings.HasPrefix(method, "fs/") && e.buffers != nil {
		return e.buffers(method, params)
	}
	if method != "session/request_permission" {
		return nil, &acptest.Error{Code: -32601, Message: "unknown"}
	}
	var in struct {
		Options []struct {
			ID   string `json:"optionId"`
			Kind string `json:"kind"`
		} `json:"options"`
	}
	var whole map[string]any
	_ = json.Unmarshal(params, &in)
	_ = json.Unmarshal(params, &whole)
	e.mu.Lock()
	e.asked = append(e.asked, whole)
	want := e.choose
	e.mu.Unlock()
	for _, o := range in.Options {
		if o.Kind == want {
			return map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": o.ID}}, nil
		}
	}
	<-ctx.Done()
	return map[string]any{"outcome": map[string]any{"outcome": "cancelled"}}, nil
}

func (e *editor) questions() []map[string]any {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.asked)
}

// untilAsked waits for so many questions.
func (e *editor) untilAsked(t *testing.T, n int) {
	t.Helper()
	if !await.Until(func() bool { return len(e.questions()) >= n }) {
		t.Fatal("nothing is asked")
	}
}

type object = map[string]any

func (e *editor) must(t *testing.T, method string, params, result any) {
	t.Helper()
	if err := e.Call(t.Context(), method, params, result); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
}

func (e *editor) initialize(t *testing.T, capabilities object) object {
	t.Helper()
	var out object
	e.must(t, "initialize", object{
		"protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": object{"name": "test", "version": "1"},
	}, &out)
	return out
}

// session opens a session.
func (e *editor) session(t *testing.T) string {
	t.Helper()
	var out struct {
		SessionID string `json:"sessionId"`
	}
	e.must(t, "session/new", object{"cwd": e.p.dir, "mcpServers": []any{}}, &out)
	return out.SessionID
}

func say(id, text string) object {
	return object{"sessionId": id, "prompt": []any{object{"type": "text", "text": text}}}
}

// prompt sends a prompt and returns why its turn ended.
func (e *editor) prompt(t *testing.T, id, text string) string {
	t.Helper()
	var out struct {
		Stop string `json:"stopReason"`
	}
	e.must(t, "session/prompt", say(id, text), &out)
	return out.Stop
}

func TestAConversationInAnEditor(t *testing.T) {
	p := newJobsPlace(t)
	e := p.editor(t, "v1")
	e.initialize(t, object{})
	id := e.session(t)
	e.Until(func(u acptest.Update) bool { return u.Kind == "available_commands_update" })
	if stop := e.prompt(t, id, "hello"); stop != "end_turn" {
		t.Errorf("%s", stop)
	}
	if text := e.Text("agent_message_chunk"); text != "an answer of some words" {
		t.Errorf("%q", text)
	}
	e.Forget()
	if stop := e.prompt(t, id, "ask me"); stop != "end_turn" {
		t.Errorf("%s", stop)
	}
	asked := e.questions()
	if len(asked) != 1 {
		t.Fatalf("%v", asked)
	}
	const command = "touch made.txt; echo made-it"
	call := asked[0]["toolCall"].(object)
	content, _ := json.Marshal(call["content"])
	if call["title"] != command || call["rawInput"].(object)["command"] != command ||
		!strings.Contains(string(content), command) {
		t.Errorf("%v", call)
	}
	var kinds []string
	for _, o := range asked[0]["options"].([]any) {
		if kind := o.(object)["kind"].(string); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	if slices.Sort(kinds); strings.Join(kinds, " ") != "allow_always allow_once reject_always reject_once" {
		t.Errorf("%v", kinds)
	}
	var statuses []string
	for _, u := range e.Updates() {
		if u.Raw["toolCallId"] == call["toolCallId"] && u.Raw["status"] != nil {
			statuses = append(statuses, u.Raw["status"].(string))
		}
	}
	if got := strings.Join(slices.Compact(statuses), " "); got != "pending in_progress completed" {
		t.Errorf("%s", got)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "made.txt")); err != nil {
		t.Error(err)
	}
}

func TestACancelledTurnInAnEditor(t *testing.T) {
	p := newJobsPlace(t)
	e := p.editor(t, "v1")
	e.choose = ""
	e.initialize(t, object{})
	id := e.session(t)
	wait := e.Begin("session/prompt", say(id, "ask me"))
	if !await.Until(func() bool { return len(e.questions()) == 1 }) {
		t.Fatal("nothing is asked")
	}
	e.Notify("session/cancel", object{"sessionId": id})
	var out struct {
		Stop string `json:"stopReason"`
	}
	if err := wait(t.Context(), &out); err != nil || out.Stop != "cancelled" {
		t.Errorf("%v %v", out, err)
	}
	if stop := e.prompt(t, id, "hello"); stop != "end_turn" {
		t.Errorf("%s", stop)
	}
}

// A session of an editor goes on when that ends, and another face answers its question.
func TestASessionOutlivesItsEditor(t *testing.T) {
	p := newJobsPlace(t)
	e := p.editor(t, "v1")
	e.choose = ""
	e.initialize(t, object{})
	id := e.session(t)
	unused := e.session(t)
	e.Begin("session/prompt", say(id, "ask me"))
	if !await.Until(func() bool { return len(e.questions()) == 1 }) {
		t.Fatal("nothing is asked")
	}
	e.end()
	j, err := p.Find(id)
	if err != nil || j.State != supervisor.Blocked {
		t.Fatalf("%+v %v", j, err)
	}
	if j, err := p.Find(unused); err == nil {
		t.Errorf("the session in which nothing was said is kept: %+v", j)
	}
	again := p.editor(t, "v1")
	again.initialize(t, object{})
	again.must(t, "session/load", object{"sessionId": id, "cwd": p.dir, "mcpServers": []any{}}, nil)
	if text := again.Text("user_message_chunk"); text != "ask me" {
		t.Errorf("%q %v", text, again.Updates())
	}
	again.Until(func(u acptest.Update) bool {
		return u.Kind == "agent_message_chunk" && strings.Contains(u.Text(), "It is made.")
	})
}
