// Package approval decides whether a call may run: by policy and hooks, else by the small model in the mode for that,
// else by asking a person.
//
// The words: an answer that lasts becomes a rule, for the session or for the project; a question that nobody can
// answer is a refusal.
//
// Promises: one dialog at a time, in order; every decision is journaled with its evidence; a call that a guard refuses
// runs only when a person says so for this one call, never by a rule, a mode or a model.
package approval

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/agent/consult"
	"github.com/lathe-dev/lathe/internal/agent/hook"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/store/journal"
)

// Workspace is the folders that a session works in.
type Workspace interface {
	Dir() string                         // the working folder
	Place() *permission.Place            // the copy of the project; nil: the project itself
	Outside(r permission.Request) string // the first folder of a call in none of them; "" if it stays within
	AddDir(dir string) (string, error)   // returns the folder with links resolved
	RemoveDir(dir string) error
}

// Config is the session that an Approver decides for.
type Config struct {
	*Authority
	Journal     *journal.Journal
	Workspace   Workspace
	Chain       []string                      // of the agent, as in agent.Config
	Interactive bool                          // somebody answers questions
	Unasked     func(permission.Request) bool // the sandbox confines the call, so that it needs no approval; nil: never
	// Covered says which files of a call that destroys data undo would bring back; "" for other calls. May be nil.
	Covered func(context.Context, permission.Request) string

	Consults map[string]consult.Dialog // by tool: calls that ask the user, whatever rules and modes allow

	Small func(context.Context) (llm.Model, error)           // the model that answers in the mode auto
	Count func(purpose string, m llm.ModelInfo, u llm.Usage) // adds its answers to the session's cost

	Hooks *hook.Hooks // that answer questions for permission; may be nil

	Settings Settings // that hooks may change

	// Keep writes a rule to the settings of the project and puts it in force for its other sessions.
	Keep func(permission.Rule) error
}

// Approver decides on the calls of one session.
type Approver struct {
	Config
	Questions
	stayInside atomic.Bool  // do not offer to run commands outside of the sandbox
	deniedRow  atomic.Int32 // refusals of the small model since it last did otherwise
	denied     atomic.Int32 // all of them
	keptInside sync.Map     // inputs of commands that a person kept inside
}

// New makes the approver of a session.
func New(c Config) *Approver {
	return &Approver{Config: c, Questions: Questions{Publish: c.Journal.Publish}}
}

// Authorize decides on a call, as agent.Config has it: by policy, else by asking, and where nobody can be asked by
// refusing.
func (p *Approver) Authorize(ctx context.Context, a agent.Approval) (permission.Decision, error) {
	a.Request.Mode, a.Request.Place = p.modeFor(a.Tool), p.Workspace.Place()
	d := p.judge(a)
	if d.Effect == permission.Ask && a.Revised {
		d = permission.Decision{Effect: permission.Allow, Layer: permission.LayerAsk, Reason: "approved with a changed input"}
	}
	if dialog, ok := p.Consults[a.Tool]; ok && d.Effect != permission.Deny {
		var err error
		if d, err = p.consult(ctx, a, dialog); err != nil {
			return d, err
		}
		return d, p.note(ctx, a, d)
	}
	if p.modelMay(a, d) {
		d = p.classify(ctx, a, d)
	}
	if d.Effect == permission.Ask || d.Confirm {
		if by, ok := p.byHook(ctx, a, d); ok {
			return by, p.note(ctx, a, by)
		}
		var err error
		if d, err = p.askPermission(ctx, a, d); err != nil {
			return d, err
		}
	}
	if d.Effect == permission.Deny && d.Source == ByClassifier && p.Hooks.PermissionDenied(ctx, a, d.Reason) {
		d.Reason += "; a hook says that you may try again"
	}
	return d, p.note(ctx, a, d)
}

// modelMay reports whether the small model answers a question: in the mode auto, one that no rule, guard or hook puts,
// about a call that does not leave the sandbox.
func (p *Approver) modelMay(a agent.Approval, d permission.Decision) bool {
	return a.Request.Mode == permission.Auto && d.Effect == permission.Ask && !d.Confirm &&
		d.Layer != permission.LayerGuards && d.Rule == "" &&
		a.Hooks.Effect != permission.Ask && !permission.RunsOutside(a.Accesses)
}

// judge decides by policy and hooks. In the mode that asks nothing, a question of a hook is a refusal.
func (p *Approver) judge(a agent.Approval) permission.Decision {
	d := p.confined(a.Request, p.Rules.Policy().Decide(a.Request))
	d = a.Hooks.Apply(d)
	if a.Request.Mode == permission.DontAsk {
		d = d.Unasked()
	}
	return d
}

