package cli

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/pflag"

	"github.com/lathe-dev/lathe/internal/agent/hook"
	"github.com/lathe-dev/lathe/internal/agent/replay"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/tool"
)

// Options is a parsed command line, as plain data.
type Options struct {
	Print          bool
	OutputFormat   string // text, json, stream-json
	InputFormat    string // text, stream-json
	Verbose        bool
	Raw            bool
	Partial        bool
	HookEvents     bool
	Replay         bool
	AwaitInit      bool // the first line of stdin is the request initialize
	JSONSchema     string
	PermissionTool string // "stdio" or empty

	Model, SmallModel, Effort, Fallback string
	Thinking                            string // adaptive, disabled, or empty
	MaxThinking                         int    // tokens; -1 when not given
	Provider, APIBase                   string
	MaxTurns                            int
	MaxBudget                           float64
	TaskBudget                          int // tokens

	System, SystemFile             string
	AppendSystem, AppendSystemFile string
	PlanGuide                      string // of a host

	Dir            string
	AddDirs        []string
	PluginDirs     []string
	Settings       string // a file or inline JSON
	SettingSources string
	Mode           string
	Bypass         bool
	Trust          bool   // the settings of the project count for this run
	Sandbox        string // read-only, workspace, off; empty: as the settings say
	Allowed        []string
	Disallowed     []string
	Tools          []string // each a list of names; "" is none, "default" is all

	Resume        string
	ResumePick    bool // --resume without a value
	Continue      bool
	Fork          bool
	SessionID     string
	NoPersistence bool
	NoCommands    bool   // messages that begin with a slash are prompts
	Debug         string // "": no; "all", or the kinds of event
	DebugFile     string
	Name          string
	ResumeAt      string // a message's id
	Drops         string // the same: the only prompt that is left out
	Bare          bool
	Betas         []string
	MCPConfig     []string // files, or JSON texts
	StrictMCP     bool
	// see serverset.Flags
	peers       tool.Peers   // of a session process; see conversation.Options
	buffers     tool.Buffers // the same
	patient     bool         // a person is watching; see conversation.Options
	hostServers func(ctx context.Context, server string, message json.RawMessage) (json.RawMessage, error)
	// see serverset.Flags
	hostElicits func(ctx context.Context, server string, params json.RawMessage) (json.RawMessage, error)
	Skills      []string    // that the model may use, as initialize lists them; nil: all
	Eval        bool        // judges look at the work
	Goal        string      // what the session works for
	GoalCheck   string      // the command that decides on it
	setGoal     *event.Goal // by a command, in a session that nothing was written to
	Agent       string      // the kind of the main conversation
	ToolAliases map[string]string
	Mirror      bool
	mirrored    func(path string, lines []json.RawMessage) // gets what Mirror asks for
	HostPolicy  string
	Hooks       []hook.Group // of a host program
	Agents      string       // kinds of subagents, a JSON object

	ReplayFrom string            // a recording that answers in place of the models
	recording  *replay.Recording // that was read from there

	Init, InitOnly, Maintain bool // fire Setup

	Worktree string // a name; newWorktree is a new one
	Prompts  string // who answers questions: "host" or "none"

	Plain, Inline bool // how the interactive front end looks

	Background   bool // --bg
	NoBackground bool
	Worker       string // the id of the job whose session this process runs

	Version bool

	set    func(name string) bool // whether a flag was given
	given  func() []string        // the names of those that were
	within func(dir string) error // refuses a session of another folder; nil: any
}

// Given reports whether the flag was on the command line, also with an empty value.
func (o *Options) Given(name string) bool { return o.set != nil && o.set(name) }

// flagNamesOf are the flags that were on the command line.
func flagNamesOf(o *Options) []string {
	if o.given == nil {
		return nil
	}
	return o.given()
}

// asksHost reports whether the host answers questions.
func (o *Options) asksHost() bool { return o.PermissionTool != "" && o.Prompts != "none" }

// debugAll is pflag's value of --debug without one.
const debugAll = "all"

// pickValue is pflag's value of --resume without one.
const pickValue = "\x00pick"

