package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/conversation/checkpoint"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/mcp/serverset"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/store/session"
	"github.com/lathe-dev/lathe/internal/tool"
	"github.com/lathe-dev/lathe/internal/ui/console"
)

// local is a conversation on this machine.
type local struct {
	inst     *conversation.Instance
	bus      *event.Bus        // shared by the sessions that commands put in front
	commands *console.Commands // nil where no command can come
	known    []Described       // the slash commands

	mu      sync.Mutex
	session *conversation.Session

	wake   func() // is called when a task has ended in the background; nil: nothing waits for it
	events *event.Subscription
	stop   func() // ends commands in the background
	log    *journal
	spent  spending
}

// front is the session in front, which a slash command may have changed.
func (l *local) front() *conversation.Session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session
}

// openLocal makes or resumes the conversation that the options ask for.
func (p *program) openLocal(ctx context.Context, o *Options) (Conversation, error) {
	inst, err := p.instance(o)
	if err != nil {
		return nil, err
	}
	if len(o.MCPConfig) > 0 { // a wrong flag ends the start
		if err := inst.Servers().Load(); err != nil {
			return nil, errors.Join(startError(err), inst.Close())
		}
	}
	conv, err := openSession(ctx, inst, o)
	if j, ok := liveJob(err); ok {
		live, err := p.openLive(ctx, o, j)
		return live, errors.Join(err, inst.Close())
	}
	if err != nil {
		return nil, errors.Join(startError(err), inst.Close())
	}
	p.warnOfCatalogue()
	conv.log = p.log
	p.log.start(p.args)
	s := conv.front()
	p.log.Info("session", "session", s.ID(), "model", s.Model().ID, "mode", s.Mode(), "dir", s.Dir())
	return conv, nil
}

// startError is a failure before any turn: the user's input was wrong or incomplete.
func startError(err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Code: exitUsage, Err: err}
}

func openSession(ctx context.Context, inst *conversation.Instance, o *Options) (*local, error) {
	so := conversation.SessionOptions{
		ID: o.SessionID, Fork: o.Fork, At: o.ResumeAt, Drops: o.Drops, Interactive: o.asksHost(),
	}
	so.Goal, so.Again = o.goal(), o.Worker != ""
	if err := chooseSession(ctx, inst, o, &so); err != nil {
		return nil, err
	}
	l := &local{inst: inst, spent: spending{stats: newResultStats(func(id string) llm.ModelInfo { return llm.Lookup("", id) })}}
	if !o.NoCommands && !o.Bare {
		l.known = slashCommands()
	}
	stream := o.InputFormat == "stream-json"
	l.bus = event.NewBus()
	so.Boundaries, so.Bus = stream, l.bus
	if !stream {
		so.Linger = time.Duration(inst.Config().Settings.Bash.BackgroundWaitMs) * time.Millisecond
	}
	s, err := inst.NewSession(ctx, so)
	if err != nil {
		return nil, err
	}
	if err := checkDamage(s, o, so); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := nameSession(ctx, s, o); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	l.session, l.events = s, s.Subscribe(context.WithoutCancel(ctx))
	l.hear(s)
	if stream {
		v, _ := currentVersion()
		l.commands = console.Over(ctx, console.Options{Instance: inst, Session: so, Version: v},
			s, l.bus)
	}
	l.background(ctx, o)
	if o.ResumeAt != "" {
		l.offerFiles(s)
	}
	return l, nil
}

// offerFiles announces the files of a branch that the conversation just left.
func (l *local) offerFiles(s *conversation.Session) {
	history, err := l.inst.Checkpoints().History(s.Log())
	if err != nil {
		return // none are kept
	}
	if plan, err := checkpoint.Astray(history, s.Log()); err == nil {
		s.Note(event.Notice{Level: "info", Text: fmt.Sprintf(
			"%d files are not as they were at that message. To bring them back: lathe session switch %s", len(plan.Files),
			s.ID())})
	}
}

// nameSession gives the session the title of --name.
func nameSession(ctx context.Context, s *conversation.Session, o *Options) error {
	if o.Name == "" || s.Log() == nil {
		return nil
	}
	return s.Log().SetTitle(ctx, o.Name)
}

// checkDamage refuses to continue a damaged session where no one would see the warning: the model would get a
// conversation with holes. A session that was named and is empty is refused too: its log was lost. One that /retry or
// /rewind took back to its beginning has its first prompt still.
func checkDamage(s *conversation.Session, o *Options, so conversation.SessionOptions) error {
	if so.Resume == "" || so.Fork {
		return nil
	}
	if o.Resume != "" && len(s.Log().Messages()) == 0 && s.Log().Info().FirstPrompt == "" {
		return usage(fmt.Sprintf("look at it with lathe session verify %s; lathe session list shows the others", so.Resume),
			"session %s holds no conversation to go on with", so.Resume)
	}
	if len(s.Log().Damage()) == 0 {
		return nil
	}
	return usage(fmt.Sprintf("look at it with lathe session verify %s, and go on with a copy of the rest: --resume %s "+
		"--fork-session", so.Resume, so.Resume),
		"session %s is damaged: %s", so.Resume, s.Log().Damage()[0])
}

