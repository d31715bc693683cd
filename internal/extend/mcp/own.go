package mcp

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/mcp/entry"
)

// An agent's own servers are those that the file of its kind declares. They are in the view of its session alone, where
// one hides the server of the set that has its name, and they end with the view.

// servers are those of the set and the agent's own.
func (w *View) servers() []*server {
	own := w.owned()
	if len(own) == 0 {
		return w.set.list()
	}
	out := slices.DeleteFunc(w.set.list(), func(v *server) bool { return named(own, v.entry.Name) != nil })
	out = append(out, own...)
	slices.SortStableFunc(out, func(a, b *server) int { return strings.Compare(a.entry.Name, b.entry.Name) })
	return out
}

func (w *View) owned() []*server {
	if own := w.own.Load(); own != nil {
		return *own
	}
	return nil
}

func named(list []*server, name string) *server {
	for _, v := range list {
		if v.entry.Name == name {
			return v
		}
	}
	return nil
}

func (w *View) find(name string) *server {
	if v := named(w.owned(), name); v != nil {
		return v
	}
	return w.set.find(name)
}

// views are the sessions that may use the server.
func (v *server) views() []*View {
	if v.only != nil {
		return []*View{v.only}
	}
	return v.set.everyView()
}

// withOwn lists the servers of the set and those of all agents.
func (s *Set) withOwn() []*server {
	out := s.list()
	for _, w := range s.everyView() {
		out = append(out, w.owned()...)
	}
	return out
}

// takeOwn starts the servers of the agent's own, and ends those of the kind that the agent was before. It waits for
// those whose tools are not known: the agent is there to use them. The loop calls it before each step, one call after
// the other.
func (w *View) takeOwn(ctx context.Context) {
	if w.seat.Own == nil {
		return
	}
	list := w.seat.Own()
	if slices.EqualFunc(list, w.ownOf, sameOwn) {
		return
	}
	w.endOwn()
	w.ownOf = nil
	places := w.set.o.Places()
	entries, faults := places.ReadOwn(list)
	for _, f := range faults {
		w.notice(f)
	}
	var own []*server
	for _, e := range entries {
		if !w.set.usable(&e) && !w.askOwn(ctx, e) {
			continue
		}
		v := w.set.newServer(e)
		v.only = w
		own = append(own, v)
	}
	if ctx.Err() != nil {
		return // asked again by the next step
	}
	w.ownOf = list
	w.own.Store(&own)
	w.connectOwn(ctx, own)
	w.set.version.Add(1)
}

func sameOwn(a, b entry.Own) bool {
	return a.ID() == b.ID() && a.Scope == b.Scope && a.File == b.File && bytes.Equal(a.Raw, b.Raw)
}

func (w *View) connectOwn(ctx context.Context, own []*server) {
	var wg sync.WaitGroup
	for _, v := range own {
		if v.isKnown() {
			continue
		}
		wg.Go(func() {
			if _, err := v.connect(ctx); err != nil && ctx.Err() == nil {
				w.notice(fmt.Sprintf("the agent %s works without the tools of its own: %v", v.entry.Agent, err))
			}
		})
	}
	wg.Wait()
}

// endOwn ends the servers of the agent's own.
func (w *View) endOwn() {
	own := w.owned()
	w.own.Store(nil)
	var wg sync.WaitGroup
	for _, v := range own {
		wg.Go(func() {
			v.mu.Lock()
			v.disabled = true // also one that is starting
			v.mu.Unlock()
			v.shut()
		})
	}
	wg.Wait()
}

// askOwn asks, once in a run, about a server in an agent's file of the project, and reports whether it may start. Where
// no one answers a notice names it.
func (w *View) askOwn(ctx context.Context, e entry.Entry) bool {
	s := w.set
	select { // agents of one kind may begin at once
	case s.asking <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	defer func() { <-s.asking }()
	if s.usable(&e) {
		return true
	}
	key := e.ID() + "\x00" + e.Sum()
	if s.declined[key] || s.approvals.Refused(&e) || s.o.Disabled != nil && s.o.Disabled(e.Name) {
		return false
	}
	yes := w.approveOwn(ctx, e)
	s.declined[key] = !yes && ctx.Err() == nil
	return yes
}

func (w *View) approveOwn(ctx context.Context, e entry.Entry) bool {
	s := w.set
	missing := fmt.Sprintf("the MCP server %q of the agent %s (%s) is not started, because you have not approved it; "+
		"see it with lathe mcp get %s, and approve it with lathe mcp approve %s",
		e.Name, e.Agent, e.File, e.ID(), e.ID())
	if w.seat.Ask == nil {
		w.notice(missing)
		return false
	}
	title := "Start the MCP server " + e.Name + " of the project's agent " + e.Agent + "?"
	if s.approvals.Changed(&e) {
		title = "The MCP server " + e.Name + " of the project's agent " + e.Agent + " changed. Start it?"
	}
	a, err := w.seat.Ask(ctx, s.startQuestion(title, e))
	switch {
	case err != nil:
	case a.Choice == answerStart:
		s.note(w, s.approvals.Set(&e, true))
		return true
	case a.Choice == answerNever:
		s.note(w, s.approvals.Set(&e, false))
	}
	return false
}

// startQuestion asks whether a server that the project declares may start.
func (s *Set) startQuestion(title string, e entry.Entry) event.Question {
	return event.Question{
		Title: title, Text: effectLines(e.Effects()), Preview: event.TextView{Text: string(e.Raw), Language: "json"},
		Reason: e.File + " declares it: " + s.bounds(e) + ", and its tools become the model's",
		Options: []event.Option{
			{ID: answerStart, Label: "Yes, until its entry changes"},
			{ID: answerNot, Label: "Not now"},
			{ID: answerNever, Label: "Never, unless its entry changes"},
		},
	}
}

// bounds says what confines a server, as a clause.
func (s *Set) bounds(e entry.Entry) string {
	switch {
	case e.URL != "":
		return "lathe connects to it"
	case s.o.Sandbox != "" && e.Foreign():
		return "it runs in " + s.o.Sandbox
	}
	return "it runs with your rights"
}

// ofAgent is a server that an agent's file declares, by the ID of its entry, apart from those that agents have at work:
// for a person who looks at it.
func (s *Set) ofAgent(id string) *server {
	agent, name, ok := strings.Cut(id, "/")
	if !ok || s.o.Agents == nil {
		return nil
	}
	s.mu.Lock()
	v := s.apart[id]
	s.mu.Unlock()
	if v != nil {
		return v
	}
	places := s.o.Places()
	entries, _ := places.ReadOwn(slices.DeleteFunc(s.o.Agents(),
		func(o entry.Own) bool { return o.Agent != agent || o.Name != name }))
	if len(entries) == 0 {
		return nil
	}
	v = s.newServer(entries[0])
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.apart == nil {
		s.apart = map[string]*server{}
	}
	s.apart[id] = v
	return v
}

// OfAgents lists the servers that kinds of agents declare for themselves, by the IDs of their entries; none is started.
// The faults name those that are left out.
func (s *Set) OfAgents() (out []Status, faults []string) {
	if s == nil || s.o.Agents == nil {
		return nil, nil
	}
	places := s.o.Places()
	entries, faults := places.ReadOwn(s.o.Agents())
	for _, e := range entries {
		v := s.ofAgent(e.ID())
		if v == nil {
			continue
		}
		st := v.status()
		if st.Name = e.ID(); !s.usable(&e) {
			st.State = Unapproved
		}
		out = append(out, st)
	}
	return out, faults
}
