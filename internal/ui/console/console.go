// Package console is the API for interactive front ends: one session in front, which can be switched, with
// one stream of events across sessions; the queue of messages; slash commands, completion, prompt history;
// user commands (!) and notes to memory (#).
//
// Terms: the front is the session that receives prompts; a switch replaces it; a message is steered
// (delivered at the next step of the running turn) or queued (delivered after the turn).
//
// Promises: no method but Prompt blocks on the model; the stream begins with Opened and Status, and a switch
// publishes them again; every change of the status is followed by a Status, at most ten times a second; a
// queued or steered message either enters the conversation or is returned by Unqueue; failures beside the
// conversation (a title, a status line, the history file) never end it.
package console

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/ui/command"
)

// Options configure a Console.
type Options struct {
	Instance *conversation.Instance
	Session  conversation.SessionOptions // the first session; its Bus becomes the console's
	Version  string

	Doctor func(ctx context.Context) (string, error) // nil: the front end has no /doctor
	Themes func() []string                           // names the front end knows; nil: none
	Browse func(ctx context.Context, address string) // opens an address where the user sees it; nil: it is only shown

	// History limits the events in Opened for Next; 0: all. Console.Read has the earlier ones.
	History int

	Job string // the id by which lathe ps lists the process, which is the session's own; empty: it is not

	Forget bool // on Close, remove the sessions that were created here

	// KeepModel and KeepMode: the command line set them, so a resumed session does not restore its own.
	KeepModel, KeepMode bool
}

// ErrBusy is returned while a turn runs: no other can begin, and the front cannot be switched.
var ErrBusy = errors.New("a turn is running; wait until it ends, or interrupt it")

// errClosed is returned by methods after Close.
var errClosed = errors.New("the console is closed")

// Console is lathe with one session in front. It is safe for concurrent use; Next is for one goroutine.
type Console struct {
	inst   *conversation.Instance
	kept   command.Kept
	opts   Options
	bus    *event.Bus
	events *Reader // of the front end that opened the console

	ctx   context.Context // ends with the console
	stop  context.CancelFunc
	works sync.WaitGroup

	dirty    chan struct{} // signals that the status changed
	switched chan struct{} // signals that another session is in front
	turning  sync.Mutex    // held while the front changes and readers are notified
	told     sync.Mutex    // held while a State is made and published
	state    event.State   // the newest that was published

	mu       sync.Mutex
	front    *conversation.Session
	busy     bool   // a turn runs, or the front is being changed
	turn     string // the id of the prompt that began the running turn
	woken    bool   // something ended in the background while it was busy
	closed   bool
	queue    []llm.Message         // messages for turns of their own, by their prompts' ids
	taken    map[string]*admission // prompts that were taken, by id
	logged   map[string]bool       // prompts that the log of the session in front had; nil: it was not read
	hurry    bool                  // the turn was interrupted for the messages that wait: they are sent at once
	clashes  map[string]bool       // names of commands that the user was told about, see sayClash
	pending  []llm.Part            // output of user commands, for the next message
	shell    map[string]context.CancelFunc
	trust    string                        // the id of the open question whether to trust the folder
	held     *config.Config                // the configuration whose values that question shows
	asides   map[string]func(event.Answer) // open questions that no call asked, by id
	seen     statusValues
	line     string        // output of the statusLine command
	redraw   chan struct{} // signals that the statusLine command should run
	model    string        // chosen, but not yet in the journal
	mode     permission.Mode
	index    *files.Index // of the session in front
	prompts  *promptHistory
	used     *usage
	saidTemp bool     // where files in /tmp lie; only follow uses it
	titled   bool     // a title was asked for
	made     []string // sessions that were created here
}

// newConsole makes a console without a session.
func newConsole(ctx context.Context, o Options, bus *event.Bus) *Console {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	state := o.Instance.Config().Paths().StateHome
	return &Console{
		inst: o.Instance, opts: o, bus: bus, ctx: ctx, stop: stop, dirty: make(chan struct{}, 1),
		switched: make(chan struct{}, 1), redraw: make(chan struct{}, 1),
		shell: map[string]context.CancelFunc{}, taken: map[string]*admission{},
		prompts: newPromptHistory(state, o.Instance.Dir()), used: newUsage(state),
	}
}

// Open opens the first session. Following the settings and publishing the status go on until Close.
func Open(ctx context.Context, o Options) (*Console, error) {
	bus := event.NewBus()
	c := newConsole(ctx, o, bus)
	c.events = &Reader{c: c, limit: o.History, sub: bus.Subscribe(c.ctx, event.Options{})}
	watched := bus.Subscribe(c.ctx, event.Options{NoDeltas: true})
	o.Session.Bus, o.Session.Schedules = bus, true
	if o.Session.Resume != "" {
		defer collectOften()()
	}
	s, err := o.Instance.NewSession(ctx, o.Session)
	if err != nil {
		c.stop()
		bus.Close()
		return nil, err
	}
	c.put(ctx, s, o.Session.Resume != "")
	c.note(o.Session, s)
	if err := llm.CatalogueFault(); err != nil { // a model was looked up for the session
		c.notice("warning", "%v; %s", err, llm.CatalogueRemedy)
	}
	c.works.Go(func() { c.follow(watched) })
	c.works.Go(c.publishStatus)
	c.inst.Extensions().Processes.OnStatus(c.touch)
	c.works.Go(c.drawLines)
	c.works.Go(c.watchSettings)
	c.works.Go(c.emptyTrash)
	c.works.Go((&scheduler{c: c}).run)
	if !c.askTrust() {
		c.start(s)
	}
	return c, nil
}