// background follows the settings where many turns may come, and else only asks for the organisation's
// document for the next start. What goes wrong there shows up at the next start.
func (l *local) background(ctx context.Context, o *Options) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if o.InputFormat == "stream-json" {
			_ = l.inst.Watch(ctx, nil)
			return
		}
		if !o.NoPersistence { // the answer would be kept
			_ = l.inst.Refresh(ctx)
		}
	}()
	l.stop = func() { cancel(); <-done }
}

// chooseSession finds the session that --resume or --continue mean.
func chooseSession(ctx context.Context, inst *conversation.Instance, o *Options, so *conversation.SessionOptions) (
	err error,
) {
	var info session.Info
	if err := inst.Adopt(ctx, o.Resume); err != nil {
		return err
	}
	switch {
	case o.Resume != "":
		info, err = inst.Store().Find(inst.Dir(), o.Resume)
	case o.Continue:
		info, err = inst.Store().Latest(inst.Dir())
	}
	if err == nil && o.within != nil && info.ID != "" {
		err = o.within(info.Dir)
	}
	so.Resume = info.ID
	return err
}

var sourceLayers = map[string]config.Layer{"user": config.User, "project": config.Project, "local": config.Local}

// instance builds lathe for the folder and the flags.
func (p *program) instance(o *Options) (*conversation.Instance, error) {
	cfg, dir, err := loadConfig(o)
	if err != nil {
		return nil, err
	}
	p.warn(cfg)
	p.log.setLevel(cfg.Settings.Log.Level)
	if o.NoPersistence {
		p.log.setLevel("off")
	}
	system, err := textOrFile("--system-prompt-file", o.System, o.SystemFile)
	if err != nil {
		return nil, err
	}
	more, err := textOrFile("--append-system-prompt-file", o.AppendSystem, o.AppendSystemFile)
	if err != nil {
		return nil, err
	}
	tools, err := chosenTools(o)
	if err != nil {
		return nil, err
	}
	allowed, disallowed := splitRules(o.Allowed), splitRules(o.Disallowed)
	if err := errors.Join(checkRules("--allowedTools", allowed), checkRules("--disallowedTools", disallowed)); err != nil {
		return nil, firstOf(err)
	}
	agents, err := subagent.Given([]byte(o.Agents), "command line")
	if err != nil {
		return nil, &Error{Code: exitUsage, Msg: "--agents", Err: err}
	}
	v, _ := currentVersion()
	opts := conversation.Options{
		Config: cfg, Dir: dir, Version: v, AddDirs: o.AddDirs, PluginDirs: o.pluginDirs(dir), Allowed: allowed,
		Disallowed: disallowed,
		Mode:       modeOf(o.Mode), DebugFile: o.DebugFile, DebugFilter: o.debugFilter(), Bare: o.Bare, System: system,
		AppendSystem: more, PlanGuide: o.PlanGuide, MaxTurns: o.MaxTurns, MaxBudgetUSD: o.MaxBudget,
		TaskBudget: o.TaskBudget, Fallback: splitRules([]string{o.Fallback}), Tools: tools, NoPersistence: o.NoPersistence,
		Patient:  o.patient,
		NoSkills: o.NoCommands, Skills: o.Skills, Agent: o.Agent, Agents: agents, Eval: o.Eval, Hooks: o.Hooks,
		ToolAliases: o.ToolAliases, Share: o.InputFormat == "stream-json", Shared: o.mirrored,
	}
	opts.Servers = serverset.Flags{
		Configs: o.MCPConfig, Strict: o.StrictMCP, Trust: o.Trust, Host: o.hostServers,
		Elicit: o.hostElicits,
	}
	opts.Push, opts.Peers, opts.Buffers = pushFrom(o.Worker, cfg), o.peers, o.buffers
	if o.Bypass {
		opts.Mode = permission.Bypass
	}
	if o.JSONSchema != "" {
		opts.OutputSchema = []byte(o.JSONSchema)
	}
	if opts.Boundary, err = beginBoundary(cfg, dir, sandboxFlag(o, cfg), nil); err != nil {
		return nil, &Error{Code: exitUsage, Err: err}
	}
	p.boundaryOpen = opts.Boundary
	inst, err := conversation.Open(opts)
	if err != nil {
		return nil, &Error{Code: exitUsage, Err: err}
	}
	inst.Hooks().TrustAll = o.Trust
	inst.Give(o.Model, o.SmallModel)
	replays(inst, o, cfg.Settings.Secrets(os.Environ()))
	if trigger := setupOf(o); trigger != "" {
		inst.Hooks().Setup(trigger)
	}
	p.kids.add(func() error { return errors.Join(inst.Close(), opts.Boundary.Close()) })
	if err := p.noteSandbox(opts.Boundary); err != nil {
		return nil, err
	}
	return inst, nil
}

