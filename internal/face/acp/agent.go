// Package acp serves the Agent Client Protocol, by which editors speak with agents: JSON-RPC 2.0 on standard input and
// output, one object a line.
//
// The words: the client is the editor. A session of the protocol is a session process of lathe, which the client
// reaches by way of the port: the terminal and the browser can watch and answer it too. An update is what the client is
// told of an event. https://agentclientprotocol.com has the protocol.
//
// Promises:
//
//   - Nothing but the protocol is written. Messages that cannot be read are answered with an error, and the connection
//     goes on.
//   - Sessions outlive their client: a turn goes on, and questions wait for another face. A session in which nobody has
//     said anything is removed.
//   - The client is asked for nothing that it did not offer.
//   - A prompt is answered after all updates of its turn; in version 2, a draft, when it is taken.
package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
	"github.com/lathe-dev/lathe/internal/face/supervisor"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// Options configure an Agent.
type Options struct {
	Door  supervisor.Door
	Store *session.Store
	Lathe string   // the version of lathe
	Args  []string // flags of new sessions
	Draft bool     // version 2 of the protocol may be spoken

	// LoggedIn reports whether some provider can be used; Logout removes the keys that lathe keeps.
	LoggedIn func(ctx context.Context) error
	Logout   func(ctx context.Context) error
}

// Agent serves one client.
type Agent struct {
	Options
	life context.Context
	conn *jsonrpc.Conn

	mu       sync.Mutex
	client   *clientCapabilities // nil before initialize
	name     string              // of the client, for people
	version  int                 // of the protocol
	sessions map[string]*openSession
}

// Serve speaks with a client until the connection or ctx ends. The error says why the connection broke.
func Serve(ctx context.Context, t jsonrpc.Transport, o Options) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	a := &Agent{Options: o, life: ctx, sessions: map[string]*openSession{}}
	ready := make(chan struct{})
	a.conn = jsonrpc.New(t, jsonrpc.Handler{
		Strict: true,
		Begin: func(method string, params json.RawMessage) func(context.Context) (any, *jsonrpc.Error) {
			<-ready
			return a.begin(method, params)
		},
		Notify: func(method string, params json.RawMessage) { <-ready; a.notified(method, params) },
		Cancel: func(n int64) (string, any) { return "$/cancel_request", map[string]int64{"requestId": n} },
	})
	close(ready)
	select {
	case <-a.conn.Done():
	case <-ctx.Done():
	}
	err := a.conn.Err()
	a.leave()
	_ = a.conn.Close()
	if errors.Is(err, jsonrpc.ErrEnded) {
		return nil
	}
	return err
}

// Codes of errors, beside those of JSON-RPC.
const (
	codeAuth     = -32000
	codeNotFound = -32002
)

func fault(code int, format string, args ...any) *jsonrpc.Error {
	return &jsonrpc.Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

func badParams(format string, args ...any) *jsonrpc.Error {
	return fault(jsonrpc.InvalidParams, format, args...)
}

// work is what answers a request, beside the reader.
type work = func(context.Context) (any, *jsonrpc.Error)

// method decodes parameters and calls f beside the reader.
func method[P, R any](params json.RawMessage, f func(context.Context, P) (R, error)) work {
	p, err := decode[P](params)
	return func(ctx context.Context) (any, *jsonrpc.Error) {
		if err != nil {
			return nil, err
		}
		r, err := f(ctx, p)
		if err != nil {
			return nil, wireError(err)
		}
		return r, nil
	}
}

func decode[P any](params json.RawMessage) (p P, failed *jsonrpc.Error) {
	if len(params) > 0 {
		if err := json.Unmarshal(params, &p); err != nil {
			return p, badParams("the parameters cannot be read: %v", err)
		}
	}
	return p, nil
}

// wireError is an error as it is sent.
func wireError(err error) *jsonrpc.Error {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return e
	}
	return fault(jsonrpc.Internal, "%v", err)
}

// begin takes a request, in the order in which requests and notifications come.
func (a *Agent) begin(name string, params json.RawMessage) work {
	a.mu.Lock()
	known := a.client != nil
	a.mu.Unlock()
	if name == "initialize" {
		p, err := decode[initializeParams](params)
		if err == nil {
			err = a.know(p)
		}
		return func(ctx context.Context) (any, *jsonrpc.Error) {
			if err != nil {
				return nil, err
			}
			out := a.initialized()
			if a.drafts() {
				return draft(out), nil
			}
			return out, nil
		}
	}
	if !known {
		return refuse(fault(jsonrpc.InvalidRequest, "initialize comes first"))
	}
	if a.drafts() {
		return a.draftMethod(name, params)
	}
	return a.route(name, params)
}

