package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/mcp"
	"github.com/lathe-dev/lathe/internal/extend/mcp/entry"
	"github.com/lathe-dev/lathe/internal/permission"
)

// MCP over the control protocol: servers in the host's process, and the host's hold on all servers.

// serverMessage passes a JSON-RPC message to a server in the host's process, or comes from one.
type serverMessage struct {
	Subtype string          `json:"subtype"`
	Server  string          `json:"server_name"`
	Message json.RawMessage `json:"message"`
}

// hostServers is the instance's function for servers in the host's process: it sends a message and waits for the
// answer.
func (c *controller) hostServers(ctx context.Context, server string, message json.RawMessage) (json.RawMessage, error) {
	raw, err := c.callHost(ctx, serverMessage{"mcp_message", server, message})
	if err != nil {
		return nil, err
	}
	var a struct {
		Message json.RawMessage `json:"mcp_response"`
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, fmt.Errorf("the host's answer for the server %s cannot be read: %w", server, err)
	}
	return a.Message, nil
}

type elicitationRequest struct {
	Subtype string          `json:"subtype"`
	Server  string          `json:"mcp_server_name"`
	Message string          `json:"message"`
	Mode    string          `json:"mode,omitempty"`
	URL     string          `json:"url,omitempty"`
	ID      string          `json:"elicitation_id,omitempty"`
	Schema  json.RawMessage `json:"requested_schema,omitempty"`
}

// hostElicits asks the host for the user's answer to a server's question.
func (c *controller) hostElicits(ctx context.Context, server string, params json.RawMessage) (json.RawMessage, error) {
	var in struct {
		Message string          `json:"message"`
		Mode    string          `json:"mode"`
		URL     string          `json:"url"`
		ID      string          `json:"elicitationId"`
		Schema  json.RawMessage `json:"requestedSchema"`
	}
	if err := json.Unmarshal(params, &in); err != nil {
		return nil, err
	}
	return c.callHost(ctx, elicitationRequest{
		Subtype: "elicitation", Server: server, Message: in.Message, Mode: in.Mode,
		URL: in.URL, ID: in.ID, Schema: in.Schema,
	})
}

// servers are the MCP servers of the conversation, which is opened for them.
func (c *controller) servers(ctx context.Context) (*mcp.Set, error) {
	if err := c.open(ctx); err != nil {
		return nil, err
	}
	l, ok := c.conv.(*local)
	if !ok {
		return nil, errors.New("this conversation has no MCP servers")
	}
	return l.inst.Servers(), nil
}

// slowRequests may wait for the host itself, so they run beside the reader of its messages.
var slowRequests = map[string]bool{"mcp_reconnect": true, "mcp_set_servers": true, "mcp_message": true, "mcp_read_resource": true}

func (c *controller) mcpStatus(ctx context.Context) (any, error) {
	s, err := c.servers(ctx)
	if err != nil {
		return nil, err
	}
	s.StartAll()
	return map[string]any{"mcpServers": serverStatus(s)}, nil
}

// mcpResource reads a page that a tool shows beside its result. Other resources reach the model alone.
func (c *controller) mcpResource(ctx context.Context, r controlRequest) (any, error) {
	s, err := c.servers(ctx)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(r.URI, "ui://") {
		return nil, fmt.Errorf("mcp_read_resource: %q is no address of a page (ui://...)", r.URI)
	}
	contents, err := s.Resource(ctx, cmp.Or(r.ServerName, r.Server), r.URI)
	if err != nil {
		return nil, fmt.Errorf("mcp_read_resource: %w", err)
	}
	return map[string]any{"contents": orEmpty(contents)}, nil
}

// mcpMode pins the permission mode of one server's tools.
func (c *controller) mcpMode(ctx context.Context, r controlRequest) (any, error) {
	s, err := c.servers(ctx)
	if err != nil {
		return nil, err
	}
	name := cmp.Or(r.ServerName, r.Server)
	mode := permission.Mode(r.Mode)
	if mode != "" && mode != permission.Default && mode != permission.Auto {
		return nil, fmt.Errorf("set_mcp_permission_mode_override: %q is neither default nor auto nor null", r.Mode)
	}
	c.conv.(*local).front().Authority.Pin(mcp.ToolName(name, ""), mode)
	if slices.ContainsFunc(s.Status(), func(v mcp.Status) bool { return v.Name == name }) {
		return nil, nil
	}
	return map[string]any{"warning": fmt.Sprintf("there is no MCP server %q now; the mode counts once there is", name)}, nil
}

