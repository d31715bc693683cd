package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/permission"
)

// questions are the questions that wait for an answer.
type questions struct {
	mu      sync.Mutex
	waiting map[string]chan event.Answer
}

// ErrNoQuestion is returned for an answer to a question that is not (or no longer) open.
var ErrNoQuestion = errors.New("no such question is open; it may have been answered or its turn interrupted")

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
	d := s.policy.Decide(a.Request)
	if d.Effect == permission.Ask && a.Revised {
		d = permission.Decision{Effect: permission.Allow, Reason: "approved with a changed input"}
	}
	if d.Effect == permission.Ask {
		var err error
		if d, err = s.askPermission(ctx, a, d); err != nil {
			return d, err
		}
	}
	return d, s.note(ctx, a, d)
}

// note writes a decision to the session, unless it only let something be read.
func (s *Session) note(ctx context.Context, a agent.Approval, d permission.Decision) error {
	if s.log == nil || (d.Effect == permission.Allow && onlyReads(a.Accesses)) {
		return nil
	}
	record, err := json.Marshal(struct {
		permission.Decision
		Tool     string              `json:"tool"`
		Mode     permission.Mode     `json:"mode"`
		Accesses []permission.Access `json:"accesses"`
	}{d, a.Tool, a.Mode, a.Accesses})
	if err != nil {
		return err
	}
	return s.log.AddDecision(ctx, a.CallID, record, d.Source == byUser)
}

// byUser is the source of decisions that a person made just now.
const byUser = "the user"

func onlyReads(as []permission.Access) bool {
	for _, a := range as {
		if a.Kind != permission.Read && !a.Safe {
			return false
		}
	}
	return as != nil
}

// askPermission puts a permission dialog to the front end.
func (s *Session) askPermission(ctx context.Context, a agent.Approval, d permission.Decision) (permission.Decision, error) {
	if !s.interactive {
		return permission.Decision{
			Effect: permission.Deny, Rule: d.Rule, Source: d.Source,
			Reason: d.Reason + ", and nobody can be asked in this run; allow it with --allowedTools or --permission-mode",
		}, nil
	}
	s.asking.Lock() // one dialog at a time, in order
	defer s.asking.Unlock()
	if err := ctx.Err(); err != nil {
		return d, err
	}
	a.Request.Mode = s.Mode()
	if again := s.policy.Decide(a.Request); again.Effect != permission.Ask {
		return again, nil // an answer given meanwhile covers this call too
	}
	rule := proposeRule(a)
	ans, err := s.ask(ctx, event.Question{
		Title: a.Tool, Text: a.Title, Permission: &a.Request, Reason: d.Reason, Preview: a.Preview, Call: &a.Call, Free: true,
		Options: permissionOptions(rule),
	})
	if err != nil {
		return d, err
	}
	return s.decided(rule, ans), nil
}

func permissionOptions(rule string) []event.Option {
	opts := []event.Option{{ID: event.ChoiceOnce, Label: "Yes, once"}}
	if rule != "" {
		opts = append(opts,
			event.Option{ID: event.ChoiceSession, Label: "Yes, for this session", Help: rule},
			event.Option{ID: event.ChoiceAlways, Label: "Yes, always in this project", Help: rule},
			event.Option{ID: event.ChoiceNever, Label: "Never in this project", Help: rule})
	}
	return append(opts, event.Option{ID: event.ChoiceNo, Label: "No"})
}

// decided turns an answer into a decision and keeps the rule where the user wants that.
func (s *Session) decided(rule string, ans event.Answer) permission.Decision {
	d := permission.Decision{Effect: permission.Allow, Source: byUser, Input: ans.Input}
	rules := ans.Rules
	if len(rules) == 0 && rule != "" {
		rules = []string{rule}
	}
	switch ans.Choice {
	case event.ChoiceOnce:
		d.Reason = "the user allowed it once"
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
		d = permission.Decision{Effect: permission.Deny, Source: byUser, Reason: "the user never allows this in this project", Guidance: ans.Text}
		s.grant(rules, permission.Deny, true)
		return d
	}
	return permission.Decision{
		Effect: permission.Deny, Source: byUser, Reason: "the user refused",
		Guidance: strings.TrimSpace(ans.Text), Interrupt: strings.TrimSpace(ans.Text) == "",
	}
}

// grant puts rules in force for this session, and keeps them in the project's local settings.
func (s *Session) grant(texts []string, e permission.Effect, keep bool) {
	for _, t := range texts {
		t = canonicalRule(t)
		r, err := permission.ParseRule(t, e, permission.Source{Name: "this session", Base: s.inst.opts.Dir})
		if err != nil {
			s.publish(event.Notice{Level: "warning", Text: fmt.Sprintf("the answer counts once only: %v", err)})
			continue
		}
		s.policy.Grant(r)
		if !keep {
			continue
		}
		if err := s.inst.keepRule(t, e); err != nil {
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
		}
	}
}

// proposeRule is the narrowest rule that covers the request again, or "" when there is none.
func proposeRule(a agent.Approval) string {
	if strings.HasPrefix(a.Tool, "mcp__") {
		return a.Tool
	}
	if len(a.Accesses) != 1 {
		return ""
	}
	switch acc := a.Accesses[0]; acc.Kind {
	case permission.Exec:
		if strings.ContainsAny(acc.Target, "*\n") {
			return "" // the text would not mean itself in a rule
		}
		return fmt.Sprintf("%s(%s)", a.Tool, acc.Target)
	case permission.Write:
		return permission.PathRule("Edit", acc.Target)
	case permission.Read:
		return permission.PathRule("Read", acc.Target)
	case permission.Net:
		return fmt.Sprintf("%s(domain:%s)", a.Tool, acc.Target)
	case permission.Tool:
		return a.Tool
	}
	return ""
}
