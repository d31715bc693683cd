package conversation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/agent/consult"
	"github.com/lathe-dev/lathe/internal/agent/hook"
	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/conversation/approval"
	"github.com/lathe-dev/lathe/internal/conversation/checkpoint"
	"github.com/lathe-dev/lathe/internal/conversation/language"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/mcp"
	"github.com/lathe-dev/lathe/internal/extend/plugin/process"
	"github.com/lathe-dev/lathe/internal/llm"
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
	Drops       string // with At: the id of the only prompt that is left out; "": any may be
	At          string // go on after this message of the old one: its id, or the id of a stream-json line of it
	Boundaries  bool   // as in agent.Config: a message that is steered too late is left for TakeSteers
	Interactive bool   // somebody answers questions; else a call that would ask is refused
	Schedules   bool   // the caller sends the prompts of its schedules
	Detached    bool   // nothing is kept and no model is needed: for single tool calls

	Linger time.Duration // how long the end of a turn waits for agents in the background; negative: until they end

	Chain  []string       // the agent that converses, as in agent.Config; empty: the main one
	Kind   *subagent.Kind // of a subagent; nil: the main agent's prompt and tools
	Model  string         // of a subagent, instead of its parent's
	Parent *Session       // of a subagent; shares its mode, rules, grants, folders and limits, live
	Tree   *worktree.Tree // of a subagent that works in a copy of the project, its own or its parent's

	Goal  *event.Goal // what the session is to work for; nil: what it worked for before
	Again bool        // a process goes on with a session of another one, whose goal it keeps

	Bus *event.Bus // where its events go, shared with other sessions and closed by the caller; nil: one of its own
}

// NewSession opens a conversation. The model is not called. Each part is made when what it acts on is there; what it
// calls back are methods of the session.
func (i *Instance) NewSession(ctx context.Context, o SessionOptions) (s *Session, err error) {
	if err := o.checkParent(i); err != nil {
		return nil, err
	}
	s = &Session{
		inst: i, chain: o.Chain, parent: o.Parent, fixed: o.Kind != nil, tree: o.Tree, bus: o.Bus, shared: o.Bus != nil,
		interactive: o.Interactive && (o.Parent == nil || o.Parent.interactive), boundaries: o.Boundaries, lingers: o.Linger,
		opened: make(chan struct{}), schedules: o.Schedules && o.Parent == nil,
	}
	s.kind.Store(o.Kind)
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
	model, log, err := s.openLog(ctx, o)
	if err != nil {
		return s, err
	}
	s.Journal = journal.New(log, s.bus, s.chain)
	if s.Authority, err = s.newAuthority(); err != nil {
		return s, err
	}
	if log != nil && o.Resume == "" {
		s.beginContext(ctx, model) // while the rest is made
	}
	if err := s.setUp(ctx, model); err != nil {
		return s, err
	}
	close(s.opened)
	if o.Resume != "" {
		s.restore()
		s.hooks.Begin(map[bool]string{true: "fork", false: "resume"}[o.Fork])
	} else if s.parent == nil { // a style is for those who read the answers
		s.beginStyle()
	}
	if log != nil {
		s.env.Reads.Watch(s.keepSeen)
	}
	s.beginKind()
	if err := s.beginGoal(o); err != nil {
		return s, err
	}
	s.record()
	i.join(s)
	return s, nil
}

// openLog connects to the model and opens the log; both are nil in a detached session.
func (s *Session) openLog(ctx context.Context, o SessionOptions) (model llm.Model, log *session.Session, err error) {
	if o.Detached {
		return nil, nil, nil
	}
	if err := s.chooseKind(o.Resume != ""); err != nil {
		return nil, nil, err
	}
	i := s.inst
	s.model = cmp.Or(o.Model, o.modelName(), s.kindModel())
	if model, err = i.Model(ctx, s.model); err != nil {
		return nil, nil, err // before anything is left on disk
	}
	log, note, err := i.logs.Open(ctx, session.Wanted{New: o.meta(i, model), Resume: o.Resume, Fork: o.Fork})
	if err != nil {
		return nil, nil, err
	}
	s.closers = append(s.closers, log.Close)
	if o.At != "" {
		if err := goOnAfter(log, o.At, o.Drops); err != nil {
			return nil, nil, err
		}
	}
	s.addNote(note)
	s.restoreKind(log)
	if id := i.modelFor(o, log); id != "" {
		if m, err := i.Model(ctx, id); err == nil {
			model, s.model = m, id
		} else {
			s.addNote(fmt.Sprintf("the session's model %s cannot be used, %s answers instead: %v", id, model.Info().ID, err))
		}
	}
	s.notes = append(s.notes, log.Notes()...)
	if info := model.Info(); o.Parent == nil && !info.CostKnown() {
		s.addNote("the price of " + info.ID +
			" is not known: its cost counts as $0, unless the settings have it (inputPrice and outputPrice under providers)")
	}
	return model, log, nil
}

