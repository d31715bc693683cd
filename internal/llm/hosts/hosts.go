// Package hosts is the table of the model APIs that lathe knows by name: the wire that each speaks, its address, its
// environment variables, its models, and how a person gets a key.
//
// A host is one row of [Table]; settings, the choice of a provider, the set-up, hints and documentation follow from it.
// The settings may override every field (providers.<name>) and add hosts of their own.
package hosts

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Host is a model API.
type Host struct {
	Name  string
	Wire  string // "anthropic", "openai" or "responses", see package provider
	Own   string // the wire at Base itself, where servers that take its place speak another; "" means Wire
	Base  string // base URL; "" if each user has their own
	Vars  []Var  // the environment variables that configure it, the key's first
	Model string // the default; "" means that one must be chosen
	Small string // for small work; "" means the conversation's model

	Local     bool   // runs on the user's machine and needs no key
	Named     bool   // used only if the settings name it, since other programs use its key variable too
	KeyHeader string // header that carries the key in addition to Authorization
	// Switch is a variable that chooses the host ("1"). Its credentials are those of the cloud, not a key.
	Switch string
	// Device: a person logs in by a code that is typed at the host's page.
	Device bool

	// Preferred hosts are chosen before others that have a key. Family is a substring of the model ids that this host
	// serves: a model outside the family goes to another preferred host with a key, if there is one.
	Preferred bool
	Family    string
	// AnyServer: most self-hosted servers speak its wire, so a bare --api-base goes to it.
	AnyServer bool
	// KeyHelper: apiKeyHelper prints its key, unless the settings choose another provider.
	KeyHelper bool

	Login *Login // how the set-up offers it; nil: it does not
}

// Var is an environment variable and the setting of the provider that it sets, such as apiKey.
type Var struct{ Name, Setting string }

// Login is how a person starts to use a host.
type Login struct {
	Title   string // "Anthropic (Claude)"
	Page    string // where keys are made
	KeyForm string // how a key begins: "sk-ant-..."
	Use     string // the hint beside its variable: "use Claude"
	Line    string // model line whose newest model is proposed if the host has no default: "gpt-"
	// Server is the title under which a self-hosted server is offered; ServerBase is its usual address.
	Server, ServerBase string
}

