package process_test

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/lathe-dev/lathe/internal/extend/customtool"
	"github.com/lathe-dev/lathe/internal/extend/plugin/process"
)

// The published schema takes the messages that lathe sends and those that it understands, and has every method.
func TestTheSchemaFitsTheMessages(t *testing.T) {
	raw, err := process.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Methods map[string]struct {
			From           string
			Params, Result map[string]string
		}
		Defs map[string]*jsonschema.Schema `json:"$defs"`
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for name, m := range all.Methods {
		for _, ref := range []map[string]string{m.Params, m.Result} {
			if ref == nil {
				continue
			}
			def := ref["$ref"][len("#/$defs/"):]
			used[def] = true
			if all.Defs[def] == nil {
				t.Errorf("%s names %s, which is not there", name, def)
			}
		}
	}
	if len(used) != len(all.Defs) || len(all.Methods) != 14 {
		t.Errorf("%d methods use %d of %d definitions", len(all.Methods), len(used), len(all.Defs))
	}
	half := 0.5
	who := process.Session{SessionID: "s"}
	for name, v := range map[string]any{
		"InitializeParams": process.InitializeParams{Protocol: 1}, "ToolParams": process.ToolParams{
			Session: who,
			Input:   json.RawMessage(`{}`),
		},
		"InitializeResult": process.InitializeResult{
			Tools: []customtool.Description{{
				Name: "A", Description: "b", InputSchema: json.RawMessage(`{"type":"object"}`),
				Accesses: []customtool.Access{{Kind: "net", Value: "h"}},
			}},
			Calls: []string{"tool/before"}, Commands: []process.Command{{Name: "a", Description: "b"}},
		},
		"BeforeResult": process.BeforeResult{Decision: "deny"}, "RequestResult": process.RequestResult{
			Temperature: &half,
			Headers:     map[string]string{"a": "b"},
		},
		"EventParams": process.EventParams{Session: who, Kind: "notice", Body: json.RawMessage(`{}`)},
	} {
		resolved, err := all.Defs[name].Resolve(nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text, _ := json.Marshal(v)
		var instance any
		_ = json.Unmarshal(text, &instance)
		if err := resolved.Validate(instance); err != nil {
			t.Errorf("%s: %v: %s", name, err, text)
		}
		if fields, ok := instance.(map[string]any); ok {
			fields["more"] = true
			if err := resolved.Validate(fields); err != nil {
				t.Errorf("%s does not take more fields: %v", name, err)
			}
		}
		if err := resolved.Validate([]any{1}); err == nil {
			t.Errorf("%s takes a list", name)
		}
	}
}
