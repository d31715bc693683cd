package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/session"
)

const (
	maxParallel = 8
	// abandonAfter is how long a cancelled turn waits for a tool that does not obey.
	abandonAfter = 10 * time.Second

	interruptedText = "The user interrupted this call before it finished."
	notStartedText  = "This call was not run: the user interrupted the turn before it started."
	abandonedText   = "The user interrupted this call and it did not stop; it may still have effects."
)

// queue runs the calls of one reply in their order: parallel ones together, others alone. Calls may be
// added while earlier ones run.
type queue struct {
	a       *Agent
	ctx     context.Context
	journal bool // the calls belong to the reply that is being written

	mu      sync.Mutex
	wake    *sync.Cond
	calls   []*pending
	seen    map[string]bool
	closed  bool
	stopped chan struct{} // the scheduler has ended

	running sync.WaitGroup
	slots   chan struct{}
	out     outcome
}

// pending is a call on its way to its one result.
type pending struct {
	call   llm.ToolCall
	once   sync.Once
	result llm.ToolResult
	doomed bool // stopped because it repeats the calls before it
}

func (a *Agent) newQueue(ctx context.Context, journal bool) *queue {
	q := &queue{a: a, ctx: ctx, journal: journal, seen: map[string]bool{}, slots: make(chan struct{}, maxParallel)}
	q.wake = sync.NewCond(&q.mu)
	return q
}

// add hands over one call; a call that was handed over before is ignored.
func (q *queue) add(c llm.ToolCall) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.seen[c.ID] {
		return
	}
	q.seen[c.ID] = true
	q.calls = append(q.calls, &pending{call: c})
	if q.stopped == nil {
		q.stopped = make(chan struct{})
		go q.schedule()
	}
	q.wake.Signal()
}

