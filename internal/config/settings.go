package config

import (
	"encoding/json"
)

// Settings is the merged configuration as plain data: defaults filled in, paths absolute, expansions done.
// The zero value of a field without a default means unset. The keys are described in schema.json.
type Settings struct {
	Schema  string `json:"$schema"`
	Version int    `json:"version"`

	Model             string            `json:"model"`
	SmallModel        string            `json:"smallModel"`
	FallbackModel     StringList        `json:"fallbackModel"`
	ModelAliases      map[string]string `json:"modelAliases"`
	Effort            string            `json:"effort"`            // "", "off", "low", "medium", "high", "xhigh", "max"
	MaxThinkingTokens *int              `json:"maxThinkingTokens"` // nil: unset; 0: no thinking
	MaxOutputTokens   int               `json:"maxOutputTokens"`
	MaxTurns          int               `json:"maxTurns"`     // model calls; 0: no limit
	MaxBudgetUSD      float64           `json:"maxBudgetUsd"` // 0: no limit

	Provider          string              `json:"provider"`
	APIBase           string              `json:"apiBase"`
	APIKeyHelper      string              `json:"apiKeyHelper"`
	APIKeyHelperTTLMs int                 `json:"apiKeyHelperTtlMs"`
	Providers         map[string]Provider `json:"providers"`
	OrganizationURL   string              `json:"organizationUrl"`

	Env         map[string]string `json:"env"` // for child processes; lathe itself uses Config.Env
	Permissions Permissions       `json:"permissions"`

	AllowManagedPermissionRulesOnly bool `json:"allowManagedPermissionRulesOnly"`

	Hooks                      json.RawMessage `json:"hooks"` // an object in Claude Code's form, or nil
	DisableAllHooks            bool            `json:"disableAllHooks"`
	MCPServers                 json.RawMessage `json:"mcpServers"` // an object by name, or nil
	EnableAllProjectMCPServers bool            `json:"enableAllProjectMcpServers"`
	EnabledMCPJSONServers      []string        `json:"enabledMcpjsonServers"`
	DisabledMCPJSONServers     []string        `json:"disabledMcpjsonServers"`
	AllowManagedHooksOnly      bool            `json:"allowManagedHooksOnly"`
	AllowedMCPServers          json.RawMessage `json:"allowedMcpServers"` // a list, or nil
	DeniedMCPServers           json.RawMessage `json:"deniedMcpServers"`  // a list, or nil
	AllowManagedMCPServersOnly bool            `json:"allowManagedMcpServersOnly"`
	Sandbox                    json.RawMessage `json:"sandbox"` // an object, or nil

	StatusLine   json.RawMessage `json:"statusLine"` // an object, or nil
	OutputStyle  string          `json:"outputStyle"`
	Agent        string          `json:"agent"`  // the kind of main conversations
	Agents       json.RawMessage `json:"agents"` // kinds of agents, an object by name, or nil
	Language     string          `json:"language"`
	Instructions string          `json:"instructions"`
	Theme        string          `json:"theme"`
	Keybindings  json.RawMessage `json:"keybindings"` // an object or an array, or nil

	TUI                   string `json:"tui"` // "default", "fullscreen", "inline"
	Mouse                 bool   `json:"mouse"`
	Sidebar               bool   `json:"sidebar"`
	PreferredNotifChannel string `json:"preferredNotifChannel"` // "auto", "iterm2", "terminal_bell", "kitty", ...
	PrefersReducedMotion  bool   `json:"prefersReducedMotion"`
	SessionTitles         bool   `json:"sessionTitles"`
	ClaudeTranscripts     bool   `json:"claudeTranscripts"`

	AutoMemoryEnabled      bool            `json:"autoMemoryEnabled"`
	Memory                 Memory          `json:"memory"`
	AutoCompactEnabled     bool            `json:"autoCompactEnabled"`
	CompactionThreshold    int             `json:"compactionThreshold"` // tokens; 0: derived from the model's window
	CompactionModel        string          `json:"compactionModel"`     // main or small
	SkillDirs              []string        `json:"skillDirs"`
	EnabledPlugins         json.RawMessage `json:"enabledPlugins"`         // an object by id, or nil
	ExtraKnownMarketplaces json.RawMessage `json:"extraKnownMarketplaces"` // an object by name, or nil
	PluginConfigs          json.RawMessage `json:"pluginConfigs"`          // an object by id, or nil
	Tools                  []string        `json:"tools"`                  // programs that are tools; see Config.ToolFiles
	PluginProcesses        json.RawMessage `json:"pluginProcesses"`        // long-lived programs by name, or nil

	DisableSkillShellExecution bool `json:"disableSkillShellExecution"`

	DeferTools             []string    `json:"deferTools"`
	ClaudeMdExcludes       []string    `json:"claudeMdExcludes"`
	AgentsMd               string      `json:"agentsMd"` // fallback or both
	IncludeGitInstructions bool        `json:"includeGitInstructions"`
	Context                Context     `json:"context"`
	Attribution            Attribution `json:"attribution"`
	// of debug recordings and, if set explicitly, saved outputs
	CleanupPeriodDays int `json:"cleanupPeriodDays"`

	PlansDirectory string `json:"plansDirectory"` // where approved plans are copied to; "": nowhere

	CacheLifetime string `json:"cacheLifetime"` // "5m" or "1h"

	AutoMode     AutoMode     `json:"autoMode"`
	Eval         Eval         `json:"eval"`
	Goal         Goal         `json:"goal"`
	Subagents    Subagents    `json:"subagents"`
	Worktree     Worktree     `json:"worktree"`
	ExploreCache ExploreCache `json:"exploreCache"`
	LSP          LSP          `json:"lsp"`
	Formatters   Formatters   `json:"formatters"`
	Snapshots    Snapshots    `json:"snapshots"`
	Bash         Bash         `json:"bash"`
	Background   Background   `json:"background"`
	// what becomes of messages of other sessions: "accept", "hold" or "refuse"; "": it depends on the modes
	CrossSessionInbound string `json:"crossSessionInbound"`

	Notifications Notifications `json:"notifications"`
	Gateway       Gateway       `json:"gateway"`

	WebSearch WebSearch `json:"webSearch"`
	ModelsURL string    `json:"modelsUrl"`
	Stream    Stream    `json:"stream"`
	Network   Network   `json:"network"`
	Log       Log       `json:"log"`
	Watcher   Watcher   `json:"watcher"`
	Debug     bool      `json:"debug"`
	MaskKeys  bool      `json:"maskKeys"`
}

