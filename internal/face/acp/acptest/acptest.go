// Package acptest is a client of the Agent Client Protocol for tests, which holds every message, in both directions, to
// the published schema.
//
// The schema is that of npm @agentclientprotocol/sdk 2.4.0 (Apache License 2.0), without its descriptions.
package acptest

import (
	"bufio"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

//go:embed schema/*.json
var files embed.FS

// Schema is a version of the protocol.
type Schema struct {
	mu       sync.Mutex
	defs     map[string]*jsonschema.Schema
	names    map[string]string // definitions, by side, kind and method
	resolved map[string]*jsonschema.Resolved
}

// Open reads a schema: v1 or v1.unstable.
var open = func(name string) func() (*Schema, error) {
	return sync.OnceValues(func() (*Schema, error) {
		raw, err := files.ReadFile("schema/" + name + ".json")
		if err != nil {
			return nil, err
		}
		var whole struct {
			Defs map[string]json.RawMessage `json:"$defs"`
		}
		if err := json.Unmarshal(raw, &whole); err != nil {
			return nil, err
		}
		s := &Schema{
			defs: map[string]*jsonschema.Schema{}, names: map[string]string{}, resolved: map[string]*jsonschema.Resolved{},
		}
		for def, raw := range whole.Defs {
			var one jsonschema.Schema
			var of struct {
				Method string `json:"x-method"`
				Side   string `json:"x-side"`
			}
			if err := errors.Join(json.Unmarshal(raw, &one), json.Unmarshal(raw, &of)); err != nil {
				return nil, fmt.Errorf("%s: %w", def, err)
			}
			s.defs[def] = &one
			for _, kind := range []string{"Request", "Response", "Notification"} {
				if of.Method != "" && strings.HasSuffix(def, kind) {
					s.names[kind+" "+of.Method] = def
				}
			}
		}
		return s, nil
	})
}

var opened = map[string]func() (*Schema, error){
	"v1": open("v1"), "v1.unstable": open("v1.unstable"), "v2": open("v2"),
}

// check holds a value to a definition.
func (s *Schema) check(def string, value any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.resolved[def]
	if r == nil {
		root := &jsonschema.Schema{Ref: "#/$defs/" + def, Defs: map[string]*jsonschema.Schema{}}
		for name, d := range s.defs {
			root.Defs[name] = d.CloneSchemas()
		}
		var err error
		if r, err = root.Resolve(nil); err != nil {
			return fmt.Errorf("%s: %w", def, err)
		}
		s.resolved[def] = r
	}
	return r.Validate(value)
}

// Message is a message of either side.
type Message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

// Error is an error of either side.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// Client is a client on two pipes.
type Client struct {
	// Answer answers the agent's requests; nil: none is known. It may take long.
	Answer func(ctx context.Context, method string, params json.RawMessage) (any, *Error)
	// Lax: messages of the client are sent as they are, for those that are wrong on purpose.
	Lax bool

	t      testing.TB
	schema *Schema
	out    io.Writer

	mu      sync.Mutex
	next    int
	methods map[string]string // of open requests, of both sides: "agent 1"
	waiting map[string]chan Message
	running map[string]context.CancelFunc
	updates []json.RawMessage
	changed chan struct{}
	stray   []Message // answers to no request
	ended   error
}

// New begins to read from in. The schema is v1, v1.unstable, where the parts of the protocol that are not stable yet
// may be used, or v2.
func New(t testing.TB, in io.Reader, out io.Writer, use string) *Client {
	t.Helper()
	schema, err := opened[use]()
	if err != nil {
		t.Fatal(err)
	}
	c := &Client{
		t: t, schema: schema, out: out, methods: map[string]string{}, waiting: map[string]chan Message{},
		running: map[string]context.CancelFunc{}, changed: make(chan struct{}),
	}
	go c.read(in)
	return c
}

// Patience is how long a test waits for an answer.
const Patience = 40 * time.Second

// Call sends a request and waits for its answer.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	return c.Begin(method, params)(ctx, result)
}

// Begin sends a request, and returns the wait for its answer.
func (c *Client) Begin(method string, params any) func(ctx context.Context, result any) error {
	c.mu.Lock()
	c.next++
	id := fmt.Sprint(c.next)
	got := make(chan Message, 1)
	c.waiting[id] = got
	c.methods["client "+id] = method
	c.mu.Unlock()
	c.send(Message{ID: json.RawMessage(id), Method: method, Params: c.encode(params)})
	return func(ctx context.Context, result any) error {
		ctx, cancel := context.WithTimeout(ctx, Patience)
		defer cancel()
		select {
		case m := <-got:
			if m.Error != nil {
				return m.Error
			}
			if result == nil {
				return nil
			}
			return json.Unmarshal(m.Result, result)
		case <-ctx.Done():
			return fmt.Errorf("no answer to %s: %w", method, ctx.Err())
		}
	}
}

// Last is the id of the newest request.
func (c *Client) Last() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next
}

// Notify sends a notification.
func (c *Client) Notify(method string, params any) {
	c.send(Message{Method: method, Params: c.encode(params)})
}

func (c *Client) encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		c.t.Error(err)
	}
	return b
}

func (c *Client) send(m Message) {
	m.Version = "2.0"
	if !c.Lax {
		c.validate("client", m)
	}
	c.Raw(string(c.encode(m)))
}

// Raw sends a line.
func (c *Client) Raw(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = io.WriteString(c.out, line+"\n") // the agent may be gone
}