type serverLine struct {
	Name   string           `json:"name"`
	Status string           `json:"status"`
	Info   *serverInfoLine  `json:"serverInfo,omitempty"`
	Error  string           `json:"error,omitempty"`
	Scope  string           `json:"scope,omitempty"`
	Tools  []serverToolLine `json:"tools,omitempty"`
}

type serverInfoLine struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type serverToolLine struct {
	Name string `json:"name"`
}

// serverStatus lists the servers in the words of Claude Code.
func serverStatus(s *mcp.Set) []serverLine {
	out := []serverLine{}
	for _, v := range s.Status() {
		l := serverLine{Name: cmp.Or(v.Shown, v.Name), Status: string(v.State), Error: v.Err, Scope: v.Scope}
		if v.Scope == string(entry.Flag) {
			l.Scope = "dynamic"
		}
		if v.State == mcp.Unapproved {
			l.Status = string(mcp.Pending)
		}
		if v.Server.Name != "" {
			l.Info = &serverInfoLine{v.Server.Name, v.Server.Version}
		}
		for _, t := range v.Tools {
			l.Tools = append(l.Tools, serverToolLine{t})
		}
		out = append(out, l)
	}
	return out
}

func (c *controller) mcpReconnect(ctx context.Context, name string) (any, error) {
	s, err := c.servers(ctx)
	if err != nil {
		return nil, err
	}
	return nil, s.Reconnect(ctx, name)
}

func (c *controller) mcpToggle(ctx context.Context, name string, enabled *bool) (any, error) {
	s, err := c.servers(ctx)
	if err != nil {
		return nil, err
	}
	if enabled == nil {
		return nil, errors.New("mcp_toggle: enabled is missing")
	}
	return nil, s.Toggle(name, *enabled)
}

func (c *controller) mcpSetServers(ctx context.Context, raw json.RawMessage) (any, error) {
	s, err := c.servers(ctx)
	if err != nil {
		return nil, err
	}
	var servers map[string]json.RawMessage
	if err := json.Unmarshal(raw, &servers); err != nil {
		return nil, fmt.Errorf("mcp_set_servers: servers: %w", err)
	}
	added, removed, faults := s.SetServers(ctx, servers)
	return map[string]any{"added": orEmpty(added), "removed": orEmpty(removed), "errors": faults}, nil
}

// takeServers adds the servers that the host names before the first message.
func (c *controller) takeServers(in initializing) error {
	if !isEmptyJSON(in.Servers) {
		c.o.MCPConfig = append(c.o.MCPConfig, `{"mcpServers":`+string(in.Servers)+`}`)
	}
	if isEmptyJSON(in.SDKServers) {
		return nil
	}
	var names []string
	if err := json.Unmarshal(in.SDKServers, &names); err != nil {
		return fmt.Errorf("initialize: sdkMcpServers is not a list of names: %w", err)
	}
	servers := map[string]any{}
	for _, name := range names {
		servers[name] = map[string]string{"type": "sdk", "name": name}
	}
	text, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err == nil {
		c.o.MCPConfig = append(c.o.MCPConfig, string(text))
	}
	return err
}

// askServer has a tool of an MCP server decide on a call, as --permission-prompt-tool says. Any other question gets no
// answer.
func (l *local) askServer(tool, id string, q event.Question) {
	ans := event.Answer{Choice: event.ChoiceNo, Canceled: true, Text: "such a question cannot be answered in this run"}
	if q.Call != nil && q.Permission != nil {
		ans = l.serverDecides(tool, q)
	}
	_ = l.Answer(id, ans) // a failure means that the question is closed already
}

func (l *local) serverDecides(tool string, q event.Question) event.Answer {
	refused := func(err error) event.Answer {
		return event.Answer{Choice: event.ChoiceNo, Text: "the permission tool " + tool + " gave no decision: " + err.Error()}
	}
	input, err := json.Marshal(map[string]any{
		"tool_name": q.Call.Name, "input": objectOr(q.Call.Input),
		"tool_use_id": q.Call.ID,
	})
	if err != nil {
		return refused(err)
	}
	text, err := l.inst.Servers().CallRaw(context.Background(), tool, input)
	if err != nil {
		return refused(err)
	}
	a := hostAnswer{Subtype: "success"}
	if err := json.Unmarshal([]byte(text), &a.Response); err != nil {
		return refused(err)
	}
	ans, _ := answerTo(a, q) // such a tool changes no mode
	return ans
}

// briefServers lists the servers with their state only.
func briefServers(s *mcp.Set) []serverLine {
	var out []serverLine
	for _, v := range serverStatus(s) {
		out = append(out, serverLine{Name: v.Name, Status: v.Status})
	}
	return out
}
