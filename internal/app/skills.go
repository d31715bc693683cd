package app

import (
	"context"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/prompt"
	"github.com/lathe-dev/lathe/internal/skill"
	"github.com/lathe-dev/lathe/internal/skill/invoke"
	"github.com/lathe-dev/lathe/internal/skill/locate"
)

// Skills are the skills and commands of the folder.
func (i *Instance) Skills() *skill.Library { return i.skills }

// Skills lists the skills and commands that there are now, by name.
func (s *Session) Skills() []*skill.Skill { return s.inst.skills.Catalog().All() }

func (i *Instance) skillFolders() []skill.Folder {
	if i.opts.NoSkills || i.opts.Bare {
		return nil
	}
	return locate.Places(i.conf.Load(), i.opts.Dir).Folders()
}

// newLoader makes what loads skills into the session.
func (s *Session) newLoader() *invoke.Loader {
	i := s.inst
	return invoke.New(invoke.Host{
		Library: i.skills, Policy: s.rules.Policy(), Tools: i.tools, Dir: i.opts.Dir, Clean: prompt.Sanitize,
		Messages: s.Messages, Revision: s.Revision, Budget: func() int { return invoke.Budget(s.Model().ContextWindow) },
		Trusted: func() bool { return i.conf.Load().Trusted() },
		Run:     invoke.Shell(s.Invoke), Read: s.attached.Named, AddRoot: s.AddReadRoot,
		Notice: func(level, text string) { s.Note(event.Notice{Level: level, Text: text}) },
		Variables: func() map[string]string {
			return map[string]string{
				"CLAUDE_PROJECT_DIR": locate.Root(i.conf.Load(), i.opts.Dir), "CLAUDE_SESSION_ID": s.ID(), "CLAUDE_EFFORT": string(s.Effort()),
			}
		},
	})
}

// addContext adds to a message of the user what it names: files and skills.
func (s *Session) addContext(ctx context.Context, m llm.Message) llm.Message {
	return s.skills.Message(ctx, s.attached.Attach(ctx, m))
}

// skillListing is the section of the context that lists the skills.
func (s *Session) skillListing() prompt.Provider {
	return prompt.Provider{Name: "skills", Origin: "skills", Limit: invoke.MaxListing, Get: func(ctx context.Context) (string, error) {
		s.inst.skills.Catalog() // read while the session is opened
		select {
		case <-s.opened:
			return s.skills.Listing(), nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}}
}

// announceSkills announces skills whose files were just touched.
func (s *Session) announceSkills() agent.BeforeStep {
	return agent.BeforeStep{Name: "skills", Run: func(context.Context) ([]llm.Message, error) { return s.skills.BeforeStep(), nil }}
}