// flagGroups orders the help text.
var flagGroups = []struct {
	title string
	names []string
}{
	{"Terminal", []string{"plain", "inline", "no-background"}},
	{"Output and input", []string{
		"print", "output-format", "input-format", "verbose", "raw", "include-partial-messages",
		"include-hook-events", "replay-user-messages", "json-schema", "permission-prompt-tool",
	}},
	{"Model", []string{
		"model", "small-model", "effort", "fallback-model", "max-turns", "max-budget-usd", "task-budget",
		"eval", "goal", "goal-check", "provider", "api-base", "betas",
	}},
	{"Prompt", []string{"system-prompt", "system-prompt-file", "append-system-prompt", "append-system-prompt-file"}},
	{"Permissions and tools", []string{
		"permission-mode", "dangerously-skip-permissions", "allowedTools",
		"disallowedTools", "tools", "add-dir", "sandbox", "trust", "mcp-config", "strict-mcp-config", "plugin-dir",
	}},
	{"Sessions", []string{
		"continue", "resume", "resume-session-at", "fork-session", "session-id", "name",
		"no-session-persistence", "bg",
	}},
	{"Configuration", []string{
		"cwd", "worktree", "init", "init-only", "maintenance", "settings", "setting-sources",
		"bare", "disable-slash-commands", "agent", "agents", "debug", "debug-file", "replay",
	}},
	{"Other", []string{"help", "version"}},
}

// addPlaceFlags adds the flags that say where and with which settings: every command takes them.
func addPlaceFlags(f *pflag.FlagSet, o *Options) {
	f.StringVar(&o.Dir, "cwd", "", "work in `folder` instead of the current one")
	f.StringVar(&o.Settings, "settings", "", "more settings, from a `file` or as JSON")
	f.StringVar(&o.SettingSources, "setting-sources", "", "which settings files count: a `list` of user, project, local")
	f.StringVarP(&o.Debug, "debug", "d", "", "record events and requests, or only these `kinds` (--debug=api,tool)")
	f.Lookup("debug").NoOptDefVal = debugAll
	f.StringVar(&o.DebugFile, "debug-file", "", "record to this `file` instead")
}

// addModelFlags adds the flags that choose a model.
func addModelFlags(f *pflag.FlagSet, o *Options) {
	f.StringVar(&o.Model, "model", "", "the model's `name`")
	f.StringVar(&o.SmallModel, "small-model", "", "the model for small side jobs, by `name`")
	f.StringVar(&o.Effort, "effort", "", "how hard to think, a `level`: off, low, medium, high, xhigh, max")
	f.StringVar(&o.Fallback, "fallback-model", "", "the model to use when the first is overloaded, by `name`")
	f.StringVar(&o.Provider, "provider", "", "the provider, by `name`: anthropic, openai, groq, ollama and others")
	f.StringVar(&o.APIBase, "api-base", "", "the `URL` of the model API")
	f.StringVar(&o.Thinking, "thinking", "", "adaptive or disabled")
	f.IntVar(&o.MaxThinking, "max-thinking-tokens", -1, "")
	hide(f, "thinking", "max-thinking-tokens")
}

// addPermissionFlags adds the flags for permissions.
func addPermissionFlags(f *pflag.FlagSet, o *Options) {
	f.StringVar(&o.Mode, "permission-mode", "", "`mode`: "+strings.Join(permission.ModeNames(), ", "))
	f.BoolVar(&o.Bypass, "dangerously-skip-permissions", false, "run every tool without asking")
	f.StringArrayVar(&o.Allowed, "allowedTools", nil, "`rules` of calls that run without asking: \"Read,Bash(git log *)\"")
	f.StringArrayVar(&o.Disallowed, "disallowedTools", nil, "`rules` of calls that never run")
	f.StringArrayVar(&o.Tools, "tools", nil, "the tools the model gets: a `list`, \"\" for none, or default")
	f.BoolVar(&o.Trust, "trust", false, "trust the project's settings for this run, as they are now (for CI)")
	f.StringVar(&o.Sandbox, "sandbox", "", "confine commands, a `mode`: read-only, workspace, off")
	f.StringArrayVar(&o.AddDirs, "add-dir", nil, "one more `folder` to work in (repeatable)")
	f.StringArrayVar(&o.PluginDirs, "plugin-dir", nil,
		"use the plugin in a `folder` or zip file for this run (repeatable)")
}