// Provider is one entry of providers.
type Provider struct {
	// a wire: "anthropic", "openai", "responses", "google", "bedrock", "converse" or "vertex"; "" means the one of a known
	// host
	Type       string               `json:"type"`
	APIBase    string               `json:"apiBase"`
	APIVersion string               `json:"apiVersion"` // of Azure OpenAI
	APIKey     string               `json:"apiKey"`
	AuthToken  string               `json:"authToken"`
	Headers    map[string]string    `json:"headers"`
	Betas      []string             `json:"betas"`
	WebSocket  bool                 `json:"websocket"` // for OpenAI's Responses
	Models     map[string]ModelInfo `json:"models"`
}

// ModelInfo is the user's description of a model; zero fields come from the catalogue.
type ModelInfo struct {
	Name            string   `json:"name"`
	ContextWindow   int      `json:"contextWindow"`   // tokens
	MaxOutputTokens int      `json:"maxOutputTokens"` // tokens
	Images          *bool    `json:"images"`
	Thinking        *string  `json:"thinking"`   // "", "budget", "adaptive"
	InputPrice      *float64 `json:"inputPrice"` // US dollars per million tokens, like the other prices
	OutputPrice     *float64 `json:"outputPrice"`
	CacheReadPrice  *float64 `json:"cacheReadPrice"`
	CacheWritePrice *float64 `json:"cacheWritePrice"`
}

