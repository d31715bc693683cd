package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/lathe-dev/lathe/client"
)

// recorded is a server that answers as lathe serve did once, so that the examples run without one.
func recorded() *httptest.Server {
	mux := http.NewServeMux()
	answer := func(route, body string) {
		mux.HandleFunc(route, func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, body) })
	}
	answer("POST /v1/sessions", `{"id":"0190","dir":"/src/app","state":"done","live":true,"changed":"2026-11-28T14:00:00Z"}`)
	answer("GET /v1/sessions", `{"sessions":[{"id":"0190","title":"Fix the test","dir":"/src/app","state":"blocked",`+
		`"waitingFor":"permission","live":true,"changed":"2026-11-28T14:00:00Z"}]}`)
	answer("POST /v1/sessions/0190/prompts", `{"id":"p1","state":"begun"}`)
	mux.HandleFunc("POST /v1/sessions/0190/answers", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /v1/sessions/0190/interrupt", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusConflict)
		_, _ = fmt.Fprint(w, `{"type":"lathe:turn-over","title":"That turn is over","status":409,`+
			`"next":"send it without naming a turn"}`)
	})
	mux.HandleFunc("GET /v1/events", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, `data: {"kind":"hello","time":"2026-11-28T14:00:00Z","body":{"lathe":"1","heartbeat":15}}

data: {"kind":"asked","time":"2026-11-28T14:00:01Z","session":"0190","body":{"id":"q1","question":{"title":"go test ./..."}}}

id: 0190:e9
data: {"kind":"turn.end","time":"2026-11-28T14:00:09Z","session":"0190","cursor":"0190:e9","body":{"reason":"completed"}}

`)
	})
	return httptest.NewServer(mux)
}

// A turn: send a prompt, allow what it asks, and wait for its end.
func Example() {
	server := recorded()
	defer server.Close()
	ctx := context.Background()

	c := client.New(server.URL, "lathe_…", nil) // lathe serve token prints one
	s, err := c.CreateSession(ctx, client.NewSession{Dir: "/src/app"})
	if err != nil {
		fmt.Println(err)
		return
	}
	events, err := c.Events(ctx, client.EventsQuery{Sessions: []string{s.ID}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer events.Close()
	if _, err := c.Prompt(ctx, s.ID, client.Prompt{Text: "fix the failing test"}); err != nil {
		fmt.Println(err)
		return
	}
	for {
		e, err := events.Next(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		switch e.Kind {
		case "asked":
			var asked struct {
				ID       string
				Question struct{ Title string }
			}
			if err := json.Unmarshal(e.Body, &asked); err != nil {
				fmt.Println(err)
				return
			}
			fmt.Println("allowed:", asked.Question.Title)
			if err := c.Answer(ctx, e.Session, asked.ID, client.Answer{Choice: "once"}); err != nil {
				fmt.Println(err)
				return
			}
		case "turn.end":
			fmt.Println("done; go on later after", e.ID)
			return
		}
	}
	// Output:
	// allowed: go test ./...
	// done; go on later after 0190:e9
}

// Sessions that wait for you say what for.
func ExampleClient_Sessions() {
	server := recorded()
	defer server.Close()
	c := client.New(server.URL, "lathe_…", nil)
	page, err := c.Sessions(context.Background(), client.SessionsQuery{States: []string{"blocked"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range page.Sessions {
		fmt.Println(s.Title, s.WaitingFor)
	}
	// Output: Fix the test permission
}

// A Problem says what to do next.
func ExampleProblem() {
	server := recorded()
	defer server.Close()
	c := client.New(server.URL, "lathe_…", nil)
	err := c.Interrupt(context.Background(), "0190", "an-old-turn")
	if p, ok := errors.AsType[*client.Problem](err); ok {
		fmt.Println(strings.TrimPrefix(p.Type, "lathe:"), p.Next)
	}
	// Output: turn-over send it without naming a turn
}
