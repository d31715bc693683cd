//go:build linux || darwin

package cli_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"testing"

	"github.com/lathe-dev/lathe/client"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/face/port/porttest"
)

// overHTTP is a session behind HTTP as the conformance suite sees it.
type overHTTP struct {
	c  *client.Client
	id string
}

// deviceOf makes a device that is a face of a test.
func (p *servePlace) deviceOf(t *testing.T, f port.Face) *client.Client {
	t.Helper()
	scopes := []string{"read", "prompt", "approve", "admin"}
	if f.Answers == "none" {
		scopes = []string{"read", "prompt"}
	}
	var made struct {
		Token string `json:"token"`
	}
	err := p.socket().Do(t.Context(), http.MethodPost, "/v1/devices", map[string]any{
		"name": cmp.Or(f.Principal, "somebody"), "scopes": scopes, "answers": f.Answers,
	}, &made)
	if err != nil {
		t.Fatal(err)
	}
	return client.New(p.address, made.Token, proxied(f.Remote))
}

// proxied is a way to the server that a proxy says it forwards from another machine.
type proxied bool

func (p proxied) RoundTrip(r *http.Request) (*http.Response, error) {
	if p {
		r.Header.Set("X-Forwarded-For", "203.0.113.7")
	}
	return http.DefaultTransport.RoundTrip(r)
}

// known are the problems that the suite recognises.
var known = map[string]error{
	"lathe:turn-over": port.ErrTurnOver, "lathe:no-question": event.ErrNoQuestion, "lathe:refused": port.ErrRefused,
	"lathe:scope": port.ErrRefused,
}

func (s *overHTTP) do(ctx context.Context, method, operation string, in, out any) error {
	err := s.c.Do(ctx, method, "/v1/sessions/"+s.id+operation, in, out)
	if p, ok := errors.AsType[*client.Problem](err); ok && known[p.Type] != nil {
		return fmt.Errorf("%w: %w", known[p.Type], err)
	}
	return err
}

func (s *overHTTP) Prompt(ctx context.Context, p port.Prompt) (r port.Receipt, err error) {
	err = s.do(ctx, http.MethodPost, "/prompts", map[string]any{
		"id": p.ID, "text": p.Message.PlainText(), "when": p.When, "turn": p.Turn,
	}, &r)
	return r, err
}

func (s *overHTTP) Queue(ctx context.Context, q port.QueueChange) (out port.Queue, err error) {
	if q.Do == "" {
		return out, s.do(ctx, http.MethodGet, "/queue", nil, &out)
	}
	in := map[string]any{"do": q.Do, "prompt": q.ID, "to": q.To}
	if q.Message != nil {
		in["text"] = q.Message.PlainText()
	}
	return out, s.do(ctx, http.MethodPost, "/queue", in, &out)
}

func (s *overHTTP) Interrupt(ctx context.Context, turn string) error {
	return s.do(ctx, http.MethodPost, "/interrupt", map[string]string{"turn": turn}, nil)
}

func (s *overHTTP) Answer(ctx context.Context, a port.Answer) error {
	return s.do(ctx, http.MethodPost, "/answers", map[string]any{
		"question": a.ID, "session": a.Session, "answer": a.Answer,
	}, nil)
}

func (s *overHTTP) Command(ctx context.Context, k port.Command) (out event.Output, err error) {
	return out, s.do(ctx, http.MethodPost, "/commands", map[string]string{"name": k.Name, "args": k.Args}, &out)
}

func (s *overHTTP) Complete(ctx context.Context, q event.Query) ([]event.Candidate, error) {
	var out port.Candidates
	v := url.Values{"kind": {string(q.Kind)}, "text": {q.Text}, "name": {q.Name}, "limit": {strconv.Itoa(q.Limit)}}
	err := s.do(ctx, http.MethodGet, "/completions?"+v.Encode(), nil, &out)
	return out.Candidates, err
}

func (s *overHTTP) Read(ctx context.Context, r port.ReadRequest) (out port.Content, err error) {
	switch r.What {
	case "history":
		v := url.Values{"before": {string(r.Before)}, "limit": {strconv.Itoa(r.Limit)}}
		out.History = &event.Opened{}
		err = s.do(ctx, http.MethodGet, "/history?"+v.Encode(), nil, out.History)
	case "questions", "status":
		err = s.do(ctx, http.MethodGet, "/"+r.What, nil, &out)
	case "settings":
		var raw json.RawMessage
		err = s.do(ctx, http.MethodGet, "/settings", nil, &raw)
		out.Bytes = raw
	case "file":
		err = s.do(ctx, http.MethodGet, "/file?path="+url.QueryEscape(r.Name), nil, nil)
	default:
		err = s.do(ctx, http.MethodGet, "/"+r.What, nil, nil)
	}
	return out, err
}

func (s *overHTTP) Attach(ctx context.Context, f port.From) (port.Events, error) {
	e, err := s.c.Events(ctx, client.EventsQuery{
		Sessions: []string{s.id}, History: cmp.Or(f.History, 1000), NoList: true, After: string(f.After),
	})
	return &httpEvents{e: e, session: s.id}, err
}

// httpEvents are the events of one session, without those of the server.
type httpEvents struct {
	e       *client.Events
	session string
}

func (s *httpEvents) Next(ctx context.Context) (event.Event, error) {
	for {
		got, err := s.e.Next(ctx)
		if err != nil {
			return event.Event{}, err
		}
		if got.Kind == "hello" || got.Kind == "heartbeat" || got.Kind == "resync" {
			continue
		}
		var out event.Event
		d := json.NewDecoder(bytes.NewReader(got.Raw))
		if err := d.Decode(&out); err != nil {
			return out, errors.Join(err, io.ErrUnexpectedEOF)
		}
		return out, nil
	}
}

func (s *httpEvents) Close() { s.e.Close() }

func TestThePortThroughHTTP(t *testing.T) {
	porttest.Run(t, func(t *testing.T) porttest.Place {
		p := newServePlace(t)
		s, err := p.socket().CreateSession(t.Context(), client.NewSession{Dir: p.dir})
		if err != nil {
			t.Fatal(err)
		}
		return porttest.Place{
			Face: func(t *testing.T, f port.Face) port.Session { return &overHTTP{p.deviceOf(t, f), s.ID} },
			Restart: func(*testing.T) {
				p.kill9()
				p.kill(s.Job)
				p.start()
			},
		}
	})
}
