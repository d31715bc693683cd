package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
)

const (
	maxParallel = 8
	// abandonAfter is how long a cancelled turn waits for a tool that does not obey.
	abandonAfter = time.Second

	interruptedText = "The user interrupted this call before it finished."
	notStartedText  = "This call was not run: the user interrupted the turn before it started."
	hooksLeftText   = "The user interrupted the hooks that run after this call, and they did not stop."
	abandonedText   = "The user interrupted this call and it did not stop; it may still have effects."
)

var (
	errNotStarted = errors.New(notStartedText)
	errNotWritten = errors.New("This call was not run: the session could not be written.")
	errRefused    = errors.New("This call was not run: the user refused another call that was made with it, and wants " +
		"to be heard first.")
)

// errNoRoom answers a call that would have effects while the disk is full.
var errNoRoom = errors.New("This call was not run: the disk is full, so its effects could be neither recorded nor " +
	"undone. " +
	"Calls that change nothing still run. Tell the user that commands and edits wait until there is room on the disk.")

// noRoom reports whether err means that the session could not be written because the disk is full.
func noRoom(err error) bool {
	e, ok := errors.AsType[*session.WriteError](err)
	return ok && e.Full()
}

// unwritten reports whether err means that the session could not be written.
func unwritten(err error) bool {
	_, ok := errors.AsType[*session.WriteError](err)
	return ok
}

// queue runs the calls of one reply in their order: parallel ones together, others alone. Calls may be
// added while earlier ones run.
type queue struct {
	a       *Agent
	ctx     context.Context
	journal bool   // the calls belong to the reply that is being written; else they come from Invoke
	parent  string // the id of the call that makes these calls through Invoke
	quiet   bool   // nothing is recorded: they come from InvokeUnrecorded
	above   running

	// of questions and of running calls: ends with ctx, or when the user refuses a call and wants the turn to end
	going context.Context
	drop  context.CancelFunc

	mu      sync.Mutex
	wake    *sync.Cond
	calls   []*pending
	closed  bool
	stopped chan struct{} // the scheduler has ended

	running sync.WaitGroup
	slots   chan struct{}
	judging chan struct{} // the slots of hooks
	out     outcome
}

func (a *Agent) newQueue(ctx context.Context, journal bool) *queue {
	q := &queue{
		a: a, ctx: ctx, journal: journal, slots: make(chan struct{}, maxParallel),
		judging: make(chan struct{}, maxParallel),
	}
	q.going, q.drop = context.WithCancel(ctx)
	q.wake = sync.NewCond(&q.mu)
	return q
}

// add hands over one call. Calls that are journalled have ids of their own.
func (q *queue) add(c llm.ToolCall, again bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := &pending{id: c.ID, written: c, call: c, shown: c, again: again, done: make(chan struct{})}
	q.calls = append(q.calls, p)
	if len(q.a.cfg.BeforeTool) > 0 {
		p.hooks.Go(func() { q.judge(p) })
	}
	if q.stopped == nil {
		q.stopped = make(chan struct{})
		go q.schedule()
	}
	q.wake.Signal()
}