// Table lists the hosts in the order in which they are offered. Sources: the hosts' API references, and models.dev for
// variables and models. Only tests change it.
var Table = []Host{
	{
		Name: "anthropic", Wire: "anthropic", Base: "https://api.anthropic.com", Model: llm.DefaultModel,
		Small: llm.DefaultSmallModel,
		Vars: []Var{
			{"ANTHROPIC_API_KEY", "apiKey"},
			{"ANTHROPIC_AUTH_TOKEN", "authToken"},
			{"ANTHROPIC_BASE_URL", "apiBase"},
			{"ANTHROPIC_CUSTOM_HEADERS", "headers"},
			{"ANTHROPIC_BETAS", "betas"},
		},
		Preferred: true, Family: "claude", KeyHelper: true,
		Login: &Login{
			Title: "Anthropic (Claude)", Page: "https://console.anthropic.com/settings/keys", KeyForm: "sk-ant-...",
			Use: "use Claude (or ANTHROPIC_BASE_URL with any server that speaks its API)",
		},
	},
	{
		Name: "openai", Wire: "openai", Own: "responses", Base: "https://api.openai.com/v1", Small: "gpt-5-mini",
		Vars:      []Var{{"OPENAI_API_KEY", "apiKey"}, {"OPENAI_BASE_URL", "apiBase"}},
		Preferred: true, AnyServer: true,
		Login: &Login{
			Title: "OpenAI", Page: "https://platform.openai.com/api-keys", KeyForm: "sk-...", Line: "gpt-",
			Use:    "use OpenAI, or OPENAI_BASE_URL=http://localhost:11434/v1 for a local server",
			Server: "Another server that speaks OpenAI's API (Ollama, vLLM, a gateway)", ServerBase: "http://localhost:11434/v1",
		},
	},
	{
		Name: "openrouter", Wire: "openai", Base: "https://openrouter.ai/api/v1", Vars: key("OPENROUTER_API_KEY"),
		Model: "anthropic/claude-sonnet-4.6", Small: "anthropic/claude-haiku-4.5",
	},
	{
		Name: "google", Wire: "google", Base: "https://generativelanguage.googleapis.com/v1beta",
		Model: "gemini-3.1-pro-preview", Small: "gemini-3.1-flash-lite",
		Vars: []Var{{"GEMINI_API_KEY", "apiKey"}, {"GOOGLE_API_KEY", "apiKey"}, {"GOOGLE_GEMINI_BASE_URL", "apiBase"}},
	},
	{
		Name: "gemini", Wire: "openai", Named: true, Base: "https://generativelanguage.googleapis.com/v1beta/openai",
		Vars: key("GEMINI_API_KEY"), Model: "gemini-3.1-pro-preview", Small: "gemini-3.1-flash-lite",
	},
	{
		Name: "groq", Wire: "openai", Base: "https://api.groq.com/openai/v1", Vars: key("GROQ_API_KEY"),
		Model: "openai/gpt-oss-120b", Small: "openai/gpt-oss-20b",
	},
	{
		Name: "xai", Wire: "openai", Base: "https://api.x.ai/v1", Vars: key("XAI_API_KEY"), Model: "grok-4.3",
		Small: "grok-4-1-fast",
	},
	{
		Name: "deepseek", Wire: "openai", Base: "https://api.deepseek.com", Vars: key("DEEPSEEK_API_KEY"),
		Model: "deepseek-v4-pro", Small: "deepseek-v4-flash",
	},
	{
		Name: "mistral", Wire: "openai", Base: "https://api.mistral.ai/v1", Vars: key("MISTRAL_API_KEY"),
		Model: "mistral-medium-latest", Small: "mistral-small-latest",
	},
	{
		Name: "together", Wire: "openai", Base: "https://api.together.xyz/v1", Vars: key("TOGETHER_API_KEY"),
		Model: "moonshotai/Kimi-K2.6",
	},
	{
		Name: "fireworks", Wire: "openai", Base: "https://api.fireworks.ai/inference/v1", Vars: key("FIREWORKS_API_KEY"),
		Model: "accounts/fireworks/models/kimi-k2p6",
	},
	{
		Name: "cerebras", Wire: "openai", Base: "https://api.cerebras.ai/v1", Vars: key("CEREBRAS_API_KEY"),
		Model: "zai-glm-4.7", Small: "gpt-oss-120b",
	},
	{
		Name: "vercel", Wire: "openai", Base: "https://ai-gateway.vercel.sh/v1", Vars: key("AI_GATEWAY_API_KEY"),
		Model: "anthropic/claude-sonnet-4.5", Small: "anthropic/claude-haiku-4.5",
	},
	{
		Name: "github-models", Wire: "openai", Base: "https://models.github.ai/inference/chat/completions",
		Vars: key("GITHUB_TOKEN"), Model: "openai/gpt-4.1", Small: "openai/gpt-4.1-mini", Named: true,
	},
	{
		Name: "github-copilot", Wire: "openai", Device: true, Base: "https://api.githubcopilot.com", Model: "gpt-5.2",
		Small: "gpt-5-mini",
	},
	{
		Name: "bedrock", Wire: "bedrock", Switch: "CLAUDE_CODE_USE_BEDROCK", Model: "claude-sonnet-4-6",
		Small: "claude-haiku-4-5",
		Vars:  []Var{{"AWS_BEARER_TOKEN_BEDROCK", "apiKey"}, {"ANTHROPIC_BEDROCK_BASE_URL", "apiBase"}},
	},
	{
		Name: "vertex", Wire: "vertex", Switch: "CLAUDE_CODE_USE_VERTEX", Model: "claude-sonnet-4-6",
		Small: "claude-haiku-4-5",
		Vars:  []Var{{"ANTHROPIC_VERTEX_BASE_URL", "apiBase"}},
	},
	{
		Name: "azure", Wire: "openai", KeyHeader: "Api-Key", Named: true,
		Vars: []Var{
			{"AZURE_OPENAI_API_KEY", "apiKey"},
			{"AZURE_OPENAI_ENDPOINT", "apiBase"},
			{"AZURE_OPENAI_API_VERSION", "apiVersion"},
		},
	},
	{
		Name: "moonshotai", Wire: "openai", Base: "https://api.moonshot.ai/v1", Vars: key("MOONSHOT_API_KEY"),
		Model: "kimi-k2.6",
	},
	{Name: "zai", Wire: "openai", Base: "https://api.z.ai/api/paas/v4", Vars: []Var{
		{"ZAI_API_KEY", "apiKey"},
		{"ZHIPU_API_KEY", "apiKey"},
	}, Model: "glm-5.1", Small: "glm-4.7"},
	{
		Name: "huggingface", Wire: "openai", Base: "https://router.huggingface.co/v1", Vars: key("HF_TOKEN"),
		Model: "moonshotai/Kimi-K2.5", Named: true,
	},
	{Name: "litellm", Wire: "openai", Base: "http://localhost:4000/v1", Vars: []Var{
		{"LITELLM_API_KEY", "apiKey"},
		{"LITELLM_BASE_URL", "apiBase"},
	}, Local: true},
	{Name: "llamacpp", Wire: "openai", Base: "http://localhost:8080/v1", Local: true},
	{Name: "vllm", Wire: "openai", Base: "http://localhost:8000/v1", Vars: []Var{
		{"VLLM_API_KEY", "apiKey"},
		{"VLLM_BASE_URL", "apiBase"},
	}, Local: true},
	// found without configuration, also at OLLAMA_HOST
	{Name: "ollama", Wire: "openai", Base: "http://localhost:11434/v1", Local: true},
	{Name: "lmstudio", Wire: "openai", Base: "http://localhost:1234/v1", Local: true},
}

