package conversation

import (
	"cmp"
	"fmt"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation/resume"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
	"github.com/lathe-dev/lathe/internal/tool"
)

// restore brings back the state that a conversation had beside its messages, and counts its cost.
func (s *Session) restore() {
	resume.State(s.Log(), resume.Into{
		Seen:   func(b session.Seen) { s.env.Reads.Note(b.Path, tool.SeenFrom(b)) },
		System: func(b session.System) { s.begun = b },
		Todos:  func(items []event.TodoItem) { s.env.Todos.Set(items) },
		Worked: s.env.Reads.SettledAt,
		Grant: func(g session.Grant) {
			if s.parent != nil {
				return // a subagent has its parent's grants
			}
			if err := s.Authority.Restore(g); err != nil {
				s.notes = append(s.notes, fmt.Sprintf("the rule %s was granted in this session and cannot be read any more: %v",
					g.Rule, err))
			}
		},
	})
	s.skills.Restore(s.Log().Parts(llm.OriginSkill))
	s.env.Reads.Prune(s.Log().InContext)
	s.restoreCost()
	if note := s.env.Agents.Restore(resume.Agents(s.Log())); note != "" {
		s.notes = append(s.notes, note)
	}
}

// journalStart writes down the settings from before the first message.
func (s *Session) journalStart() {
	if s.parent == nil {
		s.Authority.JournalGrants()
	}
	begun := s.begun
	begun.Replace, begun.Append, begun.BudgetUSD, begun.Sandbox = s.inst.opts.System, s.inst.opts.AppendSystem,
		s.inst.opts.MaxBudgetUSD, s.inst.opts.Boundary.Name()
	s.begun = begun
	if begun != (session.System{}) {
		_ = s.Add(begun)
	}
}

// journalChanges logs a spending limit that the command line changed, and another sandbox than before.
func (s *Session) journalChanges() {
	usd, box := cmp.Or(s.inst.opts.MaxBudgetUSD, s.begun.BudgetUSD), s.inst.opts.Boundary.Name()
	if s.parent == nil && (usd != s.begun.BudgetUSD || box != s.begun.Sandbox) {
		s.begun.BudgetUSD, s.begun.Sandbox = usd, box
		_ = s.Add(s.begun)
	}
}

// keepSeen journals the state in which the model knows a file. A record that cannot be written costs a second read
// after a resume, no more, so it stops nothing.
func (s *Session) keepSeen(path string, seen tool.Seen) { _ = s.Add(seen.Entry(path)) }

// modelFor is the model that a resumed conversation had, unless the command line names another one.
func (i *Instance) modelFor(o SessionOptions, log *session.Session) string {
	if o.Resume == "" || i.conf.Load().Origin("model").Layer == config.Flags {
		return ""
	}
	return log.Model()
}
