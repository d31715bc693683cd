package process

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/lathe-dev/lathe/internal/base/openschema"
)

// message is one method or notification of the protocol.
type message struct {
	method, from   string
	params, result reflect.Type // result is nil for a notification
	says           string
}

func messages() []message {
	t := func(v any) reflect.Type { return reflect.TypeOf(v) }
	return []message{
		{
			MethodInitialize, "lathe", t(InitializeParams{}), t(InitializeResult{}),
			"The first request. The answer says what the process does.",
		},
		{MethodTool, "lathe", t(ToolParams{}), t(ToolResult{}), "Runs a tool of the process."},
		{MethodBefore, "lathe", t(BeforeParams{}), t(BeforeResult{}), "Judges a call of any tool before the rules do."},
		{MethodAfter, "lathe", t(AfterParams{}), t(AfterResult{}), "Sees the result of a call."},
		{MethodMessage, "lathe", t(MessageParams{}), t(AppendResult{}), "Adds to a message of the user, or refuses it."},
		{MethodStep, "lathe", t(StepParams{}), t(AppendResult{}), "Adds a message before a request to the model."},
		{
			MethodRequest, "lathe", t(RequestParams{}), t(RequestResult{}),
			"Changes the parameters and headers of a request to the model.",
		},
		{MethodCommand, "lathe", t(CommandParams{}), t(CommandResult{}), "Runs a slash command of the process."},
		{
			MethodContext, "lathe", t(ContextParams{}), t(ContextResult{}),
			"Gives a section of a conversation's first message.",
		},
		{NotifyEvent, "lathe", t(EventParams{}), nil, "An event of a conversation."},
		{NotifyCancel, "lathe", t(CancelParams{}), nil, "Nobody waits for an answer any more."},
		{NotifyStatus, "process", t(StatusParams{}), nil, "Sets the process's segment of the status line."},
		{NotifyLog, "process", t(LogParams{}), nil, "A line for the user."},
		{NotifyOutput, "process", t(OutputParams{}), nil, "Live output of a running call of a tool."},
	}
}

// Schema is the protocol as JSON: a JSON Schema whose $defs has the params and results of every method, made from the
// Go types.
func Schema() (json.RawMessage, error) {
	defs := map[string]*jsonschema.Schema{}
	methods := map[string]any{}
	opts := &jsonschema.ForOptions{
		TypeSchemas: map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[json.RawMessage](): {}},
	}
	for _, m := range messages() {
		entry := map[string]any{"from": m.from, "description": m.says, "params": map[string]string{"$ref": "#/$defs/" +
			m.params.Name()}}
		for _, t := range []reflect.Type{m.params, m.result} {
			if t == nil {
				continue
			}
			s, err := jsonschema.ForType(t, opts)
			if err != nil {
				return nil, fmt.Errorf("the schema of %s: %w", t.Name(), err)
			}
			openschema.Open(s)
			defs[t.Name()] = s
		}
		if m.result != nil {
			entry["result"] = map[string]string{"$ref": "#/$defs/" + m.result.Name()}
		}
		methods[m.method] = entry
	}
	return json.MarshalIndent(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Plugin processes of lathe", "version": Version,
		"description": "JSON-RPC 2.0 over standard input and output, one message a line. Unknown fields are ignored on " +
			"both sides.",
		"methods": methods, "$defs": defs,
	}, "", "  ")
}
