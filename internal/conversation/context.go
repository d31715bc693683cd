package conversation

import (
	"context"
	"runtime"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/agent/hook"
	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/git"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/prompt"
)

// system is the system prompt.
func (s *Session) system(context.Context) ([]llm.Part, error) {
	return prompt.System(s.systemOptions()), nil
}

func (s *Session) systemOptions() prompt.SystemOptions {
	o, set := s.inst.opts, s.inst.settings()
	if o.System == "" && o.AppendSystem == "" { // a resumed conversation keeps its first system prompt
		o.System, o.AppendSystem = s.begun.Replace, s.begun.Append
	}
	o.System, o.AppendSystem = s.expand(o.System), s.expand(o.AppendSystem)
	if own := set.Instructions; own != "" {
		o.AppendSystem = strings.TrimSpace(o.AppendSystem + "\n\n" + own)
	}
	return s.kindSystem(prompt.SystemOptions{
		Model: s.Model().ID, Replace: o.System, Append: o.AppendSystem, Language: set.Language,
		Style: prompt.Style{
			Name: s.begun.Style, Text: prompt.Sanitize(s.expand(s.begun.StyleText)), KeepCoding: s.begun.StyleKeeps,
		},
		Commit: set.Attribution.Commit, PullRequest: set.Attribution.PR,
	})
}

// expand fills in what a text for the system prompt may name, as it is when the session begins.
func (s *Session) expand(text string) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	branch := ""
	if repo, ok := git.Find(s.Dir()); ok {
		branch = repo.Branch
	}
	return strings.NewReplacer("{{cwd}}", s.Dir(), "{{date}}", time.Now().Format(time.DateOnly),
		"{{platform}}", runtime.GOOS, "{{branch}}", branch, "{{model}}", s.Model().ID).Replace(text)
}

// beginContext starts to gather the context (folder, git, memory) while the session opens.
func (s *Session) beginContext(ctx context.Context, model llm.Model) {
	s.pending = prompt.Begin(ctx, s.contextOptions(model.Info().ID))
}

func (s *Session) contextOptions(model string) prompt.ContextOptions {
	i := s.inst
	o := prompt.ContextOptions{
		Dir: s.tree.Moved(i.opts.Dir), Root: s.tree.Moved(i.paths.Root), Roots: i.opts.AddDirs, Home: i.paths.Home,
		ClaudeHome: i.paths.ClaudeHome,
		ConfigHome: i.paths.ConfigHome, Environ: i.environ(), Model: model, Runner: i.runner,
		Mode: string(s.Mode()), NobodyAnswers: !s.interactive,
		Loaded: func(l prompt.Loaded) { s.hooks.InstructionsLoaded(hook.Instructions(l)) },
		Git:    i.settings().IncludeGitInstructions, Excludes: i.settings().ClaudeMdExcludes,
		BothMemories: i.settings().AgentsMd == "both",
		Notes:        i.Notes().Index(), NoUser: i.opts.Bare || !i.conf.Load().Reads(config.User), NoProject: i.opts.Bare ||
			!i.conf.Load().Reads(config.Project),
		NoLocal:   i.opts.Bare || !i.conf.Load().Reads(config.Local),
		Providers: append(i.extensions.Context(), s.skillListing(), i.extensions.AgentListing()),
		Refused:   s.refusesMemory,
	}
	if s.agent != nil {
		if m := s.loopModel(); m != nil {
			o.Window = m.Info().ContextWindow
		}
	}
	return s.kindContext(o)
}

// refusesMemory holds a file that memory imports against the rules of Read. What the project's files name is the
// project's choice, so a file that Read would ask about is left out, in each mode; the user's own files are bound by
// deny rules.
func (s *Session) refusesMemory(path string, own bool) string {
	select {
	case <-s.opened: // the rules are read while the context is gathered
	case <-s.life.Done():
		return "the session ended"
	}
	switch effect := s.MayRead(path); {
	case effect == permission.Deny:
		return "a rule denies Read"
	case own:
		return ""
	case effect != permission.Allow || permission.SecretRead(path, s.Dirs()):
		return "Read would ask before it reads this file"
	}
	return ""
}

// changes are the parts about changes since the last message.
func (s *Session) changes() []llm.Part {
	o := s.contextOptions(s.Model().ID)
	for _, f := range s.env.Reads.Changed() {
		name := s.env.Rel(f.Path)
		if f.Removed {
			name += " (removed)"
		}
		o.ChangedFiles = append(o.ChangedFiles, name)
	}
	return prompt.Changes(o, s.Messages())
}

// lateGit brings the state of the repository where git took longer than the first request waited.
func (s *Session) lateGit(context.Context) ([]llm.Message, error) {
	text := s.told.LateGit()
	if text == "" {
		return nil, nil
	}
	return []llm.Message{{Role: llm.User, Parts: []llm.Part{llm.Text{
		Text:   "<system-reminder>\nThe state of git when the session began:\n" + text + "</system-reminder>",
		Origin: llm.OriginReminder,
	}}}}, nil
}

// withContext puts it before the first message of the conversation. The error is the end of ctx.
func (s *Session) withContext(ctx context.Context, m *llm.Message) error {
	// It is read once; when a hook refuses the message, the next one gets another.
	defer func() { s.told, s.pending = s.pending, nil }()
	if s.pending == nil {
		s.beginContext(ctx, s.loopModel())
	}
	err := s.pending.Precede(ctx, m, s.contextOptions(s.Model().ID))
	if n := s.pending.Notice(); n != "" {
		s.Note(event.Notice{Level: "warning", Text: n})
	}
	return err
}