// wait ends the queue: it returns when every call has its result.
func (q *queue) wait() outcome {
	defer q.drop()
	q.mu.Lock()
	q.closed = true
	q.wake.Signal()
	stopped := q.stopped
	q.mu.Unlock()
	if stopped != nil {
		q.await(stopped)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.out.calls = len(q.calls)
	if q.journal {
		q.a.doom.note(q.calls)
	}
	return q.out
}

// await waits for the scheduler; after a cancellation it gives tools that do not obey a while and then
// answers for them.
func (q *queue) await(stopped chan struct{}) {
	select {
	case <-stopped:
		return
	case <-q.ctx.Done():
	}
	timer := time.NewTimer(q.a.patience)
	defer timer.Stop()
	select {
	case <-stopped:
	case <-timer.C:
		for _, p := range q.snapshot() {
			q.abandon(p)
		}
	}
}

// abandon answers a call whose tool does not return. One that had not started never will.
func (q *queue) abandon(p *pending) {
	q.mu.Lock()
	call, res := p.shown, failed(errNotStarted)
	switch {
	case p.ran != nil: // the call is done, its hooks are not
		res = p.ran.with(text(hooksLeftText)...)
	case p.phase >= started:
		res = &Result{Parts: text(abandonedText), IsError: true}
	}
	err := p.move(answered)
	q.mu.Unlock()
	if err != nil { // its own result is being written
		<-p.done
		return
	}
	q.answer(p, call, res, "", 0)
}

func (q *queue) snapshot() []*pending {
	q.mu.Lock()
	defer q.mu.Unlock()
	return append([]*pending(nil), q.calls...)
}

// next is the i-th call, or nil when there will be none.
func (q *queue) next(i int) *pending {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i >= len(q.calls) && !q.closed {
		q.wake.Wait()
	}
	if i >= len(q.calls) {
		return nil
	}
	return q.calls[i]
}

// schedule takes the calls in order. A call is prepared when its turn comes, so that it sees the
// effects of those before it: one that cannot run beside the calls in flight waits for them and is prepared again.
func (q *queue) schedule() {
	defer close(q.stopped)
	for i := 0; ; i++ {
		p := q.next(i)
		if p == nil {
			break
		}
		q.start(p)
	}
	q.running.Wait()
}

func (q *queue) start(p *pending) {
	plan, err := q.prepare(p)
	if again := p.tool != nil && q.halted() == nil; again && (err != nil || !plan.Parallel) {
		plan.close()
		q.running.Wait()
		plan, err = q.prepare(p)
	}
	if err != nil {
		q.fail(p, err, "", 0)
		return
	}
	if !plan.Parallel {
		q.perform(p, plan)
		return
	}
	q.slots <- struct{}{}
	q.running.Add(1)
	go func() {
		defer func() { <-q.slots; q.running.Done() }()
		q.perform(p, plan)
	}()
}

// halted says why nothing may start any more, or nil.
func (q *queue) halted() error {
	refused := q.above.refused()
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case refused || q.out.refused:
		return errRefused
	case q.ctx.Err() != nil:
		return errNotStarted
	case q.out.writeErr != nil:
		return errNotWritten
	}
	return nil
}

// refusedOne notes that the user refused a call and wants the turn to end. The calls made with it end too, and no other
// starts.
func (q *queue) refusedOne() {
	q.mu.Lock()
	q.out.refused = true
	q.mu.Unlock()
	q.drop()
}

// prepare resolves a call without side effects.
func (q *queue) prepare(p *pending) (plan *Plan, err error) {
	if err := q.halted(); err != nil {
		return nil, err
	}
	defer func() {
		if r := recover(); r != nil {
			plan, err = nil, fmt.Errorf("%s crashed while it was prepared: %v", p.call.Name, r)
		}
	}()
	if p.tool == nil {
		if err := q.resolve(p); err != nil {
			return nil, err
		}
	}
	plan, err = p.tool.Prepare(q.ctx, p.call)
	if err == nil && (plan == nil || plan.Run == nil) {
		err = fmt.Errorf("%s cannot be run: it made no plan for this input", p.call.Name)
	}
	if err != nil {
		return nil, err
	}
	if err := q.move(p, prepared); err != nil {
		plan.close()
		return nil, err
	}
	return plan, nil
}

// judge runs the hooks on a call that was just added, so that the calls of a reply do not wait for each
// other's hooks. A call that has no tool yet is left to resolve.
func (q *queue) judge(p *pending) {
	q.judging <- struct{}{}
	defer func() { <-q.judging }()
	defer func() {
		if r := recover(); r != nil {
			p.hookErr = fmt.Errorf("%s crashed while its hooks ran: %v", p.call.Name, r)
			_ = q.move(p, judged) // one that fails was answered, and its next move fails too
		}
	}()
	if q.halted() != nil {
		return
	}
	if _, err := q.a.resolve(&p.call); err == nil {
		q.hook(p)
	}
}

// resolve finds the tool of a call. The hooks see each call once, however often it is prepared.
func (q *queue) resolve(p *pending) error {
	p.hooks.Wait()
	tool, err := q.a.resolve(&p.call)
	if err == nil && q.phaseOf(p) < judged {
		if q.hook(p); p.ruling.Input != nil {
			tool, err = q.a.resolve(&p.call)
		}
	}
	q.stop(p.ruling.Stop)
	q.mu.Lock()
	p.shown = p.call
	q.mu.Unlock()
	if err = cmp.Or(err, p.hookErr); err == nil {
		p.tool = tool
	}
	return err
}

// hook takes the verdicts of the hooks on a call.
func (q *queue) hook(p *pending) {
	if p.ruling, p.hookErr = q.a.before(q.ctx, p.call); p.ruling.Input != nil {
		p.call.Input, p.call.Raw = p.ruling.Input, ""
	}
	_ = q.move(p, judged)
}
