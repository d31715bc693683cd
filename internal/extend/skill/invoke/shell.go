package invoke

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Shell makes a Host.Run that runs command lines by way of the tool Bash: permission, journal and limits are those of
// any call. The agent's Invoke is meant.
func Shell(calls func(context.Context, []llm.ToolCall) []llm.ToolResult) func(context.Context, string) (string, bool) {
	return func(ctx context.Context, line string) (string, bool) {
		input, err := json.Marshal(map[string]string{"command": line})
		if err != nil {
			return err.Error(), false
		}
		res := calls(ctx, []llm.ToolCall{{ID: "skill_" + uuid.NewString(), Name: "Bash", Input: input}})[0]
		return res.PlainText(), !res.IsError
	}
}

// Agents makes a Host.Task that has agents do tasks by way of the tool Task: rules on agents, limits and the journal
// are those of any call. The agent's Invoke is meant.
func Agents(calls func(context.Context, []llm.ToolCall) []llm.ToolResult) func(context.Context, Task) (string, bool) {
	return func(ctx context.Context, t Task) (string, bool) {
		fields := map[string]string{"description": t.Title, "prompt": t.Prompt, "subagent_type": t.Kind}
		if t.Model != "" {
			fields["model"] = t.Model
		}
		input, err := json.Marshal(fields)
		if err != nil {
			return err.Error(), false
		}
		res := calls(ctx, []llm.ToolCall{{ID: "skill_" + uuid.NewString(), Name: "Task", Input: input}})[0]
		return res.PlainText(), !res.IsError
	}
}
