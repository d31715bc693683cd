package app

import (
	"slices"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
)

// mode is the permission mode that a session begins with: its parent's, else the configured one.
func (o SessionOptions) mode(i *Instance) permission.Mode {
	if o.Parent != nil {
		return o.Parent.Mode()
	}
	return i.mode()
}

// inherit gives a subagent's session the folders and rules that its parent was given while it ran, and lets its
// spending count against the parent's budget.
func (s *Session) inherit() error {
	p := s.parent
	if p == nil {
		return nil
	}
	for _, dir := range p.Dirs() {
		if _, err := s.AddDir(dir); err != nil {
			return err
		}
	}
	for _, r := range p.rules.Granted() {
		s.rules.Adopt(r)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.children = append(p.children, s)
	s.closers = append(s.closers, func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.children = slices.DeleteFunc(p.children, func(c *Session) bool { return c == s })
		p.sideCost.Add(s.spent())
		return nil
	})
	return nil
}

// spent is the price of the session and of its subagents, in US dollars.
func (s *Session) spent() float64 {
	s.mu.Lock()
	children := slices.Clone(s.children)
	s.mu.Unlock()
	sum := s.sideCost.Load() + s.agent.Spent()
	for _, c := range children {
		sum += c.spent()
	}
	return sum
}

// spentElsewhere is the part of the price that counts against the same budget and is not of this session's turns.
func (s *Session) spentElsewhere() float64 {
	first := s
	for first.parent != nil {
		first = first.parent
	}
	return first.spent() - s.agent.Spent()
}

// CountRequest adds a request beside the conversation to the session's cost. Its record in the log counts after a
// restart too.
func (s *Session) CountRequest(purpose string, m llm.ModelInfo, u llm.Usage) {
	cost := m.Price.Cost(u)
	s.sideCost.Add(cost)
	s.SideRequest(event.SideRequest{Purpose: purpose, Model: m.ID, Usage: u, CostUSD: cost})
}
