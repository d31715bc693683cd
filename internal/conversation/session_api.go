package conversation

import (
	"context"
	"encoding/json"

	"github.com/lathe-dev/lathe/internal/agent/hook"
	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation/approval"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

// For interactive front ends, and for programs that drive lathe.

// Config is the configuration in force.
func (i *Instance) Config() *config.Config { return i.conf.Load() }

// patientRetries last for three minutes: through a tunnel, or until an overloaded provider has room.
const patientRetries = 10

// retries is how often a failed request is sent again.
func (i *Instance) retries() int {
	if i.opts.Patient && i.Config().Origin("stream.maxRetries").Layer == config.Default {
		return patientRetries
	}
	return i.settings().Stream.MaxRetries
}

// Tools are the declarations of the tools there are.
func (i *Instance) Tools() *call.Catalogue { return i.tools }

// Hooks are the hooks of the settings.
func (i *Instance) Hooks() *hook.Machine { return i.hooks }

// Hooks are the hooks of the session.
func (s *Session) Hooks() *hook.Hooks { return s.hooks }

// Runner starts child processes that end with the instance.
func (i *Instance) Runner() *sandbox.Runner { return i.runner }

// Boundary confines commands; nil: no sandbox.
func (i *Instance) Boundary() *boundary.Boundary { return i.opts.Boundary }

// Secrets are the values of the user's credentials, as they were at the first use.
func (i *Instance) Secrets() *event.Values { return i.secrets() }

// ChildEnv is the environment that commands get: lathe's own with the variables of the settings.
func (i *Instance) ChildEnv() []string {
	return i.extensions.Plugins.Path(sandbox.Overlay(i.environ(), i.settings().Env))
}

// Reload reads the settings again, applies them and returns the changes. Sessions reread the memory for single files
// and folders on next use.
func (i *Instance) Reload() ([]config.Change, error) {
	next, changes, err := i.conf.Load().Reload()
	if err != nil {
		return nil, err
	}
	for _, s := range i.running() {
		if s.scoped != nil {
			s.scoped.Reload()
		}
	}
	return changes, i.reload(next, changes)
}

// Amend puts more settings in force until lathe ends, a JSON object, and returns the changes.
func (i *Instance) Amend(settings json.RawMessage) ([]config.Change, error) {
	next, changes, err := i.conf.Load().Amend(settings, func(c *config.Config) error {
		_, _, err := i.rules(c)
		return err
	})
	if err != nil {
		return nil, err
	}
	return changes, i.reload(next, changes)
}

// Interactive reports whether somebody answers questions.
func (s *Session) Interactive() bool { return s.interactive }

// Unsteer takes back the newest message that was steered and not delivered.
func (s *Session) Unsteer(id string) (llm.Message, bool) { return s.agent.Unsteer(id) }

// Steers are the messages that were handed over and not delivered yet.
func (s *Session) Steers() []llm.Message { return s.agent.Steers() }

// Effort is how hard the model is to think; "" is its default.
func (s *Session) Effort() llm.Effort {
	_, e := s.agent.Model()
	return e
}

// SetEffort changes the effort from the next step on.
func (s *Session) SetEffort(e llm.Effort) {
	m, _ := s.agent.Model()
	s.agent.SetModel(m, e)
}

// ModelName is the model as it was asked for in this session; "" is the configured one.
func (s *Session) ModelName() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.model
}

// System is the system prompt.
func (s *Session) System(ctx context.Context) ([]llm.Part, error) { return s.system(ctx) }

// Registry answers which tools the session has.
func (s *Session) Registry() *Registry { return s.registry }

// Rules lists the permission rules in force, those given in this session last.
func (s *Session) Rules() []permission.Rule { return s.Authority.Rules.Rules() }

// Answer answers an open question; the error is event.ErrNoQuestion when it is not (or no longer) open.
func (s *Session) Answer(id string, a event.Answer) error { return s.approver.Answer(id, a) }

// Consider prepares a call and decides on it; nothing is run, asked or kept.
func (s *Session) Consider(ctx context.Context, c llm.ToolCall) (approval.Considered, error) {
	return s.approver.Consider(ctx, s.registry.All(ctx), c)
}
