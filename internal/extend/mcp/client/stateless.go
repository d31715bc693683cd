package client

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
)

// The protocol since 2026-07-28 has no handshake: each request says which version it follows and what this side can do,
// the server asks by its answer, and changes come on a stream that this side asks for. See SEP-2575, SEP-2322 and
// SEP-2243 of the protocol.

// patience is how long a server may keep silent about its versions before it is offered the handshake as well.
const patience = time.Second

// Keys of what a request says of itself.
const (
	metaPrefix       = "io.modelcontextprotocol/"
	metaVersion      = metaPrefix + "protocolVersion"
	metaClient       = metaPrefix + "clientInfo"
	metaCapabilities = metaPrefix + "clientCapabilities"
	metaLogLevel     = metaPrefix + "logLevel"
	metaServer       = metaPrefix + "serverInfo"
)

// discovered is a server's answer to server/discover.
type discovered struct {
	Versions     []string                   `json:"supportedVersions"`
	Capabilities Capabilities               `json:"capabilities"`
	Instructions string                     `json:"instructions"`
	Meta         map[string]json.RawMessage `json:"_meta"`
}

// ErrProbed is a connection that ended when the server was asked for its versions, as old servers do; the handshake
// alone may work.
var ErrProbed = errors.New("the server ended when it was asked which versions it speaks")

// begin agrees on a version: the newest without a handshake if the server answers to that, else one by the handshake.
func (c *Client) begin(ctx context.Context, t jsonrpc.Transport, o Options) error {
	if o.Handshake {
		return c.initialize(ctx, t, o)
	}
	probe := make(chan error, 1)
	var d discovered
	probing, stop := context.WithCancel(ctx)
	defer stop()
	go func() { probe <- c.send(probing, Versions[0], "server/discover", map[string]any{}, &d, nil) }()
	silent := time.NewTimer(patience)
	defer silent.Stop()
	select {
	case err := <-probe:
		return c.probed(ctx, t, o, &d, err)
	case <-silent.C:
	}
	err := c.initialize(ctx, t, o)
	if err == nil || ctx.Err() != nil {
		return err
	}
	select { // a server that began slowly refuses the second beginning
	case late := <-probe:
		if late == nil && c.discover(&d) {
			return nil
		}
	case <-time.After(patience):
	}
	return err
}

// probed goes on after the answer to server/discover.
func (c *Client) probed(ctx context.Context, t jsonrpc.Transport, o Options, d *discovered, err error) error {
	switch {
	case err == nil && c.discover(d):
		return nil
	case ctx.Err() != nil || errors.Is(err, jsonrpc.ErrRefused):
		return err
	case c.Err() != nil:
		return fmt.Errorf("%w: %w", ErrProbed, c.Err())
	case supported(err):
		if c.send(ctx, Versions[0], "server/discover", map[string]any{}, d, nil) == nil && c.discover(d) {
			return nil
		}
	}
	return c.initialize(ctx, t, o)
}

// unsupported is the code of a refusal of a request's version, whose data lists those that the server speaks.
const unsupported = -32022

// supported reports a refusal that names the version that was asked for: a server that begins may send one.
func supported(err error) bool {
	e, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || e.Code != unsupported {
		return false
	}
	var data struct {
		Supported []string `json:"supported"`
	}
	return json.Unmarshal(e.Data, &data) == nil && slices.Contains(data.Supported, Versions[0])
}

// discover takes what the server says of itself; false: it speaks no version without a handshake.
func (c *Client) discover(d *discovered) bool {
	if !slices.Contains(d.Versions, Versions[0]) {
		return false
	}
	_ = json.Unmarshal(d.Meta[metaServer], &c.Server) // it need not say
	c.Version, c.Instructions, c.Has = Versions[0], d.Instructions, d.Capabilities
	return true
}

// stateless reports whether requests go without a handshake.
func (c *Client) stateless() bool { return c.Version == Versions[0] }

// call sends a request in the form of the version that was agreed on.
func (c *Client) call(ctx context.Context, method string, params map[string]any, result any,
	progress func(jsonrpc.Progress),
) error {
	if !c.stateless() {
		return c.Call(ctx, method, params, result, progress)
	}
	return c.send(ctx, c.Version, method, params, result, progress)
}

