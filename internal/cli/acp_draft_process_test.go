//go:build linux || darwin

package cli_test

import (
	"testing"

	"github.com/lathe-dev/lathe/internal/face/acp/acptest"
)

// Version 2 of the protocol, which is a draft: a prompt is answered at once, and its turn is told by updates.
func TestTheDraftOfTheProtocolOfEditors(t *testing.T) {
	p := newJobsPlace(t)
	e := p.editor(t, "v2", "--draft")
	var out object
	e.must(t, "initialize", object{
		"protocolVersion": 2, "info": object{"name": "test", "version": "1"}, "capabilities": object{},
	}, &out)
	if out["protocolVersion"] != 2.0 {
		t.Fatalf("%v", out)
	}
	var opened struct{ SessionID string }
	e.must(t, "session/new", object{"cwd": p.dir}, &opened)
	id := opened.SessionID
	idle := func(stop string) {
		t.Helper()
		e.Until(func(u acptest.Update) bool { return u.Raw["state"] == "idle" && u.Raw["stopReason"] == stop })
		e.Forget()
	}
	var took struct{ MessageID string }
	e.must(t, "session/prompt", say(id, "ask me"), &took)
	e.Until(func(u acptest.Update) bool {
		return u.Kind == "user_message_chunk" && u.Raw["messageId"] == took.MessageID && u.Text() == "ask me"
	})
	e.Until(func(u acptest.Update) bool { return u.Raw["state"] == "running" })
	idle("end_turn")
	if len(e.questions()) != 1 || e.questions()[0]["title"] != "touch made.txt; echo made-it" {
		t.Errorf("%v", e.questions())
	}
	e.mu.Lock()
	e.choose = ""
	e.mu.Unlock()
	e.must(t, "session/prompt", say(id, "ask me again"), nil)
	e.Until(func(u acptest.Update) bool { return u.Raw["state"] == "requires_action" })
	e.Notify("session/cancel", object{"sessionId": id})
	idle("cancelled")
	set := object{"sessionId": id, "configId": "mode", "type": "id", "value": "plan"}
	e.must(t, "session/set_config_option", set, nil)
	e.must(t, "session/prompt", say(id, "/cost"), nil)
	idle("end_turn")
	e.must(t, "session/resume", object{"sessionId": id, "cwd": p.dir, "replayFrom": object{"type": "start"}}, nil)
	if text := e.Text("user_message_chunk"); text != "ask meask me again" {
		t.Errorf("%q", text)
	}
	if err := e.Call(t.Context(), "auth/login", object{"methodId": "x"}, nil); codeOf(err) != -32602 {
		t.Errorf("%v", err)
	}
}
