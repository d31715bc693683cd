package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
)

// BeforeTool is a hook that judges a call before it is prepared. It sees each call once, under its
// canonical name and with the input that the model wrote, and may see it before earlier calls of the reply have
// run; the hooks of the list, and those of several calls, run side by side. An error refuses the call. A hook must
// return soon after its context ends.
type BeforeTool struct {
	Name string // for messages to the model and the user
	Run  func(context.Context, llm.ToolCall) (Verdict, error)
}

// AfterTool is a hook that sees the result of a call that has run, in the order of the list, each with the
// result as those before it left it. It may change its *Result as it likes: the change counts when the hook
// returns without an error. An error is added to the result as text. A hook must return soon after its
// context ends; the context may have ended before.
type AfterTool struct {
	Name string
	Run  func(context.Context, llm.ToolCall, *Result) (Verdict, error)
}

// Verdict is the result of a hook. The zero value has no effect.
type Verdict struct {
	// Effect and Reason judge the call, before it runs: deny refuses it, ask puts it to a person even where a
	// rule allows it, allow answers the question that policy asks only because no rule covers the call. After a call
	// Effect means nothing.
	Effect permission.Effect
	Reason string
	Input  json.RawMessage // replaces the input of the call, before it runs
	// Context is added to the result of the call, as a text of llm.OriginHook.
	Context string
	// Stop ends the turn when the calls of this step have their results; it says why, for the user.
	Stop string
}

// Ruling is the merged verdict of several hooks on one call: the strictest Effect (deny before ask before allow), with
// the reasons of those hooks that gave it, in the order of the list.
type Ruling struct {
	Effect  permission.Effect
	Reason  string
	Hooks   []string // the names of those that gave Effect
	Input   json.RawMessage
	Changed string // the name of the hook that changed the input
	Context []llm.Part
	Stop    string
}

// Source names the hooks that gave the ruling, as the source of a permission.Decision.
func (r Ruling) Source() string { return "hook " + strings.Join(r.Hooks, ", ") }

// Apply returns the decision of policy under the ruling: deny refuses and ask asks, whatever policy
// allows. Allow answers only the default question about a call that no rule covers: it lifts no refusal, and
// it does not answer for the user where a rule, a guard, the mode or the agent's kind asks.
func (r Ruling) Apply(d permission.Decision) permission.Decision {
	stricter := r.Effect == permission.Deny && (d.Effect != permission.Deny || d.Confirm) ||
		r.Effect == permission.Ask && d.Effect == permission.Allow
	byDefault := d.Effect == permission.Ask && d.Layer == permission.LayerAnalysis && d.Rule == ""
	if !stricter && !(r.Effect == permission.Allow && byDefault) {
		return d
	}
	reason := r.Reason
	if reason == "" {
		reason = fmt.Sprintf("the %s says %s", r.Source(), r.Effect)
	}
	return permission.Decision{Effect: r.Effect, Layer: permission.LayerAsk, Source: r.Source(), Reason: reason}
}

// before runs the hooks on a call and merges their verdicts.
func (a *Agent) before(ctx context.Context, call llm.ToolCall) (Ruling, error) {
	hooks := a.cfg.BeforeTool
	verdicts, errs := make([]Verdict, len(hooks)), make([]error, len(hooks))
	run := func(i int) { verdicts[i], errs[i] = hooks[i].run(ctx, call) }
	if len(hooks) == 1 {
		run(0)
	} else {
		var wg sync.WaitGroup
		for i := range hooks {
			wg.Go(func() { run(i) })
		}
		wg.Wait()
	}
	if err := errors.Join(errs...); err != nil {
		return Ruling{}, err
	}
	names := make([]string, len(hooks))
	for i, h := range hooks {
		names[i] = h.Name
	}
	return MergeVerdicts(names, verdicts)
}

func (h BeforeTool) run(ctx context.Context, call llm.ToolCall) (v Verdict, err error) {
	defer recovered(h.Name, &err)
	call.Input = bytes.Clone(call.Input)
	if v, err = h.Run(ctx, call); err != nil {
		err = fmt.Errorf("the hook %s failed, so the call was not run: %w", h.Name, err)
	}
	return v, err
}

// sayAll adds the messages of a hook to the conversation, and reports whether there were any.
func (t *turn) sayAll(ctx context.Context, hook string, run func() ([]llm.Message, error)) (more bool, err error) {
	msgs, err := func() (msgs []llm.Message, err error) {
		defer recovered(hook, &err)
		if msgs, err = run(); err != nil {
			err = fmt.Errorf("%s: %w", hook, err)
		}
		return msgs, err
	}()
	if err != nil {
		return false, err
	}
	for _, m := range msgs {
		if err := t.say(ctx, m, false); err != nil {
			return false, err
		}
	}
	return len(msgs) > 0, nil
}

