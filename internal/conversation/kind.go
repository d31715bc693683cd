package conversation

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent/hook"
	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation/extension"
	"github.com/lathe-dev/lathe/internal/extend/mcp/entry"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/prompt"
	"github.com/lathe-dev/lathe/internal/store/session"
	"github.com/lathe-dev/lathe/internal/tool"
)

// The kind of a session's agent: a subagent's, or the one that a main conversation chooses and keeps in its log as it
// was when it began.

// Agent names the kind of the session's agent; "" is lathe's own.
func (s *Session) Agent() string {
	if k := s.kind.Load(); k != nil {
		return k.Name
	}
	return ""
}

// addNote keeps a text for the user until the first turn begins.
func (s *Session) addNote(text string) {
	if text != "" {
		s.notes = append(s.notes, text)
	}
}

// kindHooks are the hooks in the file of the kind.
func (s *Session) kindHooks() hook.Scope {
	k := s.kind.Load()
	if k == nil || len(k.Hooks) == 0 {
		return hook.Scope{}
	}
	return hook.Scope{
		Kind: "agent", Name: k.Name, File: k.Path, Hooks: k.Hooks,
		Place: hook.Place{Foreign: extension.Foreign(k.Source)},
	}
}

// chooseKind finds the kind of a new main conversation: that of the command line, or of the settings, whose absence is
// only noted. A resumed one gets another than its own only from the command line.
func (s *Session) chooseKind(resumed bool) error {
	if s.fixed {
		return nil
	}
	i := s.inst
	name := i.opts.Agent
	if name == "" && !resumed {
		name = cmp.Or(i.settings().Agent, i.extensions.PluginAgent())
	}
	if name == "" {
		return nil
	}
	k, err := i.kindNamed(name)
	if err != nil && i.opts.Agent == "" {
		s.addNote("the setting agent: " + err.Error())
		return nil
	}
	s.kind.Store(k)
	return err
}

// kindNamed is a kind of main conversations; nil for lathe's own.
func (i *Instance) kindNamed(name string) (*subagent.Kind, error) {
	if name == subagent.Default {
		return nil, nil
	}
	k, err := i.extensions.Agents.Catalog().Get(name)
	if err != nil { // a file of that name comes first
		switch strings.ToLower(name) {
		case subagent.Build:
			return nil, nil
		case "general":
			k, err = subagent.Without("general", tool.TodoName), nil
		}
	}
	return k.Main(), err
}

// restoreKind gives a conversation the kind in its log, unless the command line names one.
func (s *Session) restoreKind(log *session.Session) {
	b := log.Branch().Only(session.System{}.Kind())
	if s.fixed || s.inst.opts.Agent != "" || b.Len() == 0 {
		return
	}
	for _, e := range b.Entries(b.Len()-1, b.Len()) {
		if sys, ok := e.Body.(session.System); ok {
			k, err := subagent.Decode(sys.Agent)
			if s.kind.Store(k); err != nil {
				s.addNote("the agent of this conversation cannot be read: " + err.Error())
			}
		}
	}
}

// kindModel is the model that a main conversation begins with, unless the command line names one; "": the configured
// one.
func (s *Session) kindModel() string {
	if k := s.kind.Load(); k != nil && !s.fixed && s.inst.conf.Load().Origin("model").Layer != config.Flags {
		return k.Model
	}
	return ""
}

// steps is the limit of steps of a turn, at most that of the command line or the settings; 0: none.
func (s *Session) steps() int {
	return s.kind.Load().Steps(cmp.Or(s.inst.opts.MaxTurns, s.inst.settings().MaxTurns))
}

// addKind adds to the first message of a conversation the skills of the kind, and to that of a main one its initial
// prompt, which stands before the user's.
func (s *Session) addKind(ctx context.Context, m llm.Message) llm.Message {
	k := s.kind.Load()
	if k == nil || len(s.Messages()) > 0 {
		return m
	}
	at := slices.IndexFunc(m.Parts, func(p llm.Part) bool {
		t, ok := p.(llm.Text)
		return ok && t.Origin == llm.OriginAuthor
	})
	if !s.fixed && k.InitialPrompt != "" && at >= 0 {
		m.Parts = slices.Insert(slices.Clone(m.Parts), at, llm.Part(llm.Text{Text: k.InitialPrompt}))
	}
	m.Parts = slices.Concat(m.Parts, s.notesPart(), s.skills.Preload(ctx, k.Skills))
	return m
}

