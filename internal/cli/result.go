package cli

import (
	"encoding/json"
	"math"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// resultLine closes a turn. The order of its fields is Claude Code's.
type resultLine struct {
	Type       string                 `json:"type"`
	Subtype    string                 `json:"subtype"`
	IsError    bool                   `json:"is_error"`
	APIStatus  *int                   `json:"api_error_status,omitempty"`
	Duration   int64                  `json:"duration_ms"`
	API        int64                  `json:"duration_api_ms"`
	TTFT       int64                  `json:"ttft_ms,omitempty"`
	Turns      int                    `json:"num_turns"`
	Result     *string                `json:"result,omitempty"`
	Stop       *string                `json:"stop_reason"`
	Session    string                 `json:"session_id"`
	Cost       float64                `json:"total_cost_usd"`
	Usage      wireUsage              `json:"usage"`
	Models     map[string]*modelUsage `json:"modelUsage"`
	Agents     *agentStats            `json:"subagent_stats,omitempty"`
	Denials    []denial               `json:"permission_denials"`
	Structured json.RawMessage        `json:"structured_output,omitempty"`
	Eval       []event.EvalComplete   `json:"eval,omitempty"`
	Goal       *event.Goal            `json:"goal,omitempty"`
	Terminal   string                 `json:"terminal_reason,omitempty"`
	Deferred   *deferredUse           `json:"deferred_tool_use,omitempty"`
	Errors     []string               `json:"errors,omitempty"`
	UUID       string                 `json:"uuid"`
}

func (r *resultLine) stamp(uuid, session string) { r.UUID, r.Session = uuid, session }

// deferredUse is a call that a hook put off until the session is resumed.
type deferredUse struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// result builds the line.
func (t *resultStats) result(o *outcome) *resultLine {
	r := &resultLine{
		Type: "result", Subtype: o.subtype(), IsError: o.isError(),
		Duration: ms(o.end.Duration), API: ms(o.end.APITime), TTFT: ms(t.first),
		Turns: max(o.end.Steps, t.steps), Cost: cents(t.cost), Usage: usageOf(t.usage), Models: t.modelUsage(),
		Agents:  t.agents.total(),
		Denials: t.denials, Eval: t.eval, Goal: t.goal, Structured: o.structured, Terminal: o.terminalReason(t.streaming),
	}
	r.Usage.ServerTool, r.Usage.Tier = &wireServer{}, "standard"
	if r.Denials == nil {
		r.Denials = []denial{}
	}
	r.Stop = wireStop(t.stop)
	if r.Deferred = t.deferred; r.Deferred != nil {
		word := "tool_deferred"
		r.Stop, r.Terminal = &word, word
	}
	if o.api != nil && o.api.Status != 0 {
		r.APIStatus = &o.api.Status
	}
	switch text := o.message(); {
	case r.Subtype != "success":
		r.Errors = []string{text}
	case r.IsError:
		r.Result = &text
	default:
		answer := o.text()
		if answer == "" && o.end.Reason == event.EndStopped {
			answer = t.warning
		}
		r.Result = &answer
	}
	return r
}

// text is the answer: the text of the last reply, or the structured output.
func (o *outcome) text() string {
	if o.structured != nil {
		return string(o.structured)
	}
	return o.answer
}

func ms(d time.Duration) int64 { return d.Milliseconds() }

// errorName is a failure's kind in the closed list of the SDK's types.
func errorName(k llm.ErrorKind) string {
	switch k {
	case llm.KindAuth, llm.KindPermission:
		return "authentication_failed"
	case llm.KindBilling:
		return "billing_error"
	case llm.KindRateLimit:
		return "rate_limit"
	case llm.KindOverloaded:
		return "overloaded"
	case llm.KindInvalid, llm.KindTooLarge, llm.KindImage:
		return "invalid_request"
	case llm.KindNotFound:
		return "model_not_found"
	case llm.KindServer:
		return "server_error"
	}
	return "unknown"
}

// cents drops the noise of binary fractions: a price has at most ten decimals.
func cents(usd float64) float64 { return math.Round(usd*1e10) / 1e10 }

func (t *resultStats) modelUsage() map[string]*modelUsage {
	out := make(map[string]*modelUsage, len(t.models))
	for name, m := range t.models {
		c := *m
		c.CostUSD = cents(c.CostUSD)
		out[name] = &c
	}
	return out
}
