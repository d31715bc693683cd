package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// EventsQuery chooses the events of a stream. The zero value brings those of all sessions that work.
type EventsQuery struct {
	Sessions []string // follow these, as long as they have a process
	Kinds    []string // only events of these kinds
	History  int      // the events in opened, with which a session begins; 0: 50
	NoDeltas bool     // leave out pieces of text and output: their whole follows
	NoList   bool     // leave out session.changed and session.removed
	After    string   // the ID of the last event that was read; empty: begin
}

// Event is something that happened. The kinds and their bodies are in the OpenAPI document, as Event_KIND.
type Event struct {
	Kind    string          `json:"kind"`
	Session string          `json:"session,omitempty"`
	Time    time.Time       `json:"time"`
	Cursor  string          `json:"cursor,omitempty"` // in the log of the session; empty: it is not in the log
	Agent   []string        `json:"agent,omitempty"`  // that it comes from; empty: the main one
	Body    json.RawMessage `json:"body,omitempty"`

	ID  string `json:"-"` // where the stream goes on after it: EventsQuery.After
	Raw []byte `json:"-"` // the whole event as it came
}

// Events is a stream of events for one goroutine. It is made again when it broke, and goes on where it was.
type Events struct {
	c     *Client
	path  string
	after string

	life    context.Context
	end     context.CancelFunc
	lines   *bufio.Reader
	body    io.Closer
	silence *time.Timer // ends a connection that is dead
	wait    time.Duration
	refused time.Time // when attempts to connect began to fail
}

// Events begins a stream. Close ends it.
func (c *Client) Events(ctx context.Context, q EventsQuery) (*Events, error) {
	v := url.Values{"session": q.Sessions, "kind": q.Kinds}
	if q.History > 0 {
		v.Set("history", strconv.Itoa(q.History))
	}
	if q.NoDeltas {
		v.Set("nodeltas", "true")
	}
	if q.NoList {
		v.Set("nolist", "true")
	}
	e := &Events{c: c, path: "/v1/events?" + v.Encode(), after: q.After}
	e.life, e.end = context.WithCancel(context.WithoutCancel(ctx))
	return e, e.connect(ctx)
}

// Close ends the stream, also from another goroutine.
func (e *Events) Close() { e.end() }

func (e *Events) drop() {
	if e.body != nil {
		e.silence.Stop()
		_ = e.body.Close()
	}
	e.lines, e.body = nil, nil
}

// Waits of a stream.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = 5 * time.Second
	retryFor   = 5 * time.Minute
	silentFor  = 40 * time.Second // more than two heartbeats
)

// connect begins the stream after the last event. The stream lives longer than ctx.
func (e *Events) connect(ctx context.Context) error {
	life, end := context.WithCancel(e.life)
	stop := context.AfterFunc(ctx, end)
	var header []string
	if e.after != "" {
		header = []string{"Last-Event-ID", e.after}
	}
	res, err := e.c.send(life, http.MethodGet, e.path, nil, header...)
	if !stop() && err == nil {
		_ = res.Body.Close()
		err = ctx.Err()
	}
	if err != nil {
		end()
		return err
	}
	e.lines, e.body = bufio.NewReaderSize(res.Body, 64<<10), closer{res.Body, end}
	e.silence = time.AfterFunc(silentFor, end)
	return nil
}

type closer struct {
	io.Closer
	end func()
}

// Close ends the connection.
func (c closer) Close() error {
	c.end()
	return c.Closer.Close()
}

// Next waits for the next event. It connects again when the stream broke; an error is for good: a [*Problem] of the
// server, the end of ctx, or a server that stayed away for five minutes.
func (e *Events) Next(ctx context.Context) (Event, error) {
	for {
		if e.lines == nil {
			if err := e.again(ctx); err != nil {
				return Event{}, err
			}
			continue
		}
		body := e.body
		stop := context.AfterFunc(ctx, func() { _ = body.Close() })
		got, err := e.read()
		whole := stop()
		if err == nil {
			e.refused, e.wait = time.Time{}, 0
			return got, nil
		}
		if e.drop(); !whole || e.life.Err() != nil {
			return Event{}, errors.Join(ctx.Err(), e.life.Err())
		}
	}
}

// again connects after a pause that grows.
func (e *Events) again(ctx context.Context) error {
	if e.refused.IsZero() {
		e.refused, e.wait = time.Now(), firstRetry
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-e.life.Done():
		return io.EOF
	case <-time.After(e.wait):
	}
	e.wait = min(2*e.wait, lastRetry)
	err := e.connect(ctx)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if p, ok := errors.AsType[*Problem](err); ok && p.Status < 500 && p.Status != http.StatusTooManyRequests {
		return p
	}
	if time.Since(e.refused) > retryFor {
		return fmt.Errorf("the server does not answer: %w", err)
	}
	return nil
}

// read returns the next event of the connection.
func (e *Events) read() (out Event, _ error) {
	var data []byte
	id := e.after
	for {
		line, err := e.lines.ReadBytes('\n')
		if err != nil {
			return out, err
		}
		e.silence.Reset(silentFor)
		line = bytes.TrimRight(line, "\r\n")
		if name, value, _ := bytes.Cut(line, []byte(": ")); string(name) == "data" {
			data = append(data, value...)
		} else if string(name) == "id" {
			id = string(value)
		}
		if len(line) > 0 || len(data) == 0 {
			continue
		}
		if err := json.Unmarshal(data, &out); err != nil {
			return out, err
		}
		e.after = id
		out.ID, out.Raw = id, data
		return out, nil
	}
}
