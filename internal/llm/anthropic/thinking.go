package anthropic

import (
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Budgets in tokens by effort, for models that take a budget.
const (
	budgetDefault = 10_000
	budgetMin     = 1_024 // the API's minimum
)

var budgets = map[llm.Effort]int{"low": 4_000, "medium": 10_000, "high": 20_000, "xhigh": 31_999, "max": 31_999}

// thinking is the thinking setting of a request, and the output limit that goes with it.
type thinking struct {
	param      string // value of "thinking", or empty
	effort     llm.Effort
	interleave bool // the beta for thinking between tool calls is needed
	maxTokens  int
}

// thinking depends on the settings alone, never on the history: a change would start another cache. A tool
// loop without thinking (begun by another model) is fine: the API then answers without.
func (m *model) thinking(req *llm.Request) thinking {
	limit := m.outputLimit(req)
	off := req.Effort == "off" || m.p.conf.ThinkingTokens != nil && *m.p.conf.ThinkingTokens <= 0
	switch m.info.Thinking {
	case llm.ThinkingAdaptive:
		if off || forced(req) {
			return thinking{param: m.disabled(), maxTokens: limit}
		}
		// Newer models hide their thinking unless asked for a summary.
		return thinking{
			param: `{"type":"adaptive","display":"summarized"}`, effort: m.info.FitEffort(req.Effort),
			maxTokens: limit,
		}
	case llm.ThinkingBudget:
		if !off && !forced(req) {
			return m.budget(req.Effort, limit)
		}
	}
	return thinking{maxTokens: limit}
}

// outputLimit returns the request's limit, or the default, at most the model's.
func (m *model) outputLimit(req *llm.Request) int {
	limit := req.MaxTokens
	switch {
	case limit > 0:
	case m.info.Known:
		limit = llm.DefaultMaxTokens
	default:
		limit = llm.UnknownMaxTokens
	}
	if m.info.MaxOutput > 0 {
		limit = min(limit, m.info.MaxOutput)
	}
	return limit
}

// budget sets a budget and raises the limit above it, since the requested limit is meant for the answer.
func (m *model) budget(e llm.Effort, limit int) thinking {
	budget := budgetDefault
	if b := budgets[e]; b > 0 {
		budget = b
	}
	if fixed := m.p.conf.ThinkingTokens; fixed != nil {
		budget = max(*fixed, budgetMin)
	}
	total := limit
	if total <= budget || limit >= llm.DefaultMaxTokens {
		total = max(total, budget+min(limit, llm.UnknownMaxTokens))
		if m.info.MaxOutput > 0 {
			total = min(total, m.info.MaxOutput)
		}
		budget = min(budget, total-min(limit, budgetMin))
	}
	if budget < budgetMin {
		return thinking{maxTokens: limit}
	}
	return thinking{
		param:      `{"type":"enabled","budget_tokens":` + strconv.Itoa(budget) + `}`,
		interleave: m.interleaves(),
		maxTokens:  total,
	}
}

// interleaves is false for Haiku and models before Claude 4.
func (m *model) interleaves() bool {
	id := m.info.ID
	return !m.p.conf.NoInterleaving && !strings.Contains(id, "haiku") && !strings.Contains(id, "claude-3")
}

// disabled returns the value that turns adaptive thinking off: Claude 5 thinks by default, and Fable and
// Mythos always do.
func (m *model) disabled() string {
	id := m.info.ID
	if strings.Contains(id, "claude-4") || strings.Contains(id, "-4-") || strings.Contains(id, "-4.") ||
		strings.Contains(id, "fable") || strings.Contains(id, "mythos") {
		return ""
	}
	return `{"type":"disabled"}`
}

// forced: the API refuses a forced tool while the model thinks.
func forced(req *llm.Request) bool {
	return len(req.Tools) > 0 && req.ToolChoice != "" && req.ToolChoice != "auto" && req.ToolChoice != "none"
}
