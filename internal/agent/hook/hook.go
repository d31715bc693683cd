// Package hook runs the hooks of the user, a project, an organisation and a host program: commands, HTTP requests and
// questions to a model at events of a session, in Claude Code's form
// (https://docs.anthropic.com/en/docs/claude-code/hooks).
//
// The words: an event is an occasion, such as PreToolUse; a group is a matcher and its handlers; a handler is one
// command, request or question; its subject is the word that matchers are compared with, such as the name of a tool.
//
// Promises: all handlers of an event run side by side, and the strictest result counts; a handler that fails, hangs or
// prints nonsense is reported and decides nothing, except that a callback of the host program refuses what it guards; a
// handler never lifts a deny rule or a guard; each run is in the log with its input, output and time.
package hook

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/base/approved"
	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/store/journal"
	"github.com/lathe-dev/lathe/internal/store/transcript"
)

// Machine is what handlers need of the program around them. All sessions of an instance share it.
type Machine struct {
	Config         func() *config.Config
	Given          []Group        // of the host program, in addition to those of the settings
	Plugins        func() []Group // of the plugins in use; nil: none
	PluginsVersion func() uint64  // changes with the plugins; nil: they do not change
	Root           string         // the project's folder
	Runner         *sandbox.Runner
	Environ        func(foreign bool) []string // of commands; foreign: of a project or a plugin, which get no credentials
	// Confine confines a command of a project or a plugin; nil, or a nil result: not confined. done is called when it has
	// ended.
	Confine func() (c *sandbox.Confinement, done func(), err error)
	// Approved are the answers about hooks that skills and agents of the project bring along; nil: none is approved.
	Approved *approved.Answers
	TrustAll bool // the user trusts what comes with the project, for this run
	// Covers reports whether a permission rule covers a call.
	Covers func(rule string, call llm.ToolCall) (bool, error)
	Client *http.Client // nil: one that follows no redirects

	mu      sync.Mutex
	of      *config.Config // that table is of
	plugins uint64         // the version of the plugins that table is of
	table   *table
	off     bool
	setup   string // the trigger of Setup; "": it is not fired
}

// Cron is a prompt that is sent later, as handlers read it.
type Cron struct {
	ID        string `json:"id"`
	Schedule  string `json:"schedule"` // five fields of cron, or the time of the only run
	Recurring bool   `json:"recurring"`
	Prompt    string `json:"prompt"`
}

// Session is the conversation that a Hooks serves.
type Session struct {
	*journal.Journal
	Dir    func() string
	Mode   func() permission.Mode
	Effort func() llm.Effort
	// the hooks of the kind of agent that the session is of, for the next prompt; nil: none
	Scope  func() Scope
	Expand func(llm.Message) (name, args, source, line string, ok bool) // the command that a prompt is; nil: none is
	Agent  string                                                       // the kind of the agent; "" is lathe's own
	Main   *Hooks                                                       // of the main conversation; nil: this is it
	// Invoke runs calls for handlers of the types mcp_tool and agent.
	Invoke func(context.Context, []llm.ToolCall) []llm.ToolResult
	Model  func() llm.ModelInfo
	// for handlers that ask; "" is the model for small work
	Models func(ctx context.Context, name string) (llm.Model, error)
	Count  func(purpose string, m llm.ModelInfo, u llm.Usage) // adds their use to the cost of the session
	// Background lists what works in the background, in all of the conversation; nil: nothing does.
	Background func() []event.BackgroundTask
	Crons      func() []Cron   // what the conversation has planned; nil: nothing
	Life       context.Context // ends with the session

	Interactive bool // somebody answers questions
	// Ask asks the user; nil: nobody answers.
	Ask func() func(context.Context, event.Question) (event.Answer, error)
}

