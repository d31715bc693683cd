package subagent

import (
	"embed"
	"encoding/json"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// Kind is a kind of agent that a call of Task can start.
type Kind struct {
	Name        string `json:"name"`
	Description string `json:"description"` // when to use it, for the model that chooses
	Prompt      string `json:"prompt"`
	Extends     bool   `json:"extends,omitempty"` // the prompt is added to lathe's own system prompt; else it replaces it

	Tools   []string `json:"tools"`                     // the only tools it has, by canonical name; nil: all
	Without []string `json:"disallowedTools,omitempty"` // tools it does not have
	Spawns  []string `json:"spawns,omitempty"`          // the only kinds that it may start; nil: all
	// it has no tool that edits files, and its commands must be read-only
	ReadOnly bool `json:"readOnly,omitempty"`
	NoAsk    bool `json:"noAsk,omitempty"` // a call that would ask is refused

	Mode permission.Mode `json:"permissionMode,omitempty"` // of its file; "": none

	Permissions *Rules `json:"permissions,omitempty"`

	Model       string   `json:"model,omitempty"` // a model's name; "": its parent's; Small: the small model
	Effort      string   `json:"effort,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"` // from 0 to 2; nil: the model's default
	MaxSteps    int      `json:"maxTurns,omitempty"`    // of one run; 0: its parent's limit alone

	NoMemory   bool     `json:"noMemory,omitempty"`     // it gets no memory files and no git status
	OmitMemory bool     `json:"omitClaudeMd,omitempty"` // as a subagent it gets the memory of the organisation alone
	Memory     Scope    `json:"memory,omitempty"`       // of its notes; "": it keeps none
	Skills     []string `json:"skills,omitempty"`       // loaded before it begins
	Isolated   bool     `json:"isolated,omitempty"`     // it works in a copy of the project of its own
	Background bool     `json:"background,omitempty"`   // it runs beside its parent unless the call says otherwise
	Color      string   `json:"color,omitempty"`

	Eval bool `json:"eval,omitempty"` // judges look at its work before it ends

	Servers map[string]json.RawMessage `json:"mcpServers,omitempty"` // MCP servers of its own, by name, as in .mcp.json

	Hooks json.RawMessage `json:"hooks,omitempty"` // as in the settings: an object by event; nil: none

	InitialPrompt string `json:"initialPrompt,omitempty"` // of a main conversation: stands before its first prompt

	Source string   `json:"source"`          // its origin: "built-in", "user", "project", "organisation", "command line"
	Path   string   `json:"path,omitempty"`  // its file, if it has one
	Notes  []string `json:"notes,omitempty"` // fields of the file that have no effect, and why
}

// Rules are the permission rules of a kind, as in the settings. They only restrict: Allow has the exceptions from Ask.
type Rules struct {
	Allow []string `json:"allow,omitempty"`
	Ask   []string `json:"ask,omitempty"`
	Deny  []string `json:"deny,omitempty"`
}

// Small as a Kind's model is the small model of the settings.
const Small = "small"

// General is the kind of an agent when a call names none.
const General = "general-purpose"

//go:embed text/*.md
var texts embed.FS

// BuiltIn lists the kinds that are always there.
func BuiltIn() []Kind {
	builtIn := []Kind{
		{
			Name: General, Extends: true,
			Description: "larger tasks of several steps: has all tools",
		},
		{
			Name: "Explore", Model: Small, NoMemory: true, ReadOnly: true, Tools: []string{"Read", "Glob", "Grep", "LSP"},
			Description: "fast search through a code base when several searches are needed: finds and reads, changes nothing",
		},
		{
			Name: "Plan", ReadOnly: true, Tools: []string{"Read", "Glob", "Grep", "LSP"},
			Description: "designs how to implement something: reads, and answers with a plan",
		},
		{
			Name: "Bash", NoMemory: true, Tools: []string{"Bash"},
			Description: "runs commands whose output is long, and reports the outcome",
		},
	}
	for i := range builtIn {
		k := &builtIn[i]
		k.Source = "built-in"
		text, err := texts.ReadFile("text/" + strings.ToLower(k.Name) + ".md")
		if err != nil {
			panic(err) // the binary was built without its texts
		}
		k.Prompt = strings.TrimSpace(string(text))
	}
	return builtIn
}

// Build is another name of lathe's own agent.
const Build = "build"

// Without is the general kind under another name, without some tools.
func Without(name string, tools ...string) *Kind {
	k := BuiltIn()[0]
	k.Name, k.Without = name, tools
	return &k
}

// Judged reports whether judges look at the work of the kind; k may be nil.
func (k *Kind) Judged() bool { return k != nil && k.Eval }

// Permission returns the tools that agents of this kind are limited to, in addition to the session's rules and mode.
// Canonical maps any spelling of a tool's name to its canonical one.
func (k *Kind) Permission(canonical func(string) string) permission.AgentKind {
	out := permission.AgentKind{Name: k.Name, Says: k.Description, ReadOnly: k.ReadOnly}
	if k.Tools != nil {
		out.Tools = []string{}
	}
	for _, name := range k.Tools {
		if name = canonical(name); name == "Bash" {
			out.Tools = append(out.Tools, "TaskOutput", "TaskStop") // of its commands in the background
		}
		out.Tools = append(out.Tools, name)
	}
	for _, name := range k.Without {
		out.Without = append(out.Without, canonical(name))
	}
	return out
}