// setUp makes the tools, the hooks, the approver and the agent.
func (s *Session) setUp(ctx context.Context, model llm.Model) (err error) {
	i := s.inst
	if s.env, err = s.newEnv(); err != nil {
		return err
	}
	if err := s.addRoots(); err != nil {
		return err
	}
	policy := s.Policy()
	s.env.MayRead, s.env.Readings, s.env.Rules = s.MayRead, s.Readings, s.rules
	s.env.DeniedNames, s.env.Invoke = policy.DeniedNames, s.Invoke
	if s.parent == nil {
		s.env.Plan = consult.NewPlan(consult.Session{
			File: consult.FileOf(s.Log()), Asks: s.interactive, Modes: s.Authority, Guide: i.opts.PlanGuide,
			Folder: func() string { return consult.Folder(i.settings().PlansDirectory, i.paths.Home, i.opts.Dir) },
			Fresh:  func(ctx context.Context, text string) error { return s.window.Replace(ctx, text) },
		})
		policy.SetPlan(s.env.Plan.File)
	}
	if s.hooks, err = i.hooks.New(hook.Session{
		Journal: s.Journal, Dir: s.Dir, Mode: s.Mode, Effort: s.Effort, Scope: s.kindHooks, Agent: s.Agent(),
		Main: s.outermost().hooks, Invoke: s.Invoke, Model: s.Model,
		Models: s.BesideNamed("hook", i.ModelOrSmall), Count: s.CountRequest, Life: s.life, Interactive: s.interactive,
		Background: s.env.InBackground, Crons: s.crons,
		Ask:    func() func(context.Context, event.Question) (event.Answer, error) { return s.approver.Asker() },
		Expand: func(m llm.Message) (name, args, by, line string, ok bool) { return s.servers.Expand(m, s.skills) },
	}); err != nil {
		return err
	}
	if err := s.share(ctx); err != nil {
		return err
	}
	s.closers, s.notes = append(s.closers, s.hooks.Close), slices.Concat(s.notes, i.hooks.Notes(),
		i.extensions.Plugins.Notes())
	s.env.Dir.Moved = s.hooks.DirChanged
	s.approver = approval.New(approval.Config{
		Hooks: s.hooks, Settings: i, Authority: s.Authority, Journal: s.Journal, Workspace: s,
		Interactive: s.interactive,
		Small:       s.Beside("permission", i.SmallModel), Count: s.CountRequest, Keep: s.keepRule, Chain: s.chain,
		Unasked: s.env.RunsUnasked, Covered: i.checkpoints.Covered, Consults: consult.Dialogs(s.env.Plan),
	})
	s.skills = s.newLoader()
	s.env.LoadSkill, s.env.Notes, s.env.Agents, s.env.Hosts, s.env.Again = s.skills.Load, i.Notes(), s.newAgents(),
		s.approver.Network, s.approver.Again
	s.env.Keep = s.approver.KeepChanges
	s.env.UseSmall(s.Beside("web", i.SmallModel), s.CountRequest)
	s.servers = i.servers.Join(mcp.Seat{
		Blob: s.env.SaveBlob, Own: s.ownServers, Elicit: s.hooks.Elicit, Elicited: s.hooks.ElicitResult,
		Ask: s.approver.Asker(), Notice: s.warn, Notify: s.hooks.Notify, Waits: !s.interactive || s.boundaries,
		Roots: s.Dirs, Clean: prompt.Sanitize,
		Messages: s.Messages, Revision: s.Revision, Model: s.Model, Models: s.BesideNamed("sampling", i.ModelOrSmall),
		Count: s.CountRequest,
	})
	s.closers = append(s.closers, s.env.Agents.Close, s.servers.Leave)
	s.registry = &Registry{s: s, sources: []toolSource{i.extensions.Customs, processTools{i.extensions.Processes}}}
	s.gate = s.newGate()
	s.goal = s.newGoal()
	if s.parent == nil {
		s.env.Goal = s.goal
	}
	return s.newAgent(ctx, model)
}

