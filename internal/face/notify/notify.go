// Package notify tells the user, wherever they are, that a session needs them.
//
// The words: a service is where a message is sent: ntfy, Gotify, Pushover, or a webhook. A message has a link that
// opens the session.
//
// Promises: a service that fails is tried again, then reported; it delays neither the session nor another service. A
// message holds a line of the session at most, and no redirect takes a token to another host.
package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/term"
)

// Kinds of messages.
const (
	Needs  = "needs_input"
	Done   = "completed"
	Failed = "failed"
	Said   = "message" // of the model's own
)

// Message is what the user reads. The JSON form is what a webhook gets.
type Message struct {
	Kind    string    `json:"event"`
	Title   string    `json:"title"` // the name of the session
	Text    string    `json:"text"`
	Link    string    `json:"link,omitempty"`
	Job     string    `json:"id,omitempty"`
	Session string    `json:"sessionId,omitempty"`
	Dir     string    `json:"cwd,omitempty"`
	Host    string    `json:"host,omitempty"`
	Time    time.Time `json:"time"`
}

// mostText is how many cells of a text are sent.
const mostText = 300

// Service is where messages are sent. Kind is ntfy, gotify, pushover or webhook.
type Service struct{ Kind, URL, Token, User string }

// Sender sends messages.
type Sender struct {
	Services []Service
	Link     string // as in the settings
	Host     string
	HTTP     *http.Client
}

// Send sends a message to all services. The error names those that did not take it.
func (s *Sender) Send(ctx context.Context, m Message) error {
	m.Host, m.Time = s.Host, time.Now()
	m.Title = line(m.Title)
	m.Text = line(m.Text)
	if s.Link != "" && (m.Job != "" || m.Session != "") {
		id := m.Job
		if id == "" {
			id = m.Session
		}
		m.Link = strings.NewReplacer("{id}", url.PathEscape(id), "{session}", url.PathEscape(m.Session), "{host}",
			url.PathEscape(s.Host)).Replace(s.Link)
	}
	errs := make([]error, len(s.Services))
	var wg sync.WaitGroup
	for i, service := range s.Services {
		wg.Go(func() {
			if err := s.deliver(ctx, service, m); err != nil {
				errs[i] = fmt.Errorf("%s: %w", service.Kind, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// line is a text without line breaks and controls, and not longer than a phone shows.
func line(s string) string {
	return term.Truncate(term.EscapeLine(strings.Join(strings.Fields(s), " ")), mostText, "…")
}

// How often a service is tried, how long one attempt may take, and the first wait between two.
const (
	attempts    = 3
	attemptWait = 15 * time.Second
	firstPause  = 500 * time.Millisecond
)

// deliver sends a message to a service, and tries again where that may help.
func (s *Sender) deliver(ctx context.Context, to Service, m Message) (err error) {
	pause := firstPause
	for n := 1; ; n++ {
		var again bool
		if again, err = s.attempt(ctx, to, m); err == nil || !again || n == attempts {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
		pause *= 4
	}
}

func (s *Sender) attempt(ctx context.Context, to Service, m Message) (again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, attemptWait)
	defer cancel()
	req, err := request(ctx, to, m)
	if err != nil {
		return false, err
	}
	res, err := s.HTTP.Do(req)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // the address may hold a secret
		}
		return true, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode/100 == 2 {
		return false, nil
	}
	b, _ := io.ReadAll(io.LimitReader(res.Body, 1<<10)) // for people
	return res.StatusCode >= 500 || res.StatusCode == http.StatusTooManyRequests,
		fmt.Errorf("it answered %s: %s", res.Status, line(string(b)))
}

// urgency is how loud a message is: what waits for an answer is louder.
func urgency(m Message, quiet, loud int) int {
	if m.Kind == Needs || m.Kind == Failed {
		return loud
	}
	return quiet
}

// request is the message as a service takes it.
func request(ctx context.Context, to Service, m Message) (*http.Request, error) {
	base, err := url.Parse(to.URL)
	if err != nil || base.Host == "" {
		return nil, errors.New("its address cannot be used")
	}
	var body any
	header := http.Header{"Content-Type": {"application/json"}}
	switch to.Kind {
	case "ntfy": // docs.ntfy.sh/publish, as JSON: headers take no other letters than ASCII
		at := strings.LastIndexByte(strings.TrimRight(base.Path, "/"), '/') + 1
		body = map[string]any{
			"topic": strings.TrimRight(base.Path, "/")[at:], "title": m.Title, "message": m.Text, "click": m.Link,
			"priority": urgency(m, 3, 4),
		}
		base.Path = base.Path[:at]
		bearer(header, to.Token)
	case "gotify": // gotify.net/docs/pushmsg
		base = base.JoinPath("message")
		body = map[string]any{
			"title": m.Title, "message": m.Text, "priority": urgency(m, 5, 8),
			"extras": map[string]any{"client::notification": map[string]any{"click": map[string]any{"url": m.Link}}},
		}
		header.Set("X-Gotify-Key", to.Token)
	case "pushover": // pushover.net/api
		base = base.JoinPath("1/messages.json")
		body = map[string]any{
			"token": to.Token, "user": to.User, "title": m.Title, "message": m.Text, "url": m.Link,
			"priority": urgency(m, 0, 1),
		}
	default:
		body = m
		bearer(header, to.Token)
	}
	b, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base.String(), bytes.NewReader(b))
	if err != nil {
		return nil, errors.New("its address cannot be used")
	}
	req.Header = header
	return req, nil
}

func bearer(h http.Header, token string) {
	if token != "" {
		h.Set("Authorization", "Bearer "+token)
	}
}
