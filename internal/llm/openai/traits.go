package openai

import (
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Traits are the differences between servers.
type Traits struct {
	// OpenAI marks OpenAI's own server: developer messages for reasoning models, max_completion_tokens for
	// all, prompt_cache_key, files.
	OpenAI bool
	// Reasoning says which reasoning is sent back in reasoning_content.
	Reasoning ReasoningBack
	// NoStreamOptions leaves out stream_options, for servers that refuse it (they send usage anyway).
	NoStreamOptions bool
	// ShortIDs makes call ids of nine letters and digits, the only ones Mistral accepts.
	ShortIDs bool
	// Files lets documents other than images be sent.
	Files bool
}

// ReasoningBack says which assistant messages keep their reasoning.
type ReasoningBack int

// By default none do. KeepWithCalls is for servers whose models think between calls; it covers the messages
// of tool loops and not final answers, in every request alike, which keeps the prefix stable. KeepAlways is
// for DeepSeek, which otherwise refuses a conversation with calls (thinking mode guide) and ignores the rest;
// messages without reasoning then get an empty one.
const (
	KeepNone ReasoningBack = iota
	KeepWithCalls
	KeepAlways
)

// TraitsOf returns the traits of a host by its name in the catalogue (llm.CatalogueHost); an unknown host has
// none.
func TraitsOf(host string) Traits {
	switch host {
	case chatWire:
		return Traits{OpenAI: true, Files: true}
	case "deepseek":
		return Traits{Reasoning: KeepAlways}
	case "moonshotai", "zai", "minimax", "alibaba":
		return Traits{Reasoning: KeepWithCalls}
	case "mistral":
		return Traits{NoStreamOptions: true, ShortIDs: true}
	case "openrouter":
		return Traits{Files: true}
	}
	return Traits{}
}

// reasons reports whether the model is one of OpenAI's reasoning models, on any host.
func reasons(id string) bool {
	id = id[strings.LastIndexByte(id, '/')+1:]
	return strings.HasPrefix(id, "gpt-5") || len(id) > 1 && id[0] == 'o' && id[1] >= '1' && id[1] <= '9'
}

// effort returns the value of reasoning_effort, or "".
func effort(info *llm.ModelInfo, want llm.Effort) string {
	if len(info.Efforts) == 0 {
		return ""
	}
	if want != "off" {
		return string(info.FitEffort(want))
	}
	id := info.ID[strings.LastIndexByte(info.ID, '/')+1:]
	switch {
	case strings.Contains(id, "-codex"), strings.Contains(id, "-pro"), !strings.HasPrefix(id, "gpt-5"):
		return string(info.Efforts[0]) // these always think
	case strings.HasPrefix(id, "gpt-5."):
		return "none"
	}
	return "minimal"
}
