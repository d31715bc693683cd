package hook

import (
	"slices"
	"sync"
	"time"
)

// kind is what lathe knows of an event.
type kind struct {
	subject  string // the field of the input that matchers are compared with; "": they always match
	protects bool   // hooks may refuse something, so one that cannot be read is an error
	resumes  bool   // what a hook refuses is the end: the work goes on
	plain    bool   // plain output of a command is context for the model
	asks     bool   // hooks may be questions to a model
	local    bool   // no HTTP requests
	limit    time.Duration
	place    int

	variables bool // hooks may set variables for the commands of the session
}

func order(name string) int { return events()[name].place }

// events are those of Claude Code (https://docs.anthropic.com/en/docs/claude-code/hooks).
var events = sync.OnceValue(func() map[string]kind {
	return map[string]kind{
		"SessionStart":       {place: 1, subject: "source", plain: true, local: true, variables: true},
		"UserPromptSubmit":   {place: 2, protects: true, plain: true, asks: true, limit: 30 * time.Second},
		"PreToolUse":         {place: 3, subject: "tool_name", protects: true, asks: true},
		"PermissionRequest":  {place: 4, subject: "tool_name", protects: true, asks: true},
		"PermissionDenied":   {place: 5, subject: "tool_name", asks: true},
		"PostToolUse":        {place: 6, subject: "tool_name", asks: true},
		"PostToolUseFailure": {place: 7, subject: "tool_name", asks: true},
		"Notification":       {place: 9, subject: "notification_type"},
		"Stop":               {place: 10, protects: true, resumes: true, asks: true},
		"StopFailure":        {place: 11, subject: "error"},
		"SubagentStart":      {place: 12, subject: "agent_type"},
		"SubagentStop":       {place: 13, subject: "agent_type", protects: true, resumes: true, asks: true},
		"PreCompact":         {place: 14, subject: "trigger", protects: true},
		"PostCompact":        {place: 15, subject: "trigger"},
		"SessionEnd":         {place: 16, subject: "reason", limit: 1500 * time.Millisecond},
		"ConfigChange":       {place: 17, subject: "source", protects: true},

		"PostToolBatch":       {place: 8, protects: true, asks: true},
		"UserPromptExpansion": {place: 18, subject: "command_name", protects: true, plain: true, asks: true},
		"Setup":               {place: 19, subject: "trigger", local: true, variables: true},
		"InstructionsLoaded":  {place: 20, subject: "load_reason"},
		"TaskCreated":         {place: 21, protects: true, asks: true},
		"TaskCompleted":       {place: 22, protects: true, resumes: true, asks: true},
		"TeammateIdle":        {place: 23, protects: true, resumes: true, asks: true},
		"Elicitation":         {place: 24, subject: "mcp_server_name", protects: true},
		"ElicitationResult":   {place: 25, subject: "mcp_server_name", protects: true},
		"WorktreeCreate":      {place: 26, protects: true},
		"WorktreeRemove":      {place: 27},
		"CwdChanged":          {place: 29, variables: true},
		"DirectoryAdded":      {place: 30, subject: "source"},
		"FileChanged":         {place: 31, subject: "file_path", variables: true},
		"MessageDisplay":      {place: 28, limit: 10 * time.Second},
	}
})

// Names lists the events.
func Names() (out []string) {
	for name := range events() {
		out = append(out, name)
	}
	slices.SortFunc(out, func(a, b string) int { return order(a) - order(b) })
	return out
}

// types lists the types that a handler of the event can have.
func (k kind) types() []string {
	out := []string{typeCommand, typeMCP}
	if !k.local {
		out = append(out, typeHTTP)
	}
	if k.asks {
		out = append(out, typePrompt, typeAgent)
	}
	return out
}

func (k kind) takes(t string) bool { return slices.Contains(k.types(), t) }

// Fires reports whether lathe fires an event.
func Fires(name string) bool {
	_, ok := events()[name]
	return ok
}
