package tool

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
	"github.com/lathe-dev/lathe/internal/prompt"
)

//go:embed taskoutput.md
var taskOutputDescription string

//go:embed taskstop.md
var taskStopDescription string

// How long TaskOutput waits.
const (
	blockDefault = 30 * time.Second
	blockMost    = 600 * time.Second
)

type taskOutputInput struct {
	ID      string `json:"task_id"`
	Filter  string `json:"filter,omitempty" jsonschema:"Regular expression: show only lines that match"`
	Block   bool   `json:"block,omitempty"`
	Timeout *int64 `json:"timeout,omitempty" jsonschema:"Longest wait in milliseconds, default 30000" limits:"minimum=0"` // milliseconds
}

// Commands and agents were approved at their start, so reading and ending them touch the session only.
var (
	taskOutputTool = call.Declaration{
		Name: "TaskOutput", Aliases: []string{
			"BashOutput", "AgentOutput", "shell_output", "get_terminal_output",
			"job_output",
		}, Input: schemaOf[taskOutputInput](),
		Params: map[string]string{"task_id": "bash_id shell_id agent_id id", "block": "wait", "timeout": "timeout_ms"},
		Class:  permission.ClassNeutral, With: []string{"Bash", TaskName}, Deferred: true,
		Accesses: call.Session("TaskOutput"),
	}
	taskStopTool = call.Declaration{
		Name: "TaskStop", Aliases: []string{"KillShell", "KillBash", "kill_terminal", "job_kill"},
		Input:  schemaOf[taskStopInput](),
		Params: map[string]string{"task_id": "shell_id bash_id agent_id id"},
		Class:  permission.ClassNeutral, With: []string{"Bash", TaskName}, Deferred: true, Accesses: call.Session("TaskStop"),
	}
)

// tasks are what TaskOutput and TaskStop use: commands and subagents that run beside the conversation.
type tasks struct {
	*Jobs
	Agents *subagent.Agents
	most   int // characters of a command's output at once
}

func newTaskOutput(env *tasks) agent.Tool {
	return newTool(taskOutputTool, taskOutputDescription, func(_ context.Context, _ llm.ToolCall, in taskOutputInput) (
		*agent.Plan, error,
	) {
		if now, ok := env.agentState(in.ID); ok {
			return &agent.Plan{
				Accesses: call.SessionOnly("TaskOutput"), Title: agentTitle(now), Parallel: true,
				Run: func(ctx context.Context) (*agent.Result, error) {
					if in.Block {
						env.Agents.Tasks.Await(ctx, now.ID, in.patience())
					}
					return env.agentReport(now.ID)
				},
			}, nil
		}
		s, err := env.findTask(in.ID)
		if err != nil {
			return nil, err
		}
		var filter *regexp.Regexp
		if in.Filter != "" {
			if filter, err = regexp.Compile(in.Filter); err != nil {
				return nil, fmt.Errorf("filter is no regular expression: %w; escape literal brackets and braces with a "+
					"backslash, or leave filter out", err)
			}
		}
		return &agent.Plan{
			Accesses: call.SessionOnly("TaskOutput"), Title: s.id, Parallel: true,
			Run: func(ctx context.Context) (*agent.Result, error) {
				if in.Block {
					s.await(ctx, in.patience())
				}
				return s.report(ctx, env.most, filter)
			},
		}, nil
	})
}

func (in taskOutputInput) patience() time.Duration {
	if in.Timeout == nil {
		return blockDefault
	}
	return min(time.Duration(min(max(*in.Timeout, 0), blockMost.Milliseconds()))*time.Millisecond, blockMost)
}

type taskStopInput struct {
	ID string `json:"task_id"`
}

func newTaskStop(env *tasks) agent.Tool {
	return newTool(taskStopTool, taskStopDescription, func(_ context.Context, _ llm.ToolCall, in taskStopInput) (
		*agent.Plan, error,
	) {
		if now, ok := env.agentState(in.ID); ok {
			return &agent.Plan{
				Accesses: call.SessionOnly("TaskStop"), Title: agentTitle(now),
				Run: func(ctx context.Context) (*agent.Result, error) {
					if _, err := env.Agents.Tasks.Stop(ctx, now.ID); err != nil {
						return nil, err
					}
					return env.agentReport(now.ID)
				},
			}, nil
		}
		s, err := env.findTask(in.ID)
		if err != nil {
			return nil, err
		}
		return &agent.Plan{
			Accesses: call.SessionOnly("TaskStop"), Title: s.id,
			Run: func(ctx context.Context) (*agent.Result, error) {
				now, err := env.Background.Kill(ctx, s.id)
				if err != nil {
					return nil, err
				}
				return s.stopped(now), nil
			},
		}, nil
	})
}

// tasks are the commands and subagents of the session, as its tools see them.
func (e *Env) tasks() *tasks {
	return &tasks{e.Jobs, e.Agents, orDefault(e.Limits.BashOutput, bashOutput)}
}

// findTask returns the command with an id. The error also lists the agents.
func (e *tasks) findTask(id string) (*shellRun, error) {
	s, err := e.Background.find(id)
	if err == nil || e.Agents == nil {
		return s, err
	}
	var known []string
	for _, now := range e.Agents.Tasks.List() {
		known = append(known, now.ID)
	}
	if len(known) > 0 {
		err = fmt.Errorf("%w; the agents are %s", err, strings.Join(known[max(0, len(known)-10):], ", "))
	}
	return nil, err
}

func (e *tasks) agentState(id string) (subagent.State, bool) {
	if e.Agents == nil {
		return subagent.State{}, false
	}
	now, err := e.Agents.Tasks.Get(id)
	return now, err == nil
}