// addSystemFlags adds the flags that change the system prompt.
func addSystemFlags(f *pflag.FlagSet, o *Options) {
	f.StringVar(&o.System, "system-prompt", "", "replace the system prompt with this `text`")
	f.StringVar(&o.SystemFile, "system-prompt-file", "", "replace the system prompt with a `file`")
	f.StringVar(&o.AppendSystem, "append-system-prompt", "", "add `text` to the system prompt")
	f.StringVar(&o.AppendSystemFile, "append-system-prompt-file", "", "add a `file` to the system prompt")
}

// addPromptFlags adds the flags of a prompt run.
func addPromptFlags(f *pflag.FlagSet, o *Options) {
	f.BoolVarP(&o.Print, "print", "p", false, "answer and exit; the prompt is the arguments, then stdin")
	f.BoolVar(&o.Plain, "plain", false, "converse in plain lines, without a screen")
	f.BoolVar(&o.Inline, "inline", false, "keep the terminal's own scrollback")
	f.StringVar(&o.OutputFormat, "output-format", "text", "the `format`: text, json or stream-json")
	f.BoolVar(&o.Raw, "raw", false, "text: print the answer into a pipe as it is, with what a terminal would act on")
	f.StringVar(&o.InputFormat, "input-format", "text", "the `format`: text or stream-json")
	f.BoolVar(&o.Verbose, "verbose", false, "json: print every message, not only the result")
	f.BoolVar(&o.HookEvents, "include-hook-events", false, "stream-json: print the runs of hooks")
	f.BoolVar(&o.Partial, "include-partial-messages", false, "stream-json: print replies while they are written")
	f.BoolVar(&o.Replay, "replay-user-messages", false, "stream-json: print the messages of stdin again as they enter")
	f.StringVar(&o.ReplayFrom, "replay", "", "with -p: answer from the recording in a `folder` that --debug wrote")
	f.StringVar(&o.JSONSchema, "json-schema", "", "the answer must fit this JSON `schema`")
	f.StringVar(&o.PermissionTool, "permission-prompt-tool", "",
		"ask for permission over `stdio`, by the control protocol")
	f.IntVar(&o.MaxTurns, "max-turns", 0, "stop after `n` model calls")
	f.Float64Var(&o.MaxBudget, "max-budget-usd", 0, "stop when `usd` dollars are spent")
	f.BoolVar(&o.Eval, "eval", false, "have judges look at the work before a turn ends")
	f.StringVar(&o.Goal, "goal", "", "work until this `condition` holds; without a prompt it begins the turn")
	f.StringVar(&o.GoalCheck, "goal-check", "", "a `command` that decides whether the goal is met")
	f.IntVar(&o.TaskBudget, "task-budget", 0, "tell the model to finish within `n` tokens (Anthropic's API)")
	f.BoolVar(&o.Init, "init", false, "run the hooks of Setup (init) first")
	f.BoolVar(&o.InitOnly, "init-only", false, "run the hooks of Setup (init) and SessionStart, and exit")
	f.BoolVar(&o.Maintain, "maintenance", false, "run the hooks of Setup (maintenance) first")
	f.StringVarP(&o.Worktree, "worktree", "w", "", "work in its own git worktree, by `name`")
	f.Lookup("worktree").NoOptDefVal = newWorktree
	f.StringVar(&o.Prompts, "permission-prompts", "", "")
	f.BoolVar(&o.AwaitInit, "await-initialize", false, "")
	hide(f, "permission-prompts", "await-initialize")
	addSystemFlags(f, o)
	f.StringArrayVar(&o.MCPConfig, "mcp-config", nil, "more MCP servers: a `file`, or a JSON object")
	f.BoolVar(&o.StrictMCP, "strict-mcp-config", false, "use only the MCP servers of --mcp-config")
	f.BoolVarP(&o.Continue, "continue", "c", false, "go on with the newest session of this folder")
	f.StringVarP(&o.Resume, "resume", "r", "", "go on with the session of this `id` (or the start of one)")
	f.Lookup("resume").NoOptDefVal = pickValue
	f.BoolVar(&o.Fork, "fork-session", false, "with --resume or --continue: work on a copy")
	f.StringVar(&o.SessionID, "session-id", "", "the new session's `uuid`")
	f.StringVarP(&o.Name, "name", "n", "", "the session's `title`")
	f.StringVar(&o.ResumeAt, "resume-session-at", "", "with --resume: go on after this message, by the `uuid` of its line")
	f.BoolVar(&o.NoCommands, "disable-slash-commands", false, "take prompts that begin with a slash as they are")
	f.BoolVar(&o.Bare, "bare", false, "no memory files or slash commands; Bash, Read and Edit only")
	f.StringVar(&o.Agent, "agent", "", "work as the agent of this `name`: see lathe agents")
	f.StringVar(&o.Agents, "agents", "", "more kinds of subagents: a `JSON` object of name, description and prompt")
	f.StringArrayVar(&o.Betas, "betas", nil, "more values for the `header` anthropic-beta")
	f.BoolVar(&o.Mirror, "session-mirror", false, "also write the lines of transcripts to stdout, for a store of the host")
	f.StringVar(&o.HostPolicy, "managed-settings", "", "a `JSON` object of restrictions, unless the administrator set some")
	f.StringVar(&o.Drops, "resume-drops-turn", "", "with --resume-session-at: the `uuid` of the only prompt left out")
	hide(f, "session-mirror", "managed-settings", "resume-drops-turn")
	f.BoolVar(&o.NoPersistence, "no-session-persistence", false, "keep nothing of the session on disk")
	f.BoolVar(&o.Background, "bg", false, "work on the prompt in the background: see lathe ps")
	f.BoolVar(&o.NoBackground, "no-background", false, "end the session with its terminal: no process beside it")
	f.StringVar(&o.Worker, "worker", "", "")
	hide(f, "worker")
	f.BoolVarP(&o.Version, "version", "v", false, "print the version")
}

