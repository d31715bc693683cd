package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// resultStats adds up the figures of the result line: the turn's own, and the conversation's per model.
type resultStats struct {
	info func(model string) llm.ModelInfo

	// of this turn
	answer    string // the text of the newest reply
	messageID string
	usage     llm.Usage // the main agent's
	stop      llm.StopReason
	steps     int
	streaming bool // the newest reply is not whole
	end       *event.TurnEnd
	denials   []denial
	deferred  *deferredUse
	warning   string               // the newest, which says why a hook ended the turn
	early     bool                 // it was deferred before the turn began, as one of the turn before
	eval      []event.EvalComplete // the rounds of the gate
	goal      *event.Goal          // as it is now; nil: it did not change in the turn
	started   time.Time
	first     time.Duration // until the first reply began

	// of the conversation
	models map[string]*modelUsage
	now    map[string]string // the model at work, by agent
	cost   float64
	agents agentStats
}

type denial struct {
	Tool      string          `json:"tool_name"`
	ToolUseID string          `json:"tool_use_id"`
	Input     json.RawMessage `json:"tool_input"`
}

type modelUsage struct {
	Input         int     `json:"inputTokens"`
	Output        int     `json:"outputTokens"`
	CacheRead     int     `json:"cacheReadInputTokens"`
	CacheWrite    int     `json:"cacheCreationInputTokens"`
	Searches      int     `json:"webSearchRequests"`
	CostUSD       float64 `json:"costUSD"`
	ContextWindow int     `json:"contextWindow"`
	MaxOutput     int     `json:"maxOutputTokens"`
	Provider      string  `json:"provider,omitempty"`
}

func newResultStats(info func(string) llm.ModelInfo) *resultStats {
	return &resultStats{info: info, models: map[string]*modelUsage{}, now: map[string]string{}}
}

// reset begins a turn.
func (t *resultStats) reset() {
	t.answer, t.messageID, t.usage, t.stop, t.steps = "", "", llm.Usage{}, "", 0
	t.end, t.denials, t.eval, t.goal, t.first, t.warning = nil, nil, nil, nil, 0, ""
	if !t.early {
		t.deferred = nil
	}
	t.early = false
	t.streaming = false
	t.started = time.Time{}
}

// observe takes an event into account.
func (t *resultStats) observe(e event.Event) {
	main, agent := len(e.Agent) == 0, strings.Join(e.Agent, "\x00")
	switch b := e.Body.(type) {
	case event.TurnStart:
		if main {
			t.reset()
			t.started = e.Time
		} else {
			t.agents.start(e.Agent)
		}
	case event.StepStart:
		t.now[agent] = b.Model
		if main {
			t.steps, t.streaming = b.Step, true
		}
	case event.Delta:
		if _, ok := b.Delta.(llm.Started); ok && main && t.first == 0 {
			t.first = e.Time.Sub(t.started)
		}
	case event.PartDone:
		if text, ok := b.Part.(llm.Text); main {
			t.addText(b.MessageID, text.Text, ok)
		}
	case event.Response:
		if main {
			t.streaming = b.Message.Stop == llm.StopInterrupted
		}
	case event.Notice:
		if main && b.Level == "warning" {
			t.warning = b.Text
		}
	case event.Deferred:
		if t.early = t.started.IsZero() || t.end != nil; t.early || t.deferred == nil {
			t.deferred = &deferredUse{b.Call.ID, b.Call.Name, objectOr(b.Call.Input)}
		}
	case event.Denied:
		if t.deferred == nil || t.deferred.ID != b.Call.ID {
			t.denials = append(t.denials, denial{b.Call.Name, b.Call.ID, objectOr(b.Call.Input)})
		}
	case event.StepEnd:
		t.addStep(agent, b)
	case event.EvalComplete:
		if main {
			t.eval = append(t.eval, b)
		}
	case event.Goal:
		if main {
			t.goal = &b
		}
	case event.SideRequest:
		t.addUsage(b.Model, b.Usage, b.CostUSD)
	case event.TurnEnd:
		if main {
			t.end = &b
		} else {
			t.agents.finish(b.Reason)
		}
	}
}

func (t *resultStats) addText(id, text string, isText bool) {
	if id != t.messageID {
		t.messageID, t.answer = id, ""
	}
	if isText && text != "" {
		if t.answer != "" {
			t.answer += "\n\n"
		}
		t.answer += text
	}
}

func (t *resultStats) addStep(agent string, b event.StepEnd) {
	if agent == "" {
		t.usage = t.usage.Add(b.Usage)
		t.stop = b.Stop
	}
	t.addUsage(t.now[agent], b.Usage, b.CostUSD)
}

// addUsage adds a request to the conversation's figures.
func (t *resultStats) addUsage(name string, u llm.Usage, cost float64) {
	t.cost += cost
	m := t.models[name]
	if m == nil {
		m = &modelUsage{}
		if t.info != nil {
			i := t.info(name)
			m.ContextWindow, m.MaxOutput, m.Provider = i.ContextWindow, i.MaxOutput, i.Provider
		}
		t.models[name] = m
	}
	m.Input += u.Input
	m.Output += u.Output
	m.CacheRead += u.CacheRead
	m.CacheWrite += u.CacheWrite
	m.CostUSD += cost
}

