package acp

import "encoding/json"

// The types of version 1 of the protocol, as far as lathe uses them. The tests hold every message to the published
// schema. Source: npm @agentclientprotocol/sdk 2.4.0, schema/v1.

// Version is the version of the protocol that is spoken.
const Version = 1

type implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// mark says by being there that something is supported.
type mark = *struct{}

var supported = mark(&struct{}{})

type clientCapabilities struct {
	FS struct {
		Read  bool `json:"readTextFile"`
		Write bool `json:"writeTextFile"`
	} `json:"fs"`
	Terminal bool `json:"terminal"`
	Session  struct {
		Compaction mark `json:"compaction"`
		Notices    mark `json:"notices"`
	} `json:"session"`
	Subagents mark `json:"subagents"`
	Auth      struct {
		Terminal bool `json:"terminal"`
	} `json:"auth"`
	Elicitation struct {
		Form mark `json:"form"`
		URL  mark `json:"url"`
	} `json:"elicitation"`
}

type initializeParams struct {
	ProtocolVersion *int               `json:"protocolVersion"`
	Capabilities    clientCapabilities `json:"clientCapabilities"`
	Info            *implementation    `json:"clientInfo"`

	DraftCapabilities clientCapabilities `json:"capabilities"` // of version 2
	DraftInfo         *implementation    `json:"info"`
}

type initializeResult struct {
	ProtocolVersion int               `json:"protocolVersion"`
	Capabilities    agentCapabilities `json:"agentCapabilities"`
	AuthMethods     []authMethod      `json:"authMethods"`
	Info            implementation    `json:"agentInfo"`
}

type agentCapabilities struct {
	LoadSession bool `json:"loadSession"`
	Prompt      struct {
		Image           bool `json:"image"`
		EmbeddedContext bool `json:"embeddedContext"`
	} `json:"promptCapabilities"`
	MCP struct {
		HTTP bool `json:"http"`
		SSE  bool `json:"sse"`
	} `json:"mcpCapabilities"`
	Session struct {
		List                  mark `json:"list"`
		Delete                mark `json:"delete"`
		AdditionalDirectories mark `json:"additionalDirectories"`
		Resume                mark `json:"resume"`
		Close                 mark `json:"close"`
		Fork                  mark `json:"fork"` // this and the next are not stable yet
		Title                 mark `json:"title"`
	} `json:"sessionCapabilities"`
	Auth struct {
		Logout mark `json:"logout"`
	} `json:"auth"`
}

type authMethod struct {
	Type        string   `json:"type,omitempty"`
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Args        []string `json:"args,omitempty"`
}

type authenticateParams struct {
	MethodID string `json:"methodId"`
}

