package conversation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
	"github.com/lathe-dev/lathe/internal/tool"
)

// restore brings back the state that a conversation had beside its messages, and counts its cost. It reads a log of any
// age: an entry that is not known changes nothing, and of two about the same thing the last one counts.
func (s *Session) restore() {
	log := s.Log()
	b := log.Branch().Only(session.Seen{}.Kind(), session.Grant{}.Kind(), session.System{}.Kind())
	for _, e := range b.Entries(0, b.Len()) {
		switch b := e.Body.(type) {
		case session.Seen:
			s.env.Reads.Note(b.Path, tool.SeenFrom(b))
		case session.Grant:
			s.restoreGrant(b)
		case session.System:
			s.begun = b
		}
	}
	s.restoreGoal(log)
	if worked := lastWork(log); !worked.IsZero() {
		s.env.Reads.SettledAt(worked)
	}
	if items, ok := lastTodos(log); ok {
		s.env.Todos.Set(items)
	}
	s.skills.Restore(log.Parts(llm.OriginSkill))
	s.env.Reads.Prune(log.InContext)
	s.restoreCost()
	if note := s.env.Agents.Restore(unfinishedAgents(log)); note != "" {
		s.notes = append(s.notes, note)
	}
}

// restoreGrant puts a rule of the main agent's session in force again; a subagent has its parent's.
func (s *Session) restoreGrant(g session.Grant) {
	if s.parent != nil {
		return
	}
	if err := s.Authority.Restore(g); err != nil {
		s.notes = append(s.notes, fmt.Sprintf("the rule %s was granted in this session and cannot be read any more: %v",
			g.Rule, err))
	}
}

// journalStart writes down the settings from before the first message.
func (s *Session) journalStart() {
	if s.parent == nil {
		s.Authority.JournalGrants()
	}
	begun := s.begun
	begun.Replace, begun.Append = s.expand(s.inst.opts.System), s.expand(s.inst.opts.AppendSystem)
	begun.BudgetUSD, begun.Sandbox = s.inst.opts.MaxBudgetUSD, s.inst.opts.Boundary.Name()
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

// lastWork returns the time of the agent's last action, zero if there was none.
func lastWork(log *session.Session) time.Time {
	b := log.Branch().Only(session.Part{}.Kind(), session.TurnEnd{}.Kind(), session.CallEnd{}.Kind(),
		session.CallEnd{Invoked: true}.Kind()).Texts()
	for at := b.Len() - 1; at >= 0; at-- {
		for _, e := range b.Entries(at, at+1) {
			if end, ok := e.Body.(session.CallEnd); !ok || !end.Synthetic {
				return e.Time
			}
		}
	}
	return time.Time{}
}

// todoCall is a call of TodoWrite, with the entry that has it.
type todoCall struct {
	entry, id string
	input     json.RawMessage
}

// todoCalls returns the calls that set the task list, oldest first, with the input they ran with.
func todoCalls(log *session.Session) []todoCall {
	var out []todoCall
	b := log.Branch().Only(session.Part{}.Kind(), session.CallStart{}.Kind(),
		session.CallStart{Invoked: true}.Kind()).Holding(tool.TodoName)
	for _, e := range b.Entries(0, b.Len()) {
		switch b := e.Body.(type) {
		case session.Part:
			if c, ok := b.Part.(llm.ToolCall); ok && c.Name == tool.TodoName {
				out = append(out, todoCall{e.ID, c.ID, c.Input})
			}
		case session.CallStart:
			if b.Call != nil && b.Call.Name == tool.TodoName {
				out = append(out, todoCall{e.ID, b.CallID, b.Call.Input})
			}
		}
	}
	return out
}

// succeeded reports whether the call has a result that is not an error.
func succeeded(log *session.Session, c todoCall) bool {
	b := log.Branch()
	at, _ := b.Find(c.entry)
	for _, e := range b.Entries(at+1, b.Len()) {
		if end, ok := e.Body.(session.CallEnd); ok && end.Result.CallID == c.id {
			return !end.Result.IsError
		}
	}
	return false
}

// lastTodos is the task list of the last call that set it; false if there was none.
func lastTodos(log *session.Session) (items []event.TodoItem, ok bool) {
	for _, c := range slices.Backward(todoCalls(log)) {
		if succeeded(log, c) {
			var in struct {
				Todos []event.TodoItem `json:"todos"`
			}
			err := json.Unmarshal(c.input, &in)
			return in.Todos, err == nil
		}
	}
	return nil, false
}
