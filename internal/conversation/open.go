package conversation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/agent/consult"
	"github.com/lathe-dev/lathe/internal/agent/hook"
	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation/approval"
	"github.com/lathe-dev/lathe/internal/conversation/attach"
	"github.com/lathe-dev/lathe/internal/conversation/checkpoint"
	"github.com/lathe-dev/lathe/internal/conversation/extension"
	"github.com/lathe-dev/lathe/internal/conversation/language"
	"github.com/lathe-dev/lathe/internal/conversation/registry"
	"github.com/lathe-dev/lathe/internal/conversation/resume"
	"github.com/lathe-dev/lathe/internal/conversation/window"
	"github.com/lathe-dev/lathe/internal/conversation/workspace"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/mcp"
	"github.com/lathe-dev/lathe/internal/extend/skill/invoke"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/prompt"
	"github.com/lathe-dev/lathe/internal/store/journal"
	"github.com/lathe-dev/lathe/internal/store/session"
	"github.com/lathe-dev/lathe/internal/store/worktree"
	"github.com/lathe-dev/lathe/internal/tool"
)

// SessionOptions choose the conversation to open, and how.
type SessionOptions struct {
	ID          string // of the new session; "": a new one
	Resume      string // the id of an old one
	Fork        bool   // work on a copy of it
	At          string // go on after this message of the old one: its id, or the id of a stream-json line of it
	Boundaries  bool   // as in agent.Config: a message that is steered too late is left for TakeSteers
	Interactive bool   // somebody answers questions; else a call that would ask is refused
	Detached    bool   // nothing is kept and no model is needed: for single tool calls

	Linger time.Duration // how long the end of a turn waits for agents in the background; negative: until they end

	Chain  []string       // the agent that converses, as in agent.Config; empty: the main one
	Kind   *subagent.Kind // of a subagent; nil: the main agent's prompt and tools
	Model  string         // of a subagent, instead of its parent's
	Parent *Session       // of a subagent; shares its mode, rules, grants, folders and limits, live
	Tree   *worktree.Tree // of a subagent that works in a copy of the project, its own or its parent's

	Bus *event.Bus // where its events go, shared with other sessions and closed by the caller; nil: one of its own
}

