package tool

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/agent/workflow"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
	"github.com/lathe-dev/lathe/internal/prompt"
)

//go:embed workflow.md
var workflowDescription string

type workflowInput struct {
	Script  string `json:"script" limits:"minLength=1"`
	Agents  int    `json:"max_agents,omitempty" jsonschema:"Default 100, at most 500" limits:"maximum=500"`
	Minutes int    `json:"max_minutes,omitempty" jsonschema:"Default 120" limits:"maximum=1440"`
}

// WorkflowName is the tool that runs a script that starts agents.
const WorkflowName = "Workflow"

// What its agents will do is not known before, so a call asks; their own calls are checked one by one besides.
var workflowTool = call.Declaration{
	Name: WorkflowName, Input: schemaOf[workflowInput](), Params: map[string]string{"script": "code source"},
	Deferred: true, Accesses: call.Itself(WorkflowName),
}

func newWorkflow(agents *subagent.Agents) agent.Tool {
	return newTool(workflowTool, workflowDescription, func(_ context.Context, _ llm.ToolCall, in workflowInput) (
		*agent.Plan, error,
	) {
		if agents == nil {
			return nil, errors.New("there are no agents in this session; do the work yourself")
		}
		if err := workflow.Check(in.Script); err != nil {
			return nil, fmt.Errorf("the script is wrong: %w", err)
		}
		phases := strings.Join(workflow.Phases(in.Script), ", ")
		return &agent.Plan{
			Accesses: []permission.Access{{Kind: permission.Tool, Target: WorkflowName}},
			Title:    "workflow " + phases,
			Preview:  event.TextView{Text: in.Script, Language: "python", Summary: "phases: " + phases},
			Run:      func(ctx context.Context) (*agent.Result, error) { return in.run(ctx, agents) },
		}, nil
	})
}

func (in workflowInput) run(ctx context.Context, agents *subagent.Agents) (*agent.Result, error) {
	limits := workflow.Limits{Agents: 100, Time: 2 * time.Hour}
	if in.Agents > 0 {
		limits.Agents = min(in.Agents, 500)
	}
	if in.Minutes > 0 {
		limits.Time = time.Duration(in.Minutes) * time.Minute
	}
	var mu sync.Mutex
	var told []string
	started := 0
	result, err := workflow.Run(ctx, in.Script, workflow.Host{
		Agent: func(ctx context.Context, t workflow.Task) (string, error) {
			mu.Lock()
			started++
			mu.Unlock()
			out, err := agents.Run(ctx, subagent.Request{
				Call: "workflow-" + agents.NewID(), Kind: t.Kind, Title: t.Title, Prompt: t.Prompt, Model: t.Model, Held: true,
			})
			if err == nil && out.Problem != "" {
				err = errors.New(out.Problem)
			}
			return prompt.Sanitize(out.Answer), err
		},
		Tell: func(line string) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, line)
			agent.Output(ctx, line+"\n")
		},
	}, limits)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	log := strings.Join(told, "\n")
	if err != nil {
		return nil, fmt.Errorf("the workflow ended after %d agents: %w\n%s", started, err, log)
	}
	r := agent.TextResult(strings.TrimSpace(fmt.Sprintf("%s\n\n[%d agents worked]\n%s", result, started, log)))
	r.Title, r.View = fmt.Sprintf("%d agents", started), event.TextView{Text: result, Summary: log}
	r.Meta = map[string]any{"result": result, "agents": started}
	return r, nil
}