type mcpServer struct {
	Type    string   `json:"type"`
	Name    string   `json:"name"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Env     []pair   `json:"env"`
	URL     string   `json:"url"`
	Headers []pair   `json:"headers"`
}

type pair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// placeParams are those of session/new, load, resume and fork.
type placeParams struct {
	SessionID string      `json:"sessionId"`
	CWD       string      `json:"cwd"`
	Dirs      []string    `json:"additionalDirectories"`
	Servers   []mcpServer `json:"mcpServers"`
}

type sessionParams struct {
	SessionID string `json:"sessionId"`
}

// opened is the result of session/new, load, resume and fork.
type opened struct {
	SessionID string         `json:"sessionId,omitempty"`
	Modes     modeState      `json:"modes"`
	Options   []configOption `json:"configOptions"`

	sent func()
}

// Sent is called when the answer was sent: what the client is told of the session comes after it.
func (o opened) Sent() { o.sent() }

type modeState struct {
	Current   string `json:"currentModeId"`
	Available []mode `json:"availableModes"`
}

type mode struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

type configOption struct {
	Type     string        `json:"type"`
	ID       string        `json:"id"`
	Name     string        `json:"name"`
	Category string        `json:"category,omitempty"`
	Current  string        `json:"currentValue"`
	Options  []optionValue `json:"options"`
}

type optionValue struct {
	Value       string `json:"value"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

type listParams struct {
	CWD    string `json:"cwd"`
	Cursor string `json:"cursor"`
}

type listResult struct {
	Sessions []sessionInfo `json:"sessions"`
	Next     string        `json:"nextCursor,omitempty"`
}

type sessionInfo struct {
	SessionID string `json:"sessionId"`
	CWD       string `json:"cwd"`
	Title     string `json:"title,omitempty"`
	UpdatedAt string `json:"updatedAt,omitempty"`
}

type titleParams struct {
	SessionID string `json:"sessionId"`
	Title     string `json:"title"`
}

type titleResult struct {
	Title string `json:"title"`
}

type subagentUpdate struct {
	Update    string       `json:"sessionUpdate"`
	SessionID string       `json:"sessionId"`
	Title     string       `json:"title,omitempty"`
	State     subagentDoes `json:"state"`
}

type subagentDoes struct {
	State string `json:"state"` // running or idle
	Stop  string `json:"stopReason,omitempty"`
}

type setModeParams struct {
	SessionID string `json:"sessionId"`
	ModeID    string `json:"modeId"`
}

type setOptionParams struct {
	SessionID string          `json:"sessionId"`
	ConfigID  string          `json:"configId"`
	Value     json.RawMessage `json:"value"`
}

type setOptionResult struct {
	Options []configOption `json:"configOptions"`
}

type promptParams struct {
	SessionID string    `json:"sessionId"`
	Prompt    []content `json:"prompt"`
}

type promptResult struct {
	StopReason string `json:"stopReason"`
}

// content is a block of content: its Type says which fields count.
type content struct {
	Type     string    `json:"type"` // text, image, audio, resource_link or resource
	Text     *string   `json:"text,omitempty"`
	Data     *string   `json:"data,omitempty"`
	MIME     string    `json:"mimeType,omitempty"`
	URI      string    `json:"uri,omitempty"`
	Name     string    `json:"name,omitempty"`
	Title    string    `json:"title,omitempty"`
	Resource *resource `json:"resource,omitempty"`
}

type resource struct {
	URI  string  `json:"uri"`
	MIME string  `json:"mimeType,omitempty"`
	Text *string `json:"text,omitempty"`
	Blob *string `json:"blob,omitempty"`
}

func text(s string) *content { return &content{Type: "text", Text: &s} }

// notification is session/update.
type notification struct {
	SessionID string `json:"sessionId"`
	Update    any    `json:"update"`
}

type chunk struct {
	Update    string   `json:"sessionUpdate"` // user_message_chunk, agent_message_chunk or agent_thought_chunk
	Content   *content `json:"content"`
	MessageID string   `json:"messageId,omitempty"`
}

// toolCall is a tool_call, a tool_call_update, and what a permission request is about.
type toolCall struct {
	Update    string          `json:"sessionUpdate,omitempty"`
	ID        string          `json:"toolCallId"`
	Title     string          `json:"title,omitempty"`
	Name      string          `json:"name,omitempty"`
	Kind      string          `json:"kind,omitempty"`
	Status    string          `json:"status,omitempty"` // pending, in_progress, completed or failed
	Content   []toolContent   `json:"content,omitempty"`
	Locations []location      `json:"locations,omitempty"`
	RawInput  json.RawMessage `json:"rawInput,omitempty"`
	RawOutput any             `json:"rawOutput,omitempty"`
}

type toolContent struct {
	Type       string   `json:"type"` // content, diff or terminal
	Content    *content `json:"content,omitempty"`
	Path       string   `json:"path,omitempty"`
	OldText    *string  `json:"oldText,omitempty"`
	NewText    *string  `json:"newText,omitempty"`
	TerminalID string   `json:"terminalId,omitempty"`

	patch string // of the first part of a file: the whole diff
}

type location struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
}

type planUpdate struct {
	Update  string      `json:"sessionUpdate"`
	Entries []planEntry `json:"entries"`
}

type planEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority"`
	Status   string `json:"status"`
}

type commandsUpdate struct {
	Update   string             `json:"sessionUpdate"`
	Commands []availableCommand `json:"availableCommands"`
}

type availableCommand struct {
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Input       *commandInput `json:"input,omitempty"`
}

type commandInput struct {
	Hint string `json:"hint"`
}

type modeUpdate struct {
	Update string `json:"sessionUpdate"`
	Mode   string `json:"currentModeId"`
}

type optionsUpdate struct {
	Update  string         `json:"sessionUpdate"`
	Options []configOption `json:"configOptions"`
}

type infoUpdate struct {
	Update string `json:"sessionUpdate"`
	Title  string `json:"title,omitempty"`
}

type usageUpdate struct {
	Update string `json:"sessionUpdate"`
	Used   int    `json:"used"`
	Size   int    `json:"size"`
	Cost   *cost  `json:"cost,omitempty"`
}

type cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

type noticeUpdate struct {
	Update   string `json:"sessionUpdate"`
	Severity string `json:"severity"`
	Title    string `json:"title"`
}

type compactionUpdate struct {
	Update  string    `json:"sessionUpdate"`
	ID      string    `json:"compactionId"`
	Status  string    `json:"status"`
	Summary []content `json:"summary,omitempty"`
	Error   string    `json:"error,omitempty"`
}

type permissionParams struct {
	SessionID string             `json:"sessionId"`
	ToolCall  toolCall           `json:"toolCall"`
	Options   []permissionOption `json:"options"`
}

type permissionOption struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

type permissionResult struct {
	Outcome struct {
		Outcome  string `json:"outcome"`
		OptionID string `json:"optionId"`
	} `json:"outcome"`
}

type elicitationParams struct {
	SessionID  string          `json:"sessionId"`
	ToolCallID string          `json:"toolCallId,omitempty"`
	Mode       string          `json:"mode"`
	Message    string          `json:"message"`
	Schema     json.RawMessage `json:"requestedSchema,omitempty"`
	ID         string          `json:"elicitationId,omitempty"`
	URL        string          `json:"url,omitempty"`
}

type elicitationResult struct {
	Action  string                     `json:"action"`
	Content map[string]json.RawMessage `json:"content"`
}
