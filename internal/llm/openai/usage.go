package openai

import (
	"encoding/json"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// usage is the server's token counts. Prompt includes tokens read from the cache.
type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Cached     int `json:"cached_tokens"`           // Together, Moonshot
	CacheHit   int `json:"prompt_cache_hit_tokens"` // DeepSeek
	Details    struct {
		Cached int `json:"cached_tokens"`
		Write  int `json:"cache_write_tokens"` // OpenRouter
	} `json:"prompt_tokens_details"`
	Output struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`

	// OpenRouter (its page on usage accounting). With the user's own key for the upstream host, Cost is only
	// OpenRouter's share, and the upstream cost is in the details. Raw, since other servers may use any type.
	Cost        json.RawMessage `json:"cost"`
	Ticks       json.RawMessage `json:"cost_in_usd_ticks"` // xAI, 10^-10 dollars
	OwnKey      json.RawMessage `json:"is_byok"`
	CostDetails json.RawMessage `json:"cost_details"`
}

// cost returns the cost in US dollars that the server reported, or nil.
func (u *usage) cost() *float64 {
	cost := dollars(u.Cost, 1)
	if ticks := dollars(u.Ticks, 1e-10); ticks != nil {
		return ticks
	}
	if cost == nil {
		return nil
	}
	if string(u.OwnKey) != "true" {
		return cost
	}
	var details struct {
		Upstream *float64 `json:"upstream_inference_cost"`
	}
	if json.Unmarshal(u.CostDetails, &details) != nil || details.Upstream == nil {
		return nil
	}
	sum := *cost + *details.Upstream
	return &sum
}

// dollars reads an amount, a number or, at Vercel, its text; nil: there is none.
func dollars(raw json.RawMessage, unit float64) *float64 {
	var v float64
	text := strings.Trim(string(raw), `"`)
	if text == "" || text == "null" || json.Unmarshal([]byte(text), &v) != nil || v < 0 {
		return nil
	}
	v *= unit
	return &v
}

// tokens converts the usage.
func (u *usage) tokens() llm.Usage {
	if u == nil {
		return llm.Usage{}
	}
	read := min(max(u.Details.Cached, u.Cached, u.CacheHit), u.Prompt)
	write := min(max(u.Details.Write, 0), u.Prompt-read)
	out := llm.Usage{
		Input: u.Prompt - read - write, Output: u.Completion, CacheRead: read, CacheWrite: write,
		Reasoning: u.Output.Reasoning, CostUSD: u.cost(),
	}
	if r := u.Output.Reasoning; r > 0 && (u.Total == u.Prompt+u.Completion+r || r > u.Completion) {
		out.Output += r // xAI and Vercel count reasoning separately from the completion
	}
	return out
}
