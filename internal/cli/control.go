package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// maxLine is the longest line of stdin: a message may hold pictures.
const maxLine = 64 << 20

// controller runs a conversation with --input-format stream-json: messages of stdin queue, control requests
// are served at once, and the end of stdin ends the process when the queue is empty.
type controller struct {
	p *program
	o *Options
	w *lineWriter

	mu        sync.Mutex
	conv      Conversation
	h         *headless
	openErr   error // why no turn may run
	queue     []queued
	held      []llm.Part // of messages that wait for the next one (shouldQuery false)
	eof       bool
	inputErr  error
	running   bool               // a message was taken from the queue and its turn has not ended
	interrupt context.CancelFunc // of the running turn, once it began
	stopped   bool               // the host interrupted the running turn
	asks      map[string]string  // request id -> question id
	calls     map[string]event.Question
	replies   map[string]chan hostReply // of requests to the host, by id
	hostSeq   int
	awaits    bool // initialize is still to come, as the first line; for read alone

	wake  chan struct{}
	woken bool // a task has ended in the background, and no turn had the news
}

// queued is a message that waits for its turn, or why one of stdin cannot be used.
type queued struct {
	llm.Message
	err   error
	later bool // not to be delivered to a turn that runs
	plain bool // never a command
}

// runStream serves stdin until it ends and the queue is empty.
func (p *program) runStream(ctx context.Context, o *Options) error {
	if err := checkSchema(o); err != nil {
		return err
	}
	c := &controller{
		p: p, o: o, w: p.jsonLines(), awaits: o.AwaitInit,
		asks: map[string]string{}, replies: map[string]chan hostReply{}, calls: map[string]event.Question{},
		wake: make(chan struct{}, 1),
	}
	o.hostServers = c.hostServers
	if o.Mirror {
		o.mirrored = c.mirrored
	}
	if o.Prompts != "none" {
		o.hostElicits = c.hostElicits
	}
	go c.read(ctx)
	err := c.serve(ctx)
	if c.conv != nil {
		err = joinErrors(err, c.conv.Close())
	}
	return err
}

// serve runs the queued turns one after another. The last turn decides about the exit code.
func (c *controller) serve(ctx context.Context) error {
	var last error
	for {
		m, ok, err := c.next(ctx)
		if err == nil && !ok && c.awaitNews(ctx) {
			continue
		}
		if err != nil || !ok {
			if err == nil {
				err = joinErrors(c.sayEnded(ctx), last)
			}
			return err
		}
		if err := c.open(ctx); err != nil {
			return err
		}
		out, err := c.turn(ctx, m)
		if err != nil {
			return err
		}
		last = c.p.verdict(c.o, out, nil)
		if c.hostStopped() {
			last = nil
			c.forgetNews() // an interrupt is not answered by another turn
		}
	}
}

// sayEnded waits for commands in the background and reports those that end with the run.
func (c *controller) sayEnded(ctx context.Context) error {
	if c.h == nil {
		return nil
	}
	return c.h.sayEnded(ctx)
}

// turn runs one turn. A message that cannot be used has a result all the same, for hosts wait for one.
func (c *controller) turn(ctx context.Context, m queued) (outcome, error) {
	defer c.takeBack()
	if name, args, ok := c.slash(m); ok {
		return c.command(ctx, name, args, m)
	}
	if m.err == nil {
		return c.h.turn(ctx, m.Message)
	}
	return c.fails(m.err)
}

// takeBack puts messages that the turn did not take before those that wait.
func (c *controller) takeBack() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.recall(), c.queue...)
}

// recall takes the messages back that were steered and not delivered. The lock is held.
func (c *controller) recall() []queued {
	var back []queued
	if s, ok := c.conv.(Steered); ok {
		for _, m := range s.TakeSteers() {
			back = append(back, queued{Message: m})
		}
	}
	return back
}

// fails is a turn that did not begin, with its result line.
func (c *controller) fails(err error) (outcome, error) {
	c.turnStarts(nil)
	c.h.stats.reset()
	out := c.h.stats.outcomeOf(&Error{Code: exitUsage, Err: notStarted{err}})
	return out, joinErrors(c.h.printer.begin(c.h.conv.About()), c.h.printer.finish(c.h.stats, &out))
}

// next waits for a message; false means that none will come.
func (c *controller) next(ctx context.Context) (queued, bool, error) {
	for {
		c.mu.Lock()
		if len(c.queue) > 0 {
			m := c.queue[0]
			c.queue = c.queue[1:]
			c.running, c.stopped = true, false
			c.mu.Unlock()
			return m, true, nil
		}
		eof, err := c.eof, c.inputErr
		woken := c.woken
		c.woken = false
		c.mu.Unlock()
		if m, ok := c.news(ctx, woken); ok {
			return queued{Message: m, plain: true}, true, nil
		}
		if eof {
			return queued{}, false, err
		}
		stop := c.idle(ctx)
		select {
		case <-c.wake:
		case <-ctx.Done():
		}
		stop()
		if ctx.Err() != nil {
			return queued{}, false, ctx.Err()
		}
	}
}

