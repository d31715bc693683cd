package openai

import (
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Traits are the peculiarities of a host and a family of models. The zero value suits an unknown server.
type Traits struct {
	// OpenAI marks OpenAI's own server: developer messages for reasoning models, prompt_cache_key, files.
	OpenAI bool
	// Reasoning says which reasoning is sent back in reasoning_content.
	Reasoning ReasoningBack
	// NoStreamOptions leaves out stream_options, for servers that refuse it (they send usage anyway).
	NoStreamOptions bool
	// ShortIDs makes call ids of nine letters and digits, the only ones Mistral accepts.
	ShortIDs bool
	// Files lets documents other than images be sent.
	Files bool
	// MaxCompletion sends max_completion_tokens for every model.
	MaxCompletion bool
	// MaxTokens sends max_tokens for every model: the host translates it.
	MaxTokens bool
	// EndsWithDone: the server ends each stream with [DONE], so one without it was cut.
	EndsWithDone bool
	// Bridge puts a short reply between results and a user message, which may not follow each other.
	Bridge bool
	// Effort is the form of the parameter for reasoning.
	Effort EffortForm
	// CacheMarks puts cache_control on the system prompt and on the last message.
	CacheMarks bool
	// Both: the host has the Responses API, too, and models that only that one takes.
	Both bool
	// MaxDescription is the longest description of a tool in bytes; 0: no limit.
	MaxDescription int
}

// ReasoningBack says which assistant messages keep their reasoning.
type ReasoningBack int

// By default none do. KeepWithCalls is for models that think between calls; it covers the messages of tool loops and
// not final answers, in every request alike, which keeps the prefix stable; messages with calls and without reasoning
// get an empty one. KeepAlways is for DeepSeek, which otherwise refuses a conversation with calls (thinking mode
// guide) and ignores the rest.
const (
	KeepNone ReasoningBack = iota
	KeepWithCalls
	KeepAlways
)

// EffortForm is the way to say how hard a model should think.
type EffortForm int

// EffortLevel is reasoning_effort. EffortObject is OpenRouter's object reasoning. EffortSwitch is an object thinking
// that is enabled or disabled.
const (
	EffortLevel EffortForm = iota
	EffortObject
	EffortSwitch
)

// quirk is one row: what a host, or a family of models on it, does differently. Empty host and family match all; family
// is the beginning of a model's id without vendors.
type quirk struct {
	host, family string
	set          func(*Traits)
}

// quirks are applied from the top. Sources: the hosts' API references; DeepSeek's thinking mode guide; OpenRouter's
// pages on reasoning and prompt caching; Vercel's and LiteLLM's pages on prompt caching; Moonshot's guide to
// kimi-k2-thinking; Z.ai's guide to thinking mode; Mistral's refusals ("Unexpected role 'user' after role 'tool'").
var quirks = []quirk{
	{"", "deepseek-v4", func(t *Traits) { t.Reasoning = KeepAlways }},
	{"", "deepseek-v3.2", func(t *Traits) { t.Reasoning = KeepWithCalls }},
	{"", "deepseek-reasoner", func(t *Traits) { t.Reasoning = KeepAlways }},
	{"", "kimi-k2", func(t *Traits) { t.Reasoning = KeepWithCalls }},
	{"", "glm-", func(t *Traits) { t.Reasoning = KeepWithCalls }},
	{"", "minimax-", func(t *Traits) { t.Reasoning = KeepWithCalls }},
	{"openai", "", func(t *Traits) {
		t.OpenAI, t.Files, t.MaxCompletion, t.EndsWithDone, t.Both = true, true, true, true, true
	}},
	{"azure", "", func(t *Traits) { t.MaxCompletion, t.MaxDescription, t.Both = true, 1024, true }},
	{"github-copilot", "", func(t *Traits) { t.Both = true }},
	{"deepseek", "", func(t *Traits) { t.Reasoning, t.EndsWithDone, t.Effort = KeepAlways, true, EffortSwitch }},
	{"moonshotai", "", func(t *Traits) { t.Reasoning, t.EndsWithDone, t.Effort = KeepWithCalls, true, EffortSwitch }},
	{"zai", "", func(t *Traits) { t.Reasoning, t.EndsWithDone, t.Effort = KeepWithCalls, true, EffortSwitch }},
	{"minimax", "", func(t *Traits) { t.Reasoning = KeepWithCalls }},
	{"alibaba", "", func(t *Traits) { t.Reasoning = KeepWithCalls }},
	{"mistral", "", func(t *Traits) { t.NoStreamOptions, t.ShortIDs, t.Bridge, t.Reasoning = true, true, true, KeepNone }},
	{"groq", "", func(t *Traits) { t.EndsWithDone, t.Reasoning = true, KeepNone }},
	{"togetherai", "", func(t *Traits) { t.EndsWithDone = true }},
	{"openrouter", "", func(t *Traits) {
		t.Files, t.EndsWithDone, t.Effort, t.Reasoning = true, true, EffortObject,
			KeepNone
	}},
	{"openrouter", "", func(t *Traits) { t.MaxTokens = true }},
	{"vercel", "", func(t *Traits) { t.MaxTokens = true }},
	{"", "claude-", func(t *Traits) { t.CacheMarks = true }}, // gateways pass them on to Anthropic
	{"github-copilot", "claude-", func(t *Traits) { t.CacheMarks = false }},
}

// TraitsOf returns the traits of a model at a host, by the host's name in the catalogue (llm.CatalogueHost).
func TraitsOf(host, model string) Traits {
	var t Traits
	id := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	for _, q := range quirks {
		if (q.host == "" || q.host == host) && strings.HasPrefix(id, q.family) {
			q.set(&t)
		}
	}
	return t
}

// reasons reports whether the model is one of OpenAI's reasoning models, on any host.
func reasons(id string) bool {
	id = id[strings.LastIndexByte(id, '/')+1:]
	if strings.HasPrefix(id, "gpt-5-chat") || strings.HasPrefix(id, "gpt-5.3-chat") {
		return false
	}
	return strings.HasPrefix(id, "gpt-5") || strings.HasPrefix(id, "codex-") || len(id) > 1 && id[0] == 'o' &&
		id[1] >= '1' && id[1] <= '9'
}

// responsesOnly reports whether only the Responses API takes a model of OpenAI's (models page, "Endpoints"). From
// GPT-5.4 on, tools with an effort are refused on Chat Completions.
func responsesOnly(id string) bool {
	id = id[strings.LastIndexByte(id, '/')+1:]
	if !reasons(id) {
		return false
	}
	v, newer := strings.CutPrefix(id, "gpt-5.")
	return strings.Contains(id, "codex") || strings.Contains(id, "-pro") || strings.Contains(id, "deep-research") ||
		newer && len(v) > 0 && v[0] >= '4' && v[0] <= '9'
}

// effort returns the value of reasoning_effort, or "".
func (m *model) effort(want llm.Effort) string {
	if len(m.info.Efforts) == 0 {
		return ""
	}
	if want != "off" {
		return string(m.info.FitEffort(want))
	}
	id := m.like[strings.LastIndexByte(m.like, '/')+1:]
	switch {
	case strings.HasPrefix(id, "grok-4.3"):
		return "none"
	case strings.Contains(id, "-codex"), strings.Contains(id, "-pro"), !strings.HasPrefix(id, "gpt-5"):
		return string(m.info.Efforts[0]) // these always think
	case strings.HasPrefix(id, "gpt-5."):
		return "none"
	}
	return "minimal"
}

// appendEffort writes the parameter for reasoning in the form of the host.
func (m *model) appendEffort(b []byte, want llm.Effort) []byte {
	switch form := m.traits.Effort; {
	case form == EffortSwitch && want != "" && m.info.Thinking != llm.ThinkingNone:
		state := "enabled"
		if want == "off" {
			state = "disabled"
		}
		return append(append(append(b, `,"thinking":{"type":"`...), state...), `"}`...)
	case form == EffortObject && want == "off" && m.info.Thinking != llm.ThinkingNone && !reasons(m.like):
		return append(b, `,"reasoning":{"enabled":false}`...)
	case form == EffortObject:
		if e := m.effort(want); e != "" {
			return append(llm.AppendQuoted(append(b, `,"reasoning":{"effort":`...), e), '}')
		}
		return b
	}
	if e := m.effort(want); e != "" {
		b = llm.AppendQuoted(append(b, `,"reasoning_effort":`...), e)
	}
	return b
}