// AutoMode holds sentences for the model that answers questions in the mode auto.
type AutoMode struct {
	Allow       []string `json:"allow"`       // what runs
	SoftDeny    []string `json:"soft_deny"`   // what runs only when the user asked for it in words
	HardDeny    []string `json:"hard_deny"`   // what is refused
	Environment []string `json:"environment"` // what is trusted: hosts, repositories, buckets
}

// Permissions holds the rules as written; Config.Rules adds their origins.
type Permissions struct {
	Allow                        []string      `json:"allow"`
	Ask                          []string      `json:"ask"`
	Deny                         []string      `json:"deny"`
	Rules                        []OrderedRule `json:"rules"`
	AdditionalDirectories        []string      `json:"additionalDirectories"`
	DefaultMode                  string        `json:"defaultMode"`
	DisableBypassPermissionsMode string        `json:"disableBypassPermissionsMode"` // "" or "disable"
	DisableAutoMode              string        `json:"disableAutoMode"`              // "" or "disable"
	AskBeforeCommands            bool          `json:"askBeforeCommands"`
}

// OrderedRule is one entry of permissions.rules. Action is "allow", "ask" or "deny".
type OrderedRule struct {
	Permission string   `json:"permission"`
	Pattern    string   `json:"pattern"` // "" means "*"
	Action     string   `json:"action"`
	Match      []string `json:"match"` // examples that the rule must cover
	NotMatch   []string `json:"not_match"`
}

// UnmarshalJSON accepts rules as texts or as objects with examples; Config.Rules has the examples.
func (p *Permissions) UnmarshalJSON(data []byte) error {
	type plain Permissions
	lists := struct {
		*plain
		Allow []ruleEntry `json:"allow"`
		Ask   []ruleEntry `json:"ask"`
		Deny  []ruleEntry `json:"deny"`
	}{plain: (*plain)(p)}
	if err := json.Unmarshal(data, &lists); err != nil {
		return err
	}
	p.Allow, p.Ask, p.Deny = ruleTexts(lists.Allow), ruleTexts(lists.Ask), ruleTexts(lists.Deny)
	return nil
}

func ruleTexts(list []ruleEntry) []string {
	if list == nil {
		return nil
	}
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = e.Rule
	}
	return out
}

// ruleEntry is one rule of a list: a text, or an object that holds it.
type ruleEntry struct {
	Rule     string   `json:"rule"`
	Match    []string `json:"match"`
	NotMatch []string `json:"not_match"`
}

// UnmarshalJSON accepts a string or an object.
func (r *ruleEntry) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &r.Rule)
	}
	type plain ruleEntry
	return json.Unmarshal(data, (*plain)(r))
}

// Memory configures how the notes that belong to a prompt are found.
type Memory struct {
	EmbeddingModel string  `json:"embeddingModel"` // as model; "": notes are found by words alone
	MinSimilarity  float64 `json:"minSimilarity"`  // from 0 to 1
}

// Attribution is the text that the model adds to commits and pull requests; nil: unset, "": none.
type Attribution struct {
	Commit *string `json:"commit"`
	PR     *string `json:"pr"`
}

// Context configures the context of the first message.
type Context struct {
	FileStructure bool                       `json:"fileStructure"`
	Providers     map[string]ContextProvider `json:"providers"`
}

// ContextProvider is a command whose output becomes a section of the context.
type ContextProvider struct {
	Command   string `json:"command"`
	TimeoutMs int    `json:"timeoutMs"` // 0: 3,000, which is the most
	MaxBytes  int    `json:"maxBytes"`  // 0: 4,000
}

// Subagents configures the agents that the tool Task starts.
type Subagents struct {
	// of all subagents; "" or "inherit": the call's, the kind's or the parent's
	Model         string `json:"model"`
	MaxConcurrent int    `json:"maxConcurrent"` // running at once; read at start
}