// validate holds a message to the schema.
func (c *Client) validate(from string, m Message) {
	kind, method, value := "Notification", m.Method, m.Params
	other := map[string]string{"client": "agent", "agent": "client"}[from]
	switch {
	case m.Method != "" && m.ID != nil:
		kind = "Request"
	case m.Method == "":
		c.mu.Lock()
		kind, method, value = "Response", c.methods[other+" "+string(m.ID)], m.Result
		c.mu.Unlock()
		if m.Error != nil {
			kind, value = "Error", c.encode(m.Error)
		}
	}
	if strings.HasPrefix(method, "_") {
		return
	}
	def := c.schema.names[kind+" "+method]
	if kind == "Error" {
		def = "Error"
	}
	if def == "" {
		if from == "agent" {
			c.t.Errorf("the schema has no %s %q", kind, method)
		}
		return
	}
	var v any = map[string]any{}
	if len(value) > 0 {
		if err := json.Unmarshal(value, &v); err != nil {
			c.t.Errorf("%s: %v", method, err)
		}
	}
	if err := c.schema.check(def, v); err != nil {
		c.t.Errorf("%s of the %s does not fit the schema: %v\n%s", def, from, err, value)
	}
}

func (c *Client) read(in io.Reader) {
	lines := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			c.mu.Lock()
			c.ended = err
			close(c.changed)
			c.changed = make(chan struct{})
			c.mu.Unlock()
			return
		}
		var m Message
		if err := json.Unmarshal(line, &m); err != nil || m.Version != "2.0" {
			c.t.Errorf("the agent wrote what is no message: %q", line)
			continue
		}
		c.take(m)
	}
}

func (c *Client) take(m Message) {
	id := string(m.ID)
	if m.Method != "" && m.ID != nil {
		c.mu.Lock()
		c.methods["agent "+id] = m.Method
		c.mu.Unlock()
	}
	if m.Method != "" || c.known(id) {
		c.validate("agent", m)
	}
	switch {
	case m.Method != "" && m.ID != nil:
		c.serve(m)
	case m.Method == "$/cancel_request":
		var p struct {
			ID json.RawMessage `json:"requestId"`
		}
		_ = json.Unmarshal(m.Params, &p)
		c.mu.Lock()
		cancel := c.running[string(p.ID)]
		c.mu.Unlock()
		if cancel != nil {
			cancel()
		}
	case m.Method != "":
		c.note(func() { c.updates = append(c.updates, m.Params) })
	default:
		c.mu.Lock()
		got := c.waiting[id]
		delete(c.waiting, id)
		c.mu.Unlock()
		if got != nil {
			got <- m
			return
		}
		c.note(func() { c.stray = append(c.stray, m) })
	}
}

func (c *Client) known(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting[id] != nil
}

func (c *Client) note(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *Client) serve(m Message) {
	ctx, cancel := context.WithCancel(context.Background())
	c.mu.Lock()
	c.running[string(m.ID)] = cancel
	c.mu.Unlock()
	go func() {
		defer cancel()
		out := Message{ID: m.ID, Error: &Error{Code: -32601, Message: "the client has no such method"}}
		if c.Answer != nil {
			result, failed := c.Answer(ctx, m.Method, m.Params)
			if out.Error = failed; failed == nil {
				out.Result = c.encode(result)
			}
		}
		c.send(out)
	}()
}

// Update is a session/update, with what most tests look at.
type Update struct {
	Session string
	Kind    string
	Raw     map[string]any
}

// Text is the text of a chunk.
func (u Update) Text() string {
	content, _ := u.Raw["content"].(map[string]any)
	text, _ := content["text"].(string)
	return text
}

// Updates are all that came so far.
func (c *Client) Updates() (out []Update) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, raw := range c.updates {
		var n struct {
			Session string         `json:"sessionId"`
			Update  map[string]any `json:"update"`
		}
		if json.Unmarshal(raw, &n) == nil && n.Update != nil {
			kind, _ := n.Update["sessionUpdate"].(string)
			out = append(out, Update{n.Session, kind, maps.Clone(n.Update)})
		}
	}
	return out
}

// Forget drops the updates that came so far.
func (c *Client) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.updates = nil
}

// Text joins the chunks of a kind that came so far.
func (c *Client) Text(kind string) string {
	var b strings.Builder
	for _, u := range c.Updates() {
		if u.Kind == kind {
			b.WriteString(u.Text())
		}
	}
	return b.String()
}

// Until waits until an update passes.
func (c *Client) Until(pass func(Update) bool) Update {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), Patience)
	defer cancel()
	for {
		c.mu.Lock()
		changed, ended := c.changed, c.ended
		c.mu.Unlock()
		for _, u := range c.Updates() {
			if pass(u) {
				return u
			}
		}
		if ended != nil {
			c.t.Fatalf("the agent ended: %v", ended)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			var kinds []string
			for _, u := range c.Updates() {
				kinds = append(kinds, u.Kind)
			}
			c.t.Fatalf("the update does not come; there were %v", kinds)
		}
	}
}

// Stray waits for an answer that belongs to no request.
func (c *Client) Stray() Message {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), Patience)
	defer cancel()
	for {
		c.mu.Lock()
		changed := c.changed
		if len(c.stray) > 0 {
			m := c.stray[0]
			c.stray = c.stray[1:]
			c.mu.Unlock()
			return m
		}
		c.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			c.t.Fatal("no answer came")
		}
	}
}
