package conversation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/agent/compact"
	"github.com/lathe-dev/lathe/internal/agent/eval"
	"github.com/lathe-dev/lathe/internal/agent/hook"
	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/conversation/approval"
	"github.com/lathe-dev/lathe/internal/conversation/language"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/mcp"
	"github.com/lathe-dev/lathe/internal/extend/skill/invoke"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/prompt"
	"github.com/lathe-dev/lathe/internal/store/journal"
	"github.com/lathe-dev/lathe/internal/store/session"
	"github.com/lathe-dev/lathe/internal/store/transcript"
	"github.com/lathe-dev/lathe/internal/store/worktree"
	"github.com/lathe-dev/lathe/internal/tool"
)

// ErrBusy is returned by Prompt while another turn runs.
var (
	ErrBusy   = errors.New("a turn is running; steer it, or wait until it ends")
	errClosed = errors.New("the session is closed")
)

// Session is one conversation with everything it needs. A front end prompts it, reads its events and
// answers its questions. It is safe for concurrent use; one turn runs at a time.
type Session struct {
	*journal.Journal    // its log and its events
	*approval.Authority // its rules and mode, which a subagent shares with its parent

	inst        *Instance
	mirror      *transcript.Shared // nil: other programs read none
	mirrorFault sync.Once          // the first failure to write it is said
	chain       []string           // of this agent; empty: the main one
	parent      *Session           // that started it, or nil
	tree        *worktree.Tree     // that a subagent works in, or nil
	agent       *agent.Agent
	env         *tool.Env
	approver    *approval.Approver
	hooks       *hook.Hooks
	skills      *invoke.Loader
	unembedded  atomic.Bool   // the embedding model did not answer: no message waits for it again
	opened      chan struct{} // closed when all parts are there
	servers     *mcp.View
	bus         *event.Bus
	shared      bool // the bus has other sessions too, and is not ours to close
	interactive bool
	schedules   bool // its schedules are sent
	boundaries  bool
	lingers     time.Duration
	output      tool.Structured
	pending     *prompt.Pending // the context of the first message
	told        *prompt.Pending // that context, once it was sent
	scoped      *prompt.Scoped  // memory for some files and folders only
	closers     []func() error
	notes       []string // published when the first turn begins, since nobody listens before

	kind     atomic.Pointer[subagent.Kind] // of the agent; nil: lathe's own
	fixed    bool                          // the kind is a subagent's, which stays what it is
	registry *Registry
	language *language.Joined
	team     atomic.Pointer[Team] // nil: none works here
	begun    session.System       // of the command line that began the conversation
	window   *Window              // nil when nothing is kept
	gate     *eval.Gate
	goal     *eval.Goal      // of the main agent; those of others are not set
	life     context.Context // ends with the session

	turn        sync.Mutex // held while a turn runs
	mu          sync.Mutex
	cancel      context.CancelFunc // of the running turn
	cancelStart context.CancelFunc // of Start
	model       string             // as it was asked for; "": the configured one
	open        bool               // a turn runs and takes messages
	closed      bool
}

// Publish publishes an event that no entry belongs to.
func (s *Session) Publish(b event.Body) {
	s.Journal.Publish(b)
	s.hooks.Watch(b)
	if end, ok := b.(event.StepEnd); ok {
		s.outermost().goal.Count(end.Usage)
	}
	if s.window != nil {
		s.window.Watch(s.life, b)
	}
}

// publishAgent publishes an event of the agent; its notices are journaled.
func (s *Session) publishAgent(b event.Body) {
	if n, ok := b.(event.Notice); ok {
		s.Note(n)
		return
	}
	s.Publish(b)
}

// SetModel changes the model from the next step on; "" is the one the session began with.
func (s *Session) SetModel(ctx context.Context, id string) error {
	m, err := s.inst.Model(ctx, id)
	if err != nil {
		return err
	}
	_, effort := s.agent.Model()
	s.agent.SetModel(m, effort)
	s.mu.Lock()
	s.model = id
	s.mu.Unlock()
	return nil
}

// Model describes the present model; in a detached session the configured one.
func (s *Session) Model() llm.ModelInfo {
	if m, _ := s.agent.Model(); m != nil {
		return m.Info()
	}
	set := s.inst.settings()
	return llm.Lookup("", llm.Resolve(cmp.Or(set.Model, llm.Standard(llm.DefaultModel, set.ModelAliases)),
		set.ModelAliases))
}

// loopModel is the model of the conversation; nil in a detached session.
func (s *Session) loopModel() llm.Model {
	m, _ := s.agent.Model()
	return m
}

// Tools names the model's tools.
func (s *Session) Tools() []string {
	set, _ := s.registry.Set(context.Background()) // it never fails
	return tool.NamesOf(set)
}

// Specs describes the tools that are sent, as the model sees them.
func (s *Session) Specs() []llm.ToolSpec {
	set, _ := s.registry.Set(context.Background())
	return tool.SpecsOf(set.Tools)
}