// NewSession opens a conversation. The model is not called.
func (i *Instance) NewSession(ctx context.Context, o SessionOptions) (s *Session, err error) {
	s = &Session{
		inst: i, chain: o.Chain, parent: o.Parent, kind: i.extensions.Agent(o.Kind, o.Tree.At()), tree: o.Tree,
		bus: o.Bus, shared: o.Bus != nil, boundaries: o.Boundaries, lingers: o.Linger, opened: make(chan struct{}),
	}
	if err := o.checkParent(i); err != nil {
		return nil, err
	}
	s.interactive = o.Interactive && (o.Parent == nil || o.Parent.interactive)
	if s.bus == nil {
		s.bus = event.NewBus()
		s.closers = append(s.closers, func() error { s.bus.Close(); return nil })
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	s.life = life
	s.closers = append(s.closers, func() error { end(); return nil })
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	s.authority()
	var model llm.Model
	var log *session.Session
	if !o.Detached {
		if err := s.kind.Choose(o.Resume != ""); err != nil {
			return s, err
		}
		s.model = cmp.Or(o.Model, o.modelName(), s.kind.Model())
		if model, err = i.Model(ctx, s.model); err != nil {
			return s, err // before anything is left on disk
		}
		if o.Resume == "" {
			s.beginContext(ctx, model)
		}
		var note string
		if log, note, err = i.logs.Open(ctx, session.Wanted{
			New: o.meta(i, model), Resume: o.Resume,
			Fork: o.Fork,
		}); err != nil {
			return s, err
		}
		if o.At != "" {
			if err := resume.At(log, o.At); err != nil {
				return s, errors.Join(err, log.Close())
			}
		}
		if note != "" {
			s.notes = append(s.notes, note)
		}
		s.closers = append(s.closers, log.Close)
		s.kind.Restore(log)
		if id := i.modelFor(o, log); id != "" {
			if m, err := i.Model(ctx, id); err == nil {
				model, s.model = m, id
			} else {
				s.notes = append(s.notes, fmt.Sprintf("the session's model %s cannot be used, %s answers instead: %v", id,
					model.Info().ID, err))
			}
		}
		s.notes = append(s.notes, log.Notes()...)
		if info := model.Info(); o.Parent == nil && !info.CostKnown() {
			s.notes = append(s.notes, "the price of "+info.ID+
				" is not known: its cost counts as $0, unless the settings have it (inputPrice and outputPrice under providers)")
		}
	}
	s.Journal = journal.New(log, s.bus, s.chain)
	if err := s.setUp(ctx, model); err != nil {
		return s, err
	}
	close(s.opened)
	if o.Resume != "" {
		s.restore()
		s.hooks.Begin(map[bool]string{true: "fork", false: "resume"}[o.Fork])
	} else if s.parent == nil { // a style is for those who read the answers
		if err := i.extensions.Begin(&s.begun); err != nil {
			s.notes = append(s.notes, err.Error())
		}
	}
	if log != nil {
		s.env.Reads.Watch(s.keepSeen)
	}
	s.kind.Begin(s.main())
	s.notes = append(s.notes, s.kind.Notes()...)
	s.record()
	i.join(s)
	return s, nil
}

// setUp makes the tools, the policy and the agent.
func (s *Session) setUp(ctx context.Context, model llm.Model) (err error) {
	i := s.inst
	if s.env, err = i.newEnv(ctx, s); err != nil {
		return err
	}
	if err := s.readRules(); err != nil {
		return err
	}
	if err := s.addRoots(); err != nil {
		return err
	}
	policy := s.Policy()
	s.Workspace = workspace.New(s.env, policy, s.Mode)
	s.env.MayRead, s.env.Readings, s.env.DeniedNames, s.env.Invoke = s.MayRead, s.Readings, policy.DeniedNames, s.Invoke
	s.attached = &attach.Files{Roots: s.env.Roots, Dir: s.Dir, Publish: s.Publish, Read: s.readAttached}
	if s.parent == nil {
		s.env.Plan = consult.NewPlan(consult.Session{
			File: consult.FileOf(s.Log()), Asks: s.interactive, Modes: s.Authority, Guide: i.opts.PlanGuide,
			Folder: func() string { return consult.Folder(i.settings().PlansDirectory, i.paths.Home, i.opts.Dir) },
			Fresh:  func(ctx context.Context, text string) error { return s.window.Replace(ctx, text) },
		})
		policy.SetPlan(s.env.Plan.File)
	}
	if s.hooks, err = i.hooks.New(hook.Session{
		Journal: s.Journal, Dir: s.Dir, Mode: s.Mode, Effort: s.Effort, Scope: s.kind.Hooks, Agent: s.kind.Name(),
		Main: s.outermost().hooks, Invoke: s.Invoke, Model: s.Model,
		Models: s.BesideNamed("hook", i.ModelOrSmall), Count: s.CountRequest, Life: s.life, Interactive: s.interactive,
		Background: s.env.InBackground,
		Ask:        func() func(context.Context, event.Question) (event.Answer, error) { return s.approver.Asker() },
		Expand:     func(m llm.Message) (name, args, by, line string, ok bool) { return s.servers.Expand(m, s.skills) },
	}); err != nil {
		return err
	}
	s.closers, s.notes = append(s.closers, s.hooks.Close), slices.Concat(s.notes, i.hooks.Notes(),
		i.extensions.Plugins.Notes())
	s.env.Dir.Moved, s.Workspace.Added = s.hooks.DirChanged, s.hooks.DirectoryAdded
	s.approver = approval.New(approval.Config{
		Hooks: s.hooks, Settings: i, Authority: s.Authority, Journal: s.Journal, Workspace: s.Workspace,
		Interactive: s.interactive,
		Small:       s.Beside("permission", i.SmallModel), Count: s.CountRequest, Keep: s.keepRule, Chain: s.chain,
		Unasked: s.env.RunsUnasked, Covered: i.checkpoints.Covered, Consults: consult.Dialogs(s.env.Plan),
	})
	s.skills = i.extensions.Loader(extension.Session{
		Journal: s.Journal, Workspace: s.Workspace, Attached: s.attached, Policy: policy, Chain: s.chain, Tools: i.tools,
		Invoke: s.Invoke, Model: s.Model, Effort: s.Effort, Hooks: s.hooks,
	})
	s.env.LoadSkill, s.env.Notes, s.env.Agents, s.env.Hosts, s.env.Unconfined = s.skills.Load, i.Notes(), s.newAgents(),
		s.approver.Network, s.approver.Unconfined
	s.env.Keep = s.approver.KeepChanges
	s.env.UseSmall(s.Beside("web", i.SmallModel), s.CountRequest)
	s.recall = &attach.Recall{
		Store: s.env.Notes, Settings: func() (string,
			float64,
		) {
			m := i.settings().Memory
			return m.EmbeddingModel, m.MinSimilarity
		},
		Embedder: s.BesideEmbedder(i.Embedder), Count: s.CountRequest, Notice: s.publishAgent,
	}
	s.servers = i.servers.Join(mcp.Seat{
		Blob: s.env.SaveBlob, Own: s.kind.Servers, Elicit: s.hooks.Elicit, Elicited: s.hooks.ElicitResult,
		Ask: s.approver.Asker(), Notice: s.warn, Notify: s.hooks.Notify, Waits: !s.interactive || s.boundaries,
		Roots: s.Dirs, Clean: prompt.Sanitize,
		Messages: s.Messages, Revision: s.Revision, Model: s.Model, Models: s.BesideNamed("sampling", i.ModelOrSmall),
		Count: s.CountRequest,
	})
	s.closers = append(s.closers, s.env.Agents.Close, s.servers.Leave)
	s.registry, s.gate = s.newRegistry(), s.newGate()
	return s.newAgent(ctx, model)
}

// addRoots adds the folders of the settings and of the command line, which a subagent shares with its parent, and the
// session's own blobs.
func (s *Session) addRoots() error {
	var dirs []string
	if s.parent == nil {
		dirs = append(slices.Clone(s.inst.opts.AddDirs), s.inst.settings().Permissions.AdditionalDirectories...)
	}
	return workspace.AddRoots(s.env, s.Policy(), s.parent != nil, dirs, s.Log())
}

// readAttached runs calls of Read, for files that the user attaches.
func (s *Session) readAttached(ctx context.Context, calls []llm.ToolCall) []llm.ToolResult {
	return s.agent.InvokeUnrecorded(ctx, calls)
}

// newEnv makes the environment that the session's tools share.
func (i *Instance) newEnv(_ context.Context, s *Session) (*tool.Env, error) {
	if s.parent != nil {
		env, err := s.parent.env.Clone().At(s.tree.At())
		if err != nil {
			return nil, err
		}
		env.Owner = strings.Join(s.chain, "\n")
		s.closers = append(s.closers, func() error { return env.Leave(s.parent.env) })
		workspace.KeepBlobs(env, s.Log())
		return env, nil
	}
	env, err := tool.NewEnv(i.opts.Dir)
	if err != nil {
		return nil, err
	}
	env.Runner, env.Boundary, env.Secrets, env.Roots.Seen = i.runner, i.opts.Boundary, i.secrets, i.opts.Boundary.Seen
	s.closers = append(s.closers, env.Background.Close)
	env.Environ, env.Journals = func() []string { return s.hooks.Overlay(i.ChildEnv()) },
		checkpoint.JournalDir(i.projectDir())
	i.extensions.Configure(env)
	workspace.KeepBlobs(env, s.Log())
	return env, nil
}

// newAgent makes the loop and ties it to the rest.
func (s *Session) newAgent(ctx context.Context, model llm.Model) error {
	i := s.inst
	cfg := agent.Config{
		Chain: s.chain, Transcript: &agent.Memory{}, Tools: s.registry.Set, Canonical: tool.HabitsOf(i.tools),
		MaxSteps: s.kind.Steps(i.opts.MaxTurns), MaxTokens: i.settings().MaxOutputTokens,
		BudgetUSD: s.Budget(), Effort: llm.Effort(i.settings().Effort),
		System: s.system, Attach: s.addContext, BeforeStep: []agent.BeforeStep{
			s.env.Plan.Hook(s.Messages, s.Revision),
			{Name: "skills", Run: s.skills.BeforeStep},
			{Name: "background", Run: s.env.News},
			s.servers.Hook(),
			s.env.Deferred.Hook(s.registry.Set, s.Messages, s.Revision),
		}, Authorize: s.approver.Authorize,
		BeforeStop: []agent.BeforeStop{s.gate.After(s.env.Linger(s.lingers))},
		Snapshot:   s.seat().Before, LimitResult: s.env.Spill, Publish: s.publishAgent, Record: s.Record,
		Boundaries: s.boundaries, Mode: s.Mode, Dir: s.Dir,
		RetryBase: time.Duration(i.settings().Stream.RetryBaseMs) * time.Millisecond,
	}
	if p := s.parent; p != nil {
		cfg.Parent, cfg.Effort = p.agent, p.Effort()
	}
	cfg.Effort, cfg.Temperature = s.kind.Effort(cfg.Effort), s.kind.Kind().Warmth()
	if s.interactive {
		cfg.Ask = s.approver.AskAgent
	}
	if s.outputSchema() != nil {
		s.output.Hook(&cfg)
	}
	s.closers = append(s.closers, i.extensions.Install(extension.Loop{
		Hooks: s.hooks, Journal: s.Journal, Chain: s.chain,
		Warn: s.warn,
	}, &cfg), i.Code.Install(language.Session{
		Env:     s.env,
		Notice:  func(level, text string) { s.publishAgent(event.Notice{Level: level, Text: text}) },
		Changed: s.hooks.FileChanged, Watched: s.hooks.Watched,
	}, &cfg))
	if s.Log() != nil {
		s.scoped = prompt.NewScoped(s.contextOptions(model.Info().ID))
		cfg.AfterTool = append(cfg.AfterTool, attach.Memory(s.scoped, s.Dir))
		s.window = s.newWindow()
		cfg.OnWindow, cfg.WindowMark = s.window.OnWindow, s.window.Mark
		cfg.Transcript, cfg.Model, cfg.OnRequest = s.Log(), model, s.servers.After(s.Request)
		for _, id := range i.fallbacks() {
			m, err := i.Model(ctx, id)
			if err != nil {
				return err
			}
			cfg.Fallback = append(cfg.Fallback, m)
		}
	}
	s.agent = agent.New(cfg)
	return nil
}

// seat is the session's place at the store of snapshots.
func (s *Session) seat() *checkpoint.Seat {
	return s.inst.checkpoints.Seat(checkpoint.Seat{
		Dirs: s.Dirs, Background: s.env.Background.Running, Publish: s.Publish,
		Main: s.outermost().Log, Chain: s.chain,
	})
}

// newWindow makes the keeper of the window.
func (s *Session) newWindow() *window.Keeper {
	model := func() llm.Model { m, _ := s.agent.Model(); return m }
	return window.New(window.Config{
		Journal: s.Journal, Env: s.env, Mode: s.Mode, Model: model, Small: s.inst.SmallModel, Clean: prompt.Sanitize,
		Count:  s.CountRequest,
		Class:  func(name string) permission.Class { return s.inst.tools.Traits(name).Class },
		Auto:   func() (bool, int) { set := s.inst.settings(); return set.AutoCompactEnabled, set.CompactionThreshold },
		Forget: s.scoped.Reset, Before: s.hooks.BeforeCompact, After: s.hooks.AfterCompact,
		Context: func(ctx context.Context) []llm.Part {
			o := s.contextOptions(model().Info().ID)
			o.Compacted = true
			return prompt.Begin(context.WithoutCancel(ctx), o).Parts(context.WithoutCancel(ctx))
		},
		Read: s.attached.Again,
	})
}

func (i *Instance) fallbacks() []string {
	if len(i.opts.Fallback) > 0 {
		return i.opts.Fallback
	}
	return i.settings().FallbackModel
}

// newRegistry makes the answer which tools the session has.
func (s *Session) newRegistry() *registry.Registry {
	return registry.New(registry.Seat{
		Env: s.env, Catalogue: s.inst.tools, Rules: s.Version, Skills: s.skills.Offered, Servers: s.servers,
		ServerSet: s.inst.servers,
		Only:      s.inst.opts.Tools, Removed: func(name string) bool { return s.Policy().Removed(name, s.chain...) },
		Depth: len(s.chain), Interactive: s.interactive,
		Output: &s.output, Schema: s.outputSchema(),
		Window: func() int { return s.Model().ContextWindow }, Defer: func() []string { return s.inst.settings().DeferTools },
		Sources: []registry.Source{
			registry.Customs(s.inst.extensions.Customs, s.env, s.ID()),
			registry.Processes(s.inst.extensions.Processes, s.env, s.ID()),
		}, Notice: s.warn,
	})
}

func (s *Session) warn(text string) { s.publishAgent(event.Notice{Level: "warning", Text: text}) }

// outputSchema is the schema that the answer of the main agent must fit, or nil.
func (s *Session) outputSchema() []byte {
	if s.parent != nil {
		return nil
	}
	return s.inst.opts.OutputSchema
}

// system is the system prompt.
func (s *Session) system(context.Context) ([]llm.Part, error) {
	return prompt.System(s.systemOptions()), nil
}

func (s *Session) systemOptions() prompt.SystemOptions {
	o, set := s.inst.opts, s.inst.settings()
	if o.System == "" && o.AppendSystem == "" { // a resumed conversation keeps its first system prompt
		o.System, o.AppendSystem = s.begun.Replace, s.begun.Append
	}
	return s.kind.System(prompt.SystemOptions{
		Model: s.Model().ID, Replace: o.System, Append: o.AppendSystem, Language: set.Language,
		Style:  extension.Style(s.begun),
		Commit: set.Attribution.Commit, PullRequest: set.Attribution.PR,
	})
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
		Notes: i.Notes().Index(), NoUser: i.opts.Bare || !i.conf.Load().Reads(config.User), NoProject: i.opts.Bare ||
			!i.conf.Load().Reads(config.Project),
		NoLocal: i.opts.Bare || !i.conf.Load().Reads(config.Local),
		Providers: append(i.extensions.Context(i.runner, i.ChildEnv), i.extensions.Listing(s.opened,
			func() *invoke.Loader { return s.skills }), i.extensions.AgentListing()),
	}
	o.Refused = s.refusesMemory
	return s.kind.Context(o)
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

// withContext puts it before the first message of the conversation. The error is the end of ctx.
func (s *Session) withContext(ctx context.Context, m *llm.Message) error {
	defer func() { s.pending = nil }() // it is read once; when a hook refuses the message, the next one gets another
	if s.pending == nil {
		model, _ := s.agent.Model()
		s.beginContext(ctx, model)
	}
	err := s.pending.Precede(ctx, m, s.contextOptions(s.Model().ID))
	if n := s.pending.Notice(); n != "" {
		s.Note(event.Notice{Level: "warning", Text: n})
	}
	return err
}

// record starts the debug recorder where it is wanted.
func (s *Session) record() {
	if !s.inst.settings().Debug || s.Log() == nil {
		return
	}
	ro := event.RecorderOptions{
		Secrets: s.inst.settings().Secrets(s.inst.environ()), File: s.inst.opts.DebugFile,
		Filter: s.inst.opts.DebugFilter,
	}
	if s.shared {
		ro.Session = s.ID() // each session on the bus has a recorder of its own
	}
	r := event.NewRecorder(s.bus, filepath.Join(s.inst.paths.StateHome, "debug"), ro)
	s.closers = append([]func() error{r.Close}, s.closers...) // closed last, when the bus has no more events
}
