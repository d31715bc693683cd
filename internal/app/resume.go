package app

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/session"
	"github.com/lathe-dev/lathe/internal/tool"
)

// restore brings back what a conversation had beside its messages: which files the model knows, the task list,
// what was granted, the system prompt of its command line, and what it cost.
func (s *Session) restore() {
	todos := map[string]json.RawMessage{} // inputs of calls by id
	for e := range s.log.Entries() {
		switch b := e.Body.(type) {
		case session.Seen:
			s.env.Reads.Note(b.Path, tool.SeenFrom(b))
		case session.Grant:
			s.restoreGrant(b)
		case session.System:
			s.said = b
		case session.Part:
			if c, ok := b.Part.(llm.ToolCall); ok && c.Name == tool.TodoName {
				todos[c.ID] = c.Input
			}
		case session.CallStart:
			if b.Call != nil && b.Call.Name == tool.TodoName {
				todos[b.CallID] = b.Call.Input
			}
		case session.CallEnd:
			if in, ok := todos[b.Result.CallID]; ok && !b.Result.IsError {
				s.restoreTodos(in)
			}
		}
	}
	s.env.Reads.Prune(s.log.InContext)
	s.sideCost.Add(s.log.Info().CostUSD)
}

func (s *Session) restoreTodos(input json.RawMessage) {
	var in struct {
		Todos []event.TodoItem `json:"todos"`
	}
	if json.Unmarshal(input, &in) == nil {
		s.env.Todos.Set(in.Todos)
	}
}

func (s *Session) restoreGrant(g session.Grant) {
	if g.Effect == "" {
		for _, e := range []permission.Effect{permission.Allow, permission.Ask, permission.Deny} {
			s.policy.Ungrant(g.Rule, e)
		}
		return
	}
	r, err := permission.ParseRule(s.inst.tools, g.Rule, permission.Effect(g.Effect), permission.Source{Name: sessionScope, Base: s.inst.opts.Dir})
	if err != nil {
		s.notes = append(s.notes, fmt.Sprintf("the rule %s was granted in this session and cannot be read any more: %v", g.Rule, err))
		return
	}
	s.policy.Grant(r)
}

// journalGrant writes down a rule of this session, or with an empty effect that it was taken back. Before the
// first message there is nothing to resume: what was granted by then is written with it.
func (s *Session) journalGrant(text string, e permission.Effect) {
	if s.log != nil && len(s.log.Messages()) > 0 {
		s.journal(session.Grant{Rule: text, Effect: string(e)})
	}
}

// journalStart writes down what was set before the first message.
func (s *Session) journalStart() {
	if s.log == nil {
		return
	}
	for _, r := range s.policy.Rules() {
		if r.Source.Name == sessionScope {
			s.journal(session.Grant{Rule: r.Text, Effect: string(r.Effect)})
		}
	}
	if o := s.inst.opts; o.System != "" || o.AppendSystem != "" {
		s.journal(session.System{Replace: o.System, Append: o.AppendSystem})
	}
}

// sessionScope is the source of rules that were granted while the session ran.
const sessionScope = "this session"

// keepSeen journals what the model knows of a file. A record that cannot be written costs a second read after a
// resume, no more, so it stops nothing.
func (s *Session) keepSeen(path string, seen tool.Seen) { s.journal(seen.Entry(path)) }

// journal adds an entry that no event tells of. It goes through Record all the same: written between the entry
// of a recorded event and its publication, it would move that event's cursor.
func (s *Session) journal(b session.Body) {
	_ = s.Record(func() error {
		_, err := s.log.Add(context.Background(), b)
		return err
	})
}

// modelFor is the model that a resumed conversation had, unless the command line names another one.
func (i *Instance) modelFor(o SessionOptions, log *session.Session) string {
	if o.Resume == "" || i.conf.Load().Origin("model").Layer == config.Flags {
		return ""
	}
	return log.Model()
}