// newAgent makes the loop and ties it to the rest.
func (s *Session) newAgent(ctx context.Context, model llm.Model) error {
	i := s.inst
	saver := i.checkpoints.Join(checkpoint.Saver{
		Dirs: s.Dirs, Background: s.env.Background.Running, Publish: s.Publish, Main: s.outermost().Log, Chain: s.chain,
	})
	cfg := agent.Config{
		Chain: s.chain,
		Requests: agent.Requests{
			Effort: llm.Effort(i.settings().Effort), MaxTokens: i.settings().MaxOutputTokens, System: s.system,
		},
		Limits: agent.Limits{MaxSteps: s.steps(), BudgetUSD: s.Budget()},
		Calls: agent.Calls{
			Tools: s.registry.Set, Canonical: i.aliased(tool.Carried(i.tools.Canonical)), Authorize: s.approver.Authorize,
			Mode: s.Mode, Dir: s.Dir, Snapshot: saver.Before, LimitResult: s.env.Spill,
		},
		Hooks: agent.Hooks{
			BeforeStep: []agent.BeforeStep{
				s.env.Plan.Hook(s.Messages, s.Revision),
				{Name: "skills", Run: s.skills.BeforeStep},
				{Name: "background", Run: s.env.News},
				{Name: "git", Run: s.lateGit},
				s.goal.Hold(),
				s.servers.Hook(),
				s.env.Deferred.Hook(s.registry.Set, s.Messages, s.Revision),
			},
			BeforeStop: []agent.BeforeStop{s.goal.Gate(s.gate.After(s.env.Linger(s.lingers)))},
		},
		Messages: agent.Messages{Boundaries: s.boundaries, Attach: s.addContext},
		Journal:  agent.Journal{Transcript: &agent.Memory{}, Publish: s.publishAgent, Record: s.Record},
		Timing:   agent.Timing{RetryBase: time.Duration(i.settings().Stream.RetryBaseMs) * time.Millisecond},
	}
	if p := s.parent; p != nil {
		cfg.Parent, cfg.Effort = p.agent, p.Effort()
	}
	cfg.Effort, cfg.Temperature = s.kindEffort(cfg.Effort), s.kind.Load().Warmth()
	if s.interactive {
		cfg.Ask = s.approver.AskAgent
	}
	if s.outputSchema() != nil {
		s.output.Hook(&cfg)
	}
	s.hooks.Install(&cfg)
	processes := i.extensions.Processes.Install(process.Seat{
		Session: s.ID(), Agent: s.chain, Messages: s.Messages, Events: s.Subscribe, Notice: s.warn, Record: s.recordProcess,
	}, &cfg)
	s.language = i.Code.Join(language.Conversation{
		Env: s.env, Main: s.parent == nil, Publish: s.publishAgent, Snapshot: cfg.Snapshot,
		Notice:  func(level, text string) { s.publishAgent(event.Notice{Level: level, Text: text}) },
		Changed: s.hooks.FileChanged, Watched: s.hooks.Watched,
	})
	s.closers = append(s.closers, processes.Close, s.language.Leave)
	cfg.BeforeStep = append(cfg.BeforeStep, agent.BeforeStep{Name: "formatters", Run: s.language.Format},
		agent.BeforeStep{Name: "changed files", Run: s.language.OthersChanges},
		agent.BeforeStep{Name: "late diagnostics", Run: s.language.LateDiagnostics},
		agent.BeforeStep{Name: "task list", Run: s.env.Todos.Remind})
	cfg.AfterTool = append(cfg.AfterTool, agent.AfterTool{Name: "diagnostics", Run: s.language.Diagnose})
	if s.Log() != nil {
		s.scoped = prompt.NewScoped(s.contextOptions(model.Info().ID))
		cfg.AfterTool = append(cfg.AfterTool, agent.AfterTool{Name: "memory", Run: s.addMemory})
		s.window = newWindow(s)
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

func (i *Instance) fallbacks() []string {
	if len(i.opts.Fallback) > 0 {
		return i.opts.Fallback
	}
	return i.settings().FallbackModel
}

func (s *Session) warn(text string) { s.publishAgent(event.Notice{Level: "warning", Text: text}) }

// outputSchema is the schema that the answer of the main agent must fit, or nil.
func (s *Session) outputSchema() []byte {
	if s.parent != nil {
		return nil
	}
	return s.inst.opts.OutputSchema
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
