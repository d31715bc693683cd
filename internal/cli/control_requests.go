package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// controlRequest has the fields of all the requests that lathe serves.
type controlRequest struct {
	Subtype      string  `json:"subtype"`
	Mode         string  `json:"mode"`
	Model        *string `json:"model"`
	CancelQueued bool    `json:"cancel_queued"`
	MaxThinking  *int    `json:"max_thinking_tokens"`

	Path        string          `json:"path"`
	Dir         string          `json:"cwd"`
	Mtime       float64         `json:"mtime"` // milliseconds since 1970
	MaxBytes    int64           `json:"max_bytes"`
	Encoding    string          `json:"encoding"` // utf-8 or base64
	TaskID      string          `json:"task_id"`
	ToolUseID   string          `json:"tool_use_id"`
	MessageUUID string          `json:"message_uuid"`
	UserMessage string          `json:"user_message_id"`
	DryRun      bool            `json:"dry_run"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Persist     *bool           `json:"persist"`
	Settings    json.RawMessage `json:"settings"`
	Source      string          `json:"source"` // of settings: localSettings or userSettings
	URI         string          `json:"uri"`

	ServerName string          `json:"serverName"`
	Server     string          `json:"server_name"`
	Enabled    *bool           `json:"enabled"`
	Message    json.RawMessage `json:"message"`
	SetServers json.RawMessage `json:"servers"`
	initializing
}

type controlResponse struct {
	Type     string `json:"type"`
	Response any    `json:"response"`
}

type controlOK struct {
	Subtype   string `json:"subtype"`
	RequestID string `json:"request_id"`
	Response  any    `json:"response"`
	// of initialize: the questions that wait for the host, which may have missed them
	Pending []hostRequest `json:"pending_permission_requests,omitempty"`
}

type controlFailed struct {
	Subtype   string `json:"subtype"`
	RequestID string `json:"request_id"`
	Error     string `json:"error"`
}

// request serves one control request. What fails is the answer, not an error.
func (c *controller) request(ctx context.Context, l inputLine) error {
	var r controlRequest
	if err := json.Unmarshal(l.Request, &r); err != nil {
		return c.w.encode(controlResponse{"control_response", controlFailed{
			"error", l.RequestID,
			"the request cannot be read: " + err.Error(),
		}})
	}
	if slowRequests[r.Subtype] {
		go func() { _ = c.serveRequest(ctx, l.RequestID, r) }() // a broken stdout ends the turn by itself
		return nil
	}
	return c.serveRequest(ctx, l.RequestID, r)
}

func (c *controller) serveRequest(ctx context.Context, id string, r controlRequest) error {
	answer, err := c.control(ctx, r)
	defer c.cut() // after the answer, so that a host reads it before the result of the turn that ends
	if err != nil {
		return c.w.encode(controlResponse{"control_response", controlFailed{"error", id, oneMessage(err)}})
	}
	if answer == nil {
		answer = struct{}{}
	}
	ok := controlOK{Subtype: "success", RequestID: id, Response: answer}
	if r.Subtype == "initialize" {
		ok.Pending = c.openAsks()
	}
	return c.w.encode(controlResponse{"control_response", ok})
}

// controlRequests are the requests that the controller serves itself; those of the conversation are in
// sessionRequests.
var controlRequests = map[string]func(*controller, context.Context, controlRequest) (any, error){
	"initialize": func(c *controller, ctx context.Context, r controlRequest) (any, error) {
		r.Name = r.Title
		return c.initialize(ctx, r.initializing)
	},
	"interrupt": func(c *controller, _ context.Context, r controlRequest) (any, error) {
		return c.interrupted(r.CancelQueued), nil
	},
	"cancel_async_message": func(c *controller, _ context.Context, r controlRequest) (any, error) {
		return c.cancelMessage(r.MessageUUID)
	},
	"end_session": func(c *controller, _ context.Context, _ controlRequest) (any, error) { return nil, c.endSession() },
	"set_permission_mode": func(c *controller, ctx context.Context, r controlRequest) (any, error) {
		return c.setMode(ctx, modeOf(r.Mode))
	},
	"set_model": func(c *controller, ctx context.Context, r controlRequest) (any, error) {
		return nil, c.setModel(ctx, r.Model)
	},
	"mcp_status": func(c *controller, ctx context.Context, _ controlRequest) (any, error) { return c.mcpStatus(ctx) },
	"mcp_reconnect": func(c *controller, ctx context.Context, r controlRequest) (any, error) {
		return c.mcpReconnect(ctx, r.ServerName)
	},
	"mcp_toggle": func(c *controller, ctx context.Context, r controlRequest) (any, error) {
		return c.mcpToggle(ctx, r.ServerName, r.Enabled)
	},
	"mcp_message": func(c *controller, ctx context.Context, r controlRequest) (any, error) {
		s, err := c.servers(ctx)
		if err != nil {
			return nil, err
		}
		return nil, s.HostMessage(r.Server, r.Message)
	},
	"mcp_read_resource":                (*controller).mcpResource,
	"set_mcp_permission_mode_override": (*controller).mcpMode,
	"mcp_set_servers": func(c *controller, ctx context.Context, r controlRequest) (any, error) {
		return c.mcpSetServers(ctx, r.SetServers)
	},
}

// refusedRequests are those that lathe knows and cannot serve, with the reason.
var refusedRequests = map[string]string{
	"mcp_call":          "hosts call the tools of MCP servers through the model only",
	"remote_control":    "lathe has no remote control",
	"get_hooks_listing": "lathe runs no hooks",
}

func (c *controller) control(ctx context.Context, r controlRequest) (any, error) {
	if serve := controlRequests[r.Subtype]; serve != nil {
		return serve(c, ctx, r)
	}
	if why := refusedRequests[r.Subtype]; why != "" {
		return nil, fmt.Errorf("the control request %s is refused: %s", r.Subtype, why)
	}
	if sessionRequests[r.Subtype] == nil {
		return nil, fmt.Errorf("lathe does not know the control request %q; docs/headless.md lists those it serves",
			r.Subtype)
	}
	if err := c.open(ctx); err != nil {
		return nil, err
	}
	k, ok := c.conv.(Controlled)
	if !ok {
		return nil, fmt.Errorf("this conversation does not serve the control request %s", r.Subtype)
	}
	return k.Control(ctx, r)
}

// cancelMessage takes a message back that no turn has taken.
func (c *controller) cancelMessage(id string) (any, error) {
	if id == "" {
		return nil, errors.New("cancel_async_message: message_uuid is missing")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	steered := c.recall()
	n := len(steered) + len(c.queue)
	same := func(q queued) bool { return q.ID == id }
	steered, c.queue = slices.DeleteFunc(steered, same), slices.DeleteFunc(c.queue, same)
	gone := n > len(steered)+len(c.queue)
	for i, q := range steered {
		if !c.conv.(Steered).Steer(q.Message) {
			c.queue = append(steered[i:len(steered):len(steered)], c.queue...)
			break
		}
	}
	return map[string]any{"cancelled": gone}, nil
}

// endSession interrupts the turn, drops the queue and stops reading stdin.
func (c *controller) endSession() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recall()
	c.queue, c.eof = nil, true
	c.stopped = c.running
	c.signal()
	return nil
}

// interrupted notes that the running turn is to end. Queued messages stay, unless the host wants them gone.
func (c *controller) interrupted(cancelQueued bool) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = c.running
	c.queue = append(c.recall(), c.queue...)
	ids := []string{}
	for _, m := range c.queue {
		ids = append(ids, m.ID)
	}
	if !cancelQueued {
		return map[string]any{"still_queued": ids}
	}
	c.queue = nil
	return map[string]any{"still_queued": []string{}, "cancelled": ids}
}

// cut ends the running turn if the host wants that.
func (c *controller) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped && c.interrupt != nil {
		c.interrupt()
	}
}

func (c *controller) setMode(ctx context.Context, m permission.Mode) (any, error) {
	if !slices.Contains(permission.Modes, m) {
		return nil, fmt.Errorf("there is no permission mode %q; the modes are %s", m, strings.Join(permission.ModeNames(),
			", "))
	}
	if err := c.open(ctx); err != nil {
		return nil, err
	}
	if err := c.mayBypass(m); err != nil {
		return nil, err
	}
	return map[string]any{"mode": m}, c.conv.SetMode(ctx, m)
}

// mayBypass refuses the mode bypassPermissions unless the command line allowed it: a host gets no more rights
// in the middle of a session than its user accepted at the start.
func (c *controller) mayBypass(m permission.Mode) error {
	o := c.o
	if m != permission.Bypass || o.Bypass || modeOf(o.Mode) == m || o.Given("allow-dangerously-skip-permissions") {
		return nil
	}
	return errors.New("the mode bypassPermissions was not allowed at start; start with --dangerously-skip-permissions " +
		"or --allow-dangerously-skip-permissions")
}

func (c *controller) setModel(ctx context.Context, name *string) error {
	if err := c.open(ctx); err != nil {
		return err
	}
	if name == nil || *name == "default" {
		return c.conv.SetModel(ctx, "")
	}
	return c.conv.SetModel(ctx, *name)
}
