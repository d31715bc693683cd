package port

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/lathe-dev/lathe/internal/base/openschema"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// messages are the methods of the wire with the types of their parameters and results; a notification has no result.
var messages = []struct {
	method, from   string
	params, result any
}{
	{methodInitialize, "face", Hello{}, Welcome{}},
	{methodAttach, "face", attach{}, struct{}{}},
	{methodPrompt, "face", Prompt{}, Receipt{}},
	{methodQueue, "face", QueueChange{}, Queue{}},
	{methodInterrupt, "face", Turn{}, struct{}{}},
	{methodAnswer, "face", Answer{}, struct{}{}},
	{methodCommand, "face", Command{}, event.Output{}},
	{methodComplete, "face", event.Query{}, Candidates{}},
	{methodRead, "face", ReadRequest{}, Content{}},
	{methodEvent, "session", streamed{}, nil},
	{methodEnd, "session", streamEnd{}, nil},
}

// typed is an object whose field type says which it is.
func typed(says string) *jsonschema.Schema {
	return &jsonschema.Schema{
		Type: "object", Description: says, Required: []string{"type"},
		Properties: map[string]*jsonschema.Schema{"type": {Type: "string"}},
	}
}

// WrittenSchemas are the schemas of types that write their JSON themselves.
func WrittenSchemas() map[reflect.Type]*jsonschema.Schema {
	part := typed("a text, reasoning, media, a tool call or a tool result")
	view := &jsonschema.Schema{
		Type: "object", Required: []string{"shape"}, Description: "what people see of a call",
		Properties: map[string]*jsonschema.Schema{"shape": {Type: "string"}},
	}
	body := &jsonschema.Schema{Type: "object", Required: []string{"kind", "body"}, Properties: map[string]*jsonschema.Schema{
		"kind": {Type: "string"}, "body": {},
	}}
	text, whole := &jsonschema.Schema{Type: "string"}, &jsonschema.Schema{Type: "integer"}
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {}, reflect.TypeFor[llm.Part](): part, reflect.TypeFor[event.View](): view,
		reflect.TypeFor[llm.Delta](): typed("a piece of a reply"), reflect.TypeFor[event.Body](): body,
		reflect.TypeFor[llm.ToolResult](): part,
		reflect.TypeFor[llm.Message](): {
			Type: "object", Required: []string{"role", "parts"},
			Properties: map[string]*jsonschema.Schema{
				"id": text, "role": text, "parts": {Type: "array", Items: part}, "model": text, "usage": {}, "stop": text,
			},
		},
		reflect.TypeFor[event.Event](): {
			Type: "object", Required: []string{"seq", "time", "session", "kind", "body"},
			Description: "body is $defs/event:KIND; a kind that is not there is to be ignored",
			Properties: map[string]*jsonschema.Schema{
				"seq": whole, "time": text, "session": text, "agent": {Type: "array", Items: text}, "cursor": text,
				"kind": text, "body": {},
			},
		},
		reflect.TypeFor[event.Unknown]():    {},
		reflect.TypeFor[[]event.Answer]():   {Type: "array", Items: &jsonschema.Schema{Ref: "#/$defs/Answer"}},
		reflect.TypeFor[[]event.Question](): {Type: "array", Items: &jsonschema.Schema{Ref: "#/$defs/Question"}},
	}
}

// Schema is the protocol as JSON: a JSON Schema whose $defs has the parameters and results of every method, and as
// event:KIND the body of every event, made from the Go types.
func Schema() (json.RawMessage, error) {
	defs, methods := map[string]*jsonschema.Schema{}, map[string]any{}
	opts := &jsonschema.ForOptions{TypeSchemas: WrittenSchemas()}
	define := func(name string, v any) error {
		s, err := jsonschema.ForType(reflect.TypeOf(v), opts)
		if err != nil {
			return fmt.Errorf("the schema of %s: %w", name, err)
		}
		openschema.Open(s)
		defs[name] = s
		return nil
	}
	if err := errors.Join(define("Answer", event.Answer{}), define("Question", event.Question{})); err != nil {
		return nil, err
	}
	for _, m := range messages {
		entry := map[string]any{"from": m.from, "params": ref(m.method + ".params")}
		if err := define(m.method+".params", m.params); err != nil {
			return nil, err
		}
		if m.result != nil {
			entry["result"] = ref(m.method + ".result")
			if err := define(m.method+".result", m.result); err != nil {
				return nil, err
			}
		}
		methods[m.method] = entry
	}
	for _, b := range event.Bodies() {
		if err := define("event:"+b.Kind(), b); err != nil {
			return nil, err
		}
	}
	return json.MarshalIndent(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "The port of lathe", "version": Version,
		"description": "JSON-RPC 2.0 over a Unix socket or a pipe, one message a line. Unknown fields are ignored on both " +
			"sides; fields are only added.",
		"methods": methods, "$defs": defs,
	}, "", "  ")
}

func ref(name string) map[string]string { return map[string]string{"$ref": "#/$defs/" + name} }
