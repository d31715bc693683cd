// Package client is lathe as a client of one MCP server: the handshake, its lists, its calls.
//
// Promises: lists are bounded ([MaxListed]); a server is asked only for what it announced; what it asks of lathe is
// answered from the functions of [Options], and refused where there is none.
package client

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
)

// Versions of the protocol that are spoken, the newest first. The first one has no handshake.
var Versions = [...]string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// Handshakes are the versions that begin with a handshake, the newest first.
func Handshakes() []string { return Versions[1:] }

// MaxListed is how many tools, prompts, resources or templates of one server are taken.
const MaxListed = 1000

// maxLogged is how much of a message of a server's log is kept, in bytes.
const maxLogged = 2000

// Info names a program.
type Info struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// Capabilities of a server; nil: it lacks them.
type Capabilities struct {
	Tools       *Lists    `json:"tools"`
	Prompts     *Lists    `json:"prompts"`
	Logging     *struct{} `json:"logging"`
	Completions *struct{} `json:"completions"`
	Resources   *struct {
		Lists
		Subscribe bool `json:"subscribe"`
	} `json:"resources"`
	Tasks *struct {
		Requests struct {
			Tools struct {
				Call *struct{} `json:"call"`
			} `json:"tools"`
		} `json:"requests"`
	} `json:"tasks"`
}

// Lists is what a server does beside listing.
type Lists struct {
	Changes bool `json:"listChanged"` // it tells when a list is another
}

// Tool is a tool as its server describes it.
type Tool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Annotations *Annotations    `json:"annotations,omitempty"`
	Execution   *Execution      `json:"execution,omitempty"`
	Meta        map[string]any  `json:"_meta,omitempty"`
}

// Execution is how a tool wants to be called.
type Execution struct {
	// required, optional or forbidden (the default): whether the call is to be a task
	TaskSupport string `json:"taskSupport,omitempty"`
}

// Annotations are a server's claims about a tool. No one checks them.
type Annotations struct {
	Title       string `json:"title,omitempty"`
	ReadOnly    bool   `json:"readOnlyHint,omitempty"`
	Destructive *bool  `json:"destructiveHint,omitempty"`
	Idempotent  bool   `json:"idempotentHint,omitempty"`
	OpenWorld   *bool  `json:"openWorldHint,omitempty"`
}

// Content is one piece of a result: text, image, audio, resource or resource_link.
type Content struct {
	Type        string           `json:"type"`
	Text        string           `json:"text,omitempty"`
	Data        []byte           `json:"data,omitempty"` // base64 on the wire
	MIME        string           `json:"mimeType,omitempty"`
	Resource    *ResourceContent `json:"resource,omitempty"`
	URI         string           `json:"uri,omitempty"`
	Name        string           `json:"name,omitempty"`
	Description string           `json:"description,omitempty"`
}

// ResourceContent is the content of a resource: Text or Blob.
type ResourceContent struct {
	URI  string `json:"uri"`
	MIME string `json:"mimeType,omitempty"`
	Text string `json:"text,omitempty"`
	Blob []byte `json:"blob,omitempty"`

	Meta json.RawMessage `json:"_meta,omitempty"`
}

// Result is the result of a call of a tool.
type Result struct {
	Content    []Content       `json:"content"`
	Structured json.RawMessage `json:"structuredContent,omitempty"`
	IsError    bool            `json:"isError,omitempty"`
}

// Prompt is a template for messages.
type Prompt struct {
	Name        string     `json:"name"`
	Title       string     `json:"title,omitempty"`
	Description string     `json:"description,omitempty"`
	Arguments   []Argument `json:"arguments,omitempty"`
}

// Argument of a prompt.
type Argument struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// PromptMessage is a message of a filled-in prompt.
type PromptMessage struct {
	Role    string  `json:"role"`
	Content Content `json:"content"`
}

// Resource is data that a server offers; of a template URI is a pattern.
type Resource struct {
	URI         string `json:"uri,omitempty"`
	Template    string `json:"uriTemplate,omitempty"`
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIME        string `json:"mimeType,omitempty"`
}

// Options are this side of the connection.
type Options struct {
	Info Info
	// begin with the handshake, so with a version that has one
	Handshake bool
	// roots/list, elicitation/create, sampling/createMessage
	Request   func(ctx context.Context, method string, params json.RawMessage) (any, *jsonrpc.Error)
	Offers    map[string]any    // the capabilities of this side
	Changed   func(kind string) // tools, prompts or resources are others now; must not block
	Completed func(id string)   // the user is done with the address of an elicitation; must not block
	Updated   func(uri string)  // a subscribed resource changed; must not block
	Logged    func(LogMessage)  // a message of the server's log; must not block
	Log       func(line string) // what was dropped, and notes; foreign text
}