func key(name string) []Var { return []Var{{name, "apiKey"}} }

// Named returns the row of a name.
func Named(name string) (h Host, ok bool) {
	if i := slices.IndexFunc(Table, func(h Host) bool { return h.Name == name }); i >= 0 {
		return Table[i], true
	}
	return Host{}, false
}

// Names lists the known hosts in the order of the table.
func Names() []string {
	out := make([]string, 0, len(Table))
	for _, h := range Table {
		out = append(out, h.Name)
	}
	return out
}

// Variable returns the environment variable of a setting ("apiKey", "apiBase"), or "".
func (h Host) Variable(setting string) string {
	for _, v := range h.Vars {
		if v.Setting == setting {
			return v.Name
		}
	}
	return ""
}

// Newest returns the model to propose at login: the highest version of the host's model line in the catalogue, variants
// excluded; "" if the host has a default.
func (h Host) Newest() string {
	if h.Login == nil || h.Login.Line == "" {
		return ""
	}
	best, most := "", 0.0
	for _, m := range llm.Known(h.Name) {
		text, ok := strings.CutPrefix(m.ID, h.Login.Line)
		if v, err := strconv.ParseFloat(text, 64); ok && err == nil && v > most {
			best, most = m.ID, v
		}
	}
	return best
}

// Secrets lists the key variables that the commands lathe runs do not get: those of hosts that are used without being
// named in the settings.
func Secrets() []string {
	var out []string
	for _, h := range Table {
		for _, v := range h.Vars {
			if !h.Named {
				out = append(out, v.Name)
			}
		}
	}
	return out
}

// Shared reports a variable of a host that is used only when it is named in the settings: other programs need it too.
func Shared(name string) bool {
	for _, h := range Table {
		for _, v := range h.Vars {
			if h.Named && v.Name == name {
				return true
			}
		}
	}
	return false
}
