package extension

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/lathe-dev/lathe/internal/agent/hook"
	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/prompt"
	"github.com/lathe-dev/lathe/internal/store/journal"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// Agent is the kind of a session's agent: a subagent's, or the one that a main conversation is of, which it keeps in
// its log as it was when it began. It is safe for concurrent use.
type Agent struct {
	f     *Folder
	main  bool
	place *permission.Place // that it works in; nil: the project
	kind  atomic.Pointer[subagent.Kind]

	mu    sync.Mutex
	notes []string
}

// Notes are the warnings for the user since the last call.
func (a *Agent) Notes() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer func() { a.notes = nil }()
	return a.notes
}

func (a *Agent) note(text string) {
	if text != "" {
		a.mu.Lock()
		a.notes = append(a.notes, text)
		a.mu.Unlock()
	}
}

// Agent makes that of a subagent of a kind, or, for nil, of a main conversation. Place is where it works; nil: the
// project.
func (f *Folder) Agent(k *subagent.Kind, place *permission.Place) *Agent {
	a := &Agent{f: f, main: k == nil, place: place}
	a.kind.Store(k)
	return a
}

// Kind is the present kind; nil: lathe's own.
func (a *Agent) Kind() *subagent.Kind { return a.kind.Load() }

// Name is its name; "" for lathe's own.
func (a *Agent) Name() string {
	if k := a.Kind(); k != nil {
		return k.Name
	}
	return ""
}

// Hooks are those of its file.
func (a *Agent) Hooks() hook.Scope {
	k := a.Kind()
	if k == nil || len(k.Hooks) == 0 {
		return hook.Scope{}
	}
	return hook.Scope{
		Kind: "agent", Name: k.Name, File: k.Path, Hooks: k.Hooks,
		Place: hook.Place{Foreign: foreign(k.Source)},
	}
}

// Choose finds the kind of a new main conversation: that of the command line, or of the settings, whose absence is only
// noted. A resumed one gets another than its own only from the command line.
func (a *Agent) Choose(resumed bool) error {
	name := a.f.o.Agent
	if name == "" && !resumed {
		if name = a.f.o.Config().Settings.Agent; name == "" && a.main {
			name = a.f.pluginAgent()
		}
	}
	if !a.main || name == "" {
		return nil
	}
	k, err := a.f.kind(name)
	if err != nil && a.f.o.Agent == "" {
		a.note("the setting agent: " + err.Error())
		return nil
	}
	a.kind.Store(k)
	return err
}

func (f *Folder) kind(name string) (*subagent.Kind, error) {
	if name == subagent.Default {
		return nil, nil
	}
	k, err := f.Agents.Catalog().Get(name)
	return k.Main(), err
}

// Restore gives a conversation the kind in its log, unless the command line names one.
func (a *Agent) Restore(log *session.Session) {
	b := log.Branch().Only(session.System{}.Kind())
	if !a.main || a.f.o.Agent != "" || b.Len() == 0 {
		return
	}
	for _, e := range b.Entries(b.Len()-1, b.Len()) {
		if sys, ok := e.Body.(session.System); ok {
			k, err := subagent.Decode(sys.Agent)
			if a.kind.Store(k); err != nil {
				a.note("the agent of this conversation cannot be read: " + err.Error())
			}
		}
	}
}

// Model is the model that a main conversation begins with, unless the command line names one; "": the configured one.
func (a *Agent) Model() string {
	if k := a.Kind(); k != nil && a.main && a.f.o.Config().Origin("model").Layer != config.Flags {
		return k.Model
	}
	return ""
}

// Steps is the limit of steps of a turn, at most that of the command line or the settings; 0: none.
func (a *Agent) Steps(flag int) int {
	return a.Kind().Steps(cmp.Or(flag, a.f.o.Config().Settings.MaxTurns))
}