// route takes a request of version 1.
func (a *Agent) route(name string, params json.RawMessage) work {
	switch name {
	case "authenticate":
		return method(params, a.authenticate)
	case "logout":
		return method(params, func(ctx context.Context, _ struct{}) (struct{}, error) { return struct{}{}, a.Logout(ctx) })
	case "session/new":
		return method(params, a.newSession)
	case "session/load":
		return method(params, func(ctx context.Context, p placeParams) (opened, error) { return a.comeBack(ctx, p, true) })
	case "session/resume":
		return method(params, func(ctx context.Context, p placeParams) (opened, error) { return a.comeBack(ctx, p, false) })
	case "session/list":
		return method(params, a.list)
	case "session/delete":
		return method(params, a.remove)
	case "session/close":
		return method(params, a.closeSession)
	case "session/set_mode":
		return method(params, a.setMode)
	case "session/set_config_option":
		return method(params, a.setOption)
	case "session/fork":
		return method(params, a.fork)
	case "session/set_title":
		return method(params, a.setTitle)
	case "session/prompt":
		return a.prompt(params)
	}
	return refuse(fault(jsonrpc.NoMethod, "lathe has no method %q", name))
}

func refuse(err *jsonrpc.Error) work {
	return func(context.Context) (any, *jsonrpc.Error) { return nil, err }
}

// notified takes a notification; others than session/cancel are not known.
func (a *Agent) notified(name string, params json.RawMessage) {
	if name != "session/cancel" {
		return
	}
	if p, err := decode[sessionParams](params); err == nil {
		if s, err := a.session(p.SessionID); err == nil {
			s.cancel()
		}
	}
}

// know takes what the client can do.
func (a *Agent) know(p initializeParams) *jsonrpc.Error {
	if p.ProtocolVersion == nil || *p.ProtocolVersion < 0 || *p.ProtocolVersion > 65535 {
		return badParams("protocolVersion has to be a number from 0 to 65535")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.client, a.version = &p.Capabilities, Version
	if a.Draft && *p.ProtocolVersion >= Draft {
		a.client, a.version, p.Info = &p.DraftCapabilities, Draft, p.DraftInfo
		a.client.Session.Notices, a.client.Session.Compaction = supported, supported // all clients of the draft have them
	}
	if p.Info != nil {
		a.name = p.Info.Name
	}
	return nil
}

// can is what the client can do.
func (a *Agent) can() clientCapabilities {
	a.mu.Lock()
	defer a.mu.Unlock()
	return *a.client
}

// Ways to log in.
const (
	loginTerminal = "lathe-login"
	loginByHand   = "lathe-auth"
)

func (a *Agent) initialized() initializeResult {
	out := initializeResult{
		ProtocolVersion: Version,
		Info:            implementation{Name: "lathe", Title: "lathe", Version: a.Lathe},
		AuthMethods: []authMethod{{
			ID: loginByHand, Name: "Key of a provider",
			Description: "Run in a terminal: lathe auth login PROVIDER, or set the provider's variable, as ANTHROPIC_API_KEY.",
		}},
	}
	if a.can().Auth.Terminal {
		out.AuthMethods = append([]authMethod{{
			Type: "terminal", ID: loginTerminal, Name: "Log in", Description: "Choose a provider and keep its key",
			Args: []string{"--login"},
		}}, out.AuthMethods...)
	}
	c := &out.Capabilities
	c.LoadSession, c.Prompt.Image, c.Prompt.EmbeddedContext, c.MCP.HTTP, c.MCP.SSE = true, true, true, true, true
	c.Session.List, c.Session.Delete, c.Session.AdditionalDirectories = supported, supported, supported
	c.Session.Resume, c.Session.Close, c.Auth.Logout = supported, supported, supported
	c.Session.Fork, c.Session.Title = supported, supported
	return out
}

func (a *Agent) authenticate(ctx context.Context, p authenticateParams) (struct{}, error) {
	if p.MethodID != loginByHand {
		return struct{}{}, badParams("there is no way to log in %q here", p.MethodID)
	}
	if err := a.LoggedIn(ctx); err != nil {
		return struct{}{}, fault(codeAuth, "%v", err)
	}
	return struct{}{}, nil
}
