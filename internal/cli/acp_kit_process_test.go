//go:build linux || darwin

package cli_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/face/acp/acptest"
)

// The requirements of the protocol's official test kit (acp-tck, version 1), with the areas of its list as names. The
// client of these tests validates every message, so that what the kit says of schemas and envelopes holds in all.

func TestTheKitsHandshake(t *testing.T) {
	p := newJobsPlace(t)
	e := p.editor(t, "v1")
	if err := e.Call(t.Context(), "session/new", object{"cwd": p.dir, "mcpServers": []any{}}, nil); codeOf(err) != -32600 {
		t.Errorf("a session before initialize: %v", err)
	}
	out := e.initialize(t, object{})
	if out["protocolVersion"] != 1.0 {
		t.Errorf("%v", out)
	}
	if info := out["agentInfo"].(object); info["name"] != "lathe" || info["version"] == "" {
		t.Errorf("%v", info)
	}
	for _, m := range out["authMethods"].([]any) {
		if m.(object)["type"] == "terminal" {
			t.Errorf("the client has no terminal for a login: %v", m)
		}
	}
	var newest object
	e.must(t, "initialize", object{"protocolVersion": 65535}, &newest)
	if newest["protocolVersion"] != 1.0 {
		t.Errorf("%v", newest)
	}
	out = e.initialize(t, object{"auth": object{"terminal": true}})
	if m := out["authMethods"].([]any)[0].(object); m["type"] != "terminal" || len(m["args"].([]any)) == 0 {
		t.Errorf("%v", m)
	}
}

func codeOf(err error) int {
	if e, ok := errors.AsType[*acptest.Error](err); ok {
		return e.Code
	}
	return 0
}

func TestTheKitsSessions(t *testing.T) {
	p := newJobsPlace(t)
	e := p.editor(t, "v1")
	e.initialize(t, object{})
	var first, second object
	params := object{"cwd": p.dir, "mcpServers": []any{}, "_meta": object{"traceparent": "00-1"}, "extra": 1}
	e.must(t, "session/new", params, &first)
	e.must(t, "session/new", params, &second)
	if first["sessionId"] == second["sessionId"] || first["sessionId"] == "" {
		t.Errorf("%v %v", first, second)
	}
	id := first["sessionId"].(string)
	for name, wrong := range map[string]object{
		"relative":  {"cwd": "p", "mcpServers": []any{}},
		"no folder": {"cwd": filepath.Join(p.dir, "missing"), "mcpServers": []any{}},
		"directory": {"cwd": p.dir, "mcpServers": []any{}, "additionalDirectories": []any{"x"}},
	} {
		if err := e.Call(t.Context(), "session/new", wrong, nil); codeOf(err) != -32602 {
			t.Errorf("%s: %v", name, err)
		}
	}
	more := t.TempDir()
	e.must(t, "session/new", object{"cwd": p.dir, "mcpServers": []any{}, "additionalDirectories": []any{more}}, nil)
	e.prompt(t, id, "hello")
	var list struct {
		Sessions []struct{ SessionID, CWD, Title, UpdatedAt string }
	}
	e.must(t, "session/list", object{"cwd": p.dir}, &list)
	if len(list.Sessions) != 1 || list.Sessions[0].SessionID != id || list.Sessions[0].CWD != p.dir ||
		list.Sessions[0].Title == "" {
		t.Errorf("%+v", list)
	}
	e.must(t, "session/list", object{"cwd": more}, &list)
	if len(list.Sessions) != 0 {
		t.Errorf("%+v", list)
	}
	if err := e.Call(t.Context(), "session/list", object{"cursor": "x"}, nil); codeOf(err) != -32602 {
		t.Errorf("%v", err)
	}
	place := object{"sessionId": id, "cwd": p.dir, "mcpServers": []any{}}
	e.must(t, "session/close", object{"sessionId": id}, nil)
	if err := e.Call(t.Context(), "session/prompt", say(id, "x"), nil); codeOf(err) != -32002 {
		t.Errorf("a closed session takes prompts: %v", err)
	}
	e.Forget()
	e.must(t, "session/resume", place, nil)
	if all := e.Text("user_message_chunk") + e.Text("agent_message_chunk"); all != "" {
		t.Errorf("session/resume shows %q", all)
	}
	if stop := e.prompt(t, id, "and again"); stop != "end_turn" {
		t.Errorf("%s", stop)
	}
	e.Forget()
	e.must(t, "session/load", place, nil)
	if user, agent := e.Text("user_message_chunk"), e.Text("agent_message_chunk"); user != "helloand again" ||
		strings.Count(agent, "an answer of some words") != 2 {
		t.Errorf("%q %q", user, agent)
	}
	for _, method := range []string{"session/load", "session/resume"} {
		unknown := object{"sessionId": "01234567-89ab-7def-8123-456789abcdef", "cwd": p.dir, "mcpServers": []any{}}
		if err := e.Call(t.Context(), method, unknown, nil); codeOf(err) != -32002 {
			t.Errorf("%s: %v", method, err)
		}
	}
	e.must(t, "session/delete", object{"sessionId": id}, nil)
	e.must(t, "session/delete", object{"sessionId": id}, nil)
	e.must(t, "session/list", object{}, &list)
	if len(list.Sessions) != 0 {
		t.Errorf("%+v", list)
	}
}

