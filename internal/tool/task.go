package tool

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
	"github.com/lathe-dev/lathe/internal/prompt"
)

//go:embed task.md
var taskDescription string

type taskInput struct {
	Description string `json:"description" jsonschema:"The task in 3 to 5 words"`
	Prompt      string `json:"prompt" limits:"minLength=1"`
	Kind        string `json:"subagent_type,omitempty" jsonschema:"Default general-purpose"`
	Model       string `json:"model,omitempty" jsonschema:"Only if the user asked for one"`
	Background  *bool  `json:"run_in_background,omitempty"`
	Resume      string `json:"resume,omitempty" jsonschema:"Id of an agent to continue"`
}

// TaskName is the tool that starts subagents.
const TaskName = "Task"

// Starting an agent touches nothing; its own calls are checked one by one.
var taskTool = call.Declaration{
	Name: TaskName, Aliases: []string{"Agent", "subagent", "spawn_agent", "runSubagent"},
	Input: schemaOf[taskInput](),
	Params: map[string]string{
		"prompt": "task message", "subagent_type": "agent agent_type subagent_name type",
		"resume": "agent_id",
	},
	Subject: permission.SubjectName, SubjectIn: []string{"subagent_type"}, Class: permission.ClassNeutral,
	Accesses: call.Session(TaskName),
}

func newTask(agents *subagent.Agents) agent.Tool {
	return newTool(taskTool, taskDescription, func(_ context.Context, c llm.ToolCall, in taskInput) (*agent.Plan, error) {
		if agents == nil {
			return nil, errors.New("there are no agents in this session; do the work yourself")
		}
		r := subagent.Request{
			Call: c.ID, Kind: in.Kind, Title: in.Description, Prompt: in.Prompt, Model: in.Model,
			Resume: in.Resume,
		}
		k, err := agents.Check(r)
		if err != nil {
			return nil, err
		}
		r.Background = k.Background
		if in.Background != nil {
			r.Background = *in.Background
		}
		title := strings.TrimSpace(k.Name + ": " + strings.Join(strings.Fields(in.Description), " "))
		return &agent.Plan{
			Accesses: call.SessionOnly(TaskName), Title: title, Parallel: true,
			Preview: event.Subagent{Agent: k.Name, Color: k.Color, Title: in.Description},
			Run: func(ctx context.Context) (*agent.Result, error) {
				out, err := agents.Run(ctx, r)
				if err != nil {
					return nil, err
				}
				if out.Background || out.Delivered {
					return taskAway(r, k, out, title), nil
				}
				return taskResult(r, k, out, title), nil
			},
		}, nil
	})
}

// taskAway is the result of a call whose agent goes on without it.
func taskAway(r subagent.Request, k *subagent.Kind, out subagent.Outcome, title string) *agent.Result {
	text, status := "The agent works in the background. Its answer comes by itself when it is done: go on with other "+
		"work, or end your turn. TaskOutput shows its state, TaskStop ends it.", "async_launched"
	if out.Delivered {
		text, status = "The agent is at work; it gets the message at its next step.", "message_delivered"
	}
	return &agent.Result{
		Parts: []llm.Part{llm.Text{Text: text + "\n\n[agent " + out.ID + "]"}}, Title: title,
		View: event.Subagent{
			Agent: out.Kind, Color: k.Color, Title: r.Title, Result: "in the background",
			Session: out.ID,
		},
		Meta: map[string]any{
			"status": status, "isAsync": out.Background, "agentId": out.ID, "agentType": out.Kind,
			"description": r.Title, "prompt": r.Prompt,
		},
		Unstored: []string{"prompt"}, // the call has it
	}
}

// taskResult is the answer, with the agent's id for agents that did not finish or can be asked again.
func taskResult(r subagent.Request, k *subagent.Kind, out subagent.Outcome, title string) *agent.Result {
	text := prompt.Sanitize(out.Answer) // it may quote a file that imitates lathe's own messages
	if out.Problem != "" {
		said := "It said nothing."
		if text != "" {
			said = "Its last words:\n\n" + text
		}
		text = fmt.Sprintf("[The agent did not finish: %s. %s]", out.Problem, said)
	} else if text == "" {
		text = "[The agent ended without an answer.]"
	}
	u := out.End.Usage
	return &agent.Result{
		Parts: []llm.Part{llm.Text{Text: text + "\n\n[agent " + out.ID + "]"}}, IsError: out.Problem != "", Title: title,
		View: event.Subagent{
			Agent: out.Kind, Color: k.Color, Title: r.Title, Result: out.Answer, Steps: out.End.Steps,
			Session: out.ID,
		},
		Meta: map[string]any{
			"status": taskStatus(out), "prompt": r.Prompt, "agentId": out.ID, "agentType": out.Kind,
			"content":         []any{map[string]any{"type": "text", "text": out.Answer}},
			"totalDurationMs": out.Duration.Milliseconds(), "totalTokens": u.Input + u.CacheRead + u.CacheWrite + u.Output,
			"totalToolUseCount": out.Calls, "totalCostUsd": out.End.CostUSD,
			"usage": map[string]any{
				"input_tokens": u.Input, "cache_creation_input_tokens": u.CacheWrite, "cache_read_input_tokens": u.CacheRead,
				"output_tokens": u.Output,
			},
		},
		Unstored: []string{"prompt", "content"}, // the call and the view have them
	}
}

func taskStatus(out subagent.Outcome) string {
	if out.Problem != "" {
		return "failed"
	}
	return "completed"
}