// Eval configures the gate that judges the work before a turn ends.
type Eval struct {
	Enabled   bool   `json:"enabled"`
	Command   string `json:"command"`   // the check command; "": none
	TimeoutMs int    `json:"timeoutMs"` // of the check command
	MaxRounds int    `json:"maxRounds"`
}

// Goal bounds the work for a goal; 0: no bound.
type Goal struct {
	MaxRounds  int     `json:"maxRounds"` // verdicts
	MaxMinutes int     `json:"maxMinutes"`
	MaxTokens  int     `json:"maxTokens"`
	MaxUSD     float64 `json:"maxUsd"`
}

// Worktree configures the copies of the project that isolated agents work in.
type Worktree struct {
	BranchPrefix string   `json:"branchPrefix"`
	Base         string   `json:"base"`  // the commit that branches begin at
	Copy         []string `json:"copy"`  // patterns of ignored files
	SetUp        string   `json:"setup"` // a command
}

// ExploreCache configures the cache of Read, Glob and Grep.
type ExploreCache struct {
	Enabled        bool `json:"enabled"`
	MaxEntries     int  `json:"maxEntries"`
	DirectoryTTLMs int  `json:"directoryTtlMs"`
}

// LSP configures the language servers.
type LSP struct {
	Enabled       bool            `json:"enabled"`
	Warnings      bool            `json:"warnings"`
	WaitMs        int             `json:"waitMs"`
	StartMs       int             `json:"startMs"`
	RequestMs     int             `json:"requestMs"`
	IdleMinutes   int             `json:"idleMinutes"`
	MaxMemoryMB   int             `json:"maxMemoryMB"`
	MaxCPUMinutes int             `json:"maxCPUMinutes"`
	Servers       json.RawMessage `json:"servers"` // an object by name, or nil
}

// Formatters configures the programs that format files after edits.
type Formatters struct {
	Enabled   bool            `json:"enabled"`
	TimeoutMs int             `json:"timeoutMs"`
	Programs  json.RawMessage `json:"programs"` // an object by name, or nil
}

// Snapshots configures the states of files that are kept for undo; they are read when lathe starts.
type Snapshots struct {
	Enabled bool `json:"enabled"`
	MaxMB   int  `json:"maxMB"` // of a project's store
	// MaxWaitSeconds is how long a command waits until files are copied, and how long a look at all of a folder's may
	// take.
	MaxWaitSeconds int      `json:"maxWaitSeconds"`
	MaxFileMB      int      `json:"maxFileMB"` // of the largest file that is covered
	MaxFiles       int      `json:"maxFiles"`  // of the largest folder that is covered
	Include        []string `json:"include"`   // patterns of ignored files that are covered all the same
}

// Background configures sessions in the background.
type Background struct {
	IdleMinutes int `json:"idleMinutes"` // 0: their processes stay
}

// Notifications configures how the user hears of sessions that no one looks at. Those without an address are off.
type Notifications struct {
	Always   bool        `json:"always"` // also when a terminal shows the session
	Link     string      `json:"link"`   // to a session, with {id}, {session} and {host}
	Ntfy     PushService `json:"ntfy"`
	Gotify   PushService `json:"gotify"`
	Pushover Pushover    `json:"pushover"`
	Webhook  PushService `json:"webhook"`
}

// PushService is a server that takes notifications.
type PushService struct {
	URL   string `json:"url"`
	Token string `json:"token"`
}

// Pushover is an application and a user of Pushover.
type Pushover struct {
	URL     string `json:"url"`
	Token   string `json:"token"`
	UserKey string `json:"userKey"`
}

// Gateway configures the chats through which people reach sessions.
type Gateway struct {
	Mode            string            `json:"mode"`            // the permission mode of sessions
	Sandbox         string            `json:"sandbox"`         // of their commands
	Projects        map[string]string `json:"projects"`        // folders by name
	BudgetUSD       float64           `json:"budgetUsd"`       // of a chat, a day; 0: no limit
	MaxSessions     int               `json:"maxSessions"`     // processes at one time; 0: no limit
	MaxMemoryMB     int               `json:"maxMemoryMB"`     // of one process; 0: no limit
	QuestionMinutes int               `json:"questionMinutes"` // how long a question waits
	IdleMinutes     int               `json:"idleMinutes"`     // as Background.IdleMinutes
	Transcribe      []string          `json:"transcribe"`      // a command; {file} is the voice message
	Telegram        GatewayTelegram   `json:"telegram"`
	Teams           GatewayTeams      `json:"teams"`
}