// compatFlags are flags of Claude Code and its SDKs whose part lathe does not have. Without effect
// they are accepted; asking for something with them is an error, so that nothing is ignored silently.
var compatFlags = []struct {
	name, usage string
	isBool      bool
	empty       func(string) bool
}{
	{"plugin-dir-no-mcp", "plugins", false, isBlank},
	{"project-config-root", "other roots of the project's settings", false, isBlank},
	{"allow-dangerously-skip-permissions", "", true, anyValue},
	{"thinking-display", "", false, anyValue},
	{"debug-to-stderr", "", true, anyValue},
}

func addCompatFlags(f *pflag.FlagSet) {
	for _, c := range compatFlags {
		if c.isBool {
			f.Bool(c.name, false, c.usage)
		} else {
			f.StringArray(c.name, nil, c.usage)
		}
		hide(f, c.name)
	}
}

// checkCompat refuses a compatibility flag that asks for a feature that lathe lacks.
func checkCompat(f *pflag.FlagSet) error {
	for _, c := range compatFlags {
		if !f.Changed(c.name) {
			continue
		}
		vals, _ := f.GetStringArray(c.name)
		if c.isBool {
			vals = []string{f.Lookup(c.name).Value.String()}
		}
		for _, v := range vals {
			if !c.empty(v) {
				return usage("leave the flag out", "--%s: %s are not supported", c.name, c.usage)
			}
		}
	}
	return nil
}

func hide(f *pflag.FlagSet, names ...string) {
	for _, n := range names {
		f.Lookup(n).Hidden = true
	}
}

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }
func anyValue(string) bool  { return true }

// normalize accepts the other spellings of a flag.
func normalize(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	switch name {
	case "allowed-tools":
		name = "allowedTools"
	case "disallowed-tools":
		name = "disallowedTools"
	}
	return pflag.NormalizedName(name)
}

// debugs reports whether events are to be recorded.
func (o *Options) debugs() bool { return o.Debug != "" && o.Debug != "false" || o.DebugFile != "" }

// debugFilter is which kinds of event are recorded; "" is all.
func (o *Options) debugFilter() string {
	if o.Debug == debugAll || o.Debug == "true" {
		return ""
	}
	return o.Debug
}

// modeOf takes Claude Code's other names of modes.
func modeOf(name string) permission.Mode {
	if name == "manual" {
		return permission.Default
	}
	return permission.Mode(name)
}
