package event

import (
	"encoding/json"

	"github.com/lathe-dev/lathe/internal/llm"
)

// titleInputs are the tool inputs that identify a call, best first.
var titleInputs = []string{"command", "file_path", "path", "pattern", "url", "query", "description", "skill", "prompt"}

// CallTitle names a call that has no title because it was never prepared, or because its end is not in the log: the
// input that identifies it, else the name of the tool.
func CallTitle(call llm.ToolCall) string {
	for _, name := range titleInputs {
		if text := CallInput(call, name); text != "" {
			return text
		}
	}
	return call.Name
}

// CallInput returns a string member of a call's input, or "".
func CallInput(call llm.ToolCall, name string) string {
	var members map[string]json.RawMessage
	var text string
	if json.Unmarshal(call.Input, &members) == nil {
		_ = json.Unmarshal(members[name], &text)
	}
	return text
}