// start runs what belongs before the first prompt: hooks, the servers of the session, questions about them.
func (c *Console) start(s *conversation.Session) {
	if c.opts.Session.Interactive {
		c.works.Go(func() { s.Start(c.ctx) })
	}
}

// trashDays is how long deleted sessions can be restored.
const trashDays = 30

// emptyTrash removes sessions that were deleted long ago. Failures are retried at the next start.
func (c *Console) emptyTrash() {
	_, _ = c.inst.Store().EmptyTrash(time.Now().AddDate(0, 0, -trashDays))
}

// watchSettings follows the settings files; a change is announced by a Notice, and a changed statusLine shows at
// once.
func (c *Console) watchSettings() {
	if err := c.inst.Watch(c.ctx, c.refreshLine); err != nil && c.ctx.Err() == nil {
		c.notice("warning", "%v", err)
	}
}

// Close interrupts the turn, waits for it, ends all background work and closes the session. The instance
// stays open.
func (c *Console) Close() error {
	c.mu.Lock()
	closed := c.closed
	c.closed = true
	s := c.front
	for _, end := range c.shell {
		end()
	}
	c.mu.Unlock()
	if closed {
		return nil
	}
	s.Hooks().Ends("prompt_input_exit")
	c.kept.Leave(s)
	err := errors.Join(s.Close(), c.index.Close())
	c.stop()
	c.works.Wait()
	c.bus.Close()
	if c.opts.Forget {
		err = errors.Join(err, c.forget())
	}
	c.kept.Close()
	return errors.Join(err, c.used.save())
}

// forget removes the sessions that were created here. Those without a message are gone already.
func (c *Console) forget() error {
	var errs []error
	for _, id := range c.made {
		if err := c.inst.Store().Remove(id); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
		c.bus.Publish(id, nil, event.SessionDeleted{ID: id})
	}
	return errors.Join(errs...)
}

// Farewell returns the id for resuming the session in front; empty when it has no message yet.
func (c *Console) Farewell() string {
	if log := c.session().Log(); log != nil && len(log.Messages()) > 0 {
		return log.ID()
	}
	return ""
}

func (c *Console) session() *conversation.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.front
}

// publish publishes an event of the session in front.
func (c *Console) publish(b event.Body) { c.bus.Publish(c.session().ID(), nil, b) }

func (c *Console) notice(level, format string, args ...any) {
	c.publish(event.Notice{Level: level, Text: fmt.Sprintf(format, args...)})
}

// Events are those from the beginning, for the front end that opened the console. Attach adds further readers.
func (c *Console) Events() port.Events { return c.events }

// Answer answers an open question of any session; the first answer counts, and every reader sees it as
// Answered. Answering a question that is not open in that session is an error.
func (c *Console) Answer(_ context.Context, a port.Answer) error {
	if _, err := c.bus.FindQuestion(a.Session, a.ID); err != nil {
		return err
	}
	a.Answer.From = a.From
	if c.answerTrust(a.ID, a.Answer) || c.answerAside(a.ID, a.Answer) {
		return nil
	}
	return c.inst.Answer(a.Session, a.ID, a.Answer)
}

// Command runs a slash command by its name, or one of the other forms of a prompt line: "!" runs args as a
// user command, "#" adds args to the memory file, "background" moves running commands to the background.
func (c *Console) Command(ctx context.Context, k port.Command) (event.Output, error) {
	name, args := k.Name, k.Args
	switch name {
	case "!":
		c.prompts.add("!" + args)
		return event.Output{}, c.runShell(ctx, args)
	case "#":
		c.prompts.add("#" + args)
		return c.addMemory(args)
	case "background":
		return c.background()
	}
	if first, rest, ok := strings.Cut(name, " "); ok { // a whole line, as in lists
		name, args = first, strings.TrimSpace(rest+" "+args)
	}
	files := c.inst.Extensions().Skills.Catalog()
	c.sayClash(files, name)
	cmd, ok := command.Find(name)
	if _, own := command.Owned(files, name); own || !ok {
		return c.fileCommand(ctx, name, args)
	}
	if !cmd.Hidden {
		c.used.note(cmd.Name)
	}
	if cmd.Alone {
		if err := c.acquire(); err != nil {
			return event.Output{}, fmt.Errorf("/%s: %w", cmd.Name, err)
		}
		defer c.release()
	}
	defer c.touch()
	out, err := command.Run(ctx, c.host(), cmd.Name, args)
	return command.BuiltIn(files, out), err
}
