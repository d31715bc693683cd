package conversation

import (
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/provider"
)

// Providers chooses the provider of each model.
func (i *Instance) Providers() *provider.Set { return i.Set }

// Instance is the one the session is of.
func (s *Session) Instance() *Instance { return s.inst }

// Spent is the cost that counts against the budget, in dollars.
func (s *Session) Spent() float64 { return s.agent.Spent() }

// PublishAgent publishes an event as the agent loop does.
func (s *Session) PublishAgent(b event.Body) { s.publishAgent(b) }

// WithSources is the registry of the session with the tools of other sources.
func (s *Session) WithSources(sources ...toolSource) *Registry {
	return &Registry{s: s, sources: sources}
}

// Retries is how often a failed request is sent again.
func (i *Instance) Retries() int { return i.retries() }
