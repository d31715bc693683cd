package converse

import (
	"encoding/json"

	"github.com/lathe-dev/lathe/internal/llm"
)

// event is the payload of any event; which members it has depends on the event's name.
type event struct {
	Index int        `json:"contentBlockIndex"`
	Start *block     `json:"start"`
	Delta *delta     `json:"delta"`
	Stop  string     `json:"stopReason"`
	Usage *wireUsage `json:"usage"`
}

type delta struct {
	Text      *string         `json:"text"`
	Tool      *toolDelta      `json:"toolUse"`
	Reasoning *reasoningDelta `json:"reasoningContent"`
	Result    json.RawMessage `json:"toolResult"` // of a tool of the server's
}

type toolDelta struct {
	Input string `json:"input"`
}

type reasoningDelta struct {
	Text      string `json:"text"`
	Signature string `json:"signature"`
	Redacted  string `json:"redactedContent"`
}

// block is a content block of a whole reply, or the start of one in a stream.
type block struct {
	Text      *string    `json:"text"`
	Tool      *toolUse   `json:"toolUse"`
	Reasoning *reasoning `json:"reasoningContent"`
	Cited     *struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"citationsContent"`
	Result json.RawMessage `json:"toolResult"`
	Image  json.RawMessage `json:"image"`
}

type toolUse struct {
	ID    string          `json:"toolUseId"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
	Type  string          `json:"type"` // "server_tool_use": the server runs it
}

type reasoning struct {
	Text *struct {
		Text      string `json:"text"`
		Signature string `json:"signature"`
	} `json:"reasoningText"`
	Redacted string `json:"redactedContent"`
}

// whole is a reply that is not a stream.
type whole struct {
	Output *struct {
		Message struct {
			Content []json.RawMessage `json:"content"`
		} `json:"message"`
	} `json:"output"`
	Stop    string     `json:"stopReason"`
	Usage   *wireUsage `json:"usage"`
	Message string     `json:"message"` // of an error
}

// wireUsage is the server's token counts. Input excludes tokens read from the cache and written to it.
type wireUsage struct {
	Input      int `json:"inputTokens"`
	Output     int `json:"outputTokens"`
	CacheRead  int `json:"cacheReadInputTokens"`
	CacheWrite int `json:"cacheWriteInputTokens"`
	Details    []struct {
		TTL    string `json:"ttl"`
		Tokens int    `json:"inputTokens"`
	} `json:"cacheDetails"`
}

func (u *wireUsage) tokens() *llm.Usage {
	if u == nil || u.Input+u.Output+u.CacheRead+u.CacheWrite == 0 {
		return nil
	}
	out := &llm.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
	for _, d := range u.Details {
		if d.TTL == "1h" {
			out.CacheWrite1h += min(d.Tokens, u.CacheWrite)
		}
	}
	return out
}
