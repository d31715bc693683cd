package app

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
)

// questions are the questions that wait for an answer.
type questions struct {
	mu      sync.Mutex
	waiting map[string]chan event.Answer
}

// ErrNoQuestion is returned for an answer to a question that is not (or no longer) open.
var ErrNoQuestion = event.ErrNoQuestion

// ask publishes a question and waits for its answer.
func (s *Session) ask(ctx context.Context, q event.Question) (event.Answer, error) {
	id := uuid.NewString()
	ch := make(chan event.Answer, 1)
	s.questions.mu.Lock()
	if s.questions.waiting == nil {
		s.questions.waiting = map[string]chan event.Answer{}
	}
	s.questions.waiting[id] = ch
	s.questions.mu.Unlock()
	s.publish(event.Asked{ID: id, Question: q})
	var ans event.Answer
	var err error
	select {
	case ans = <-ch:
	case <-ctx.Done():
		ans, err = event.Answer{Canceled: true}, ctx.Err()
		s.questions.mu.Lock()
		delete(s.questions.waiting, id)
		s.questions.mu.Unlock()
	}
	s.publish(event.Answered{ID: id, Answer: ans})
	return ans, err
}

// Answer answers an open question.
func (s *Session) Answer(id string, a event.Answer) error {
	s.questions.mu.Lock()
	ch, ok := s.questions.waiting[id]
	delete(s.questions.waiting, id)
	s.questions.mu.Unlock()
	if !ok {
		return ErrNoQuestion
	}
	ch <- a
	return nil
}

// authorize decides on a call: by policy, else by asking, and where nobody can be asked by refusing.
func (s *Session) authorize(ctx context.Context, a agent.Approval) (permission.Decision, error) {
	a.Request.Mode = s.Mode()
	d := s.judge(a)
	if d.Effect == permission.Ask && a.Revised {
		d = permission.Decision{Effect: permission.Allow, Layer: permission.LayerAsk, Reason: "approved with a changed input"}
	}
	if s.Mode() == permission.Auto && d.Effect == permission.Ask && !d.Confirm && d.Rule == "" && a.Hooks.Effect != permission.Ask {
		d = s.classify(ctx, a, d)
	}
	if d.Effect == permission.Ask || d.Confirm {
		var err error
		if d, err = s.askPermission(ctx, a, d); err != nil {
			return d, err
		}
	}
	return d, s.note(ctx, a, d)
}

// judge decides by policy and hooks. In the mode that asks nothing, what a hook would have asked is refused.
func (s *Session) judge(a agent.Approval) permission.Decision {
	d := a.Hooks.Apply(s.policy.Decide(a.Request))
	if a.Request.Mode == permission.DontAsk {
		d = d.Unasked()
	}
	return d
}

// note writes a decision with its evidence to the session.
func (s *Session) note(ctx context.Context, a agent.Approval, d permission.Decision) error {
	if s.log == nil {
		return nil
	}
	record, err := json.Marshal(permission.NewEvidence(a.Request, d))
	if err != nil {
		return err
	}
	return s.Record(func() error { return s.log.AddDecision(ctx, a.CallID, record, d.Source == byUser) })
}

// byUser is the source of decisions that a person made just now.
const byUser = "the user"

// askPermission puts a permission dialog to the front end.
func (s *Session) askPermission(ctx context.Context, a agent.Approval, d permission.Decision) (permission.Decision, error) {
	if !s.interactive {
		return unanswered(d), nil
	}
	s.asking.Lock() // one dialog at a time, in order
	defer s.asking.Unlock()
	if err := ctx.Err(); err != nil {
		return d, err
	}
	a.Request.Mode = s.Mode()
	again := s.judge(a)
	if again.Effect != permission.Ask && !again.Confirm {
		return again, nil // an answer given meanwhile covers this call too
	}
	q := event.Question{
		Agent: a.Agent, Title: a.Tool, Text: a.Title, Permission: &a.Request, Reason: again.Reason, Preview: a.Preview, Call: &a.Call, Free: true,
	}
	q.Outside = s.outside(a.Request)
	q.ReasonType = reasonType(again, a, q.Outside)
	if d.Source == byClassifier {
		q.Reason, q.ReasonType = d.Reason, "classifier"
	}
	var rules []string
	if again.Confirm {
		q.Reason = "Dangerous: " + again.Reason
		q.Options = []event.Option{{ID: event.ChoiceOnce, Label: "Yes, once, in spite of the danger"}, {ID: event.ChoiceNo, Label: "No"}}
	} else {
		if a.Hooks.Effect != permission.Ask { // no rule would keep the hook from asking again
			rules = s.policy.Propose(a.Request)
		}
		q.Options = permissionOptions(rules, s.editsWouldDo(a))
	}
	ans, err := s.ask(ctx, q)
	if err != nil {
		return d, err
	}
	if again.Confirm && ans.Choice != event.ChoiceNo && ans.Choice != event.ChoiceNever && ans.Choice != "" {
		ans.Choice, ans.Rules = event.ChoiceOnce, nil // never for more than this call, whatever the other side says
	}
	out := s.decided(rules, ans)
	if again.Confirm && out.Effect == permission.Allow {
		out.Reason += ", told of the danger: " + again.Reason
	}
	return out, nil
}

