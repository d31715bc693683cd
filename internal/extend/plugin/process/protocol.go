package process

import (
	"encoding/json"

	"github.com/lathe-dev/lathe/internal/extend/customtool"
)

// Version is the version of the protocol that lathe speaks.
const Version = 1

// Methods that lathe calls. Each takes the params of that name and answers with the result of that name.
const (
	MethodInitialize = "initialize"     // InitializeParams, InitializeResult
	MethodTool       = "tool/call"      // ToolParams, ToolResult
	MethodBefore     = "tool/before"    // BeforeParams, BeforeResult
	MethodAfter      = "tool/after"     // AfterParams, AfterResult
	MethodMessage    = "message/before" // MessageParams, AppendResult
	MethodStep       = "step/before"    // StepParams, AppendResult
	MethodRequest    = "request/before" // RequestParams, RequestResult
	MethodCommand    = "command/run"    // CommandParams, CommandResult
	MethodContext    = "context/get"    // ContextParams, ContextResult
)

// Notifications: of lathe (event, cancel), and of the process.
const (
	NotifyEvent  = "event"       // EventParams, to the process
	NotifyCancel = "cancel"      // CancelParams, to the process
	NotifyStatus = "status"      // StatusParams, of the process
	NotifyLog    = "log"         // LogParams, of the process
	NotifyOutput = "tool/output" // OutputParams, of the process
)

// Session says whose call it is. Every request but initialize has these fields.
type Session struct {
	SessionID string `json:"session_id" jsonschema:"the conversation"`
	Agent     string `json:"agent,omitempty" jsonschema:"the chain of subagents; empty for the main conversation"`
}

// InitializeParams opens the connection.
type InitializeParams struct {
	Protocol int    `json:"protocol" jsonschema:"the version of this protocol: 1"`
	Lathe    string `json:"lathe" jsonschema:"lathe's version"`
	Cwd      string `json:"cwd" jsonschema:"the working folder"`
	Data     string `json:"data,omitempty" jsonschema:"a folder for the process's own files; empty where it has none"`
}

// InitializeResult says what the process does. All fields may be missing.
type InitializeResult struct {
	Tools    []customtool.Description `json:"tools,omitempty" jsonschema:"tools for the model"`
	System   []string                 `json:"system,omitempty" jsonschema:"parts of the system prompt of main conversations, at most 4,000 bytes each"`
	Calls    []string                 `json:"calls,omitempty" jsonschema:"the methods that lathe shall call: tool/before, tool/after, message/before, step/before, request/before"`
	Match    []string                 `json:"match,omitempty" jsonschema:"names of tools that tool/before and tool/after are for; missing: all"`
	Events   []string                 `json:"events,omitempty" jsonschema:"kinds of events to be sent; * is all but deltas"`
	Commands []Command                `json:"commands,omitempty" jsonschema:"slash commands, named PROCESS:NAME"`
	Context  []string                 `json:"context,omitempty" jsonschema:"names of sections of a conversation's first message, which context/get gives"`
}

// Command is a slash command.
type Command struct {
	Name        string `json:"name" jsonschema:"letters, digits, _ and -"`
	Description string `json:"description" jsonschema:"a line for the list of commands"`
	Arguments   string `json:"arguments,omitempty" jsonschema:"a hint for the arguments, such as [file]"`
}

// ToolParams is a call of a tool of the process.
type ToolParams struct {
	Session
	CallID string          `json:"call_id" jsonschema:"names the call in tool/output"`
	Name   string          `json:"name" jsonschema:"the tool"`
	Input  json.RawMessage `json:"input" jsonschema:"the input, which fits the tool's schema"`
	Cwd    string          `json:"cwd" jsonschema:"the folder that relative paths are in"`
}

// ToolResult is the result of a call.
type ToolResult struct {
	Text    string `json:"text" jsonschema:"the result for the model, at most 1 MB"`
	IsError bool   `json:"is_error,omitempty" jsonschema:"the call failed, and text says why"`
}

// BeforeParams is a call of any tool before it runs.
type BeforeParams struct {
	Session
	CallID string          `json:"call_id" jsonschema:"the call"`
	Name   string          `json:"name" jsonschema:"the tool"`
	Input  json.RawMessage `json:"input" jsonschema:"its input"`
}

// BeforeResult judges a call. It can make things stricter, and never allows a call.
type BeforeResult struct {
	Decision string          `json:"decision,omitempty" jsonschema:"deny refuses the call, ask puts it to the user; empty: no opinion"`
	Reason   string          `json:"reason,omitempty" jsonschema:"why, for the model and the user"`
	Input    json.RawMessage `json:"input,omitempty" jsonschema:"replaces the input; the rules judge the new one"`
	Context  string          `json:"context,omitempty" jsonschema:"a text that is added to the result"`
}