// confined lets a call run that only needs approval because it is not read-only, where the sandbox holds it. Rules and
// guards that ask are heard all the same.
func (p *Approver) confined(r permission.Request, d permission.Decision) permission.Decision {
	if d.Effect != permission.Ask || d.Layer != permission.LayerAnalysis || d.Rule != "" || d.Confirm ||
		p.Unasked == nil || !p.Unasked(r) {
		return d
	}
	return permission.Decision{
		Effect: permission.Allow, Layer: permission.LayerMode,
		Source: "sandbox.autoAllowBashIfSandboxed", Reason: "the sandbox confines it",
	}
}

// note writes a decision with its evidence to the session.
func (p *Approver) note(ctx context.Context, a agent.Approval, d permission.Decision) error {
	log := p.Journal.Log()
	if log == nil {
		return nil
	}
	record, err := json.Marshal(permission.NewEvidence(a.Request, d))
	if err != nil {
		return err
	}
	return p.Journal.Record(func() error { return log.AddDecision(ctx, a.CallID, record, d.Source == ByUser) })
}

// ByUser is the source of decisions that a person made just now.
const ByUser = "the user"

// askPermission puts a permission dialog to the front end.
func (p *Approver) askPermission(ctx context.Context, a agent.Approval, d permission.Decision) (permission.Decision,
	error,
) {
	if !p.Interactive {
		return unanswered(d), nil
	}
	p.dialog.Lock() // one at a time, in order
	defer p.dialog.Unlock()
	if err := ctx.Err(); err != nil {
		return d, err
	}
	a.Request.Mode = p.modeFor(a.Tool)
	again := p.judge(a)
	if again.Effect != permission.Ask && !again.Confirm {
		return again, nil // an answer given meanwhile covers this call too
	}
	q := event.Question{
		Agent: a.Agent, Title: a.Tool, Text: a.Title, Permission: &a.Request, Reason: again.Reason, Preview: a.Preview,
		Call: &a.Call, Free: true,
	}
	q.Outside = p.Workspace.Outside(a.Request)
	if p.Covered != nil {
		q.Undo = p.Covered(ctx, a.Request)
	}
	q.ReasonType = reasonType(again, a, q.Outside)
	if d.Source == ByClassifier {
		q.Reason, q.ReasonType = d.Reason, "classifier"
	}
	var rules []string
	if again.Confirm {
		q.Reason = "Dangerous: " + again.Reason
		q.Options = []event.Option{
			{ID: event.ChoiceOnce, Label: "Run once anyway"},
			{ID: event.ChoiceNo, Label: "No"},
			stop,
		}
	} else {
		rules, q.Options = p.lastingOptions(a, again)
	}
	ans, err := p.Ask(ctx, q)
	if err != nil {
		return d, err
	}
	if again.Confirm && !slices.Contains([]string{"", event.ChoiceNo, event.ChoiceNever, event.ChoiceStop}, ans.Choice) {
		ans.Choice, ans.Rules = event.ChoiceOnce, nil // never for more than this call, whatever the other side says
	}
	out := p.decided(rules, ans)
	out.By = ans.From
	if again.Confirm && out.Effect == permission.Allow {
		out.Reason += ", told of the danger: " + again.Reason
	}
	return out, nil
}

// unanswered is the decision on a question where nobody can be asked.
func unanswered(d permission.Decision) permission.Decision {
	out := permission.Decision{Effect: permission.Deny, Layer: d.Layer, Rule: d.Rule, Source: d.Source}
	if d.Confirm {
		out.Reason = d.Reason + "; no rule or mode allows it, and nobody can be asked in this run"
		return out
	}
	out.Reason = d.Reason + ", and nobody can be asked in this run; allow it with --allowedTools or --permission-mode"
	return out
}

// editsWouldDo reports an edit that the mode for accepting edits would allow without a question.
func (p *Approver) editsWouldDo(a agent.Approval) bool {
	if a.Request.Mode != permission.Default || a.Hooks.Effect == permission.Ask {
		return false
	}
	edits := false
	for _, access := range a.Request.Accesses {
		if access.Kind == permission.Exec {
			return false
		}
		edits = edits || access.Kind == permission.Write
	}
	r := a.Request
	r.Mode = permission.AcceptEdits
	return edits && p.Rules.Policy().Decide(r).Effect == permission.Allow
}

