package cli

import (
	"cmp"

	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/tool"
)

// Subagents in stream-json: their starts, steps and ends are messages, and each of their messages names them.

// agentRuns are the agents that events came from, by the call that started each.
type agentRuns struct {
	of    func(call string) (subagent.State, bool) // nil: nothing is known of agents
	known map[string]*agentRun
}

type agentRun struct {
	state   subagent.State
	started bool // task_started was printed
	tokens  int
	calls   int
}

// find returns the agent that a call started; nil where none is known.
func (a *agentRuns) find(call string) *agentRun {
	if call == "" || a.of == nil {
		return nil
	}
	if r := a.known[call]; r != nil {
		return r
	}
	s, ok := a.of(call)
	if !ok {
		return nil
	}
	if a.known == nil {
		a.known = map[string]*agentRun{}
	}
	a.known[call] = &agentRun{state: s}
	return a.known[call]
}

// agentFields name the agent that a message comes from.
type agentFields struct {
	ID   string `json:"agent_id,omitempty"`
	Kind string `json:"subagent_type,omitempty"`
	Task string `json:"task_description,omitempty"`
}

func (a *agentRuns) fields(call *string) agentFields {
	if call == nil {
		return agentFields{}
	}
	r := a.find(*call)
	if r == nil {
		return agentFields{}
	}
	return agentFields{r.state.ID, r.state.Kind, r.state.Title}
}

type taskUsage struct {
	Tokens   int   `json:"total_tokens"`
	Calls    int   `json:"tool_uses"`
	Duration int64 `json:"duration_ms"`
}

func (a *agentRuns) usage(r *agentRun) *taskUsage {
	now, ok := a.of(r.state.Call)
	if !ok {
		now = r.state
	}
	return &taskUsage{r.tokens, r.calls, ms(now.Duration)}
}

type taskProgressLine struct {
	Type        string     `json:"type"`
	Subtype     string     `json:"subtype"`
	TaskID      string     `json:"task_id"`
	ToolUseID   string     `json:"tool_use_id,omitempty"`
	Description string     `json:"description"`
	Kind        string     `json:"subagent_type,omitempty"`
	Usage       *taskUsage `json:"usage"`
	Last        string     `json:"last_tool_name,omitempty"`
	stamped
}

type taskUpdatedLine struct {
	Type    string         `json:"type"`
	Subtype string         `json:"subtype"`
	TaskID  string         `json:"task_id"`
	Patch   map[string]any `json:"patch"`
	stamped
}

// agent follows the work of a subagent. Agents in the background are announced when they start and end (background).
func (p *streamPrinter) agent(e event.Event) error {
	r := p.agents.find(event.CallOf(e.Agent))
	if r == nil {
		return nil
	}
	switch b := e.Body.(type) {
	case event.TurnStart:
		return p.agentStarted(r)
	case event.StepEnd:
		r.tokens += b.Usage.Prompt() + b.Usage.Output
	case event.ToolStart:
		r.calls++
		return p.w.write(&taskProgressLine{
			Type: "system", Subtype: "task_progress", TaskID: r.state.ID, ToolUseID: r.state.Call,
			Description: r.state.Title, Kind: r.state.Kind, Usage: p.agents.usage(r), Last: b.Call.Name,
		})
	case event.TurnEnd:
		if now, ok := p.agents.of(r.state.Call); ok && now.Background {
			return nil
		}
		status := subagent.Completed
		switch b.Reason {
		case event.EndCompleted, event.EndMaxSteps:
		case event.EndInterrupted:
			status = subagent.Stopped
		default:
			status = subagent.Failed
		}
		r.started = false // it may be resumed
		return p.agentEnded(r, status)
	}
	return nil
}

func (p *streamPrinter) agentStarted(r *agentRun) error {
	if r.started {
		return nil
	}
	r.started = true
	return p.w.write(&taskStartedLine{
		Type: "system", Subtype: "task_started", TaskID: r.state.ID, ToolUseID: r.state.Call, Description: r.state.Title,
		TaskType: "local_agent", Kind: r.state.Kind, Away: &r.state.Background, Depth: r.state.Depth, Prompt: r.state.Prompt,
	})
}

func (p *streamPrinter) agentEnded(r *agentRun, status subagent.Status) error {
	patch := map[string]any{"status": string(status), "end_time": p.now().UnixMilli()}
	if status == subagent.Stopped {
		patch["status"] = string(tool.ShellKilled)
	}
	return cmp.Or(
		p.w.write(&taskUpdatedLine{Type: "system", Subtype: "task_updated", TaskID: r.state.ID, Patch: patch}),
		p.w.write(&taskEndedLine{
			Type: "system", Subtype: "task_notification", TaskID: r.state.ID, ToolUseID: r.state.Call,
			Status: string(status), Summary: r.state.Title, Usage: p.agents.usage(r),
		}))
}

// agentOf finds the newest agent that a call started.
func (l *local) agentOf(call string) (out subagent.State, ok bool) {
	for _, s := range l.front().Env().Agents.Tasks.List() {
		if s.Call == call {
			out, ok = s, true
		}
	}
	return out, ok
}