// First adds to the first message of a conversation the skills of the kind, and to that of a main one its initial
// prompt, which stands before the user's.
func (a *Agent) First(ctx context.Context, m llm.Message, before []llm.Message,
	load func(context.Context, []string) []llm.Part,
) llm.Message {
	k := a.Kind()
	if k == nil || len(before) > 0 {
		return m
	}
	at := slices.IndexFunc(m.Parts, func(p llm.Part) bool {
		t, ok := p.(llm.Text)
		return ok && t.Origin == llm.OriginAuthor
	})
	if a.main && k.InitialPrompt != "" && at >= 0 {
		m.Parts = slices.Insert(slices.Clone(m.Parts), at, llm.Part(llm.Text{Text: k.InitialPrompt}))
	}
	m.Parts = slices.Concat(m.Parts, a.notesPart(), load(ctx, k.Skills))
	return m
}

// System gives the system prompt of the kind. That of the command line stands before a main conversation's.
func (a *Agent) System(o prompt.SystemOptions) prompt.SystemOptions {
	switch k := a.Kind(); {
	case k == nil:
	case k.Extends, a.main && o.Replace != "":
		o.Agent = k.Prompt
	default:
		o.Replace = k.Prompt
	}
	return o
}

// Context leaves out what the kind does not get.
func (a *Agent) Context(o prompt.ContextOptions) prompt.ContextOptions {
	if k := a.Kind(); k != nil && k.NoMemory {
		o.Git, o.NoMemory, o.Providers = false, true, nil
	}
	return o
}

// Effort is that of the kind, else the other one.
func (a *Agent) Effort(other llm.Effort) llm.Effort {
	if k := a.Kind(); k != nil && k.Effort != "" {
		return llm.Effort(k.Effort)
	}
	return other
}

// Conversation is a main conversation whose kind changes.
type Conversation struct {
	SetModel    func(ctx context.Context, name string) error
	SetEffort   func(llm.Effort)
	SetMode     func(permission.Mode) error
	SetMaxSteps func(int)
	SetTools    func(permission.AgentKind) // the tools it has, for every decision
	Log         *journal.Journal
	Begun       *session.System

	FlagSteps int  // the command line's limit; 0: none
	KeepMode  bool // the command line names a mode
}

// Begin puts the tools and the mode of the kind in force for a main conversation.
func (a *Agent) Begin(c Conversation) {
	k := a.Kind()
	if !a.main || k == nil && c.Begun.Agent == "" {
		return
	}
	c.SetTools(a.tools())
	if err := a.settle(c, k); err != nil {
		a.note(err.Error())
	}
}

// Become makes a main conversation one of another kind.
func (a *Agent) Become(ctx context.Context, name string, c Conversation) error {
	k, err := a.f.kind(name)
	if err != nil {
		return err
	}
	if k != nil && k.Model != "" {
		if err := c.SetModel(ctx, k.Model); err != nil {
			return err
		}
	}
	if k != nil && k.Effort != "" {
		c.SetEffort(llm.Effort(k.Effort))
	}
	a.kind.Store(k)
	c.SetTools(a.tools())
	c.SetMaxSteps(a.Steps(c.FlagSteps))
	c.KeepMode = false
	return a.settle(c, k)
}

func (a *Agent) tools() permission.AgentKind {
	if k := a.Kind(); k != nil {
		return a.mustAgentKind(k)
	}
	return permission.AgentKind{}
}

// mustAgentKind is the permissions of a kind; one whose rules cannot be read has no tools.
func (a *Agent) mustAgentKind(k *subagent.Kind) permission.AgentKind {
	out, err := a.f.AgentKind(k, a.place)
	if err != nil {
		a.note("the agent " + k.Name + " has no tools: " + err.Error())
		return permission.AgentKind{Name: k.Name, Says: k.Description, ReadOnly: true, Tools: []string{}}
	}
	return out
}

// settle sets the mode, and notes another kind in the log; before the first message that is left to it.
func (a *Agent) settle(c Conversation, k *subagent.Kind) error {
	if !c.KeepMode {
		mode, note := k.MainMode()
		if a.note(note); mode != "" {
			if err := c.SetMode(mode); err != nil {
				a.note(err.Error())
			}
		}
	}
	was := c.Begun.Agent
	if c.Begun.Agent = k.Encode(); was == c.Begun.Agent || len(c.Log.Messages()) == 0 {
		return nil
	}
	return c.Log.Add(*c.Begun)
}
