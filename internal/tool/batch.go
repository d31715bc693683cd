package tool

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

//go:embed batch.md
var batchDescription string

// batchMax is how many calls one Batch may have.
const batchMax = 25

type batchInput struct {
	Calls []batchCall `json:"calls" limits:"maxItems=25"`
}

type batchCall struct {
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
}

var batchTool = call.Declaration{
	Name:     "Batch",
	Aliases:  []string{"multi_tool_use.parallel", "parallel", "parallel_tool_calls"},
	Input:    schemaOf[batchInput](),
	Params:   map[string]string{"calls": "tool_calls tool_uses invocations"},
	Mend:     mendCalls,
	Deferred: true,
	Accesses: call.Session("Batch"), // the calls in it are decided on one by one
}

func newBatch(invoke invoker) agent.Tool {
	return newTool(batchTool, batchDescription, func(_ context.Context, _ llm.ToolCall, in batchInput) (*agent.Plan,
		error,
	) {
		if invoke == nil {
			return nil, errors.New("calls cannot be bundled here; make them one by one")
		}
		if len(in.Calls) == 0 {
			return nil, errors.New(`"calls" is empty; give at least one {"tool": ..., "input": {...}}`)
		}
		if len(in.Calls) > batchMax {
			return nil, fmt.Errorf("it has %d calls, and %d are the most; make two batches", len(in.Calls), batchMax)
		}
		for i, c := range in.Calls {
			if c.nested() {
				return nil, fmt.Errorf("call %d is a Batch itself; put its calls into this one", i+1)
			}
		}
		b := &batch{invoke, in.Calls}
		return &agent.Plan{Accesses: call.SessionOnly("Batch"), Title: b.title(), Run: b.run}, nil
	})
}

// nested reports whether a call would be one of Batch, by any of its names or through CallTool.
func (c *batchCall) nested() bool {
	isBatch := func(name string) bool {
		name = strings.ToLower(strings.TrimPrefix(name, "functions."))
		for _, n := range append([]string{"Batch"}, batchTool.Aliases...) {
			if strings.NewReplacer("_", "", "-", "", " ", "").Replace(name) == strings.NewReplacer("_", "").Replace(
				strings.ToLower(n)) {
				return true
			}
		}
		return false
	}
	var carried struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(c.Input, &carried)
	return isBatch(c.Tool) || strings.EqualFold(c.Tool, callTool.Name) && isBatch(carried.Name)
}

// invoker runs calls through the choke point.
type invoker func(ctx context.Context, calls []llm.ToolCall) []llm.ToolResult

// batch is one call of Batch.
type batch struct {
	invoke invoker
	calls  []batchCall
}

func (b *batch) title() string {
	var names []string
	for _, c := range b.calls[:min(len(b.calls), 4)] {
		names = append(names, c.Tool)
	}
	title := fmt.Sprintf("%d calls: %s", len(b.calls), strings.Join(names, ", "))
	if len(b.calls) > 4 {
		title += ", ..."
	}
	return title
}

func (b *batch) run(ctx context.Context) (*agent.Result, error) {
	calls := make([]llm.ToolCall, len(b.calls))
	for i, c := range b.calls {
		calls[i] = llm.ToolCall{Name: c.Tool, Input: c.Input}
	}
	results := b.invoke(ctx, calls)
	r := &agent.Result{Title: b.title()}
	failed := 0
	var items []string
	list := []map[string]any{}
	for i, one := range results {
		state := "ok"
		if one.IsError {
			state = "error"
			failed++
		}
		head := fmt.Sprintf("## %d. %s: %s", i+1, one.Name, state)
		items = append(items, fmt.Sprintf("%s: %s", one.Name, state))
		list = append(list, map[string]any{"tool": one.Name, "call": one.CallID, "isError": one.IsError})
		text := ""
		var media []llm.Part
		for _, p := range one.Parts {
			if t, ok := p.(llm.Text); ok {
				text += "\n" + t.Text
			} else {
				media = append(media, p)
			}
		}
		r.Parts = append(append(r.Parts, llm.Text{Text: head + text}), media...)
	}
	r.IsError = failed == len(results)
	r.View = event.Listing{Title: r.Title, Items: items, Total: len(items)}
	r.Meta = map[string]any{"results": list, "failed": failed}
	return r, nil
}