// send sends a request that says itself which version it follows.
func (c *Client) send(ctx context.Context, version, method string, params map[string]any, result any,
	progress func(jsonrpc.Progress),
) error {
	meta := map[string]any{metaVersion: version, metaClient: c.info, metaCapabilities: c.statelessOffers}
	if level := c.level.Load(); level != nil {
		meta[metaLogLevel] = *level
	}
	params = maps.Clone(params)
	params["_meta"] = meta
	headers := map[string]string{"MCP-Protocol-Version": version, "Mcp-Method": method}
	for name, value := range jsonrpc.Headers(ctx) {
		headers[name] = value
	}
	for _, key := range []string{"name", "uri"} {
		if name, ok := params[key].(string); ok && (method == "tools/call" || method == "prompts/get" ||
			method == "resources/read") {
			headers["Mcp-Name"] = headerText(name)
		}
	}
	return c.Call(jsonrpc.WithHeaders(ctx, headers), method, params, result, progress)
}

const (
	mostRounds = 10 // of questions before an answer
	mostAsked  = 10 // questions of one round
)

// wanting is an answer that asks for something first.
type wanting struct {
	Type     string           `json:"resultType"`
	State    *json.RawMessage `json:"requestState"`
	Requests map[string]struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	} `json:"inputRequests"`
}

// ask sends a request whose answer may ask for something first: of the user, of the model or of the roots.
func (c *Client) ask(ctx context.Context, method string, params map[string]any, result any,
	progress func(jsonrpc.Progress),
) error {
	if !c.stateless() {
		return c.Call(ctx, method, params, result, progress)
	}
	for range mostRounds {
		var raw json.RawMessage
		if err := c.call(ctx, method, params, &raw, progress); err != nil {
			return err
		}
		var w wanting
		if err := json.Unmarshal(raw, &w); err != nil || w.Type != "input_required" {
			return readable(json.Unmarshal(raw, result))
		}
		answers, err := c.fulfil(ctx, &w)
		if err != nil {
			return err
		}
		params = maps.Clone(params)
		params["inputResponses"] = answers
		delete(params, "requestState")
		if w.State != nil {
			params["requestState"] = *w.State
		}
	}
	return fmt.Errorf("the server asked for more %d times and gave no answer", mostRounds)
}

func readable(err error) error {
	if err != nil {
		err = fmt.Errorf("the answer cannot be read: %w", err)
	}
	return err
}

