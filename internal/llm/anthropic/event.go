package anthropic

import (
	"encoding/json"

	"github.com/lathe-dev/lathe/internal/llm"
)

// event is any event of the stream; unknown members and types are ignored.
type event struct {
	Type    string          `json:"type"`
	Index   int             `json:"index"`
	Message *wireMessage    `json:"message"`
	Block   json.RawMessage `json:"content_block"`
	Delta   *delta          `json:"delta"`
	Usage   *usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type wireMessage struct {
	Type       string            `json:"type"`
	ID         string            `json:"id"`
	Model      string            `json:"model"`
	Content    []json.RawMessage `json:"content"`
	StopReason string            `json:"stop_reason"`
	Usage      *usage            `json:"usage"`
	Error      json.RawMessage   `json:"error"`
}

type delta struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	PartialJSON string `json:"partial_json"`
	Thinking    string `json:"thinking"`
	Signature   string `json:"signature"`
	StopReason  string `json:"stop_reason"`

	Citation json.RawMessage `json:"citation"`
}

// block is the start of a content block.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`

	Citations []json.RawMessage `json:"citations"`
}

// usage has pointers because the numbers of message_delta are running totals, and missing ones stay
// unchanged.
type usage struct {
	Input         *int `json:"input_tokens"`
	Output        *int `json:"output_tokens"`
	CacheRead     *int `json:"cache_read_input_tokens"`
	CacheWrite    *int `json:"cache_creation_input_tokens"`
	CacheCreation *struct {
		Hour *int `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
}

func (u *usage) mergeInto(to *llm.Usage) {
	set := func(dst *int, v *int) {
		if v != nil && *v >= 0 {
			*dst = *v
		}
	}
	set(&to.Input, u.Input)
	set(&to.Output, u.Output)
	set(&to.CacheRead, u.CacheRead)
	set(&to.CacheWrite, u.CacheWrite)
	if u.CacheCreation != nil {
		set(&to.CacheWrite1h, u.CacheCreation.Hour)
	}
}

// stopReasons are those the loop knows; any other counts as "end_turn", or "tool_use" if there are calls.
var stopReasons = map[string]llm.StopReason{
	"end_turn": llm.StopEndTurn, "tool_use": llm.StopToolUse, "max_tokens": llm.StopMaxTokens,
	"stop_sequence": llm.StopSequence, "pause_turn": llm.StopPauseTurn, "refusal": llm.StopRefusal,
	"model_context_window_exceeded": llm.StopContextWindow,
}