// LogMessage is a message of a server's log. All of it is foreign text.
type LogMessage struct {
	Level  string          `json:"level"`
	Logger string          `json:"logger"`
	Data   json.RawMessage `json:"data"`
}

// Client is a connected server. It is safe for concurrent use.
type Client struct {
	*jsonrpc.Conn
	Server       Info
	Version      string // of the protocol
	Instructions string
	Has          Capabilities

	info            Info
	statelessOffers map[string]any
	offers          map[string]any
	request         func(ctx context.Context, method string, params json.RawMessage) (any, *jsonrpc.Error)
	updated         func(uri string)
	log             func(line string)
	overHTTP        bool
	level           atomic.Pointer[string] // of the server's log
	heard           atomic.Int64           // notifications
	listens         atomic.Int32
}

// versioned is a transport over HTTP, which needs the version of the protocol after the handshake.
type versioned interface{ SetVersion(string) }

// Connect shakes hands over t, which it closes if that fails.
func Connect(ctx context.Context, t jsonrpc.Transport, o Options) (*Client, error) {
	var ready atomic.Bool
	c := &Client{info: o.Info, offers: o.Offers, request: o.Request, updated: o.Updated, log: o.Log}
	_, c.overHTTP = t.(versioned)
	if c.offers == nil {
		c.offers = map[string]any{}
	}
	c.statelessOffers = maps.Clone(c.offers)
	delete(c.statelessOffers, "tasks") // which is no part of that version
	c.Conn = jsonrpc.New(t, jsonrpc.Handler{
		Request: o.Request, Odd: o.Log,
		Notify: func(method string, params json.RawMessage) {
			c.heard.Add(1)
			if ready.Load() || method == "notifications/message" {
				o.notified(method, params)
			}
		},
	})
	if err := c.begin(ctx, t, o); err != nil {
		_ = c.Close() // the first error says more
		return nil, err
	}
	ready.Store(true)
	if c.stateless() {
		c.hear(&o)
	}
	return c, nil
}

func (c *Client) initialize(ctx context.Context, t jsonrpc.Transport, o Options) error {
	var answer struct {
		Version      string       `json:"protocolVersion"`
		Server       Info         `json:"serverInfo"`
		Instructions string       `json:"instructions"`
		Capabilities Capabilities `json:"capabilities"`
	}
	versions := Handshakes()
	err := c.Call(ctx, "initialize", map[string]any{
		"protocolVersion": versions[0], "capabilities": c.offers,
		"clientInfo": o.Info,
	}, &answer, nil)
	if err != nil {
		return err
	}
	if !slices.Contains(versions, answer.Version) {
		return fmt.Errorf("the server speaks the protocol version %q; lathe speaks %s to %s", answer.Version,
			Versions[len(Versions)-1], Versions[0])
	}
	c.Version, c.Server, c.Instructions, c.Has = answer.Version, answer.Server, answer.Instructions, answer.Capabilities
	if v, ok := t.(versioned); ok {
		v.SetVersion(answer.Version)
	}
	return c.Notify(ctx, "notifications/initialized", nil)
}

func (o *Options) notified(method string, params json.RawMessage) {
	kinds := map[string]string{
		"notifications/tools/list_changed": "tools", "notifications/prompts/list_changed": "prompts",
		"notifications/resources/list_changed": "resources",
	}
	switch kind := kinds[method]; {
	case kind != "" && o.Changed != nil:
		o.Changed(kind)
	case method == "notifications/resources/updated" && o.Updated != nil:
		var p struct {
			URI string `json:"uri"`
		}
		if json.Unmarshal(params, &p) == nil {
			o.Updated(p.URI)
		}
	case method == "notifications/elicitation/complete" && o.Completed != nil:
		var p struct {
			ID string `json:"elicitationId"`
		}
		if json.Unmarshal(params, &p) == nil {
			o.Completed(p.ID)
		}
	case method == "notifications/message" && o.Logged != nil:
		var m LogMessage
		if json.Unmarshal(params, &m) == nil {
			m.Data = m.Data[:min(len(m.Data), maxLogged)]
			o.Logged(m)
		}
	}
}

// Tools lists the server's tools; none if it has no such capability.
func (c *Client) Tools(ctx context.Context) ([]Tool, error) {
	if c.Has.Tools == nil {
		return nil, nil
	}
	tools, err := list[Tool](ctx, c, "tools/list", "tools")
	return c.sendable(tools), err
}

// Prompts lists the server's prompts.
func (c *Client) Prompts(ctx context.Context) ([]Prompt, error) {
	if c.Has.Prompts == nil {
		return nil, nil
	}
	return list[Prompt](ctx, c, "prompts/list", "prompts")
}