// outcome is how a turn ended, as scripts and the result line see it.
type outcome struct {
	goal       *event.Goal // nil: it did not change
	end        event.TurnEnd
	answer     string
	api        *llm.Error // the model API failed
	err        error      // there was no turn, or it broke
	structured json.RawMessage
	schemaLeft bool // the answer never fitted --json-schema
	limits     limits
}

type limits struct {
	turns  int
	budget float64
}

// outcomeOf joins Prompt's error with the events.
func (t *resultStats) outcomeOf(err error) outcome {
	out := outcome{answer: t.answer, err: err, api: llm.AsError(err)}
	if t.end != nil {
		out.end = *t.end
	} else {
		out.end = event.TurnEnd{Reason: event.EndFailed, Steps: t.steps, Usage: t.usage}
		if err == nil {
			out.err = errors.New("the conversation ended before the turn did")
		}
	}
	return out
}

// subtype is the result line's, in Claude Code's words. A failure of the model API is a "success" whose
// is_error is true.
func (o *outcome) subtype() string {
	switch {
	case o.schemaLeft:
		return "error_max_structured_output_retries"
	case !o.isError(), o.api != nil:
		return "success"
	case o.end.Reason == event.EndMaxSteps:
		return "error_max_turns"
	case o.end.Reason == event.EndBudget:
		return "error_max_budget_usd"
	}
	return "error_during_execution"
}

// done reports whether the turn was completed, or ended by a hook.
func (o *outcome) done() bool {
	return o.end.Reason == event.EndCompleted || o.end.Reason == event.EndStopped
}

func (o *outcome) isError() bool { return o.schemaLeft || !o.done() || o.goal.Unmet() }

// message is the failure in one line, or empty.
func (o *outcome) message() string {
	switch {
	case !o.isError():
		return ""
	case o.schemaLeft:
		return "the model gave no answer that fits the JSON schema; simplify the schema or try another model"
	case o.done():
		return o.goal.String()
	case o.end.Reason == event.EndMaxSteps:
		return fmt.Sprintf("Reached maximum number of turns (%d)", max(o.limits.turns, o.end.Steps))
	case o.end.Reason == event.EndBudget:
		return "Reached maximum budget ($" + strconv.FormatFloat(o.limits.budget, 'f', -1, 64) + ")"
	case o.end.Reason == event.EndInterrupted:
		return "the turn was interrupted"
	case o.end.Reason == event.EndRefused:
		return "the turn ended because a tool call was refused"
	case o.api != nil:
		return o.api.Error()
	case o.end.Err != "":
		return o.end.Err
	case o.err != nil:
		return oneMessage(o.err)
	case o.end.Reason == event.EndDoomLoop:
		return "the model repeated the same call without any progress"
	}
	return "the turn failed"
}

// terminalReason is Claude Code's word for why the loop stopped; "doom_loop" is lathe's.
func (o *outcome) terminalReason(streaming bool) string {
	if o.schemaLeft {
		return "structured_output_retry_exhausted"
	}
	switch o.end.Reason {
	case event.EndCompleted:
		return "completed"
	case event.EndInterrupted:
		if streaming {
			return "aborted_streaming"
		}
		return "aborted_tools"
	case event.EndMaxSteps:
		return "max_turns"
	case event.EndBudget:
		return "budget_exhausted"
	case event.EndDoomLoop:
		return "doom_loop"
	case event.EndStopped:
		return "hook_stopped"
	case event.EndRefused:
		return "aborted_tools"
	}
	switch {
	case o.api != nil && o.api.Kind == llm.KindTooLarge:
		return "prompt_too_long"
	case o.api != nil:
		return "api_error"
	case errors.Is(o.err, ErrNotStarted):
		return "turn_setup_failed"
	}
	return "model_error"
}

// asError is the outcome as an error for the exit code: nil when the work is done.
func (o *outcome) asError() error {
	if !o.isError() {
		return nil
	}
	if e, ok := errors.AsType[*Error](o.err); ok {
		return e // a refusal to start that has its own exit code
	}
	return &Error{Code: exitFailed, Msg: o.message(), Hint: o.hint(), interrupted: o.end.Reason == event.EndInterrupted}
}

// hint is the next move, where the message does not have it.
func (o *outcome) hint() string {
	switch o.end.Reason {
	case event.EndInterrupted:
		return `go on with lathe -c -p "go on"`
	case event.EndMaxSteps:
		return `go on with lathe -c -p "go on", or raise --max-turns`
	case event.EndBudget:
		return `go on with lathe -c -p "go on" --max-budget-usd N, N for the whole session`
	case event.EndDoomLoop:
		return `tell it what to do differently with lathe -c -p "..."`
	case event.EndRefused:
		return "allow the call with --allowedTools or --permission-mode"
	}
	return ""
}