// lastingOptions are the ways to answer a question that no danger raised, and the rules that a lasting answer keeps.
func (p *Approver) lastingOptions(a agent.Approval, d permission.Decision) (rules []string, opts []event.Option) {
	// no rule would keep the hook or the mode from asking again
	if a.Hooks.Effect != permission.Ask && d.Layer != permission.LayerMode {
		rules = p.Rules.Policy().Propose(a.Request)
	}
	return rules, permissionOptions(rules, p.editsWouldDo(a))
}

// stop is the answer that also ends the turn.
var stop = event.Option{ID: event.ChoiceStop, Label: "No, and stop"}

// permissionOptions are the ways to answer. The help of a lasting one is the rules that it keeps, one a line.
func permissionOptions(rules []string, edits bool) []event.Option {
	opts := []event.Option{{ID: event.ChoiceOnce, Label: "Yes, once"}}
	if edits {
		opts = append(opts, event.Option{ID: event.ChoiceEdits, Label: "Yes, and accept edits from now on"})
	}
	help := strings.Join(rules, "\n")
	if len(rules) > 0 {
		opts = append(opts,
			event.Option{ID: event.ChoiceSession, Label: "Yes, for this session", Help: help},
			event.Option{ID: event.ChoiceAlways, Label: "Yes, always in this project", Help: help})
	}
	opts = append(opts, event.Option{ID: event.ChoiceNo, Label: "No"}, stop)
	if len(rules) > 0 {
		opts = append(opts, event.Option{ID: event.ChoiceNever, Label: "Never in this project", Help: help})
	}
	return opts
}

// decided turns an answer into a decision and keeps the rules where the user wants that.
func (p *Approver) decided(proposed []string, ans event.Answer) permission.Decision {
	d := permission.Decision{Effect: permission.Allow, Layer: permission.LayerAsk, Source: ByUser, Input: ans.Input}
	rules := ans.Rules
	if len(rules) == 0 {
		rules = proposed
	}
	switch ans.Choice {
	case event.ChoiceOnce:
		d.Reason = "the user allowed it once"
		return d
	case event.ChoiceEdits:
		d.Reason = "the user accepts edits from now on"
		p.acceptEdits()
		return d
	case event.ChoiceSession:
		d.Reason = "the user allowed it for this session"
		p.grant(rules, permission.Allow, false)
		return d
	case event.ChoiceAlways:
		d.Reason = "the user allowed it for this project"
		p.grant(rules, permission.Allow, true)
		return d
	case event.ChoiceNever:
		d.Effect, d.Input, d.Guidance = permission.Deny, nil, strings.TrimSpace(ans.Text)
		d.Reason = "the user never allows this in this project"
		p.grant(rules, permission.Deny, true)
		return d
	}
	return permission.Decision{
		Effect: permission.Deny, Layer: permission.LayerAsk, Source: ByUser, Reason: "the user refused",
		Guidance: strings.TrimSpace(ans.Text), Interrupt: ans.Interrupt || ans.Choice != event.ChoiceNo,
	}
}

// AskAgent answers a question of the loop itself: whether a call that repeats itself may run again. A rule for
// doom_loop decides, else a person.
func (p *Approver) AskAgent(ctx context.Context, q event.Question) (event.Answer, error) {
	if q.Call != nil && q.Permission == nil {
		switch p.Rules.Policy().DoomLoop(q.Call.Name) {
		case permission.Allow:
			return event.Answer{Choice: event.ChoiceOnce}, nil
		case permission.Deny:
			return event.Answer{
				Choice: event.ChoiceNo,
				Text:   "a rule refuses calls that repeat themselves; try something else",
			}, nil
		}
	}
	return p.Ask(ctx, q)
}

// confirm says which rule an answer has put in force.
func (p *Approver) confirm(r permission.Rule, where string) {
	p.Publish(event.Notice{Level: "info", Text: fmt.Sprintf("from now on %s: %s %s; /permissions changes it", where,
		r.Effect, r.Text)})
}

// grant puts rules in force for this session, or keeps them for the project.
func (p *Approver) grant(texts []string, e permission.Effect, keep bool) {
	for _, t := range texts {
		rule, err := p.Rules.parse(t, e)
		if err != nil {
			p.Publish(event.Notice{Level: "warning", Text: fmt.Sprintf("the answer counts once only: %v", err)})
			continue
		}
		p.Rules.Adopt(rule)
		if !keep {
			p.Rules.note(rule.Text, e)
			p.confirm(rule, "in this session")
			continue
		}
		if err := p.Keep(rule); err == nil {
			p.confirm(rule, "in this project")
		} else {
			p.Publish(event.Notice{Level: "warning", Text: fmt.Sprintf("the rule %s holds for this session only: %v", t, err)})
		}
	}
}