// GatewayTelegram is a bot of Telegram.
type GatewayTelegram struct {
	Token     string                 `json:"token"`
	APIBase   string                 `json:"apiBase"`
	Users     []string               `json:"users"` // ids
	Approvers []string               `json:"approvers"`
	Chats     map[string]GatewayChat `json:"chats"` // by id
	Webhook   GatewayWebhook         `json:"webhook"`
}

// GatewayWebhook is where Telegram brings updates, in the place of long polling.
type GatewayWebhook struct {
	Listen string `json:"listen"`
	URL    string `json:"url"`
	Secret string `json:"secret"`
}

// GatewayChat is what differs in one chat.
type GatewayChat struct {
	CWD       string   `json:"cwd"`
	Mode      string   `json:"mode"`
	BudgetUSD float64  `json:"budgetUsd"`
	Users     []string `json:"users"`
	Approvers []string `json:"approvers"`
}

// GatewayTeams is a bot of Microsoft Teams.
type GatewayTeams struct {
	AppID     string                 `json:"appId"`
	Password  string                 `json:"password"`
	Tenant    string                 `json:"tenant"`
	Cloud     string                 `json:"cloud"` // public, usgov or china
	Listen    string                 `json:"listen"`
	Users     []string               `json:"users"` // object ids of Entra
	Approvers []string               `json:"approvers"`
	Chats     map[string]GatewayChat `json:"chats"` // by conversation id
}

// Bash configures the Bash tool.
type Bash struct {
	DefaultTimeoutMs int    `json:"defaultTimeoutMs"`
	MaxTimeoutMs     int    `json:"maxTimeoutMs"`
	MaxOutputLength  int    `json:"maxOutputLength"` // characters
	Shell            string `json:"shell"`
	Profile          string `json:"profile"` // "off", "environment", "functions"
	ScrubCredentials bool   `json:"scrubCredentials"`
	BackgroundWaitMs int    `json:"backgroundWaitMs"` // of runs without a front end
}

// WebSearch configures the engine of the tool WebSearch.
type WebSearch struct {
	Engine string `json:"engine"` // "auto", "provider", "searxng", "brave", "tavily", "exa", "off"
	URL    string `json:"url"`
	APIKey string `json:"apiKey"`
}

// Stream configures timeouts and retries of replies.
type Stream struct {
	StallTimeoutMs   int `json:"stallTimeoutMs"`
	HeaderTimeoutMs  int `json:"headerTimeoutMs"`
	ContentTimeoutMs int `json:"contentTimeoutMs"`
	MaxRetries       int `json:"maxRetries"`
	RetryBaseMs      int `json:"retryBaseMs"`
	MaxRetryWaitMs   int `json:"maxRetryWaitMs"`
}

// Network configures network access; Config.Transport obeys it.
type Network struct {
	Proxy   string   `json:"proxy"`
	NoProxy []string `json:"noProxy"`
	CACerts []string `json:"caCerts"` // PEM files
}

// Log configures the log file.
type Log struct {
	Level string `json:"level"` // "trace", "debug", "info", "warn", "error", "off"
}

// Watcher configures which changes of files are noticed.
type Watcher struct {
	Ignore []string `json:"ignore"` // patterns below the working folder
}

// StringList is a list that may be written as one string.
type StringList []string

// UnmarshalJSON accepts a string or an array of strings.
func (l *StringList) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		var one string
		err := json.Unmarshal(data, &one)
		*l = StringList{one}
		return err
	}
	return json.Unmarshal(data, (*[]string)(l))
}
