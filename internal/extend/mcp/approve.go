package mcp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/extend/mcp/entry"
)

// ask asks the user about the servers of .mcp.json that wait for approval. Without a user it does nothing.
func (s *Set) ask() {
	for _, v := range s.everyView() {
		if v.seat.Ask == nil {
			continue
		}
		s.mu.Lock()
		waiting := slices.Clone(s.waiting)
		s.mu.Unlock()
		for _, e := range waiting {
			s.askServer(v, e)
		}
		return
	}
}

func (s *Set) everyView() []*View {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*View
	for v := range s.views {
		out = append(out, v)
	}
	return out
}

// Answers to the question about a server of the project.
const (
	answerStart = "start"
	answerNot   = "no"
	answerNever = "never"
)

func (s *Set) askServer(v *View, e entry.Entry) {
	title := "Start the project's MCP server " + e.Name + "?"
	if s.approvals.Changed(&e) {
		title = "The project's MCP server " + e.Name + " changed. Start it?"
	}
	a, err := v.seat.Ask(s.life, s.startQuestion(title, e))
	switch {
	case err != nil:
	case a.Choice == answerStart:
		s.note(v, s.approvals.Set(&e, true))
		s.admit(e)
	case a.Choice == answerNever:
		s.note(v, s.approvals.Set(&e, false))
		s.drop(e.Name)
	}
}

func effectLines(effects []entry.Effect) string {
	var out []string
	for _, f := range effects {
		out = append(out, f.String())
	}
	return strings.Join(out, "\n")
}

func (s *Set) note(v *View, err error) {
	if err != nil && v.seat.Notice != nil {
		v.seat.Notice(err.Error())
	}
}

func (s *Set) drop(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = slices.DeleteFunc(s.waiting, func(e entry.Entry) bool { return e.Name == name })
}

// admit adds an approved server, in the place of one of the same name that ranks below it, and starts it.
func (s *Set) admit(e entry.Entry) {
	s.drop(e.Name)
	v := s.newServer(e)
	s.mu.Lock()
	var old *server
	s.servers = slices.DeleteFunc(s.servers, func(o *server) bool {
		if o.entry.Name == e.Name {
			old = o
		}
		return o.entry.Name == e.Name
	})
	s.servers = append(s.servers, v)
	slices.SortFunc(s.servers, func(a, b *server) int { return strings.Compare(a.entry.Name, b.entry.Name) })
	s.mu.Unlock()
	if old != nil {
		old.shut()
	}
	s.version.Add(1)
	s.start(v)
}

// variable is a setting of the environment.
func (s *Set) variable(name string) string {
	if s.o.Variable == nil {
		return ""
	}
	return s.o.Variable(name)
}

// Approve lets a server of .mcp.json, or of an agent of the project, start, from the next start of lathe on too.
func (s *Set) Approve(name string) error {
	_ = s.Load() // reported elsewhere
	if v := s.ofAgent(name); v != nil {
		return s.approvals.Set(&v.entry, true)
	}
	s.mu.Lock()
	waiting := slices.Clone(s.waiting)
	s.mu.Unlock()
	for _, e := range waiting {
		if e.Name == name {
			return s.approvals.Set(&e, true)
		}
	}
	return fmt.Errorf("no MCP server %q waits for approval", name)
}

// Admit approves a server of .mcp.json and starts it beside the caller.
func (s *Set) Admit(name string) error {
	if err := s.Approve(name); err != nil {
		return err
	}
	s.mu.Lock()
	at := slices.IndexFunc(s.waiting, func(e entry.Entry) bool { return e.Name == name })
	var e entry.Entry
	if at >= 0 {
		e = s.waiting[at]
	}
	s.mu.Unlock()
	if at >= 0 {
		s.spawn(func() { s.admit(e) })
	}
	return nil
}

// Forget drops the answer about a server of .mcp.json.
func (s *Set) Forget(name string) error { return s.approvals.Forget(name) }
