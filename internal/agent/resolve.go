package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/lathe-dev/lathe/internal/base/fuzzy"
	"github.com/lathe-dev/lathe/internal/llm"
)

// resolve finds the tool of a call and checks the input; its errors are text for the
// model. Other spellings of names and parameters are mended in place; JSON was, as far as that is certain.
func (a *Agent) resolve(call *llm.ToolCall) (Tool, error) {
	if a.cfg.Canonical != nil && call.Raw == "" {
		name, input := a.cfg.Canonical(call.Name, call.Input)
		call.Name = name
		if input != nil {
			call.Input = input
		}
	} else if a.cfg.Canonical != nil {
		call.Name, _ = a.cfg.Canonical(call.Name, nil)
	}
	box := a.tools.Load()
	t, ok := box.byName[call.Name]
	if !ok {
		return nil, box.missing(call.Name)
	}
	if call.Raw != "" {
		return nil, fmt.Errorf("The input of this %s call was not valid JSON, so it was not run. It began: %s\nSend the "+
			"call again with an object that fits this schema:\n%s",
			call.Name, excerpt(call.Raw, 300), t.spec.Schema)
	}
	if err := t.validate(call.Input); err != nil {
		return nil, fmt.Errorf("The input does not fit %s, so it was not run: %w\nThe schema is:\n%s", call.Name, err,
			t.spec.Schema)
	}
	return t, nil
}

func (t *boundTool) validate(input json.RawMessage) error {
	var v any
	if err := json.Unmarshal(input, &v); err != nil {
		return fmt.Errorf("not valid JSON: %w", err)
	}
	if _, ok := v.(map[string]any); !ok {
		return fmt.Errorf("it is not a JSON object")
	}
	t.once.Do(func() {
		if r, err := InputSchema(t.spec); err == nil {
			t.schema = r
		}
	})
	if t.schema == nil {
		return nil
	}
	return t.schema.Validate(v)
}

// InputSchema is the schema that a tool's inputs are checked against.
func InputSchema(spec llm.ToolSpec) (*jsonschema.Resolved, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(spec.Schema, &s); err != nil {
		return nil, fmt.Errorf("the schema of %s: %w", spec.Name, err)
	}
	if spec.Closed {
		s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}} // nothing
	}
	return s.Resolve(nil)
}

// missing says why there is no such tool to call, and names the nearest one.
func (b *toolbox) missing(name string) error {
	if b.sent[name] {
		return fmt.Errorf("The tool %s is not available any more, so this call was not run. Go on without it; the tools "+
			"now are: %s",
			name, strings.Join(b.names, ", "))
	}
	best, _ := fuzzy.Nearest(name, b.names, max(2, len(name)/2))
	if best != "" {
		best = " Did you mean " + best + "?"
	}
	return fmt.Errorf("There is no tool %q.%s The tools are: %s", excerpt(name, 80), best, strings.Join(b.names, ", "))
}

func excerpt(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}
