//go:build linux || darwin

package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// hook is a webhook's server, and the messages that it got.
func hook(t *testing.T) (string, chan map[string]any) {
	t.Helper()
	got := make(chan map[string]any, 10)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var m map[string]any
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		got <- m
	}))
	t.Cleanup(srv.Close)
	return srv.URL, got
}

func TestASessionInTheBackgroundNotifiesItsUser(t *testing.T) {
	url, got := hook(t)
	m := newMachine(t, llmtest.Replies(
		llmtest.Say(llmtest.Tool("PushNotification", map[string]any{"message": "I began."})),
		llmtest.Say(llmtest.Tool("AskUserQuestion", map[string]any{"questions": []any{map[string]any{
			"question": "Which colour?", "header": "Colour",
			"options": []any{map[string]any{"label": "Red"}, map[string]any{"label": "Blue"}},
		}}})),
		llmtest.Say(llmtest.Text("Painted it.")),
	), fmt.Sprintf(`{"notifications":{"always":true,"webhook":{"url":%q}}}`, url))
	id := m.run("--bg", "paint the fence")
	host, _ := os.Hostname()
	want := func(kind, text string) {
		t.Helper()
		n := <-got
		if n["event"] != kind || n["text"] != text || n["id"] != id || n["link"] != "ssh://"+host+"/"+id {
			t.Errorf("got %v, want %s %q of %s", n, kind, text, id)
		}
	}
	want("message", "I began.")
	want("needs_input", "Which colour?")
	s := m.terminal("dash")
	s.Shows("waits for: answer")
	s.Press(" ", "1. Red")
	s.Type("1\r")
	s.Shows("Painted it.")
	want("completed", "Painted it.")
	s.Type("\x03")
	ended(t, s, 0)
}
