package console

import (
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// callView shows the command of a call that runs one.
func callView(call llm.ToolCall) event.View {
	if command := event.CallInput(call, "command"); command != "" {
		return event.Command{Command: command}
	}
	return nil
}

// lostView shows the result of a call that lathe did not see end.
func lostView(call llm.ToolCall, result llm.ToolResult) event.View {
	text := result.PlainText()
	if command := event.CallInput(call, "command"); command != "" {
		return event.Command{Command: command, Output: text, ExitCode: -1, Cancelled: true}
	}
	return event.TextView{Text: text}
}
