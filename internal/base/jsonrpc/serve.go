package jsonrpc

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
)

// strict handles a message, and answers invalid JSON with an error.
func (c *Conn) strict(data []byte) {
	refuse := func(id json.RawMessage, code int, why string) {
		if len(id) == 0 || !slices.Contains([]byte("-0123456789\""), id[0]) {
			id = json.RawMessage("null")
		}
		c.reply(message{Version: "2.0", ID: id, Error: &Error{Code: code, Message: why}})
	}
	var m message
	var parts struct {
		ID json.RawMessage `json:"id"`
	}
	if !json.Valid(data) {
		refuse(nil, ParseError, "the message is not JSON")
		return
	}
	_ = json.Unmarshal(data, &parts) // of a list there is no id
	if err := json.Unmarshal(data, &m); err != nil || m.Version != "2.0" {
		refuse(parts.ID, InvalidRequest, "the message is not of JSON-RPC 2.0")
		return
	}
	if m.Method == "" && len(m.Result) == 0 && m.Error == nil {
		refuse(parts.ID, InvalidRequest, "the message has neither a method nor a result")
		return
	}
	c.handle(m, data)
}

// place takes a place for a request of the peer, if there is one.
func (c *Conn) place() bool {
	select {
	case c.served <- struct{}{}:
		return true
	default: // an answer could block on a peer that only writes
	}
	if !c.h.Patient {
		return false
	}
	select {
	case c.served <- struct{}{}:
		return true
	case <-c.life.Done():
		return false
	}
}

// serve answers a request of the peer beside the reader.
func (c *Conn) serve(m message) {
	if !c.place() {
		c.odd([]byte("too many requests at one time: " + m.Method))
		if c.h.Strict {
			c.reply(message{
				Version: "2.0", ID: m.ID, Error: &Error{Code: Internal, Message: "too many requests at one time"},
			})
		}
		return
	}
	work := func(ctx context.Context) (any, *Error) { return c.request(ctx, m) }
	if c.h.Begin != nil {
		work = c.h.Begin(m.Method, m.Params)
	}
	answer := message{Version: "2.0", ID: m.ID}
	ctx, cancel := context.WithCancel(c.life)
	c.mu.Lock()
	c.running[string(m.ID)] = cancel
	c.mu.Unlock()
	go func() {
		defer func() {
			cancel()
			c.mu.Lock()
			delete(c.running, string(m.ID))
			c.mu.Unlock()
			<-c.served
		}()
		result, failed := work(ctx)
		if ctx.Err() != nil {
			if !c.h.Strict || c.life.Err() != nil {
				return // no one waits for the answer
			}
			failed = &Error{Code: Cancelled, Message: "the request was cancelled"}
		}
		if answer.Error = failed; failed == nil {
			raw, err := encode(result)
			if answer.Result = raw; err != nil {
				answer.Error = &Error{Code: Internal, Message: err.Error()}
			}
		}
		c.reply(answer)
		if f, ok := result.(Follower); ok && failed == nil {
			f.Sent()
		}
	}()
}

func (c *Conn) request(ctx context.Context, m message) (any, *Error) {
	if m.Method == "ping" {
		return struct{}{}, nil
	}
	if c.h.Request == nil {
		return nil, &Error{Code: NoMethod, Message: "no " + strconv.Quote(m.Method) + " is served here"}
	}
	return c.h.Request(ctx, m.Method, m.Params)
}

func (c *Conn) reply(m message) {
	if data, err := encode(m); err == nil {
		_ = c.t.Send(c.life, data) // a peer that is gone needs no answer
	}
}
