package mcp_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lathe-dev/lathe/internal/extend/mcp"
)

// A server repeats in its errors what it was sent.
func TestErrorsShowNoValueThatAnEntryFillsIn(t *testing.T) {
	const key, token, helped = "k3y/of-the-user", "t0ken-of-the-user", "from-the-helper-7"
	t.Setenv("ISSUES_KEY", key)
	t.Setenv("ISSUES_TOKEN", token)
	var broken atomic.Bool
	official := streamable(nil)
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !broken.Load() {
			official.ServeHTTP(w, r)
			return
		}
		http.Error(w, r.URL.String()+" "+r.URL.Query().Get("k")+" "+r.Header.Get("Authorization")+" "+
			r.Header.Get("X-Api-Key"), http.StatusInternalServerError)
	}), nil)
	entry := map[string]any{
		"type": "http", "url": url + "/mcp?k=${ISSUES_KEY}",
		"headers":       map[string]string{"Authorization": "Bearer ${ISSUES_TOKEN}"},
		"headersHelper": `echo '{"X-Api-Key": "` + helped + `"}'; echo "the helper has ` + token + `" >&2`,
	}
	shows := func(b *bench, texts ...any) {
		t.Helper()
		all := fmt.Sprint(texts...) + b.set.Log("h")
		for _, s := range b.set.Status() {
			all += s.Err + s.What
		}
		for _, secret := range []string{key, "k3y%2Fof", token, helped} {
			if strings.Contains(all, secret) {
				t.Errorf("%q is shown: %s", secret, all)
			}
		}
		if !strings.Contains(all, "${ISSUES_TOKEN}") {
			t.Errorf("the name is not shown: %s", all)
		}
	}
	b := newBench(t, map[string]any{"h": entry})
	b.start(t)
	broken.Store(true)
	_, err := b.call(t.Context(), t, "mcp__h__echo", `{"text":"x"}`)
	if err == nil {
		t.Fatal("no error")
	}
	shows(b, err)
	b = newBench(t, map[string]any{"h": entry})
	b.start(t)
	shows(b, b.set.Reconnect(t.Context(), "h"))
	delete(entry, "headers")
	delete(entry, "headersHelper")
	entry["url"] = "http://127.0.0.1:1/${ISSUES_TOKEN}"
	b = newBench(t, map[string]any{"h": entry}, logins(t))
	b.start(t)
	shows(b, b.set.Login(t.Context(), "h", mcp.Browser{}))
	b = newBench(t, map[string]any{"h": map[string]any{"command": "/no/such/${ISSUES_TOKEN}"}})
	b.start(t)
	shows(b, b.set.Reconnect(t.Context(), "h"))
}
