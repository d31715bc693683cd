package notify_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/face/notify"
)

// received is a request of a service.
type received struct {
	path   string
	header http.Header
	body   map[string]any
}

// server takes requests, the first few with an error.
func server(t *testing.T, faults int) (*httptest.Server, chan received) {
	t.Helper()
	got := make(chan received, 10)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if faults > 0 {
			faults--
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		b, err := io.ReadAll(r.Body)
		rec := received{path: r.URL.Path, header: r.Header}
		if err == nil {
			err = json.Unmarshal(b, &rec.body)
		}
		if err != nil {
			t.Error(err)
		}
		got <- rec
	}))
	t.Cleanup(srv.Close)
	return srv, got
}

func send(t *testing.T, s notify.Service) error {
	t.Helper()
	sender := notify.Sender{
		Services: []notify.Service{s}, Link: "ssh://{host}/{id}", Host: "box", HTTP: http.DefaultClient,
	}
	return sender.Send(context.Background(), notify.Message{
		Kind: notify.Needs, Title: "grün", Text: "May Bash run?\n\x1b[2Jrm -r build", Job: "1a2b3c4d", Session: "s1",
	})
}

func TestEachServiceGetsAMessageInItsForm(t *testing.T) {
	const link, text = "ssh://box/1a2b3c4d", "May Bash run? ␛[2Jrm -r build"
	for _, tt := range []struct {
		service      notify.Service
		path         string
		header, key  string
		title, plain string
		click        func(map[string]any) any
	}{
		{
			notify.Service{Kind: "ntfy", URL: "/base/topic", Token: "tk"},
			"/base/", "Authorization", "Bearer tk",
			"title", "message", func(b map[string]any) any { return b["click"] },
		},
		{
			notify.Service{Kind: "gotify", URL: "/base", Token: "tk"},
			"/base/message", "X-Gotify-Key", "tk",
			"title", "message", func(b map[string]any) any {
				return b["extras"].(map[string]any)["client::notification"].(map[string]any)["click"].(map[string]any)["url"]
			},
		},
		{
			notify.Service{Kind: "pushover", Token: "tk", User: "u"},
			"/1/messages.json", "Content-Type", "application/json",
			"title", "message", func(b map[string]any) any { return b["url"] },
		},
		{
			notify.Service{Kind: "webhook", URL: "/hook", Token: "tk"},
			"/hook", "Authorization", "Bearer tk",
			"title", "text", func(b map[string]any) any { return b["link"] },
		},
	} {
		srv, got := server(t, 1)
		tt.service.URL = srv.URL + tt.service.URL
		if err := send(t, tt.service); err != nil {
			t.Errorf("%s: %v", tt.service.Kind, err)
			continue
		}
		r := <-got
		if r.path != tt.path || r.header.Get(tt.header) != tt.key || r.body[tt.title] != "grün" ||
			r.body[tt.plain] != text || tt.click(r.body) != link {
			t.Errorf("%s got %s %v %v", tt.service.Kind, r.path, r.header, r.body)
		}
		if tt.service.Kind == "ntfy" && r.body["topic"] != "topic" {
			t.Errorf("the topic is %v", r.body["topic"])
		}
	}
}

func TestAServiceThatRefusesIsReportedWithoutItsAddress(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no such token", http.StatusUnauthorized)
	}))
	defer srv.Close()
	err := send(t, notify.Service{Kind: "webhook", URL: srv.URL + "/secret"})
	if err == nil || !strings.Contains(err.Error(), "webhook: it answered 401") ||
		!strings.Contains(err.Error(), "no such token") || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}
