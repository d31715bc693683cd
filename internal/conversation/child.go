package conversation

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/lathe-dev/lathe/internal/conversation/approval"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
)

// A subagent's session acts by the authority of the session that started it and has none of its own: it decides by the
// same rules, grants and folders, in the same mode, and its steps and money count against the same limits. So
// whatever changes for the parent binds the child at once.

// outermost is the session of the main agent.
func (s *Session) outermost() *Session {
	for s.parent != nil {
		s = s.parent
	}
	return s
}

// checkParent refuses a parent that a session cannot take its authority from.
func (o SessionOptions) checkParent(i *Instance) error {
	switch p := o.Parent; {
	case p == nil:
		return nil
	case p.inst != i:
		return errors.New("a subagent works in the folder of the session that starts it")
	case len(o.Chain) <= len(p.chain):
		return errors.New("a subagent's chain goes on from that of the session that starts it")
	}
	return nil
}

// errChildMode is returned for a change of a subagent's mode.
var errChildMode = errors.New("a subagent has the mode of the session that started it; change it there")

// newAuthority is the rules and the mode that a session decides by: its parent's, or its own.
func (s *Session) newAuthority() (*approval.Authority, error) {
	if s.parent != nil {
		return s.parent.Authority, nil
	}
	policy, notes, err := s.inst.newPolicy()
	s.notes = append(s.notes, notes...)
	return &approval.Authority{
		Rules: approval.NewRules(policy, s.inst.tools, s.inst.opts.Dir, s.Journal),
		Modes: approval.NewModes(s.inst.mode(), s.inst.checkMode,
			func(m permission.Mode) { s.Publish(event.ModeChanged{Mode: m}) }),
	}, err
}

// modelName is the model that a new session begins with: its parent's, else "", the configured one.
func (o SessionOptions) modelName() string {
	if o.Parent == nil {
		return ""
	}
	return o.Parent.ModelName()
}

// restoreCost counts the former cost of a conversation and, where it is limited, of its subagents. Those of a subagent
// that goes on count already: they were restored with its parent, or spent since.
func (s *Session) restoreCost() {
	if s.parent != nil {
		return
	}
	s.agent.Spend(s.Log().Info().CostUSD)
	if s.agent.SetBudget(s.Budget()); s.Budget() <= 0 {
		return
	}
	usd, err := s.inst.logs.Store.CostOfChildren(s.ID())
	if err != nil {
		s.notes = append(s.notes, fmt.Sprintf("the cost of some subagents does not count against the limit: %v", err))
	}
	s.agent.Spend(usd)
}

// Budget is the spending limit in US dollars; 0: none. A session keeps the limit of the command line that began it
// until another one is given.
func (s *Session) Budget() float64 {
	return cmp.Or(s.inst.opts.MaxBudgetUSD, s.begun.BudgetUSD, s.inst.settings().MaxBudgetUSD)
}

// SetMode changes the permission mode at once, also for the subagents that run.
func (s *Session) SetMode(_ context.Context, m permission.Mode) error {
	if s.parent != nil {
		return errChildMode
	}
	return s.Set(m)
}

// CountRequest adds a request beside the conversation to the session's cost. Its record in the log counts after a
// restart too.
func (s *Session) CountRequest(purpose string, m llm.ModelInfo, u llm.Usage) {
	cost := m.Price.Cost(u)
	s.agent.Spend(cost)
	s.SideRequest(event.SideRequest{Purpose: purpose, Model: m.ID, Usage: u, CostUSD: cost})
}