// wait ends the queue: it returns when every call has its result.
func (q *queue) wait() outcome {
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
	timer := time.NewTimer(abandonAfter)
	defer timer.Stop()
	select {
	case <-stopped:
	case <-timer.C:
		for _, p := range q.snapshot() {
			q.finish(p, &Result{Parts: text(abandonedText), IsError: true}, "", false, 0)
		}
	}
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

// schedule takes the calls in order. A call is prepared when its turn comes, so that it sees what the
// ones before it did: what cannot run beside the calls in flight waits for them and is prepared again.
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
	plan, err := q.prepare(&p.call)
	if err != nil || !plan.Parallel {
		if plan != nil {
			plan.close()
		}
		q.running.Wait()
		plan, err = q.prepare(&p.call)
	}
	if err != nil {
		q.finish(p, failed(err), "", false, 0)
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

// prepare resolves a call without side effects.
func (q *queue) prepare(call *llm.ToolCall) (plan *Plan, err error) {
	if q.ctx.Err() != nil {
		return nil, errors.New(notStartedText)
	}
	defer func() {
		if r := recover(); r != nil {
			plan, err = nil, fmt.Errorf("%s crashed while it was prepared: %v", call.Name, r)
		}
	}()
	tool, err := q.a.resolve(call)
	if err != nil {
		return nil, err
	}
	if q.a.cfg.BeforeTool != nil {
		if err := q.a.cfg.BeforeTool(q.ctx, call); err != nil {
			return nil, err
		}
		if tool, err = q.a.resolve(call); err != nil { // the hook may have changed it
			return nil, err
		}
	}
	return tool.Prepare(q.ctx, *call)
}

// perform authorises, runs and records one prepared call.
func (q *queue) perform(p *pending, plan *Plan) {
	began := q.a.cfg.Clock()
	plan, decision, err := q.authorize(p, plan)
	defer func() { plan.close() }()
	switch {
	case err != nil:
		q.finish(p, failed(err), plan.Title, false, q.since(began))
		return
	case decision.Effect != permission.Allow:
		q.refuse(p, plan, decision)
		return
	}
	if err := q.begin(p, plan); err != nil {
		q.finish(p, failed(err), plan.Title, false, q.since(began))
		return
	}
	res := q.run(p.call, plan)
	if q.a.cfg.AfterTool != nil {
		if err := q.a.cfg.AfterTool(context.WithoutCancel(q.ctx), p.call, res); err != nil {
			res = failed(err)
		}
	}
	q.finish(p, res, plan.Title, false, q.since(began))
}

func (q *queue) since(t time.Time) time.Duration { return q.a.cfg.Clock().Sub(t) }

// authorize asks for approval. When whoever approved changed the input, the call is prepared anew and
// held against the rules once more.
func (q *queue) authorize(p *pending, plan *Plan) (*Plan, permission.Decision, error) {
	for revised := false; ; revised = true {
		if err := q.doomed(p); err != nil {
			return plan, permission.Decision{}, err
		}
		if q.a.cfg.Authorize == nil {
			return plan, permission.Decision{Effect: permission.Deny, Reason: "nothing authorises calls here"}, nil
		}
		d, err := q.a.cfg.Authorize(q.ctx, q.approval(p.call, plan, revised))
		if err != nil || d.Effect != permission.Allow || d.Input == nil || revised {
			return plan, d, err
		}
		p.call.Input = d.Input
		next, err := q.prepare(&p.call)
		if err != nil {
			return plan, d, err
		}
		plan.close()
		plan = next
	}
}

func (q *queue) approval(call llm.ToolCall, plan *Plan, revised bool) Approval {
	return Approval{
		Request: permission.Request{
			CallID: call.ID, Tool: call.Name, Input: call.Input, Accesses: plan.Accesses,
			Mode: q.a.cfg.Mode(), Dir: q.a.cfg.Dir(),
		},
		Call: call, Title: plan.Title, Preview: plan.Preview, Revised: revised,
	}
}

// refuse answers a denied call with the reason.
func (q *queue) refuse(p *pending, plan *Plan, d permission.Decision) {
	q.a.cfg.Publish(event.Denied{Call: p.call, Decision: d})
	if d.Interrupt {
		q.mu.Lock()
		q.out.refused = true
		q.mu.Unlock()
	}
	msg := "Permission denied: " + d.Reason + "."
	if d.Guidance != "" {
		msg += " The user says: " + d.Guidance
	}
	q.finish(p, &Result{Parts: text(msg), IsError: true}, plan.Title, true, 0)
}

// begin takes the snapshot and journals the start, before any side effect.
func (q *queue) begin(p *pending, plan *Plan) error {
	if q.ctx.Err() != nil {
		return errors.New(notStartedText)
	}
	writes := plan.Writes()
	if writes && q.a.cfg.Snapshot != nil {
		if err := q.a.cfg.Snapshot(q.ctx, plan); err != nil {
			return fmt.Errorf("not run, because the files could not be saved for undo: %w", err)
		}
	}
	if q.journal {
		if err := q.a.cfg.Transcript.StartCall(context.WithoutCancel(q.ctx), p.call.ID, writes); err != nil {
			q.failWrite(err)
			return fmt.Errorf("not run, because the session could not be written: %w", err)
		}
	}
	q.a.cfg.Publish(event.ToolStart{Call: p.call, Title: plan.Title, Preview: plan.Preview})
	return nil
}

func (q *queue) failWrite(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.out.writeErr == nil {
		q.out.writeErr = err
	}
}

// run runs a plan; a panic is the call's failure.
func (q *queue) run(call llm.ToolCall, plan *Plan) (res *Result) {
	defer func() {
		if r := recover(); r != nil {
			res = failed(fmt.Errorf("%s crashed: %v", call.Name, r))
			res.Meta = map[string]any{"panic": fmt.Sprint(r), "stack": string(debug.Stack())}
		}
	}()
	ctx := WithOutput(q.ctx, func(s string) { q.a.cfg.Publish(event.ToolOutput{CallID: call.ID, Text: s}) })
	res, err := plan.Run(ctx)
	switch {
	case err != nil && q.ctx.Err() != nil && errors.Is(err, context.Canceled):
		return &Result{Parts: text(interruptedText), IsError: true}
	case err != nil:
		return failed(err)
	case res == nil || len(res.Parts) == 0:
		if res == nil {
			res = &Result{}
		}
		res.Parts = text("(no output)")
	}
	return res
}

// finish gives a call its one result: on disk first, then as an event.
func (q *queue) finish(p *pending, res *Result, title string, denied bool, took time.Duration) {
	p.once.Do(func() {
		if res.Title != "" {
			title = res.Title
		}
		if res.EndTurn && !res.IsError {
			q.mu.Lock()
			q.out.ended = true
			q.mu.Unlock()
		}
		p.result = llm.ToolResult{CallID: p.call.ID, Name: p.call.Name, Parts: res.Parts, IsError: res.IsError}
		if q.journal {
			end := session.CallEnd{Result: p.result, Title: title, Denied: denied, Duration: took}
			end.View, _ = event.MarshalView(res.View)
			if res.Meta != nil {
				end.Meta, _ = json.Marshal(res.Meta)
			}
			if err := q.a.cfg.Transcript.EndCall(context.WithoutCancel(q.ctx), end); err != nil {
				q.failWrite(err)
				return
			}
		}
		q.a.cfg.Publish(event.ToolEnd{
			Call: p.call, Result: p.result, Title: title, View: res.View, Meta: res.Meta, Denied: denied, Duration: took,
		})
	})
}

// Invoke runs calls through the one choke point and returns their results in order. Tools that run other
// tools use it from inside their own call; the calls are not part of the model's reply.
func (a *Agent) Invoke(ctx context.Context, calls []llm.ToolCall) []llm.ToolResult {
	if err := a.prepare(ctx); err != nil {
		out := make([]llm.ToolResult, len(calls))
		for i, c := range calls {
			out[i] = llm.TextResult(c, err.Error(), true)
		}
		return out
	}
	q := a.newQueue(ctx, false)
	for i := range calls {
		if calls[i].ID == "" {
			calls[i].ID = fmt.Sprintf("call_%d", i+1)
		}
		q.add(calls[i])
	}
	q.wait()
	out := make([]llm.ToolResult, 0, len(calls))
	for _, p := range q.snapshot() {
		out = append(out, p.result)
	}
	return out
}

func (p *Plan) close() {
	if p != nil && p.Close != nil {
		p.Close()
		p.Close = nil
	}
}

func text(s string) []llm.Part { return []llm.Part{llm.Text{Text: s}} }

func failed(err error) *Result { return &Result{Parts: text(err.Error()), IsError: true} }