// kindSystem gives the system prompt of the kind. That of the command line stands before a main conversation's.
func (s *Session) kindSystem(o prompt.SystemOptions) prompt.SystemOptions {
	switch k := s.kind.Load(); {
	case k == nil:
	case k.Extends, !s.fixed && o.Replace != "":
		o.Agent = k.Prompt
	default:
		o.Replace = k.Prompt
	}
	return o
}

// kindContext leaves out what the kind does not get.
func (s *Session) kindContext(o prompt.ContextOptions) prompt.ContextOptions {
	k := s.kind.Load()
	if k != nil && k.NoMemory {
		o.Git, o.NoMemory, o.Providers = false, true, nil
	}
	if k != nil && k.OmitMemory && s.fixed {
		o.NoUser, o.NoProject, o.NoLocal = true, true, true
	}
	return o
}

// kindEffort is that of the kind, else the other one.
func (s *Session) kindEffort(other llm.Effort) llm.Effort {
	if k := s.kind.Load(); k != nil && k.Effort != "" {
		return llm.Effort(k.Effort)
	}
	return other
}

// beginKind puts the tools and the mode of the kind in force for a main conversation.
func (s *Session) beginKind() {
	k := s.kind.Load()
	if s.fixed || k == nil && s.begun.Agent == "" {
		return
	}
	s.Authority.SetAgent(s.kindTools())
	if s.inst.opts.Mode == "" {
		s.setKindMode(k)
	}
	if err := s.journalKind(k); err != nil {
		s.addNote(err.Error())
	}
}

// SetAgent makes the main agent one of another kind, by name, from the next turn on; "default" is lathe's own.
func (s *Session) SetAgent(ctx context.Context, name string) error {
	if !s.turn.TryLock() {
		return ErrBusy
	}
	defer s.turn.Unlock()
	k, err := s.inst.kindNamed(name)
	if err != nil {
		return err
	}
	if k != nil && k.Model != "" {
		if err := s.SetModel(ctx, k.Model); err != nil {
			return err
		}
	}
	if k != nil && k.Effort != "" {
		s.SetEffort(llm.Effort(k.Effort))
	}
	s.kind.Store(k)
	s.Authority.SetAgent(s.kindTools())
	s.agent.SetMaxSteps(s.steps())
	s.setKindMode(k)
	return s.journalKind(k)
}

// kindTools is the permissions of the kind; one whose rules cannot be read has no tools.
func (s *Session) kindTools() permission.AgentKind {
	k := s.kind.Load()
	if k == nil {
		return permission.AgentKind{}
	}
	out, err := s.inst.extensions.AgentKind(k, s.tree.At())
	if err != nil {
		s.addNote("the agent " + k.Name + " has no tools: " + err.Error())
		return permission.AgentKind{Name: k.Name, Says: k.Description, ReadOnly: true, Tools: []string{}}
	}
	return out
}

func (s *Session) setKindMode(k *subagent.Kind) {
	mode, note := k.MainMode()
	if s.addNote(note); mode == "" {
		return
	}
	if err := s.Authority.Set(mode); err != nil {
		s.addNote(err.Error())
	}
}

// journalKind notes another kind in the log; before the first message that is left to it.
func (s *Session) journalKind(k *subagent.Kind) error {
	was := s.begun.Agent
	if s.begun.Agent = k.Encode(); was == s.begun.Agent || len(s.Messages()) == 0 {
		return nil
	}
	return s.Add(s.begun)
}

// ownServers are the MCP servers that the kind declares for itself; they run where the agent works.
func (s *Session) ownServers() []entry.Own {
	return s.inst.extensions.ServersOf(s.kind.Load(), s.tree.At())
}

// notesPart is the notes of the kind for the first message of a conversation.
func (s *Session) notesPart() []llm.Part {
	dir := s.inst.extensions.NotesDir(s.kind.Load(), s.tree.At())
	if dir == "" {
		return nil
	}
	text, err := subagent.ReadNotes(dir)
	if err != nil {
		s.warn("the notes of the agent " + s.Agent() + " cannot be read: " + err.Error())
	}
	return []llm.Part{llm.Text{
		Text:   "<system-reminder>\n" + prompt.Sanitize(text) + "\n</system-reminder>",
		Origin: llm.OriginMemory,
	}}
}
