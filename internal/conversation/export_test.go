package conversation

import (
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/provider"
)

// Providers chooses the provider of each model.
func (i *Instance) Providers() *provider.Set { return i.Set }

// Spent is the cost that counts against the budget, in dollars.
func (s *Session) Spent() float64 { return s.agent.Spent() }

// PublishAgent publishes an event as the agent loop does.
func (s *Session) PublishAgent(b event.Body) { s.publishAgent(b) }