// Start runs what belongs before the first prompt of an interactive session: the hooks of its start, whose texts the
// first prompt gets, and the MCP servers.
func (s *Session) Start(ctx context.Context) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(s.life, end)()
	s.mu.Lock()
	s.cancelStart = end
	s.mu.Unlock()
	s.servers.Start()
	s.hooks.BeginNow(ctx)
}

// Steer hands over a message for the running turn: it is delivered before its next step, or opens another
// turn when none follows. False means that no turn runs: the message is to be prompted.
func (s *Session) Steer(m llm.Message) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open {
		s.env.Cache.InvalidateSearches()
		s.agent.Steer(m)
	}
	return s.open
}

// TakeSteers takes back the messages that were not delivered, because their turn was interrupted, failed or
// reached a limit. Those that are left are delivered in the next turn, after its prompt.
func (s *Session) TakeSteers() []llm.Message { return s.agent.TakeSteers() }

// NextSteer takes back the oldest undelivered message; false if no message waits.
func (s *Session) NextSteer() (llm.Message, bool) { return s.agent.NextSteer() }

// Interrupt ends the running turn in order; nothing happens when none runs.
func (s *Session) Interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel != nil {
		s.cancel()
		if s.cancelStart != nil { // the turn may wait for it
			s.cancelStart()
		}
	}
}

// Prompt runs a turn and returns when it is over; the end was published as an event before. Messages
// that were steered too late for their turn open another one.
func (s *Session) Prompt(ctx context.Context, m llm.Message) (event.TurnEnd, error) {
	if !s.turn.TryLock() {
		return event.TurnEnd{}, ErrBusy
	}
	defer s.turn.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !s.setCancel(cancel, true) {
		return event.TurnEnd{}, errClosed
	}
	defer s.setCancel(nil, false)
	for _, n := range s.notes {
		s.Publish(event.Notice{Level: "warning", Text: n})
	}
	s.notes = nil
	s.output.Reset()
	s.gate.Begin(m)
	s.goal.Tell(&m)
	s.env.Cache.InvalidateSearches() // the user may have changed files since
	if len(s.Messages()) == 0 {
		if err := s.withContext(ctx, &m); err != nil {
			return event.TurnEnd{}, err
		}
		if line := s.inst.extensions.LeftOut(); line != "" && s.parent == nil {
			s.warn(line)
		}
		s.journalStart()
	} else if s.Log() != nil {
		s.journalChanges()
		m.Parts = append(s.changes(), m.Parts...)
	}
	defer func() { s.env.Reads.Settle(s.env.Background.Running() > 0) }()
	for {
		end, err := s.agent.Run(ctx, m)
		s.hooks.Failed(ctx, err)
		s.goal.Failed(err)
		s.skills.EndTurn()
		next := s.late(err == nil && end.Reason == event.EndCompleted && ctx.Err() == nil)
		if next == nil {
			s.UpdateShared()
			return end, err
		}
		m = *next
	}
}

// late is the message that was steered too late for the turn that just ended; with nil no more are taken.
func (s *Session) late(completed bool) *llm.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	if completed && !s.boundaries {
		if late := s.agent.TakeSteers(); len(late) > 0 {
			for _, m := range late[1:] {
				s.agent.Steer(m)
			}
			return &late[0]
		}
	}
	s.open = false
	return nil
}

// setCancel sets what Interrupt calls, and whether messages are taken; false: the session is closed.
func (s *Session) setCancel(c context.CancelFunc, open bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel, s.open = c, open && !s.closed
	return !s.closed
}

// Window keeps the conversation within the context window; nil when nothing is kept.
func (s *Session) Window() *Window { return s.window }

// Compact replaces the conversation so far by a summary written to the instructions. No turn may run.
func (s *Session) Compact(ctx context.Context, instructions string) (compact.Report, error) {
	if s.window == nil {
		return compact.Report{}, compact.ErrNothing
	}
	if !s.turn.TryLock() {
		return compact.Report{}, ErrBusy
	}
	defer s.turn.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !s.setCancel(cancel, false) {
		return compact.Report{}, errClosed
	}
	defer s.setCancel(nil, false)
	return s.window.Compact(ctx, instructions)
}

// Invoke runs calls through the choke point outside of any turn.
func (s *Session) Invoke(ctx context.Context, calls []llm.ToolCall) []llm.ToolResult {
	return s.agent.Invoke(ctx, calls)
}

// Output is the answer of the last turn that fits the session's schema, or nil.
func (s *Session) Output() []byte { return s.output.Take() }

// CacheStats counts the calls that the explore cache answered.
func (s *Session) CacheStats() tool.CacheStats { return s.env.Cache.Stats() }

// Close interrupts the turn, waits for it, ends all children and lets go of the session's files.
func (s *Session) Close() error {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return nil
	}
	s.Interrupt()
	s.turn.Lock()
	defer s.turn.Unlock()
	s.UpdateShared()
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("closing the session: %w", err)
	}
	return nil
}
