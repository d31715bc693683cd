package tool

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/base/rank"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

//go:embed toolsearch.md
var toolSearchDescription string

// toolSearchResults is how many tools a search by words gives, unless the call says otherwise.
const toolSearchResults = 5

type toolSearchInput struct {
	Query string `json:"query" limits:"minLength=1"`
	Max   int    `json:"max_results,omitempty" limits:"minimum=1"`
}

// ToolSearchName is the tool that finds deferred tools.
const ToolSearchName = "ToolSearch"

var toolSearchTool = call.Declaration{
	Name:     ToolSearchName,
	Aliases:  []string{"tool_search", "search_tools", "find_tools"},
	Input:    schemaOf[toolSearchInput](),
	Params:   map[string]string{"query": "q search names", "max_results": "limit"},
	Class:    permission.ClassNeutral,
	Accesses: call.Session(ToolSearchName),
}

func newToolSearch(d *Deferral) agent.Tool { return d.toolSearch(nil) }

// toolSearch is ToolSearch with a description that lists names.
func (d *Deferral) toolSearch(names []string) agent.Tool {
	description := toolSearchDescription
	if len(names) > 0 {
		description = strings.TrimSpace(description) + " There are: " + strings.Join(names, ", ") + "."
	}
	return newTool(toolSearchTool, description, func(_ context.Context, _ llm.ToolCall, in toolSearchInput) (*agent.Plan,
		error,
	) {
		return &agent.Plan{
			Accesses: call.SessionOnly(ToolSearchName),
			Title:    in.Query,
			Parallel: true,
			Run:      func(context.Context) (*agent.Result, error) { return d.search(in) },
		}, nil
	})
}

// search finds tools and gives the model their schemas.
func (d *Deferral) search(in toolSearchInput) (*agent.Result, error) {
	specs := d.specs()
	var found []llm.ToolSpec
	names, exact := strings.CutPrefix(strings.TrimSpace(in.Query), "select:")
	if exact {
		found = selected(specs, names)
	} else {
		found = ranked(specs, in.Query, in.Max)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no tool fits %q; search with other words, or by the names that were listed", in.Query)
	}
	r := &agent.Result{Title: in.Query}
	listed := make([]string, len(found))
	for i, s := range found {
		listed[i] = s.Name
		text := fmt.Sprintf("%s: %s\nInput schema: %s\nCall it by its name; if that is refused, call "+
			"%s {\"name\":%q,\"input\":{...}}\n", s.Name, s.Description, s.Schema, CallToolName, s.Name)
		r.Parts = append(r.Parts, llm.ToolReference(s.Name, text))
	}
	r.View = event.Listing{Title: in.Query, Items: listed, Total: len(listed)}
	r.Meta = map[string]any{"query": in.Query, "matches": listed, "total_deferred_tools": len(specs)}
	return r, nil
}

// selected are the tools with these names, in the order asked for.
func selected(specs []llm.ToolSpec, names string) (out []llm.ToolSpec) {
	for name := range strings.SplitSeq(names, ",") {
		for _, s := range specs {
			if strings.EqualFold(s.Name, strings.TrimSpace(name)) {
				out = append(out, s)
			}
		}
	}
	return out
}

// ranked are the tools that fit words best. A query that is the name of a tool finds it, too.
func ranked(specs []llm.ToolSpec, query string, limit int) (out []llm.ToolSpec) {
	if limit <= 0 {
		limit = toolSearchResults
	}
	docs := make([]rank.Document, len(specs))
	byName := make(map[string]llm.ToolSpec, len(specs))
	for i, s := range specs {
		docs[i] = rank.Document{ID: s.Name, Title: s.Name, Text: s.Description + " " + parameters(s.Schema)}
		byName[s.Name] = s
	}
	for _, h := range rank.New(docs).Search(query, limit) {
		out = append(out, byName[h.ID])
	}
	return out
}

// parameters are the names and descriptions of a schema's parameters.
func parameters(schema json.RawMessage) string {
	var s struct {
		Properties map[string]struct {
			Description string `json:"description"`
		} `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return ""
	}
	var b strings.Builder
	for name, p := range s.Properties {
		b.WriteString(name + " " + p.Description + " ")
	}
	return b.String()
}

const (
	// CallToolName is the tool through which a model calls a deferred tool where its host takes no name that is not in
	// the list of tools.
	CallToolName        = "CallTool"
	callToolDescription = "Calls a tool that ToolSearch found."
	callToolSchema      = `{"type":"object","properties":{"name":{"type":"string"},"input":{"type":"object"}},` +
		`"required":["name","input"]}`
)

// callTool is never run: Carried makes its calls those of the named tool before anything else sees them.
var callTool = call.Declaration{
	Name: CallToolName, Schema: json.RawMessage(callToolSchema), With: []string{ToolSearchName},
	Accesses: call.Itself(CallToolName),
}

type callToolInput struct {
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

func newCallTool() agent.Tool {
	return newTool(callTool, callToolDescription, func(context.Context, llm.ToolCall, callToolInput) (*agent.Plan, error) {
		return nil, errors.New(`give the name of a tool that ToolSearch found, and its input as an object`)
	})
}

// Carried makes a call of CallTool one of the tool that it names, and lets canonical find the usual spelling of that
// and any other call: hooks, permissions, results and the log see the real tool.
func Carried(canonical func(name string, input []byte) (string, []byte)) func(name string, input []byte) (string,
	[]byte) {
	return func(name string, input []byte) (string, []byte) {
		usual, fields := canonical(name, input)
		if usual != CallToolName || len(input) == 0 {
			return usual, fields
		}
		if fields == nil {
			fields = input
		}
		var in callToolInput
		if json.Unmarshal(fields, &in) != nil || in.Name == "" || len(in.Input) == 0 {
			return usual, fields
		}
		real, changed := canonical(in.Name, in.Input)
		if real == CallToolName {
			return usual, fields
		}
		if changed == nil {
			changed = in.Input
		}
		return real, changed
	}
}