func TestTheKitsOptions(t *testing.T) {
	p := newJobsPlace(t)
	e := p.editor(t, "v1")
	e.initialize(t, object{})
	var opened struct {
		SessionID string
		Modes     struct {
			CurrentModeID  string `json:"currentModeId"`
			AvailableModes []struct{ ID string }
		}
		ConfigOptions []struct {
			ID, CurrentValue string
			Options          []struct{ Value string }
		}
	}
	e.must(t, "session/new", object{"cwd": p.dir, "mcpServers": []any{}}, &opened)
	var ids []string
	for _, o := range opened.ConfigOptions {
		ids = append(ids, o.ID)
		found := slices.ContainsFunc(o.Options, func(v struct{ Value string }) bool { return v.Value == o.CurrentValue })
		if !found {
			t.Errorf("%s is %q, which it offers not", o.ID, o.CurrentValue)
		}
	}
	if strings.Join(ids, " ") != "mode model effort sandbox" || opened.Modes.CurrentModeID != "default" {
		t.Errorf("%v %+v", ids, opened.Modes)
	}
	id := opened.SessionID
	e.must(t, "session/set_mode", object{"sessionId": id, "modeId": "plan"}, nil)
	e.Until(func(u acptest.Update) bool {
		return u.Kind == "current_mode_update" && u.Raw["currentModeId"] == "plan"
	})
	var set struct {
		ConfigOptions []struct{ ID, CurrentValue string }
	}
	for option, value := range map[string]string{"mode": "acceptEdits", "effort": "high", "sandbox": "read-only"} {
		e.must(t, "session/set_config_option", object{"sessionId": id, "configId": option, "value": value}, &set)
		for _, o := range set.ConfigOptions {
			if o.ID == option && o.CurrentValue != value {
				t.Errorf("%s is %s", option, o.CurrentValue)
			}
		}
	}
	for _, wrong := range []object{
		{"sessionId": id, "configId": "mode", "value": "none"}, {"sessionId": id, "configId": "none", "value": "x"},
	} {
		if err := e.Call(t.Context(), "session/set_config_option", wrong, nil); codeOf(err) != -32602 {
			t.Errorf("%v", err)
		}
	}
	if err := e.Call(t.Context(), "session/set_mode", object{"sessionId": id, "modeId": "x"}, nil); codeOf(err) != -32602 {
		t.Errorf("%v", err)
	}
	if stop := e.prompt(t, id, "hello"); stop != "end_turn" {
		t.Errorf("%s", stop)
	}
}