// Resources lists the server's resources.
func (c *Client) Resources(ctx context.Context) ([]Resource, error) {
	if c.Has.Resources == nil {
		return nil, nil
	}
	return list[Resource](ctx, c, "resources/list", "resources")
}

// Templates lists the patterns of further resources.
func (c *Client) Templates(ctx context.Context) ([]Resource, error) {
	if c.Has.Resources == nil {
		return nil, nil
	}
	return list[Resource](ctx, c, "resources/templates/list", "resourceTemplates")
}

// list reads all pages of a list.
func list[T any](ctx context.Context, c *Client, method, field string) ([]T, error) {
	var out []T
	params := map[string]any{}
	seen := map[string]bool{}
	for {
		var page map[string]json.RawMessage
		if err := c.call(ctx, method, params, &page, nil); err != nil {
			return nil, err
		}
		var items []T
		if err := json.Unmarshal(page[field], &items); err != nil && len(page[field]) > 0 {
			return nil, fmt.Errorf("%s: the list cannot be read: %w", method, err)
		}
		out = append(out, items...)
		var cursor string
		_ = json.Unmarshal(page["nextCursor"], &cursor)
		if cursor == "" || seen[cursor] || len(out) >= MaxListed {
			return out[:min(len(out), MaxListed)], nil
		}
		seen[cursor] = true
		params = map[string]any{"cursor": cursor}
	}
}

// CallTool calls a tool. A tool's own failure is a Result with IsError. A tool that only runs as a task is run as one.
func (c *Client) CallTool(ctx context.Context, t Tool, input json.RawMessage, progress func(jsonrpc.Progress)) (
	*Result, error,
) {
	params := map[string]any{"name": t.Name, "arguments": input}
	if c.wantsTask(t) {
		return c.callAsTask(ctx, params, progress)
	}
	if c.stateless() && c.overHTTP {
		headers, err := paramHeaders(t.InputSchema, input)
		if err != nil {
			return nil, err
		}
		ctx = jsonrpc.WithHeaders(ctx, headers)
	}
	var r Result
	err := c.ask(ctx, "tools/call", params, &r, progress)
	return &r, err
}

// GetPrompt fills in a prompt.
func (c *Client) GetPrompt(ctx context.Context, name string, args map[string]string) ([]PromptMessage, error) {
	var r struct {
		Messages []PromptMessage `json:"messages"`
	}
	err := c.ask(ctx, "prompts/get", map[string]any{"name": name, "arguments": args}, &r, nil)
	return r.Messages, err
}

// ReadResource reads a resource.
func (c *Client) ReadResource(ctx context.Context, uri string) ([]ResourceContent, error) {
	var r struct {
		Contents []ResourceContent `json:"contents"`
	}
	err := c.ask(ctx, "resources/read", map[string]any{"uri": uri}, &r, nil)
	return r.Contents, err
}

// Subscribe asks for a notification when a resource changes; nothing happens where the server has none.
func (c *Client) Subscribe(ctx context.Context, uri string) error {
	if c.Has.Resources == nil || !c.Has.Resources.Subscribe {
		return nil
	}
	if c.stateless() {
		return c.follow(uri)
	}
	return c.Call(ctx, "resources/subscribe", map[string]any{"uri": uri}, nil, nil)
}

// SetLogLevel selects the messages that the server sends of its log: debug, info, notice, warning, error, critical,
// alert or emergency, and those above.
func (c *Client) SetLogLevel(ctx context.Context, level string) error {
	if c.Has.Logging == nil {
		return nil
	}
	if c.stateless() {
		c.level.Store(&level)
		return nil
	}
	return c.Call(ctx, "logging/setLevel", map[string]any{"level": level}, nil, nil)
}

// Ref is what a completion belongs to.
type Ref struct {
	Type string `json:"type"`           // ref/prompt or ref/resource
	Name string `json:"name,omitempty"` // of the prompt
	URI  string `json:"uri,omitempty"`  // the template
}

// Complete returns values for an argument of a prompt, or a variable of a template, that begin as value does. known are
// the arguments that have a value already.
func (c *Client) Complete(ctx context.Context, ref Ref, argument, value string, known map[string]string) ([]string,
	error,
) {
	if c.Has.Completions == nil {
		return nil, nil
	}
	var r struct {
		Completion struct {
			Values []string `json:"values"`
		} `json:"completion"`
	}
	params := map[string]any{"ref": ref, "argument": map[string]any{"name": argument, "value": value}}
	if len(known) > 0 {
		params["context"] = map[string]any{"arguments": known}
	}
	err := c.call(ctx, "completion/complete", params, &r, nil)
	return r.Completion.Values, err
}