// Hooks fires the events of one session. It is safe for concurrent use. A nil one has no hooks.
type Hooks struct {
	m *Machine
	s Session

	mu         sync.Mutex
	source     string // of SessionStart
	reason     string // of SessionEnd
	begun      bool   // SessionStart or SubagentStart was fired
	blocks     int    // times in a row that a Stop hook continued the turn
	later      []string
	running    sync.WaitGroup // handlers that nobody may wait for
	end        func()         // ends them
	timers     map[string]*time.Timer
	prompt     string        // the id of the present prompt
	principal  string        // who sent it; empty: the user of the machine
	beginning  chan struct{} // full while the hooks of the beginning run
	opening    []llm.Part    // of the hooks of the beginning, for the first prompt that is not refused
	env        string        // the file that SessionStart hooks write variables to
	scoped     []*table      // of skills and of the agent, as long as the session lasts
	scopes     map[string]bool
	spent      map[*Handler]bool // those that run once, and did
	agentScope *table
	agentKey   string
	expansion  llm.Part         // for the present message, of UserPromptExpansion
	refusal    error            // of the present message
	wakes      func()           // an asynchronous handler wants the model to go on
	batch      []map[string]any // the calls of this step, for PostToolBatch
	watched    []string         // paths of files that hooks asked to be watched
	advice     []string         // of the user's hooks for the model that judges permissions
	reply      string           // the text of the last reply of the model
	disagreed  bool             // the user knows that two hooks show a text differently

	transcript *transcript.File // nil: nothing is kept
}

// New makes the hooks of a session. A hook of the settings that protects the user and cannot be read is an error.
func (m *Machine) New(s Session) (*Hooks, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	h := &Hooks{m: m, s: s, beginning: make(chan struct{}, 1), timers: map[string]*time.Timer{}}
	h.s.Life, h.end = context.WithCancel(s.Life)
	if log := s.Log(); log != nil {
		main := log.ID()
		if s.Main != nil {
			main = s.Main.s.ID()
		}
		h.transcript = transcript.New(log, main)
	}
	return h, nil
}

// Check returns the first error of a hook that protects the user, such as one of PreToolUse.
func (m *Machine) Check() error { return m.current().err }

// Notes are warnings about the other hooks that cannot be used.
func (m *Machine) Notes() []string { return m.current().notes }

// Any reports whether an event has handlers.
func (h *Hooks) Any(name string) bool { return h != nil && len(h.handlers(name)) > 0 }

// handlers lists the handlers of an event: of all sessions, then of this one.
func (h *Hooks) handlers(name string) []*Handler {
	common := h.m.current().handlers[name]
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.scoped) == 0 && h.agentScope == nil || h.m.Off() {
		return common
	}
	out := slices.Clone(common)
	tables := h.scoped
	if h.agentScope != nil {
		tables = append(slices.Clone(tables), h.agentScope)
	}
	for _, t := range tables {
		for _, handler := range t.handlers[name] {
			if !h.spent[handler] {
				out = append(out, handler)
			}
		}
	}
	return out
}

// current returns the handlers of the settings in force.
func (m *Machine) current() *table {
	c, plugins := m.Config(), uint64(0)
	if m.PluginsVersion != nil {
		plugins = m.PluginsVersion()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.table == nil || m.of != c || m.plugins != plugins {
		groups := c.Hooks()
		if m.off {
			groups = without(groups)
		}
		given := m.Given
		if m.Plugins != nil && !m.off {
			given = append(slices.Clone(given), m.Plugins()...)
		}
		m.table, m.of, m.plugins = read(groups, given), c, plugins
	}
	return m.table
}

// Give replaces the hooks of the host program.
func (m *Machine) Give(groups []Group) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Given, m.table = groups, nil
}

// Machine is what h shares with the other sessions.
func (h *Hooks) Machine() *Machine { return h.m }

// List describes the handlers in force in the session, by event.
func (h *Hooks) List() []Handler {
	var out []Handler
	for name := range events() {
		for _, handler := range h.handlers(name) {
			out = append(out, *handler)
		}
	}
	return sorted(out)
}

// List describes the handlers in force in all sessions, by event.
func (m *Machine) List() []Handler {
	var out []Handler
	for _, hs := range m.current().handlers {
		for _, h := range hs {
			out = append(out, *h)
		}
	}
	return sorted(out)
}

func sorted(out []Handler) []Handler {
	slices.SortStableFunc(out, func(a, b Handler) int {
		return cmp.Or(cmp.Compare(order(a.Event), order(b.Event)), cmp.Compare(a.number, b.number))
	})
	return out
}

// occasion is one firing of an event.
type occasion struct {
	event   string
	subject string         // for matchers
	fields  map[string]any // of the input, beside those that every event has
	call    *llm.ToolCall  // of a tool event

	leave func(limit time.Duration) // the command goes on in the background, for this long at most; nil: it cannot
}

// Run is the result of one handler.
type Run struct {
	Handler *Handler
	Output  Output
	Text    string // standard output that is not JSON
	Stderr  string
	Exit    int // 2 blocks
	Err     error
	Took    time.Duration
}

