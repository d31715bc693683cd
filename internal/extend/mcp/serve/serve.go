// Package serve offers tools to clients of the Model Context Protocol, over standard input and output or Streamable
// HTTP.
//
// The words: a peer is the way back to the client while a call runs; a session is one client's connection over HTTP.
//
// Promises: a call ends with its result, an error text or its cancellation; progress and questions reach the client
// that made the call; over HTTP only this machine connects, with a token, and no web page does.
package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
	"github.com/lathe-dev/lathe/internal/extend/mcp/client"
)

// Tool is an offered tool.
type Tool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"inputSchema"`
	Output      json.RawMessage `json:"outputSchema,omitempty"`
	Hints       *Hints          `json:"annotations,omitempty"`

	// Call runs the tool. An error becomes the text of a result that failed.
	Call func(ctx context.Context, c *Call) (client.Result, error) `json:"-"`
}

// Hints describe a tool to the client's user.
type Hints struct {
	ReadOnly bool `json:"readOnlyHint"`
}

// Options are the offer.
type Options struct {
	Info         client.Info
	Instructions string
	Tools        []Tool
	Note         func(line string) // for a log; foreign text. Nil: none
}

// peer is the way back to the client of a call.
type peer interface {
	Call(ctx context.Context, method string, params, result any, progress func(jsonrpc.Progress)) error
	Notify(ctx context.Context, method string, params any) error
}

// caller is a connected client.
type caller struct {
	o       *Options
	elicits atomic.Bool
}

// Call is one call of a tool.
type Call struct {
	Arguments json.RawMessage

	from     *caller
	peer     peer
	token    json.RawMessage // of progress; nil: the client wants none
	progress atomic.Int64
}

// Progress reports a line about the running call.
func (c *Call) Progress(ctx context.Context, message string) {
	if len(c.token) == 0 {
		return
	}
	// a client that is gone misses nothing
	_ = c.peer.Notify(ctx, "notifications/progress", map[string]any{
		"progressToken": c.token,
		"progress":      c.progress.Add(1), "message": message,
	})
}

// ErrNobody says that the client has no one to ask.
var ErrNobody = errors.New("the client does not ask its user")

// Ask has the client ask its user for the fields of a schema, an object of plain values. Accepted is false where the
// user declined.
func (c *Call) Ask(ctx context.Context, message string, schema any) (content map[string]any, accepted bool, err error) {
	if !c.from.elicits.Load() {
		return nil, false, ErrNobody
	}
	var answer struct {
		Action  string         `json:"action"`
		Content map[string]any `json:"content"`
	}
	err = c.peer.Call(ctx, "elicitation/create", map[string]any{"message": message, "requestedSchema": schema}, &answer,
		nil)
	return answer.Content, err == nil && answer.Action == "accept", err
}

// closeWait is how long the end of a connection may take.
const closeWait = time.Second

// Stdio serves one client over a pair of pipes until in ends or ctx does.
func Stdio(ctx context.Context, o Options, in io.Reader, out io.Writer, closeBoth func() error) error {
	c := &caller{o: &o}
	ready := make(chan struct{})
	var conn *jsonrpc.Conn
	conn = jsonrpc.New(jsonrpc.NewLines(in, out, closeBoth),
		jsonrpc.Handler{Odd: o.Note, Request: func(ctx context.Context, method string, params json.RawMessage) (any,
			*jsonrpc.Error,
		) {
			<-ready
			return c.request(ctx, conn, method, params)
		}})
	close(ready)
	select {
	case <-conn.Done():
	case <-ctx.Done():
	}
	err := conn.Err()
	closed := make(chan struct{})
	go func() { _ = conn.Close(); close(closed) }() // it has ended, or is to
	select {
	case <-closed:
	case <-time.After(closeWait): // a read of standard input cannot always be ended; the program's end does
	}
	if errors.Is(err, jsonrpc.ErrEnded) || ctx.Err() != nil {
		return nil
	}
	return err
}

// request answers one request.
func (c *caller) request(ctx context.Context, p peer, method string, params json.RawMessage) (any, *jsonrpc.Error) {
	switch method {
	case "initialize":
		return c.initialize(params)
	case "ping":
		return struct{}{}, nil
	case "tools/list":
		return map[string]any{"tools": c.o.Tools}, nil
	case "tools/call":
		return c.call(ctx, p, params)
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.NoMethod, Message: fmt.Sprintf("lathe does not serve %.100q", method)}
}

func (c *caller) initialize(params json.RawMessage) (any, *jsonrpc.Error) {
	var in struct {
		Version      string `json:"protocolVersion"`
		Capabilities struct {
			Elicitation *struct {
				Form, URL *struct{}
			} `json:"elicitation"`
		} `json:"capabilities"`
	}
	if err := json.Unmarshal(params, &in); err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: err.Error()}
	}
	e := in.Capabilities.Elicitation
	c.elicits.Store(e != nil && (e.Form != nil || e.URL == nil)) // an empty object means forms
	version := client.Handshakes()[0]
	if slices.Contains(client.Handshakes(), in.Version) {
		version = in.Version
	}
	out := map[string]any{
		"protocolVersion": version, "capabilities": map[string]any{"tools": map[string]any{}},
		"serverInfo": c.o.Info,
	}
	if c.o.Instructions != "" {
		out["instructions"] = c.o.Instructions
	}
	return out, nil
}

func (c *caller) call(ctx context.Context, p peer, params json.RawMessage) (any, *jsonrpc.Error) {
	var in struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Meta      struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(params, &in); err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: err.Error()}
	}
	at := slices.IndexFunc(c.o.Tools, func(t Tool) bool { return t.Name == in.Name })
	if at < 0 {
		return nil, &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: fmt.Sprintf("there is no tool %.100q", in.Name)}
	}
	if len(in.Arguments) == 0 {
		in.Arguments = json.RawMessage("{}")
	}
	r, err := c.o.Tools[at].Call(ctx, &Call{Arguments: in.Arguments, from: c, peer: p, token: in.Meta.Token})
	if err != nil {
		r = client.Result{Content: []client.Content{{Type: "text", Text: err.Error()}}, IsError: true}
	}
	if r.Content == nil {
		r.Content = []client.Content{}
	}
	return r, nil
}
