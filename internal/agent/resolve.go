package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/lathe-dev/lathe/internal/llm"
)

// boundTool is a tool with its schema, which is compiled when it is first needed.
type boundTool struct {
	Tool
	spec llm.ToolSpec

	once   sync.Once
	schema *jsonschema.Resolved // nil: the schema cannot be compiled, so inputs are not checked against it
}

// resolve finds the tool of a call and checks the input; what it returns as an error is text for the
// model. Other spellings of names and parameters are mended in place; broken JSON never is.
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
	t, ok := a.tools[call.Name]
	if !ok {
		return nil, a.unknown(call.Name)
	}
	if call.Raw != "" {
		return nil, fmt.Errorf("The input of this %s call was not valid JSON, so it was not run. It began: %s\nSend the call again with an object that fits this schema:\n%s",
			call.Name, excerpt(call.Raw, 300), t.spec.Schema)
	}
	if err := t.validate(call.Input); err != nil {
		return nil, fmt.Errorf("The input does not fit %s, so it was not run: %w\nThe schema is:\n%s", call.Name, err, t.spec.Schema)
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
		var s jsonschema.Schema
		if json.Unmarshal(t.spec.Schema, &s) != nil {
			return
		}
		if r, err := s.Resolve(nil); err == nil {
			t.schema = r
		}
	})
	if t.schema == nil {
		return nil
	}
	return t.schema.Validate(v)
}

// unknown says that there is no such tool and names the nearest one.
func (a *Agent) unknown(name string) error {
	best, score := "", 1<<30
	names := make([]string, 0, len(a.specs))
	for _, s := range a.specs {
		names = append(names, s.Name)
		if d := distance(strings.ToLower(name), strings.ToLower(s.Name)); d < score {
			best, score = s.Name, d
		}
	}
	if score <= max(2, len(name)/2) {
		return fmt.Errorf("There is no tool %q. Did you mean %s? The tools are: %s", excerpt(name, 80), best, strings.Join(names, ", "))
	}
	return fmt.Errorf("There is no tool %q. The tools are: %s", excerpt(name, 80), strings.Join(names, ", "))
}

// distance is the Levenshtein distance of two short strings, in bytes.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 1 << 20
	}
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diag := prev[0]
		prev[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diag
			if a[i-1] != b[j-1] {
				cost++
			}
			diag = prev[j]
			prev[j] = min(cost, prev[j]+1, prev[j-1]+1)
		}
	}
	return prev[len(b)]
}

func excerpt(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}