// blocked reports exit code 2 or a decision to block, and the reason.
func (r Run) blocked() (string, bool) {
	switch {
	case r.Output.Decision == "block" || r.Output.Decision == "deny":
		return cmp.Or(r.Output.Reason, r.Stderr, "a hook blocked it"), true
	case r.Exit == 2:
		return cmp.Or(r.Output.Reason, r.Stderr, "a hook blocked it"), true
	}
	return r.unanswered()
}

// unanswered reports a callback of the host program that failed where it could have refused something, and the reason
// to refuse it: the host relies on its hook, unless it says onFailure: "continue" (HookCallbackMatcher in the Agent
// SDK's sdk.d.ts).
func (r Run) unanswered() (string, bool) {
	if r.Err == nil || r.Handler.Type != typeCallback || r.Handler.lenient {
		return "", false
	}
	k := events()[r.Handler.Event]
	return fmt.Sprintf("the host program's hook of %s gave no valid answer: %v", r.Handler.Event, r.Err),
		k.protects && !k.resumes
}

// stops reports a hook that ends the turn, and the reason.
func (r Run) stops() (string, bool) {
	if r.Output.Continue != nil && !*r.Output.Continue {
		return cmp.Or(r.Output.StopReason, "it gave no reason"), true
	}
	return "", false
}

// context is the text for the model.
func (r Run) context() string { return r.Output.Specific.AdditionalContext }

// fire runs the handlers of an event side by side and returns their results in the order of the list.
func (h *Hooks) fire(ctx context.Context, o occasion) []Run {
	if h == nil {
		return nil
	}
	handlers := h.matching(o)
	if len(handlers) == 0 {
		return nil
	}
	input, err := json.Marshal(h.input(o))
	if err != nil {
		h.warn(fmt.Sprintf("hooks of %s: %v", o.event, err))
		return nil
	}
	runs := make([]Run, len(handlers))
	var wg sync.WaitGroup
	for i, handler := range handlers {
		wg.Go(func() { runs[i] = h.one(ctx, handler, o, input) })
	}
	wg.Wait()
	for _, r := range runs {
		h.show(r)
	}
	return runs
}

// matching lists the handlers for an occasion.
func (h *Hooks) matching(o occasion) (out []*Handler) {
	for _, handler := range h.handlers(o.event) {
		if !handler.test(o.subject) {
			continue
		}
		if handler.If != "" && !h.covered(handler, o.call) {
			continue
		}
		if handler.Once && !h.spend(handler) {
			continue
		}
		out = append(out, handler)
	}
	return out
}

// covered tests the rule of a handler. A rule that cannot be tested counts as matching, so that a hook that protects
// runs.
func (h *Hooks) covered(handler *Handler, call *llm.ToolCall) bool {
	if call == nil {
		return false
	}
	if h.m.Covers == nil {
		return true
	}
	ok, err := h.m.Covers(handler.If, *call)
	return ok || err != nil
}

// one runs a handler and records it.
func (h *Hooks) one(ctx context.Context, handler *Handler, o occasion, input []byte) Run {
	id := uuid.NewString()
	h.s.Publish(event.HookStart{ID: id, Event: o.event, Hook: handler.name(o.subject), Status: handler.StatusMessage})
	if handler.Type == typeCommand && o.event != "SessionEnd" { // after which nothing goes on
		return h.attended(ctx, handler, o, id, input)
	}
	return h.recorded(ctx, handler, o, id, input)
}

// show publishes a handler's message for the user, and its failure.
func (h *Hooks) show(r Run) {
	if m := r.Output.SystemMessage; m != "" {
		h.note("info", m)
	}
	if t := terminalSequences(r.Output.Terminal); t != "" && h.s.Interactive {
		h.s.Publish(event.Terminal{Sequence: t})
	}
	if why, ok := r.unanswered(); ok {
		h.warn(why + "; what it guards is refused")
	} else if r.Err != nil {
		h.warn(fmt.Sprintf("the hook %s failed and decides nothing: %v", r.Handler.name(""), r.Err))
	}
}

func (h *Hooks) warn(text string) { h.note("warning", text) }

func (h *Hooks) note(level, text string) { h.s.Note(event.Notice{Level: level, Text: text}) }

// child reports the session of a subagent.
func (h *Hooks) child() bool { return h.s.Main != nil }