func agentTitle(s subagent.State) string {
	return strings.TrimSpace(s.Kind + ": " + strings.Join(strings.Fields(s.Title), " "))
}

// agentReport is the state of an agent, with its answer once it has ended.
func (e *tasks) agentReport(id string) (*agent.Result, error) {
	now, err := e.Agents.Tasks.Get(id)
	if err != nil {
		return nil, err
	}
	text := "It is " + now.String() + "."
	if now.Working() {
		if doing := AgentCalls(e.Agents.Tasks.Messages(id), 5); len(doing) > 0 {
			text += " Its last calls:\n" + prompt.Sanitize(strings.Join(doing, "\n"))
		}
	} else {
		text = agentNews(now)
	}
	e.Agents.Known(id)
	r := agent.TextResult(text)
	r.Title = agentTitle(now)
	r.View = event.Subagent{
		Agent: now.Kind, Title: now.Title, Result: cmp.Or(now.Answer, now.String()), Steps: now.Steps,
		Session: now.ID,
	}
	r.Meta = map[string]any{
		"agentId": now.ID, "agentType": now.Kind, "status": string(now.Status),
		"totalCostUsd": now.CostUSD,
	}
	return r, nil
}

// AgentCalls lists the last calls of a conversation, at most n, one line each.
func AgentCalls(messages []llm.Message, n int) []string {
	var out []string
	for i := len(messages) - 1; i >= 0 && len(out) < n; i-- {
		calls := messages[i].Calls()
		for j := len(calls) - 1; j >= 0 && len(out) < n; j-- {
			out = append([]string{strings.TrimSpace(calls[j].Name + " " + event.CallTitle(calls[j]))}, out...)
		}
	}
	return out
}

// agentNews describes the end of an agent in the background for its parent.
func agentNews(now subagent.State) string {
	head := fmt.Sprintf("The agent %s (%s)", now.ID, agentTitle(now))
	answer := prompt.Sanitize(now.Answer) // it may quote a file that imitates lathe's own messages
	switch {
	case now.Status == subagent.Lost:
		return head + " was at work when lathe ended. Its session is kept: Task with resume goes on."
	case now.Status == subagent.Stopped:
		head += " was ended on request."
	case now.Problem != "":
		head += " did not finish: " + now.Problem + "."
	case answer == "":
		return head + " has finished without an answer."
	default:
		return head + " has finished:\n\n" + answer
	}
	if answer != "" {
		head += " Its last words:\n\n" + answer
	}
	return head
}

// News is the message about the commands and agents in the background that ended since the model last heard of them;
// none if there is no news.
func (e *Env) News(ctx context.Context) ([]llm.Message, error) {
	var parts []llm.Part
	if e.Mail != nil {
		if text := e.Mail(e.Owner); text != "" {
			parts = append(parts, newsPart(text))
		}
	}
	if e.Peers != nil && e.Owner == "" {
		for _, text := range e.Peers.Letters() {
			parts = append(parts, newsPart(text))
		}
	}
	for _, line := range e.Background.news(e.Owner) {
		parts = append(parts, newsPart(line))
	}
	return newsMessage(append(parts, e.agentsNews(ctx)...)), nil
}

// AwaitNews waits until an agent ends in the background, and reports whether one did before ctx ended.
func (e *Env) AwaitNews(ctx context.Context) bool {
	e.Agents.Await(ctx)
	return ctx.Err() == nil
}

// InFront returns the calls that wait for a command or an agent and could be sent to the background: those of this
// agent.
func (e *Env) InFront() []string {
	return append(e.Agents.Tasks.InFront(), e.Background.Waiting(e.Owner)...)
}

// Detach sends the command or agent of a call to the background; false when no such call waits.
func (e *Env) Detach(call string) bool {
	return e.Agents.Tasks.Detach(call) || e.Background.Detach(call)
}

// agentsNews are the texts about agents.
func (e *Env) agentsNews(ctx context.Context) (parts []llm.Part) {
	if e.Agents == nil {
		return nil
	}
	for _, now := range e.Agents.News() {
		r := agent.TextResult(agentNews(now))
		e.Spill(ctx, llm.ToolCall{Name: TaskName}, r)
		for _, p := range r.Parts {
			if t, ok := p.(llm.Text); ok {
				parts = append(parts, newsPart(t.Text))
			}
		}
	}
	return parts
}

func newsMessage(parts []llm.Part) []llm.Message {
	if len(parts) == 0 {
		return nil
	}
	return []llm.Message{{Role: llm.User, Parts: parts}}
}

func newsPart(text string) llm.Text {
	return llm.Text{Text: "<system-reminder>\n" + text + "\n</system-reminder>", Origin: llm.OriginReminder}
}

// Linger is a hook of agent.Config.BeforeStop: before the turn ends it waits for the agents in the background, at most
// for a time that is negative for no limit, and hands their answers to the model.
func (e *Env) Linger(most time.Duration) agent.BeforeStop {
	return agent.BeforeStop{Name: "background", Run: func(ctx context.Context, _ llm.Message) ([]llm.Message, error) {
		if e.Agents == nil {
			return nil, nil
		}
		if most != 0 {
			if most > 0 {
				var cancel context.CancelCauseFunc
				ctx, cancel = context.WithCancelCause(ctx)
				defer time.AfterFunc(most, func() { cancel(errLingered) }).Stop()
				defer cancel(nil)
			}
			e.Agents.Await(ctx)
		}
		return newsMessage(e.agentsNews(context.WithoutCancel(ctx))), nil
	}}
}

var errLingered = errors.New("the time to wait for agents is over")
