package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Session is a conversation in a list.
type Session struct {
	ID          string    `json:"id"`
	Job         string    `json:"job,omitempty"` // by which lathe ps lists its process
	Title       string    `json:"title,omitempty"`
	FirstPrompt string    `json:"firstPrompt,omitempty"`
	Dir         string    `json:"dir"`
	State       string    `json:"state"`                // asleep, working, blocked, done, failed or stopped
	WaitingFor  string    `json:"waitingFor,omitempty"` // what a blocked one waits for: permission, answer, login
	Live        bool      `json:"live"`                 // it has a process
	Activity    string    `json:"activity,omitempty"`
	Mode        string    `json:"mode,omitempty"`
	Model       string    `json:"model,omitempty"`
	Created     time.Time `json:"created,omitzero"`
	Changed     time.Time `json:"changed"`
	Turns       int       `json:"turns,omitempty"`
	CostUSD     float64   `json:"costUSD,omitempty"`
	Parent      string    `json:"parent,omitempty"` // the session that it was forked from
}

// SessionsQuery narrows a list. The zero value lists all.
type SessionsQuery struct {
	Dir    string
	Text   string   // words in title, first prompt, folder or id
	States []string // one of these
	Cursor string   // SessionPage.Next of the page before
	Limit  int      // of a page; 0: 50
}

// SessionPage is a part of a list, the newest first.
type SessionPage struct {
	Sessions []Session `json:"sessions"`
	Next     string    `json:"next,omitempty"` // the cursor of the next page; empty: this is the last
}

// Sessions lists sessions.
func (c *Client) Sessions(ctx context.Context, q SessionsQuery) (p SessionPage, err error) {
	v := url.Values{"state": q.States}
	for name, value := range map[string]string{"dir": q.Dir, "text": q.Text, "cursor": q.Cursor} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	err = c.Do(ctx, http.MethodGet, "/v1/sessions?"+v.Encode(), nil, &p)
	return p, err
}

// Session shows one session.
func (c *Client) Session(ctx context.Context, id string) (s Session, err error) {
	err = c.Do(ctx, http.MethodGet, of(id, ""), nil, &s)
	return s, err
}

// of is the path of a session's operation.
func of(id, operation string) string { return "/v1/sessions/" + url.PathEscape(id) + operation }

// NewSession describes a session to begin.
type NewSession struct {
	ID       string `json:"id,omitempty"` // a UUID that the client chose: the same again is the same session
	Dir      string `json:"dir"`          // absolute
	Name     string `json:"name,omitempty"`
	Prompt   string `json:"prompt,omitempty"` // the first one
	Model    string `json:"model,omitempty"`
	Effort   string `json:"effort,omitempty"`
	Mode     string `json:"mode,omitempty"`     // the permission mode
	Worktree bool   `json:"worktree,omitempty"` // work in a git worktree of its own
}

// CreateSession begins a session.
func (c *Client) CreateSession(ctx context.Context, n NewSession) (s Session, err error) {
	if n.ID == "" {
		n.ID = newID()
	}
	err = c.do(ctx, http.MethodPost, "/v1/sessions", true, n, &s)
	return s, err
}

// newID makes a UUID (RFC 9562, version 4).
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails (crypto/rand)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// Prompt is a message to the model.
type Prompt struct {
	ID     string  `json:"id,omitempty"` // chosen by the client: the same again is the same prompt
	Text   string  `json:"text"`
	Images []Image `json:"images,omitempty"`
	When   string  `json:"when,omitempty"` // while a turn runs: step (or empty), after, now
	Turn   string  `json:"turn,omitempty"` // the turn that it is for; refused when that is over
}

// Image is a picture that goes with a prompt.
type Image struct {
	MIME string `json:"mime"`
	Data []byte `json:"data"`
	Name string `json:"name,omitempty"`
}

// Receipt says what became of a prompt, which is on disk then.
type Receipt struct {
	ID    string `json:"id"`
	State string `json:"state"` // begun; step or after: it waits for that; known: it was taken before
}

// Prompt sends a message. A session that is asleep is woken.
func (c *Client) Prompt(ctx context.Context, session string, p Prompt) (r Receipt, err error) {
	if p.ID == "" {
		p.ID = newID()
	}
	err = c.do(ctx, http.MethodPost, of(session, "/prompts"), true, p, &r)
	return r, err
}

// Interrupt ends the turn with an id; empty: whichever runs.
func (c *Client) Interrupt(ctx context.Context, session, turn string) error {
	return c.Do(ctx, http.MethodPost, of(session, "/interrupt"), map[string]string{"turn": turn}, nil)
}

// Questions lists the open questions of a session: events of the kind asked.
func (c *Client) Questions(ctx context.Context, session string) ([]Event, error) {
	var got struct {
		Questions []Event `json:"questions"`
	}
	err := c.Do(ctx, http.MethodGet, of(session, "/questions"), nil, &got)
	return got.Questions, err
}

// Answer answers a question, as the session's asked event puts it.
type Answer struct {
	Choice   string          `json:"choice,omitempty"` // the id of one of its options; for permission: once, session, always, no
	Choices  []string        `json:"choices,omitempty"`
	Text     string          `json:"text,omitempty"`
	Input    json.RawMessage `json:"input,omitempty"`
	Rules    []string        `json:"rules,omitempty"`
	Parts    []Answer        `json:"parts,omitempty"`
	Canceled bool            `json:"canceled,omitempty"`
}

// Answer answers an open question. The first valid answer counts.
func (c *Client) Answer(ctx context.Context, session, question string, a Answer) error {
	return c.Do(ctx, http.MethodPost, of(session, "/answers"), map[string]any{"question": question, "answer": a}, nil)
}

// Command runs a slash command and returns its output: text, view, pick, page, prompt, insert.
func (c *Client) Command(ctx context.Context, session, name, args string) (out json.RawMessage, err error) {
	err = c.Do(ctx, http.MethodPost, of(session, "/commands"), map[string]string{"name": name, "args": args}, &out)
	return out, err
}

// History reads a page of a conversation before a place ("": the end): bodies with their kinds, the oldest first,
// and the place of the previous page, which is "" at the beginning.
func (c *Client) History(
	ctx context.Context, session, before string, limit int,
) (page []Event, more string, err error) {
	var got struct {
		History []Event `json:"history"`
		More    string  `json:"more"`
	}
	v := url.Values{"before": {before}, "limit": {strconv.Itoa(limit)}}
	err = c.Do(ctx, http.MethodGet, of(session, "/history?")+v.Encode(), nil, &got)
	return got.History, got.More, err
}