// AfterParams is a call of any tool after it has run.
type AfterParams struct {
	Session
	CallID  string          `json:"call_id" jsonschema:"the call"`
	Name    string          `json:"name" jsonschema:"the tool"`
	Input   json.RawMessage `json:"input" jsonschema:"its input"`
	Result  string          `json:"result" jsonschema:"the texts of its result"`
	IsError bool            `json:"is_error" jsonschema:"it failed"`
}

// AfterResult adds to a result.
type AfterResult struct {
	Context string  `json:"context,omitempty" jsonschema:"a text that is added to the result"`
	Result  *string `json:"result,omitempty" jsonschema:"replaces the texts of the result"`
	Stop    string  `json:"stop,omitempty" jsonschema:"ends the turn, and says why"`
}

// MessageParams is a message of the user before it is recorded.
type MessageParams struct {
	Session
	Text string `json:"text" jsonschema:"the text that the user wrote"`
}

// StepParams is a request to the model that is about to be made.
type StepParams struct {
	Session
	Messages int `json:"messages" jsonschema:"how many messages the conversation has"`
}

// AppendResult adds a text at the end of the conversation. Earlier messages never change, so that the provider's cache
// holds.
type AppendResult struct {
	Append string `json:"append,omitempty" jsonschema:"the text, at most 16,000 bytes"`
	Block  string `json:"block,omitempty" jsonschema:"of message/before: refuses the message, and says why"`
}

// RequestParams are the parameters of a request to the model.
type RequestParams struct {
	Session
	Model       string   `json:"model" jsonschema:"the model's id"`
	Host        string   `json:"host" jsonschema:"where the request goes"`
	Temperature *float64 `json:"temperature,omitempty" jsonschema:"missing: the model's default"`
	MaxTokens   int      `json:"max_tokens" jsonschema:"the output limit; 0 is the model's own"`
	Effort      string   `json:"effort" jsonschema:"how much the model thinks; empty is its default"`
}

// RequestResult changes parameters of one request. Missing fields leave them as they are.
type RequestResult struct {
	Temperature *float64          `json:"temperature,omitempty" jsonschema:"from 0 to 2"`
	MaxTokens   int               `json:"max_tokens,omitempty" jsonschema:"a lower output limit"`
	Effort      string            `json:"effort,omitempty" jsonschema:"one of the model's levels"`
	Headers     map[string]string `json:"headers,omitempty" jsonschema:"more HTTP headers; those of lathe and of credentials stay"`
}

// CommandParams runs a slash command.
type CommandParams struct {
	Session
	Name      string `json:"name" jsonschema:"the command, without the name of the process"`
	Arguments string `json:"arguments" jsonschema:"the text behind it"`
}

// CommandResult is the result of a slash command.
type CommandResult struct {
	Text   string `json:"text,omitempty" jsonschema:"shown to the user"`
	Prompt string `json:"prompt,omitempty" jsonschema:"sent to the model as the user's message"`
}

// ContextParams asks for a section of the first message.
type ContextParams struct {
	Session
	Name string `json:"name" jsonschema:"the section"`
}

// ContextResult is a section's text.
type ContextResult struct {
	Text string `json:"text,omitempty" jsonschema:"at most 4,000 bytes; empty leaves the section out"`
}

// EventParams is one event of a conversation. Events are dropped where the process does not read them.
type EventParams struct {
	Session
	Kind    string          `json:"kind" jsonschema:"the kind, such as tool_end"`
	Body    json.RawMessage `json:"body" jsonschema:"as in stream-json's lathe_event"`
	Dropped int64           `json:"dropped,omitempty" jsonschema:"events that were dropped since the process started"`
}

// CancelParams says that no one waits for an answer any more.
type CancelParams struct {
	ID int64 `json:"id" jsonschema:"the id of the request"`
}

// StatusParams sets the process's segment of the status line.
type StatusParams struct {
	Text string `json:"text" jsonschema:"one line of at most 80 characters; empty removes it"`
}

// LogParams is a line for the user.
type LogParams struct {
	Level string `json:"level" jsonschema:"info or warning"`
	Text  string `json:"text" jsonschema:"the line"`
}

// OutputParams is live output of a running call of a tool.
type OutputParams struct {
	CallID string `json:"call_id" jsonschema:"the call"`
	Text   string `json:"text" jsonschema:"the next piece"`
}