// unanswered is what becomes of a question where nobody can be asked.
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
func (s *Session) editsWouldDo(a agent.Approval) bool {
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
	return edits && s.policy.Decide(r).Effect == permission.Allow
}

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
	opts = append(opts, event.Option{ID: event.ChoiceNo, Label: "No"})
	if len(rules) > 0 {
		opts = append(opts, event.Option{ID: event.ChoiceNever, Label: "Never in this project", Help: help})
	}
	return opts
}

// decided turns an answer into a decision and keeps the rules where the user wants that.
func (s *Session) decided(proposed []string, ans event.Answer) permission.Decision {
	d := permission.Decision{Effect: permission.Allow, Layer: permission.LayerAsk, Source: byUser, Input: ans.Input}
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
		s.acceptEdits()
		return d
	case event.ChoiceSession:
		d.Reason = "the user allowed it for this session"
		s.grant(rules, permission.Allow, false)
		return d
	case event.ChoiceAlways:
		d.Reason = "the user allowed it for this project"
		s.grant(rules, permission.Allow, true)
		return d
	case event.ChoiceNever:
		d.Effect, d.Input, d.Guidance = permission.Deny, nil, strings.TrimSpace(ans.Text)
		d.Reason = "the user never allows this in this project"
		s.grant(rules, permission.Deny, true)
		return d
	}
	return permission.Decision{
		Effect: permission.Deny, Layer: permission.LayerAsk, Source: byUser, Reason: "the user refused",
		Guidance: strings.TrimSpace(ans.Text), Interrupt: ans.Interrupt || strings.TrimSpace(ans.Text) == "",
	}
}

// acceptEdits goes over to the mode for that, unless the mode was changed while the question was open.
func (s *Session) acceptEdits() {
	s.modes.Lock()
	defer s.modes.Unlock()
	if s.Mode() == permission.Default {
		s.storeMode(permission.AcceptEdits)
	}
}

// askAgent answers what the loop itself asks: whether a call that repeats itself may run again. A rule for
// doom_loop decides, else a person.
func (s *Session) askAgent(ctx context.Context, q event.Question) (event.Answer, error) {
	if q.Call != nil && q.Permission == nil {
		switch s.policy.DoomLoop(q.Call.Name) {
		case permission.Allow:
			return event.Answer{Choice: event.ChoiceOnce}, nil
		case permission.Deny:
			return event.Answer{Choice: event.ChoiceNo, Text: "a rule refuses calls that repeat themselves; try something else"}, nil
		}
	}
	return s.ask(ctx, q)
}

// SetAgent makes the main agent one of another kind (build, plan, explore, general) from the next call on.
func (s *Session) SetAgent(kind string) {
	s.policy.SetAgent(kind)
	s.ruled.Add(1)
}

// grant puts rules in force for this session, and keeps them in the project's local settings.
func (s *Session) grant(texts []string, e permission.Effect, keep bool) {
	for _, t := range texts {
		r, err := permission.ParseRule(s.inst.tools, t, e, permission.Source{Name: sessionScope, Base: s.inst.opts.Dir})
		if err != nil {
			s.publish(event.Notice{Level: "warning", Text: fmt.Sprintf("the answer counts once only: %v", err)})
			continue
		}
		s.policy.Grant(r)
		s.ruled.Add(1)
		if !keep {
			s.journalGrant(r.Text, e)
			continue
		}
		if err := s.inst.keepRule(r.Text, e); err != nil {
			s.publish(event.Notice{Level: "warning", Text: fmt.Sprintf("the rule %s holds for this session only: %v", t, err)})
			continue
		}
		s.inst.grantOthers(s, r)
	}
}

// grantOthers puts a rule that was kept for the project in force for its other open sessions.
func (i *Instance) grantOthers(from *Session, r permission.Rule) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for s := range i.sessions {
		if s != from {
			s.policy.Grant(r)
			s.ruled.Add(1)
		}
	}
}

// Considered is a call as policy sees it, without running it.
type Considered struct {
	Request  permission.Request
	Decision permission.Decision
	Propose  []string // the rules that would allow it
}

// Consider prepares a call and decides on it; nothing is run, asked or kept.
func (s *Session) Consider(ctx context.Context, c llm.ToolCall) (Considered, error) {
	for _, t := range s.tools() {
		if t.Spec().Name != c.Name {
			continue
		}
		plan, err := t.Prepare(ctx, c)
		if err != nil {
			return Considered{}, err
		}
		if plan.Close != nil {
			defer plan.Close()
		}
		out := Considered{Request: permission.Request{
			CallID: c.ID, Tool: c.Name, Input: c.Input, Accesses: plan.Accesses, Mode: s.Mode(), Dir: s.Dir(),
		}}
		out.Decision = s.policy.Decide(out.Request)
		if out.Decision.Effect == permission.Ask {
			out.Propose = s.policy.Propose(out.Request)
		}
		return out, nil
	}
	return Considered{}, fmt.Errorf("the tool %s is not there; a rule or flag took it away", c.Name)
}

// mayRead is what would be decided on reading one file.
func (s *Session) mayRead(path string) permission.Effect {
	if s.policy == nil {
		return permission.Allow
	}
	return s.policy.Decide(permission.Request{
		Tool: "Read", Accesses: []permission.Access{{Kind: permission.Read, Target: path, Node: permission.File}}, Mode: s.Mode(), Dir: s.Dir(),
	}).Effect
}
