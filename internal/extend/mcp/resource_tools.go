package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/mcp/client"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

// resourceTools are the tools for resources; none where no server has any.
func (w *View) resourceTools(removed func(name string) bool) (out []agent.Tool) {
	has := false
	for _, v := range w.servers() {
		has = has || !v.isDisabled() && v.offersResources()
	}
	if !has {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.forResources == nil {
		w.forResources = []agent.Tool{
			agent.NewTool(llm.ToolSpec{
				Name: call.ListResources, Description: "Lists the resources (files, records, pages) that MCP servers offer, and " +
					"the templates of their addresses",
				Schema: json.RawMessage(
					`{"type":"object","properties":{"server":{"type":"string","description":"only this server's"}}}`),
			}, w.planList),
			agent.NewTool(llm.ToolSpec{
				Name: call.ReadResource, Description: "Reads a resource of an MCP server",
				Schema: json.RawMessage(
					`{"type":"object","properties":{"server":{"type":"string"},"uri":{"type":"string"}},"required":["server","uri"]}`),
			}, w.planRead),
		}
	}
	for _, t := range w.forResources {
		if !removed(t.Spec().Name) {
			out = append(out, t)
		}
	}
	return out
}

func (v *server) offersResources() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.resources
}

type resourceInput struct {
	Server string `json:"server"`
	URI    string `json:"uri"`
}

func (w *View) planList(_ context.Context, c llm.ToolCall, in resourceInput) (*agent.Plan, error) {
	if in.Server != "" && w.find(in.Server) == nil {
		return nil, w.noServer(in.Server)
	}
	return &agent.Plan{
		Accesses: []permission.Access{{Kind: permission.Tool, Target: c.Name, Safe: true}}, // it names what there is
		Title:    "resources of " + orAll(in.Server), Parallel: true,
		Run: func(ctx context.Context) (*agent.Result, error) { return w.listAll(ctx, in.Server), nil },
	}, nil
}

func orAll(server string) string {
	if server == "" {
		return "all MCP servers"
	}
	return "the MCP server " + server
}

// noServer names the servers that there are.
func (w *View) noServer(name string) error {
	var names []string
	for _, v := range w.servers() {
		names = append(names, v.entry.Name)
	}
	return fmt.Errorf("There is no MCP server %q; the servers: %s", name, strings.Join(names, ", "))
}

// listAll lists the resources of one server or of all. A server that fails is named, and costs no more.
func (w *View) listAll(ctx context.Context, only string) *agent.Result {
	var lines []string
	for _, v := range w.servers() {
		if v.isDisabled() || only != "" && v.entry.Name != only || only == "" && !v.offersResources() {
			continue
		}
		resources, templates, err := v.listResources(ctx)
		if err != nil {
			lines = append(lines, fmt.Sprintf("%s: %v", v.entry.Name, err))
			continue
		}
		for _, r := range resources {
			lines = append(lines, resourceLine(v.entry.Name, r.URI, r))
		}
		for _, r := range templates {
			lines = append(lines, resourceLine(v.entry.Name, r.Template+" (a template)", r))
		}
		if len(resources)+len(templates) == 0 {
			lines = append(lines, v.entry.Name+": no resources")
		}
	}
	if n := len(lines); n > resourcesTable {
		lines = append(lines[:resourcesTable], fmt.Sprintf("... and %d more; name a server", n-resourcesTable))
	}
	if len(lines) == 0 {
		lines = []string{"no MCP server has resources"}
	}
	text := strings.Join(lines, "\n")
	r := agent.TextResult(w.bounded(ctx, call.ListResources, untrusted("MCP servers")+w.clean(text)))
	r.View = event.TextView{Text: text}
	return r
}

func resourceLine(server, uri string, r client.Resource) string {
	line := server + ": " + uri
	if r.MIME != "" {
		line += " [" + r.MIME + "]"
	}
	if about := firstOf(r.Description, r.Title, r.Name); about != "" {
		line += " " + about[:min(len(about), 200)]
	}
	return strings.ToValidUTF8(line, "\uFFFD")
}

func (w *View) planRead(_ context.Context, c llm.ToolCall, in resourceInput) (*agent.Plan, error) {
	v := w.find(in.Server)
	switch {
	case v == nil:
		return nil, w.noServer(in.Server)
	case in.URI == "":
		return nil, fmt.Errorf("The parameter uri is missing; %s lists the resources", call.ListResources)
	}
	return &agent.Plan{
		Accesses: []permission.Access{{Kind: permission.Tool, Target: c.Name, Safe: v.entry.ReadOnly(call.ReadResource)}},
		Title:    in.URI + " of the MCP server " + in.Server, Parallel: true,
		Preview: event.TextView{Text: in.URI},
		Run: func(ctx context.Context) (*agent.Result, error) {
			text, media, err := w.read(ctx, v, in.URI)
			if err != nil {
				return nil, err
			}
			r := agent.TextResult(untrusted("the MCP server "+in.Server) + w.clean(text))
			r.Parts, r.View = append(r.Parts, media...), event.TextView{Text: text[:min(len(text), 50_000)]}
			return r, nil
		},
	}, nil
}
