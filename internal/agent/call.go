package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// perform authorises, runs and records one prepared call. Its duration does not count the wait for an answer.
func (q *queue) perform(p *pending, plan *Plan) {
	plan, decision, err := q.authorize(p, plan)
	defer func() { plan.close() }()
	defer p.settle()
	began := q.a.cfg.Clock()
	if err == nil && decision.Effect != permission.Allow {
		q.refuse(p, plan, decision)
		return
	}
	if err == nil {
		err = q.begin(p, plan)
	}
	if err != nil {
		q.fail(p, err, plan.Title, q.since(began))
		return
	}
	ran := q.run(p, plan, decision).with(p.ruling.Context...)
	if p.note != "" {
		ran = ran.with(llm.Text{Text: p.note, Origin: llm.OriginReminder})
	}
	ran.Took = q.since(began)
	res := q.afterTool(p, ran)
	p.settle()
	q.finish(p, res, plan.Title, q.since(began))
}

func (q *queue) since(t time.Time) time.Duration { return q.a.cfg.Clock().Sub(t) }

// fail answers a call that did not start. When the turn was interrupted meanwhile, that is the reason,
// whatever it made others return.
func (q *queue) fail(p *pending, err error, title string, took time.Duration) {
	if unwritten(err) {
		q.failWrite(err)
		err = errNotWritten
	}
	if halt := q.halted(); halt != nil {
		err = halt
	}
	q.finish(p, failed(err), title, took)
}

var errRepeated = errors.New("Not run: this reply has the very same call under the same id already; its result is " +
	"that of the first.")

// authorize asks for approval. When whoever approved changed the input, the call is prepared anew and
// held against the rules once more.
func (q *queue) authorize(p *pending, plan *Plan) (*Plan, permission.Decision, error) {
	for revised := false; ; revised = true {
		if err := q.halted(); err != nil {
			return plan, permission.Decision{}, err
		}
		if p.again {
			return plan, permission.Decision{}, errRepeated
		}
		if err := q.doomed(p); err != nil {
			return plan, permission.Decision{}, err
		}
		if q.a.cfg.Authorize == nil {
			return plan, permission.Decision{Effect: permission.Deny, Reason: "nothing authorises calls here"}, nil
		}
		d, err := q.a.cfg.Authorize(q.going, q.approval(p, plan, revised))
		if p.ruling.Effect == permission.Deny && d.Effect == permission.Allow {
			d = p.ruling.Apply(d)
		}
		if err != nil || d.Effect != permission.Allow {
			return plan, d, err
		}
		if d.Input == nil || revised {
			return plan, d, q.move(p, authorised)
		}
		p.call.Input, p.tool = d.Input, nil
		next, err := q.prepare(p)
		if err != nil {
			return plan, d, err
		}
		plan.close()
		plan = next
	}
}

func (q *queue) approval(p *pending, plan *Plan, revised bool) Approval {
	return Approval{
		Request: permission.Request{
			CallID: p.id, Tool: p.call.Name, Input: p.call.Input, Accesses: plan.Accesses,
			Mode: q.a.cfg.Mode(), Agent: q.a.cfg.Chain, Dir: q.a.cfg.Dir(),
		},
		Call: p.call, Parent: q.parent, Title: plan.Title, Preview: plan.Preview, Revised: revised, Hooks: p.ruling,
	}
}

// refuse answers a denied call with the reason.
func (q *queue) refuse(p *pending, plan *Plan, d permission.Decision) {
	if d.Interrupt {
		q.refusedOne()
	}
	msg := "Permission denied: " + d.Reason + "."
	if d.Guidance != "" {
		msg += " The user says: " + d.Guidance
	}
	res := (&Result{Parts: text(msg), IsError: true}).with(p.ruling.Context...)
	q.finish(p, res, plan.Title, 0, event.Denied{Call: p.call, Decision: d})
}

// begin takes the snapshot and journals the start, before any side effect.
func (q *queue) begin(p *pending, plan *Plan) error {
	if err := q.halted(); err != nil {
		return err
	}
	writes := plan.Writes()
	if writes && q.a.cfg.Snapshot != nil {
		err := q.snapshotFor(p, plan)
		if noRoom(err) {
			return errNoRoom
		}
		if err != nil {
			return fmt.Errorf("not run, because the files could not be saved for undo: %w", err)
		}
	}
	if err := q.claim(p); err != nil {
		return err
	}
	if q.quiet {
		return nil
	}
	err := q.a.record(func() error {
		return q.a.cfg.Transcript.StartCall(context.WithoutCancel(q.ctx), q.startOf(p), writes)
	}, event.ToolStart{Call: p.call, Parent: q.parent, Title: plan.Title, Preview: plan.Preview})
	if noRoom(err) {
		return errNoRoom
	}
	if err != nil {
		q.failWrite(err)
		return errNotWritten
	}
	return q.halted() // the disk may have taken a while
}

