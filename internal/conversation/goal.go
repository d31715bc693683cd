package conversation

import (
	"time"

	"github.com/lathe-dev/lathe/internal/agent/eval"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// Goal is what the session works for.
func (s *Session) Goal() *eval.Goal { return s.goal }

// newGoal makes the goal of the session, which is not set.
func (s *Session) newGoal() *eval.Goal {
	return eval.NewGoal(eval.GoalConfig{
		Config: s.gate.Config, Used: s.Used, Now: time.Now,
		Bounds: func() event.GoalBounds {
			set := s.inst.settings().Goal
			return event.GoalBounds{
				Rounds: set.MaxRounds, Time: time.Duration(set.MaxMinutes) * time.Minute, Tokens: set.MaxTokens, USD: set.MaxUSD,
			}
		},
		Busy: func() (ids []string) {
			if !s.interactive { // nothing wakes it
				return nil
			}
			for _, t := range s.env.InBackground() {
				ids = append(ids, t.ID)
			}
			return ids
		},
	})
}

// restoreGoal puts the goal of a resumed conversation in force again.
func (s *Session) restoreGoal(log *session.Session) {
	all := log.Branch().Only(eval.GoalKind)
	for _, e := range all.Entries(max(0, all.Len()-1), all.Len()) {
		if u, ok := e.Body.(session.Unknown); ok && s.parent == nil {
			s.goal.Restore(u)
		}
	}
}

// beginGoal sets the goal that the options ask for, unless an earlier process of the session did.
func (s *Session) beginGoal(o SessionOptions) error {
	if o.Goal == nil || s.parent != nil {
		return nil
	}
	if was, ok := s.goal.State(); ok && o.Again && (was.Condition == o.Goal.Condition ||
		o.Goal.Condition == "" && was.Check == o.Goal.Check) {
		return nil
	}
	return s.goal.Set(*o.Goal)
}
