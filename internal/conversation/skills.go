package conversation

import (
	"cmp"
	"context"
	"path/filepath"

	"github.com/lathe-dev/lathe/internal/agent/hook"
	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation/extension"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/skill"
	"github.com/lathe-dev/lathe/internal/extend/skill/invoke"
	"github.com/lathe-dev/lathe/internal/extend/style"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/prompt"
	"github.com/lathe-dev/lathe/internal/tool/memory"
)

// Extensions are the skills, commands and output styles from files.
func (i *Instance) Extensions() *extension.Folder { return i.extensions }

// Notes is the store of the project's notes; nil: none are kept.
func (i *Instance) Notes() *memory.Store {
	if !i.settings().AutoMemoryEnabled || i.opts.Bare || i.projectDir() == "" {
		return nil
	}
	return memory.Open(filepath.Join(i.projectDir(), "memory"))
}

// Style is the output style that this conversation began with.
func (s *Session) Style() string { return cmp.Or(s.begun.Style, style.Default) }

// addContext adds what a user message names (files, resources of servers, skills), and the notes that belong to it.
func (s *Session) addContext(ctx context.Context, m llm.Message) llm.Message {
	m = s.skills.Message(ctx, s.servers.Attach(ctx, s.attach(ctx, m)))
	return s.addNotes(ctx, s.addKind(ctx, m))
}

// newLoader makes what loads skills into the conversation.
func (s *Session) newLoader() *invoke.Loader {
	i := s.inst
	return invoke.New(invoke.Host{
		Library: i.extensions.Skills, Policy: s.Policy(), Chain: s.chain, Tools: i.tools, Dir: i.opts.Dir,
		Clean: prompt.Sanitize, Messages: s.Messages, Revision: s.Revision,
		Budget:  func() int { return invoke.Budget(s.Model().ContextWindow) },
		Trusted: func() bool { return i.conf.Load().Trusted() },
		Run:     invoke.Shell(s.Invoke), Task: s.skillAgent, Read: s.attachNamed, AddRoot: s.AddReadRoot,
		Hooks: func(ctx context.Context, sk *skill.Skill) error {
			return s.hooks.Use(ctx, hook.Scope{
				Kind: "skill", Name: sk.Name, File: sk.Path, Hooks: sk.Hooks,
				Place: hook.Place{
					Foreign: extension.Foreign(sk.Source) || sk.Source == skill.SourceSettings, Root: sk.Dir,
				},
			})
		},
		Nested:  !i.opts.Bare && !i.opts.NoSkills && i.conf.Load().Reads(config.Project),
		Use:     s.useModel,
		NoShell: func() bool { return i.settings().DisableSkillShellExecution },
		Notice:  func(level, text string) { s.Note(event.Notice{Level: level, Text: text}) },
		Variables: func() map[string]string {
			return map[string]string{
				"CLAUDE_PROJECT_DIR": i.extensions.Root(), "CLAUDE_SESSION_ID": s.ID(), "CLAUDE_EFFORT": string(s.Effort()),
			}
		},
	})
}

// useModel has a model answer until back is called, unless another one is chosen meanwhile. The log keeps the
// conversation's own.
func (s *Session) useModel(ctx context.Context, name, effort string) (back func(), err error) {
	was, wasEffort := s.agent.Model()
	m := was
	if name != "" {
		if m, err = s.inst.Model(ctx, name); err != nil {
			return nil, err
		}
	}
	s.agent.SetModel(m, cmp.Or(llm.Effort(effort), wasEffort))
	return func() {
		if now, _ := s.agent.Model(); now == m {
			s.agent.SetModel(was, wasEffort)
		}
	}, nil
}

// skillAgent has an agent do the task of a skill.
func (s *Session) skillAgent(ctx context.Context, t invoke.Task) (string, bool) {
	if t.Only != nil {
		ctx = subagent.WithLimit(ctx, t.Skill, t.Only)
	}
	return invoke.Agents(s.Invoke)(ctx, t)
}

// skillListing is the section of the context that lists the skills. They are read at once; the loader is asked when the
// session is open.
func (s *Session) skillListing() prompt.Provider {
	return prompt.Provider{
		Name: "skills", Origin: "skills", Limit: invoke.MaxListing,
		Get: func(ctx context.Context) (string, error) {
			s.inst.extensions.Skills.Catalog()
			select {
			case <-s.opened:
				return s.skills.Listing(), nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		},
	}
}

// beginStyle notes the chosen style for a new conversation, which keeps it.
func (s *Session) beginStyle() {
	chosen, err := s.inst.extensions.Styles.Get()
	if err != nil {
		s.addNote(err.Error())
		return
	}
	if chosen.Text != "" {
		s.begun.Style, s.begun.StyleText, s.begun.StyleKeeps = chosen.Name, chosen.Text, chosen.Keeps
	}
}