// guarded runs one of the functions of a Config; a panic is its error.
func guarded[T any](name string, f func() (T, error)) (out T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s crashed: %v", name, r)
		}
	}()
	return f()
}

func recovered(hook string, err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the hook %s crashed: %v", hook, r)
	}
}

// MergeVerdicts merges the verdicts of hooks on one call, names[i] being the hook of verdicts[i]. Two
// different changes of the input are an error that names both hooks.
func MergeVerdicts(names []string, verdicts []Verdict) (Ruling, error) {
	var r Ruling
	for i, v := range verdicts {
		r.judge(names[i], v)
		if err := r.change(names[i], v.Input); err != nil {
			return Ruling{}, err
		}
		if v.Context != "" {
			r.Context = append(r.Context, hookText(names[i], v.Context))
		}
		if v.Stop != "" && r.Stop == "" {
			r.Stop = stopReason(names[i], v.Stop)
		}
	}
	return r, nil
}

func stopReason(hook, why string) string { return "the hook " + hook + " ended the turn: " + why }

func hookText(hook, text string) llm.Text {
	return llm.Text{Text: "Hook " + hook + ": " + text, Origin: llm.OriginHook}
}

// strictness orders effects; any other value counts as a refusal.
func strictness(e permission.Effect) int {
	if i := slices.Index([]permission.Effect{"", permission.Allow, permission.Ask}, e); i >= 0 {
		return i
	}
	return 3
}

func (r *Ruling) judge(name string, v Verdict) {
	was, is := strictness(r.Effect), strictness(v.Effect)
	if is == 0 || is < was {
		return
	}
	if is > was {
		r.Effect, r.Reason, r.Hooks = v.Effect, "", nil
		if is == 3 {
			r.Effect = permission.Deny
		}
	}
	r.Hooks = append(r.Hooks, name)
	if v.Reason != "" {
		r.Reason = strings.TrimPrefix(r.Reason+"; "+v.Reason, "; ")
	}
}

func (r *Ruling) change(name string, input json.RawMessage) error {
	switch {
	case input == nil:
	case r.Input == nil:
		r.Input, r.Changed = input, name
	case !bytes.Equal(canonicalJSON(r.Input), canonicalJSON(input)):
		return fmt.Errorf("This call was not run: the hooks %s and %s change its input in different ways.", r.Changed, name)
	}
	return nil
}

// canonicalJSON is the JSON without spaces and with its keys sorted; what is no JSON stays as it is.
func canonicalJSON(raw json.RawMessage) []byte {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return raw
	}
	out, _ := json.Marshal(v) // it was JSON before
	return out
}

// afterTool hands the result of a call that has run to the hooks. The result itself is safe whatever they
// do: each works on a copy.
func (q *queue) afterTool(p *pending, res *Result) *Result {
	for _, h := range q.a.cfg.AfterTool {
		q.holds(p, res)
		next, stop := h.apply(q.ctx, p.call, res)
		res = next
		q.stop(stop)
	}
	q.holds(p, nil)
	return res
}

// apply runs one hook on a result and returns the one that counts.
func (h AfterTool) apply(ctx context.Context, call llm.ToolCall, res *Result) (out *Result, stop string) {
	v, changed, err := h.run(ctx, call, res.clone())
	switch {
	case err != nil && ctx.Err() != nil:
		out = res.with(hookText(h.Name, "interrupted before it was done; the result of the call is as it was."))
	case err != nil:
		out = res.with(hookText(h.Name, "failed after the call had run: "+err.Error()))
	default:
		out = changed
	}
	if err == nil && v.Context != "" {
		out = out.with(hookText(h.Name, v.Context))
	}
	if err == nil && v.Stop != "" {
		stop = stopReason(h.Name, v.Stop)
	}
	return out, stop
}

func (h AfterTool) run(ctx context.Context, call llm.ToolCall, res *Result) (v Verdict, changed *Result, err error) {
	defer recovered(h.Name, &err)
	v, err = h.Run(ctx, call, res)
	return v, res, err
}

// clone copies a result so far that changing its parts does not change the original.
func (r *Result) clone() *Result {
	c := *r
	c.Parts = slices.Clone(r.Parts)
	return &c
}

// with is the result with more parts; the original does not change.
func (r *Result) with(parts ...llm.Part) *Result {
	c := *r
	c.Parts = append(slices.Clip(slices.Clone(r.Parts)), parts...)
	return &c
}

// stop makes the turn end when the calls of this step have their results.
func (q *queue) stop(why string) {
	if why == "" {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.out.stopped == "" {
		q.out.stopped = why
	}
}

// holds notes the result of a call that has run while its hooks work, for abandon.
func (q *queue) holds(p *pending, res *Result) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p.ran = res
}
