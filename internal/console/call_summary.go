package console

import (
	"encoding/json"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// shownInput are the tool inputs that identify a call, best first.
var shownInput = []string{"command", "file_path", "path", "pattern", "url", "query", "description", "skill", "prompt"}

// inputOf returns a string member of a call's input, or "".
func inputOf(call llm.ToolCall, name string) string {
	var members map[string]json.RawMessage
	var text string
	if json.Unmarshal(call.Input, &members) == nil {
		_ = json.Unmarshal(members[name], &text)
	}
	return text
}

// callTitle names a call whose title is not in the log: it had not ended, or lathe was killed.
func callTitle(call llm.ToolCall) string {
	for _, name := range shownInput {
		if text := inputOf(call, name); text != "" {
			return text
		}
	}
	return call.Name
}

// callView shows the command of a call that runs one.
func callView(call llm.ToolCall) event.View {
	if command := inputOf(call, "command"); command != "" {
		return event.Command{Command: command}
	}
	return nil
}

// lostView shows the result of a call that lathe did not see end.
func lostView(call llm.ToolCall, result llm.ToolResult) event.View {
	text := result.PlainText()
	if command := inputOf(call, "command"); command != "" {
		return event.Command{Command: command, Output: text, ExitCode: -1, Cancelled: true}
	}
	return event.TextView{Text: text}
}