// idle prints events that come between two turns, as those of commands in the background, until the function it
// returns is called.
func (c *controller) idle(ctx context.Context) (stop func()) {
	c.mu.Lock()
	h := c.h
	c.mu.Unlock()
	if h == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			e, err := h.conv.Next(ctx)
			if err != nil {
				return
			}
			h.stats.observe(e)
			h.questions(e)
			_ = h.printer.event(e) // the writer keeps the error for the next turn
		}
	}()
	return func() { cancel(); <-done }
}

// background is a conversation with tasks in the background.
type background interface {
	// News is the message about ends in the background that opens a turn, if there is news.
	News(ctx context.Context) (llm.Message, bool)
	// awaitNews waits for news as long as the settings say, and reports whether there is some.
	awaitNews(ctx context.Context) bool
}

// news is the message about tasks that ended in the background, as the next turn's.
func (c *controller) news(ctx context.Context, woken bool) (llm.Message, bool) {
	b, ok := c.conv.(background)
	if !ok || !woken {
		return llm.Message{}, false
	}
	m, ok := b.News(ctx)
	if ok {
		c.mu.Lock()
		c.running, c.stopped = true, false
		c.mu.Unlock()
	}
	return m, ok
}

// awaitNews waits for agents in the background when no message will come any more, as long as the settings say.
func (c *controller) awaitNews(ctx context.Context) bool {
	b, ok := c.conv.(background)
	if !ok {
		return false
	}
	stop := c.idle(ctx)
	ended := b.awaitNews(ctx)
	stop()
	if ended {
		c.ended()
	}
	return ended
}

func (c *controller) forgetNews() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.woken = false
}

// ended notes that a task has ended in the background.
func (c *controller) ended() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.woken = true
	c.signal()
}

func (c *controller) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// open makes the conversation when it is first needed: initialize may still change its options.
func (c *controller) open(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.openErr != nil || c.conv != nil {
		return c.openErr
	}
	conv, err := c.p.open(ctx, c.o)
	if err != nil {
		c.openErr = err
		return err
	}
	c.conv, c.h = conv, c.p.headless(c.o, conv)
	if l, ok := conv.(*local); ok {
		l.onEnd(c.ended)
	}
	printer := newStreamPrinter(c.w, c.o, c.p.warnings)
	if l, ok := conv.(*local); ok {
		printer.agents.of = l.agentOf
	}
	c.h.printer = printer
	c.h.stop = c.turnStarts
	if c.o.asksHost() && c.h.asked == nil {
		c.h.asked, c.h.closed = c.ask, c.askClosed
	}
	c.signal() // so that its events are read
	return nil
}

// turnStarts keeps the function that interrupts the turn that begins; nil when the turn has ended.
func (c *controller) turnStarts(f context.CancelFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.interrupt = f
	switch {
	case f == nil:
		c.running = false
	case c.stopped: // interrupted before it began
		f()
	}
}

func (c *controller) hostStopped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopped
}

// read takes stdin line by line until it ends. A line that cannot be used is answered by an error.
func (c *controller) read(ctx context.Context) {
	r := bufio.NewReaderSize(c.p.in, 64<<10)
	var err error
	for n := 1; err == nil; n++ {
		var line []byte
		var long bool
		line, long, err = nextLine(r)
		var e error
		switch {
		case long:
			e = fmt.Errorf("more than %d MB; send large files by their path", maxLine>>20)
		case len(bytes.TrimSpace(line)) > 0:
			e = c.line(ctx, bytes.ReplaceAll(line, []byte{0}, []byte("\ufffd")))
		}
		if e != nil {
			c.unusable(fmt.Errorf("stdin, line %d: %w", n, e))
		}
	}
	c.mu.Lock()
	c.eof = true
	if !errors.Is(err, io.EOF) {
		c.inputErr = err
	} else if c.awaits {
		c.inputErr = usage("send it as the first line",
			"stdin ended before the request initialize, which --await-initialize promises")
	}
	asks := c.asks
	c.asks = map[string]string{}
	c.mu.Unlock()
	c.hostGone()
	for _, id := range asks { // too late for an answer
		c.refuse(id)
	}
	c.signal()
}

// unusable queues an error in the place of a message.
func (c *controller) unusable(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, queued{err: err})
	c.signal()
}

func (c *controller) refuse(question string) {
	// A failure means that the question is closed already.
	_ = c.conv.Answer(question, event.Answer{
		Choice: event.ChoiceNo, Canceled: true,
		Text: "stdin ended before the question was answered",
	})
}