// fulfil answers the questions of a round, one after another. One without questions is a server that wants to be asked
// again later.
func (c *Client) fulfil(ctx context.Context, w *wanting) (map[string]any, error) {
	if len(w.Requests) > mostAsked {
		return nil, fmt.Errorf("the server asks %d questions at one time; lathe answers %d at most", len(w.Requests),
			mostAsked)
	}
	if len(w.Requests) == 0 {
		select {
		case <-time.After(usualPoll):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	answers := map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(w.Requests)) {
		r := w.Requests[id]
		if c.request == nil || !slices.Contains([]string{"elicitation/create", "sampling/createMessage", "roots/list"},
			r.Method) {
			return nil, fmt.Errorf("the server asks for %.100q, which lathe does not serve", r.Method)
		}
		answer, fault := c.request(jsonrpc.WithHeaders(ctx, nil), r.Method, r.Params) // the headers are this server's
		if fault != nil {
			return nil, fault
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		answers[id] = answer
	}
	return answers, nil
}

const (
	mostListens = 50 // resources of one connection that are subscribed to
	mostQuiet   = 5  // streams in a row that end without a word
)

// listen hears of changes until the connection ends. A stream that ends is opened again; missed is called then, since
// there may have been changes meanwhile.
func (c *Client) listen(wanted map[string]any, missed func()) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	wait := usualPoll
	for quiet := 0; quiet < mostQuiet; quiet++ {
		before := c.heard.Load()
		err := c.call(ctx, "subscriptions/listen", map[string]any{"notifications": wanted}, nil, nil)
		if _, no := errors.AsType[*jsonrpc.Error](err); no || c.Err() != nil || errors.Is(err, jsonrpc.ErrRefused) {
			return
		}
		if wait *= 2; c.heard.Load() != before {
			quiet, wait = 0, usualPoll
		}
		select {
		case <-time.After(min(wait, time.Minute)):
		case <-c.Done():
			return
		}
		missed()
	}
}

// hear begins to listen to the changes of lists that the server announces.
func (c *Client) hear(o *Options) {
	wanted := map[string]any{}
	if c.Has.Tools != nil && c.Has.Tools.Changes {
		wanted["toolsListChanged"] = true
	}
	if c.Has.Prompts != nil && c.Has.Prompts.Changes {
		wanted["promptsListChanged"] = true
	}
	if c.Has.Resources != nil && c.Has.Resources.Changes {
		wanted["resourcesListChanged"] = true
	}
	if len(wanted) == 0 || o.Changed == nil {
		return
	}
	go c.listen(wanted, func() {
		o.Changed("tools")
		o.Changed("resources")
	})
}

// follow hears of changes of one resource.
func (c *Client) follow(uri string) error {
	if c.listens.Add(1) > mostListens {
		return fmt.Errorf("%d resources of this server are subscribed to already", mostListens)
	}
	go c.listen(map[string]any{"resourceSubscriptions": []string{uri}}, func() {
		if c.updated != nil {
			c.updated(uri)
		}
	})
	return nil
}

// RootsChanged tells the server of other working folders. Without a handshake it asks when it wants to know.
func (c *Client) RootsChanged(ctx context.Context) error {
	if c.stateless() {
		return nil
	}
	return c.Notify(ctx, "notifications/roots/list_changed", nil)
}

// sendable leaves out the tools whose calls could not be sent.
func (c *Client) sendable(tools []Tool) []Tool {
	if !c.stateless() || !c.overHTTP {
		return tools
	}
	return slices.DeleteFunc(tools, func(t Tool) bool {
		_, err := paramHeaders(t.InputSchema, nil)
		if err != nil && c.log != nil {
			c.log(fmt.Sprintf("the tool %.100q is left out: %v", t.Name, err))
		}
		return err != nil
	})
}

// headerProperty is a property of a schema that a tool wants in a header, for the network's sake.
type headerProperty struct {
	Type       string                    `json:"type"`
	Header     json.RawMessage           `json:"x-mcp-header"`
	Properties map[string]headerProperty `json:"properties"`
}

// paramHeaders are the arguments of a call that its tool wants in headers. A schema that names headers which cannot be
// is an error.
func paramHeaders(schema, input json.RawMessage) (map[string]string, error) {
	if !bytes.Contains(schema, []byte(`"x-mcp-header"`)) {
		return nil, nil
	}
	var s headerProperty
	var args map[string]any
	if json.Unmarshal(schema, &s) != nil {
		return nil, nil // it names none that can be read
	}
	d := json.NewDecoder(bytes.NewReader(input))
	d.UseNumber()
	_ = d.Decode(&args) // no arguments, no headers
	out := map[string]string{}
	return out, s.collect(args, map[string]bool{}, out)
}

func (p *headerProperty) collect(args map[string]any, seen map[string]bool, out map[string]string) error {
	for name, q := range p.Properties {
		var header string
		if len(q.Header) > 0 {
			if json.Unmarshal(q.Header, &header) != nil || !isToken(header) || seen[strings.ToLower(header)] ||
				!slices.Contains([]string{"string", "integer", "boolean"}, q.Type) {
				return fmt.Errorf("its property %.100q asks for a header that cannot be", name)
			}
			seen[strings.ToLower(header)] = true
			if text, ok := headerValue(args[name]); ok {
				out["Mcp-Param-"+header] = text
			}
		}
		inner, _ := args[name].(map[string]any)
		if err := q.collect(inner, seen, out); err != nil {
			return err
		}
	}
	return nil
}

// headerValue is a plain value as a header; floating numbers, objects and nothing are none.
func headerValue(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return headerText(v), true
	case bool:
		return strconv.FormatBool(v), true
	case json.Number:
		f, err := v.Float64()
		if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<53 {
			return "", false
		}
		return strconv.FormatInt(int64(f), 10), true
	}
	return "", false
}

// isToken reports whether a name may be (part of) that of a header (RFC 9110, section 5.6.2).
func isToken(name string) bool {
	return name != "" && len(name) <= 100 && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune(
			"!#$%&'*+-.^_`|~", r)
	})
}

// headerText writes a text so that a header can carry it.
func headerText(s string) string {
	const open, end = "=?base64?", "?="
	plain := !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) && strings.TrimSpace(s) == s
	if plain && (!strings.HasPrefix(s, open) || !strings.HasSuffix(s, end)) {
		return s
	}
	return open + base64.StdEncoding.EncodeToString([]byte(s)) + end
}
