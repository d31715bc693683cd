package agent

import (
	"bytes"
	"context"
	"fmt"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
)

type runningKey struct{}

// running is the call in whose Run a context is.
type running struct {
	q *queue
	p *pending
}

func runningCall(ctx context.Context) running {
	r, _ := ctx.Value(runningKey{}).(running)
	return r
}

// within is the context of the Run of a call.
func (q *queue) within(p *pending) context.Context {
	return context.WithValue(q.going, runningKey{}, running{q, p})
}

// CallID is the id of the tool call in whose Run ctx is; empty outside of any call.
func CallID(ctx context.Context) string {
	if r := runningCall(ctx); r.p != nil {
		return r.p.id
	}
	return ""
}

// refused reports whether the user refused a call beside or below this one and wants the turn to end.
func (r running) refused() bool {
	if r.q == nil {
		return false
	}
	r.q.mu.Lock()
	defer r.q.mu.Unlock()
	return r.q.out.refused
}

// take makes the outcome of calls that this one made count for the turn, as if the model had made them.
func (r running) take(out outcome) {
	if r.q == nil {
		return
	}
	r.q.stop(out.stopped)
	if out.writeErr != nil {
		r.q.failWrite(out.writeErr)
	}
	if out.refused {
		r.q.refusedOne()
	}
	r.q.mu.Lock()
	defer r.q.mu.Unlock()
	r.q.out.ended = r.q.out.ended || out.ended
	r.q.out.doomed = r.q.out.doomed || out.doomed
}

// Invoke runs calls through the one choke point and returns their results in order. Tools that run other
// tools use it from inside their own call. The calls get ids of their own there (that of the parent and a
// number), since a model may repeat its own. They are journalled and published like any other, with the id
// of the parent; they are not part of the model's reply, so they do not enter Messages. An end of the turn (a
// refusal that says so, a hook, a tool) ends that of the outer call too; after such a refusal the calls that
// have not started are not run.
func (a *Agent) Invoke(ctx context.Context, calls []llm.ToolCall) []llm.ToolResult {
	return a.invoke(ctx, calls, false)
}

// InvokeUnrecorded runs calls as Invoke does, with the same hooks and the same approval, and keeps no record of them:
// their results become part of something else that is recorded. It is for calls that change nothing.
func (a *Agent) InvokeUnrecorded(ctx context.Context, calls []llm.ToolCall) []llm.ToolResult {
	return a.invoke(ctx, calls, true)
}

func (a *Agent) invoke(ctx context.Context, calls []llm.ToolCall, quiet bool) []llm.ToolResult {
	out := make([]llm.ToolResult, len(calls))
	if _, err := a.refresh(ctx); err != nil {
		for i, c := range calls {
			out[i] = llm.TextResult(c, err.Error(), true)
		}
		return out
	}
	q := a.newQueue(ctx, false)
	q.above, q.parent, q.quiet = runningCall(ctx), CallID(ctx), quiet
	for i, c := range calls {
		switch {
		case quiet: // nothing speaks of it again
		case q.parent != "":
			c.ID = fmt.Sprintf("%s.%d", q.parent, a.invoked.Add(1))
		case c.ID == "":
			c.ID = fmt.Sprintf("call_%d", i+1)
		}
		q.add(c, false)
	}
	q.above.take(q.wait())
	for i, p := range q.snapshot() {
		out[i] = p.result
	}
	return out
}

// startOf is the record of a call's start.
func (q *queue) startOf(p *pending) session.CallStart {
	return session.CallStart{CallID: p.id, Invoked: !q.journal, Parent: q.parent, Call: q.unwrittenCall(p, p.call)}
}

// unwrittenCall is a call as it runs, where no part of a reply has it so: the model did not make it, or its name or
// input changed since.
func (q *queue) unwrittenCall(p *pending, call llm.ToolCall) *llm.ToolCall {
	if q.journal && call.Name == p.written.Name && call.Raw == p.written.Raw && bytes.Equal(call.Input, p.written.Input) {
		return nil
	}
	return &call
}
