package conversation

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/store/journal"
)

// Watch follows changes of the settings until ctx ends: rules, providers and the environment of children
// apply to running sessions, too; limits and the output style to new ones; the model at the next start. Then
// it calls changed, which may be nil. Long-lived front ends run it in the background; a single prompt does not.
func (i *Instance) Watch(ctx context.Context, changed func()) error {
	return errors.Join(i.cleanUp(), i.conf.Load().Watch(ctx, func(c *config.Config, changes []config.Change) {
		_ = i.reload(c, changes) // reported in the sessions
		if changed != nil {
			changed()
		}
	}))
}

// reload applies a new configuration, to open sessions too. If its permissions cannot be enforced, the old one stays.
func (i *Instance) reload(c *config.Config, changes []config.Change) error {
	rules, notes, err := i.rules(c)
	for _, s := range i.running() {
		err = errors.Join(err, s.hooks.ConfigChange(changes))
	}
	if err != nil {
		i.warnAll("error", stays(err))
		return err
	}
	i.conf.Store(c)
	later, failed := config.Later(changes)
	for _, err := range failed {
		i.warnAll("error", stays(err))
	}
	reconnect := config.Touches(changes, "providers", "env", "apiBase", "apiKeyHelper", "network", "stream",
		"maxThinkingTokens")
	if reconnect {
		i.Forget()
	}
	for _, s := range i.running() {
		s.follow(rules, reconnect)
	}
	for _, n := range notes {
		i.warnAll("warning", n)
	}
	if len(later) > 0 {
		i.warnAll("info", strings.Join(later, ", ")+" takes effect at the next start")
	}
	return nil
}

func stays(err error) string { return err.Error() + "; the settings in force stay" }

// warnAll shows a notice about the settings in the open sessions.
func (i *Instance) warnAll(level, text string) {
	for _, s := range i.running() {
		s.Publish(event.Notice{Level: level, Text: "settings: " + text})
	}
}

// running lists the open sessions.
func (i *Instance) running() []*Session {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Collect(maps.Keys(i.sessions))
}

// follow puts new settings in force for a session.
func (s *Session) follow(rules []permission.Rule, reconnect bool) {
	if s.parent == nil {
		s.SetRules(rules)
		s.recheckMode()
	}
	if !reconnect || s.Log() == nil {
		return
	}
	s.mu.Lock()
	id := s.model
	s.mu.Unlock()
	if err := s.SetModel(context.Background(), id); err != nil {
		s.Publish(event.Notice{Level: "warning", Text: "settings: the model stays connected as it was: " + err.Error()})
	}
}

// recheckMode holds the mode against new settings: a session in a mode that they forbid goes back to the default mode.
// Once they allow it again, it can be chosen again.
func (s *Session) recheckMode() {
	s.Policy().ForbidBypass(s.inst.conf.Load().BypassForbidden() != nil)
	if why := s.Recheck(); why != nil {
		s.Note(event.Notice{Level: "warning", Text: "settings: the mode is now default: " + why.Error()})
	}
}

// join makes reloads reach a session until it is closed.
func (i *Instance) join(s *Session) {
	i.mu.Lock()
	i.sessions[s] = true
	i.mu.Unlock()
	s.closers = append(s.closers, func() error {
		i.mu.Lock()
		defer i.mu.Unlock()
		delete(i.sessions, s)
		return nil
	})
}

// cleanUp removes old recordings, and saved outputs if the user set the key. It runs concurrently with the first turn.
func (i *Instance) cleanUp() error {
	set := i.conf.Load().Origin("cleanupPeriodDays").Layer != config.Default
	return journal.CleanUp(i.logs.Store, i.paths.StateHome, i.settings().CleanupPeriodDays, set)
}

// Refresh asks for the organisation's document, and removes old recordings, in the background of a run that
// watches nothing.
func (i *Instance) Refresh(ctx context.Context) error {
	_, err := i.conf.Load().Refresh(ctx)
	return errors.Join(i.cleanUp(), err)
}
