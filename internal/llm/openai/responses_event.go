package openai

import (
	"encoding/json"
	"errors"

	"github.com/lathe-dev/lathe/internal/llm"
)

// responseEvent is one event of a stream of the Responses API.
type responseEvent struct {
	Type     string          `json:"type"`
	Response *response       `json:"response"`
	Index    int             `json:"output_index"`
	Content  int             `json:"content_index"`
	Summary  int             `json:"summary_index"`
	Item     json.RawMessage `json:"item"`
	Delta    json.RawMessage `json:"delta"` // a string in the events that lathe reads
	Input    *string         `json:"input"` // of a call of a custom tool
	Error    json.RawMessage `json:"error"`
}

// response is the state of the whole reply, or a reply that is not a stream.
type response struct {
	ID         string            `json:"id"`
	Model      string            `json:"model"`
	Status     string            `json:"status"`
	Error      json.RawMessage   `json:"error"`
	Output     []json.RawMessage `json:"output"`
	Usage      *responseUsage    `json:"usage"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

// itemOf reads an item. One that lathe does not interpret may have members of any form.
func itemOf(raw json.RawMessage) (responseItem, error) {
	var it responseItem
	err := llm.Unmarshal(raw, &it)
	var form *json.UnmarshalTypeError
	switch it.Type {
	case "function_call", "reasoning", "message", "custom_tool_call", "":
	default:
		if errors.As(err, &form) {
			err = nil
		}
	}
	return it, err
}

// responseItem is one item of the output.
type responseItem struct {
	Type      string            `json:"type"`
	ID        string            `json:"id"`
	CallID    string            `json:"call_id"`
	Name      string            `json:"name"`
	Arguments json.RawMessage   `json:"arguments"` // a string, or, from gateways, the object
	Input     string            `json:"input"`     // of a custom tool, any text
	Phase     json.RawMessage   `json:"phase"`
	Content   []responseContent `json:"content"`
	Summary   []responseContent `json:"summary"`
	Encrypted string            `json:"encrypted_content"`
}

type responseContent struct {
	Type    string `json:"type"` // output_text, refusal, summary_text, reasoning_text
	Text    string `json:"text,omitempty"`
	Refusal string `json:"refusal,omitempty"`

	Annotations []struct { // pages that a text cites
		Type, URL, Title string
	} `json:"annotations,omitempty"`
}

// responseUsage is the server's token counts. Input includes tokens read from the cache.
type responseUsage struct {
	Input        int `json:"input_tokens"`
	Output       int `json:"output_tokens"`
	InputDetails struct {
		Cached int `json:"cached_tokens"`
		Write  int `json:"cache_write_tokens"` // OpenRouter
	} `json:"input_tokens_details"`
	OutputDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`

	Cost        json.RawMessage `json:"cost"` // as in usage
	OwnKey      json.RawMessage `json:"is_byok"`
	CostDetails json.RawMessage `json:"cost_details"`
}

// tokens converts the usage; nil: none was reported.
func (u *responseUsage) tokens() *llm.Usage {
	if u == nil || u.Input+u.Output == 0 {
		return nil
	}
	read := min(u.InputDetails.Cached, u.Input)
	write := min(max(u.InputDetails.Write, 0), u.Input-read)
	return &llm.Usage{
		Input: u.Input - read - write, Output: u.Output, CacheRead: read, CacheWrite: write,
		Reasoning: u.OutputDetails.Reasoning,
		CostUSD:   (&usage{Cost: u.Cost, OwnKey: u.OwnKey, CostDetails: u.CostDetails}).cost(),
	}
}