func TestTheKitsContent(t *testing.T) {
	p := newJobsPlace(t)
	e := p.editor(t, "v1")
	e.initialize(t, object{})
	id := e.session(t)
	file := filepath.Join(p.dir, "notes.txt")
	if err := os.WriteFile(file, []byte("the content on disk\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	pixel := "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	var out object
	e.must(t, "session/prompt", object{"sessionId": id, "prompt": []any{
		object{"type": "text", "text": "look"},
		object{"type": "image", "data": pixel, "mimeType": "image/png"},
		object{"type": "resource_link", "uri": "file://" + file, "name": "notes.txt"},
		object{"type": "resource", "resource": object{"uri": "file:///x/unsaved.go", "text": "package unsaved\n"}},
	}}, &out)
	if out["stopReason"] != "end_turn" {
		t.Errorf("%v", out)
	}
	var sent string
	for _, r := range p.srv.Requests() {
		sent += string(r.Body)
	}
	for _, want := range []string{pixel, "the content on disk", "package unsaved", "unsaved.go"} {
		if !strings.Contains(sent, want) {
			t.Errorf("the model does not get %q", want)
		}
	}
	for name, block := range map[string]object{
		"audio":  {"type": "audio", "data": "AA==", "mimeType": "audio/wav"},
		"binary": {"type": "resource", "resource": object{"uri": "file:///x", "blob": "AA==", "mimeType": "x/y"}},
		"base64": {"type": "image", "data": "?", "mimeType": "image/png"},
	} {
		err := e.Call(t.Context(), "session/prompt", object{"sessionId": id, "prompt": []any{block}}, nil)
		if codeOf(err) != -32602 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A cancellation that follows its prompt at once, one without a prompt, one of an unknown session, one by request.
func TestTheKitsCancellations(t *testing.T) {
	p := newJobsPlace(t)
	e := p.editor(t, "v1")
	e.choose = ""
	e.initialize(t, object{})
	id := e.session(t)
	e.Notify("session/cancel", object{"sessionId": id})
	e.Notify("session/cancel", object{"sessionId": "unknown"})
	for range 5 {
		wait := e.Begin("session/prompt", say(id, "ask me"))
		e.Notify("session/cancel", object{"sessionId": id})
		var out object
		if err := wait(t.Context(), &out); err != nil || out["stopReason"] != "cancelled" {
			t.Fatalf("%v %v", out, err)
		}
	}
	before := len(e.questions())
	wait := e.Begin("session/prompt", say(id, "ask me"))
	if !await.Until(func() bool { return len(e.questions()) > before }) {
		t.Fatal("nothing is asked")
	}
	e.Notify("$/cancel_request", object{"requestId": e.Last()})
	if err := wait(t.Context(), nil); codeOf(err) != -32800 {
		t.Errorf("%v", err)
	}
	if stop := e.prompt(t, id, "hello"); stop != "end_turn" {
		t.Errorf("%s", stop)
	}
}

func TestTheKitsHygiene(t *testing.T) {
	p := newJobsPlace(t)
	e := p.editor(t, "v1")
	e.initialize(t, object{})
	for line, code := range map[string]int{
		`{"jsonrpc":"2.0","id":`: -32700,
		`[]`:                     -32600,
		`[{"jsonrpc":"2.0","id":901,"method":"session/list"}]`: -32600,
		`"text"`:                                                         -32600,
		`{"id":902,"method":"session/list"}`:                             -32600,
		`{"jsonrpc":"2.0","id":903}`:                                     -32600,
		`{"jsonrpc":"2.0","id":904,"method":7}`:                          -32600,
		`{"jsonrpc":"2.0","id":"a","method":"_unknown/x"}`:               -32601,
		`{"jsonrpc":"2.0","id":905,"method":"session/unknown"}`:          -32601,
		`{"jsonrpc":"2.0","id":906,"method":"session/new","params":[1]}`: -32602,
		`{"jsonrpc":"2.0","id":907,"method":"session/prompt","params":{"sessionId":"x","prompt":7}}`:  -32602,
		`{"jsonrpc":"2.0","id":908,"method":"session/prompt","params":{"sessionId":"x","prompt":[]}}`: -32002,
		`{"jsonrpc":"2.0","id":909,"method":"authenticate","params":{"methodId":"x"}}`:                -32602,
		`{"jsonrpc":"2.0","id":910,"method":"initialize","params":{"protocolVersion":"1"}}`:           -32602,
		`{"jsonrpc":"2.0","id":911,"method":"initialize","params":{}}`:                                -32602,
		"\x00\xff": -32700,
	} {
		e.Raw(line)
		if m := e.Stray(); m.Error == nil || m.Error.Code != code || m.Error.Message == "" {
			t.Errorf("%s: %+v", line, m)
		}
	}
	e.Notify("_unknown/notification", object{})
	e.Raw(`{"jsonrpc":"2.0","id":12345,"result":{}}`)
	e.Raw("")
	if stop := e.prompt(t, e.session(t), "hello"); stop != "end_turn" {
		t.Errorf("%s", stop)
	}
	e.end() // and nothing was written on stderr
}

// The agent ends with its input, and has written nothing but the protocol.
func TestTheKitsShutdown(t *testing.T) {
	p := newJobsPlace(t)
	e := p.editor(t, "v1")
	e.initialize(t, object{})
	e.session(t)
	e.end()
}

// Without a key a session needs a login, and leaves nothing behind.
func TestTheKitsLogin(t *testing.T) {
	p := newJobsPlace(t)
	p.keyless = true
	e := p.editor(t, "v1")
	e.initialize(t, object{})
	err := e.Call(t.Context(), "session/new", object{"cwd": p.dir, "mcpServers": []any{}}, nil)
	if codeOf(err) != -32000 {
		t.Errorf("%v", err)
	}
	if err := e.Call(t.Context(), "authenticate", object{"methodId": "lathe-auth"}, nil); codeOf(err) != -32000 {
		t.Errorf("%v", err)
	}
	e.must(t, "logout", object{}, nil)
	if jobs, err := p.List(); err != nil || len(jobs) > 0 {
		t.Errorf("%v %v", jobs, err)
	}
}