// setupOf is the trigger of the hooks of Setup; "": they do not run.
func setupOf(o *Options) string {
	switch {
	case o.Init, o.InitOnly:
		return "init"
	case o.Maintain:
		return "maintenance"
	}
	return ""
}

// sandboxFlag returns the sandbox that the command line requests. The SDKs request it with --settings, which binds as
// the flag does.
func sandboxFlag(o *Options, cfg *config.Config) string {
	on, origin, _ := cfg.Get("sandbox.enabled")
	if o.Sandbox != "" || origin.Layer != config.Flags || string(on) != "true" {
		return o.Sandbox
	}
	return modeOfSettings(cfg)
}

// About describes the conversation.
func (l *local) About() About {
	s := l.front()
	info := s.Model()
	return About{
		Session: s.ID(), Dir: s.Dir(), Model: info.ID, Mode: s.Mode(), KeySource: l.inst.KeySource(), Style: s.Style(),
		BudgetUSD: s.Budget(), Models: l.inst.Models, Effort: string(s.Effort()), Held: heldBack(l.inst.Config()),
		Betas: l.inst.Config().Settings.Providers["anthropic"].Betas,
		Parts: sync.OnceValue(func() Parts { return l.parts(s) }),
		Info: func(id string) llm.ModelInfo {
			if id == info.ID {
				return info
			}
			return llm.Lookup(info.Provider, id)
		},
	}
}

func (l *local) parts(s *conversation.Session) Parts {
	files, tools := l.inst.Extensions().Skills.Catalog().All(), s.Tools()
	return Parts{
		Tools: tools, Commands: l.slashCommands(files), Skills: skillNames(files), Agents: agentNames(l.inst, tools),
		Servers: briefServers(l.inst.Servers()), Plugins: pluginLines(l.inst.Extensions().Plugins.Enabled()),
	}
}

// Ready waits for MCP servers whose tools are not known.
func (l *local) Ready(ctx context.Context, say func(text string)) {
	l.inst.Servers().Wait(ctx, say, func(text string) { l.front().Note(event.Notice{Level: "warning", Text: text}) })
}

// Next waits for the next event.
func (l *local) Next(ctx context.Context) (event.Event, error) {
	e, ok := l.events.Next(ctx)
	if !ok {
		return e, errors.Join(ctx.Err(), errors.New("the conversation is closed"))
	}
	l.log.event(e)
	l.spent.observe(e)
	switch e.Body.(type) {
	case event.TurnStart, event.ToolEnd, event.StepEnd:
		l.front().UpdateShared()
	}
	return e, nil
}

// queued returns the next event if there is one already.
func (l *local) queued() (event.Event, bool) {
	e, ok := l.events.Queued()
	if ok {
		l.log.event(e)
		l.spent.observe(e)
	}
	return e, ok
}

// Prompt runs a turn.
func (l *local) Prompt(ctx context.Context, m llm.Message) error {
	if l.commands != nil {
		m = l.commands.Prepared(ctx, m)
	}
	end, err := l.front().Prompt(ctx, m)
	switch {
	case err != nil && end.Reason == "":
		return fmt.Errorf("%w: %w", ErrNotStarted, err)
	case errors.Is(err, tool.ErrNoStructuredOutput):
		return ErrNoAnswer
	}
	return err
}

// Output is the answer that fits the schema.
func (l *local) Output() json.RawMessage { return l.front().Output() }

// Answer answers a question of the conversation or of one of its agents.
func (l *local) Answer(id string, a event.Answer) error { return l.inst.Answer("", id, a) }

// AddDir makes one more folder part of the session.
func (l *local) AddDir(dir string) (string, error) { return l.front().AddDir(dir) }

// SetModel changes the model.
func (l *local) SetModel(ctx context.Context, name string) error {
	return l.front().SetModel(ctx, name)
}

// SetMode changes the permission mode.
func (l *local) SetMode(ctx context.Context, m permission.Mode) error {
	return l.front().SetMode(ctx, m)
}

// Steer hands a message to the running turn.
func (l *local) Steer(m llm.Message) bool { return l.front().Steer(m) }

// TakeSteers takes back undelivered messages.
func (l *local) TakeSteers() []llm.Message { return l.front().TakeSteers() }

// Command runs a slash command, which may put another session in front.
func (l *local) Command(ctx context.Context, name, args string) (event.Output, error) {
	out, err := l.commands.Run(ctx, name, args)
	l.mu.Lock()
	defer l.mu.Unlock()
	if next := l.commands.Session(); next != l.session {
		l.session = next
		l.hear(next)
	}
	return out, err
}

// Close ends the conversation and everything that belongs to it.
func (l *local) Close() error {
	l.stop()
	err := l.front().Close()
	if l.commands != nil {
		err = errors.Join(err, l.commands.Close())
	}
	l.bus.Close()
	return errors.Join(err, l.inst.Close())
}