// snapshotFor saves the files that a plan may change; CallID of its context names the call.
func (q *queue) snapshotFor(p *pending, plan *Plan) error {
	after, err := guarded("the snapshot", func() (func(), error) { return q.a.cfg.Snapshot(q.within(p), plan) })
	p.after = after
	return err
}

// settle ends the snapshot of a call, once. It runs before the result is published, so that /undo covers the call by
// then.
func (p *pending) settle() {
	if after := p.after; after != nil {
		p.after = nil
		after()
	}
}

// claim makes a call one that has started, unless it was answered already or nothing may start any more.
func (q *queue) claim(p *pending) error {
	if err := q.halted(); err != nil {
		return err
	}
	return q.move(p, started)
}

func (q *queue) failWrite(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.out.writeErr == nil {
		q.out.writeErr = err
	}
}

// run runs a plan; a panic is the call's failure.
func (q *queue) run(p *pending, plan *Plan, d permission.Decision) (res *Result) {
	defer func() {
		if r := recover(); r != nil {
			res = failed(fmt.Errorf("%s crashed: %v", p.call.Name, r))
			res.Meta = map[string]any{"panic": fmt.Sprint(r), "stack": string(debug.Stack())}
		}
	}()
	res, err := plan.Run(WithOutput(WithDecision(q.within(p), d), func(s string) { q.output(p, s) }))
	switch {
	case err != nil && q.going.Err() != nil && errors.Is(err, q.going.Err()):
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

// output publishes live output of a call that has no result yet.
func (q *queue) output(p *pending, s string) {
	if q.phaseOf(p) < answered && !q.quiet {
		q.a.cfg.Publish(event.ToolOutput{CallID: p.id, Text: s})
	}
}

// finish gives a call its one result: on disk first, then as an event. A result that cannot be written is
// kept and tried again before the next turn. A call that was abandoned has its result already. The refusal of a denied
// call is shown before the end.
func (q *queue) finish(p *pending, res *Result, title string, took time.Duration, refusal ...event.Body) {
	if q.move(p, answered) == nil {
		q.answer(p, p.call, res, title, took, refusal...)
	}
}

// answer writes the result of a call that was just moved to answered.
func (q *queue) answer(p *pending, call llm.ToolCall, res *Result, title string, took time.Duration,
	refusal ...event.Body,
) {
	defer close(p.done)
	title = cmp.Or(res.Title, title)
	q.mu.Lock()
	q.out.ended = q.out.ended || (res.EndTurn && !res.IsError)
	q.mu.Unlock()
	res = q.limit(call, res)
	p.result = llm.ToolResult{CallID: p.id, Name: call.Name, Parts: res.Parts, IsError: res.IsError}
	denied := len(refusal) > 0
	end := session.CallEnd{
		Result: p.result, Title: title, Denied: denied, Duration: took,
		Invoked: !q.journal, Parent: q.parent, Call: q.unwrittenCall(p, call),
	}
	q.write(end, call, res, append(refusal, event.ToolEnd{
		Call: call, Parent: q.parent, Result: p.result, Title: title, View: res.View, Meta: res.Meta, Denied: denied,
		Duration: took,
	}))
}

// limit is the result as the model gets it. One that cannot be limited stays as it is, and says so.
func (q *queue) limit(call llm.ToolCall, res *Result) *Result {
	if q.a.cfg.LimitResult == nil {
		return res
	}
	out, err := guarded("the limit of results", func() (*Result, error) {
		out := res.clone()
		q.a.cfg.LimitResult(context.WithoutCancel(q.ctx), call, out)
		return out, nil
	})
	if err != nil {
		return res.with(text(err.Error())...)
	}
	return out
}

// write journals the end of a call and then shows it.
func (q *queue) write(end session.CallEnd, call llm.ToolCall, res *Result, bodies []event.Body) {
	if q.quiet {
		return
	}
	end.View, _ = event.StoreView(res.View, end.Result)
	end.Meta, _ = event.StoreMeta(res.Meta, res.View, call, end.Result, res.Unstored...)
	err := q.a.record(func() error {
		return q.a.cfg.Transcript.EndCall(context.WithoutCancel(q.ctx), end)
	}, bodies...)
	if err != nil {
		q.failWrite(err)
		q.a.keep(end)
	}
}

func (p *Plan) close() {
	if p != nil && p.Close != nil {
		p.Close()
		p.Close = nil
	}
}

func text(s string) []llm.Part { return []llm.Part{llm.Text{Text: s}} }

func failed(err error) *Result { return &Result{Parts: text(err.Error()), IsError: true} }
