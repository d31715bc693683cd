package provider

import (
	"net/url"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/llm"
)

// host is an API that lathe knows by name. The settings may override any field (providers.<name>).
type host struct {
	name  string
	wire  string   // see wires
	base  string   // base URL; "" where each user has one of their own
	keys  []string // variables that hold the key; package config maps them to providers.<name>.apiKey
	model string   // the default
	small string   // for small work; "" means the conversation's model

	local     bool   // runs on the user's machine and needs no key
	named     bool   // used only if the settings name it: other programs use its key variable, too
	keyHeader string // header that takes the key besides Authorization
}

// hosts is the table of known hosts. Sources: the hosts' API references, and models.dev for variables and models.
var hosts = []host{
	{name: "anthropic", wire: "anthropic", base: "https://api.anthropic.com", keys: []string{"ANTHROPIC_API_KEY"}, model: llm.DefaultModel, small: llm.DefaultSmallModel},
	{name: "openai", wire: "openai", base: "https://api.openai.com/v1", keys: []string{"OPENAI_API_KEY"}, small: "gpt-5-mini"},
	{name: "openrouter", wire: "openai", base: "https://openrouter.ai/api/v1", keys: []string{"OPENROUTER_API_KEY"}, model: "anthropic/claude-sonnet-4.6", small: "anthropic/claude-haiku-4.5"},
	{name: "gemini", wire: "openai", base: "https://generativelanguage.googleapis.com/v1beta/openai", keys: []string{"GEMINI_API_KEY"}, model: "gemini-3.1-pro-preview", small: "gemini-3.1-flash-lite"},
	{name: "groq", wire: "openai", base: "https://api.groq.com/openai/v1", keys: []string{"GROQ_API_KEY"}, model: "openai/gpt-oss-120b", small: "openai/gpt-oss-20b"},
	{name: "xai", wire: "openai", base: "https://api.x.ai/v1", keys: []string{"XAI_API_KEY"}, model: "grok-4.3", small: "grok-4-1-fast"},
	{name: "deepseek", wire: "openai", base: "https://api.deepseek.com", keys: []string{"DEEPSEEK_API_KEY"}, model: "deepseek-v4-pro", small: "deepseek-v4-flash"},
	{name: "mistral", wire: "openai", base: "https://api.mistral.ai/v1", keys: []string{"MISTRAL_API_KEY"}, model: "mistral-medium-latest", small: "mistral-small-latest"},
	{name: "together", wire: "openai", base: "https://api.together.xyz/v1", keys: []string{"TOGETHER_API_KEY"}, model: "moonshotai/Kimi-K2.6"},
	{name: "fireworks", wire: "openai", base: "https://api.fireworks.ai/inference/v1", keys: []string{"FIREWORKS_API_KEY"}, model: "accounts/fireworks/models/kimi-k2p6"},
	{name: "cerebras", wire: "openai", base: "https://api.cerebras.ai/v1", keys: []string{"CEREBRAS_API_KEY"}, model: "zai-glm-4.7", small: "gpt-oss-120b"},
	{name: "vercel", wire: "openai", base: "https://ai-gateway.vercel.sh/v1", keys: []string{"AI_GATEWAY_API_KEY"}, model: "anthropic/claude-sonnet-4.5", small: "anthropic/claude-haiku-4.5"},
	{name: "github-models", wire: "openai", base: "https://models.github.ai/inference/chat/completions", keys: []string{"GITHUB_TOKEN"}, model: "openai/gpt-4.1", small: "openai/gpt-4.1-mini", named: true},
	{name: "azure", wire: "openai", keys: []string{"AZURE_OPENAI_API_KEY"}, keyHeader: "Api-Key", named: true},
	{name: "ollama", wire: "openai", base: "http://localhost:11434/v1", local: true},
	{name: "lmstudio", wire: "openai", base: "http://localhost:1234/v1", local: true},
}

// hostOf returns the row of a provider; an unknown one speaks Anthropic's API unless the settings say
// otherwise.
func hostOf(name string) (h host, known bool) {
	if i := slices.IndexFunc(hosts, func(h host) bool { return h.name == name }); i >= 0 {
		return hosts[i], true
	}
	return host{name: name, wire: "anthropic"}, false
}

// hostNames lists the known hosts in the order of the table.
func hostNames() []string {
	var out []string
	for _, h := range hosts {
		out = append(out, h.name)
	}
	return out
}

// wireOf returns the API that a provider speaks.
func wireOf(name string, p config.Provider) string {
	if p.Type != "" {
		return p.Type
	}
	h, _ := hostOf(name)
	return h.wire
}

// baseOf returns the base URL of a provider.
func baseOf(name string, p config.Provider) string {
	if p.APIBase != "" {
		return p.APIBase
	}
	h, _ := hostOf(name)
	return h.base
}

// ownHost reports whether a provider's address is the known host of that name. A gateway in its place may
// read model ids in its own way.
func ownHost(name string, p config.Provider) bool {
	h, known := hostOf(name)
	return !known || p.APIBase == "" || h.base != "" && sameHost(p.APIBase, h.base) || h.local || h.base == ""
}

func sameHost(a, b string) bool {
	u, errA := url.Parse(a)
	v, errB := url.Parse(b)
	return errA == nil && errB == nil && strings.EqualFold(u.Hostname(), v.Hostname())
}

// keyPlace names where to set a provider's key, for hints: the variable of a known host, else the setting.
func keyPlace(name string) string {
	if h, _ := hostOf(name); len(h.keys) > 0 {
		return h.keys[0]
	}
	return "providers." + name + ".apiKey"
}

// basePlace names where to set its address.
func basePlace(name string) string {
	if name == "anthropic" || name == "openai" {
		return strings.ToUpper(name) + "_BASE_URL"
	}
	return "providers." + name + ".apiBase"
}
