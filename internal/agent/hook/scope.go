package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/lathe-dev/lathe/internal/base/approved"
	"github.com/lathe-dev/lathe/internal/event"
)

// Scope is the hooks of a skill, from its invocation to the end of the session, or of an agent, while it works.
type Scope struct {
	Kind  string // skill or agent
	Name  string
	File  string // that they are in
	Hooks any    // the field "hooks" of the file, in the form of the settings' one
	Place
}

// Use puts the hooks of a scope in force; those of a file of the project once the user has approved them as they are.
// Without an approval, or when one that protects the user cannot be read, the error says so and nothing is in force.
func (h *Hooks) Use(ctx context.Context, s Scope) error {
	if s.Hooks == nil {
		return nil
	}
	if h == nil {
		return fmt.Errorf("the hooks of the %s %s cannot run here", s.Kind, s.Name)
	}
	text, err := json.Marshal(s.Hooks)
	if err != nil {
		return fmt.Errorf("%s: hooks: %w", s.File, err)
	}
	key := s.File + "\x00" + approved.Sum(text)
	h.mu.Lock()
	used := h.scopes[key]
	h.mu.Unlock()
	if used {
		return nil
	}
	t, err := h.admitScope(ctx, s, text)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.scopes == nil {
		h.scopes = map[string]bool{}
	}
	h.scopes[key], h.scoped = true, append(h.scoped, t)
	return nil
}

// useAgent puts the hooks of the present kind of agent in force, in the place of those of the kind before.
func (h *Hooks) useAgent(ctx context.Context) error {
	if h.s.Scope == nil {
		return nil
	}
	s, key := h.s.Scope(), ""
	var t *table
	if s.Hooks != nil {
		text, err := json.Marshal(s.Hooks)
		if err != nil {
			return fmt.Errorf("%s: hooks: %w", s.File, err)
		}
		key = s.File + "\x00" + approved.Sum(text)
		if key == h.agentKey {
			return nil
		}
		if t, err = h.admitScope(ctx, s, text); err != nil {
			return err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.agentScope, h.agentKey = t, key
	return nil
}

// admitScope reads the hooks of a scope and makes sure that they may run.
func (h *Hooks) admitScope(ctx context.Context, s Scope, text []byte) (*table, error) {
	t, err := h.readScope(s, text)
	if err != nil {
		return nil, err
	}
	if err := h.allowed(ctx, s, text); err != nil {
		return nil, err
	}
	for _, n := range t.notes {
		h.warn(n)
	}
	return t, nil
}

// readScope reads the hooks of a scope. The end of an agent is SubagentStop.
func (h *Hooks) readScope(s Scope, text []byte) (*table, error) {
	var groups map[string][]json.RawMessage
	if err := json.Unmarshal(text, &groups); err != nil {
		return nil, fmt.Errorf("%s: hooks are lists of groups by event, as in the settings: %w", s.File, err)
	}
	t := &table{handlers: map[string][]*Handler{}, seen: map[string]bool{}, once: s.Kind == "skill"}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		target := name
		if name == "Stop" && s.Kind == "agent" && h.child() {
			target = "SubagentStop"
		}
		for _, g := range groups[name] {
			t.add(Group{Event: target, JSON: g, From: s.File, Place: s.Place}, false)
		}
	}
	return t, t.err
}

// Approve keeps that the user approves the hooks of a file as they are.
func (m *Machine) Approve(file string, hooks any) error {
	text, err := json.Marshal(hooks)
	if err != nil {
		return err
	}
	if m.Approved == nil {
		return errors.New("the answer cannot be kept, because this run keeps nothing")
	}
	return m.Approved.Set(file, approved.Sum(text), true)
}

// allowed makes sure that the user approved hooks that come with the project.
func (h *Hooks) allowed(ctx context.Context, s Scope, text []byte) error {
	// without a file they are of the settings, which are trusted as a whole
	if !s.Foreign || s.File == "" || h.m.TrustAll {
		return nil
	}
	sum := approved.Sum(text)
	if h.m.Approved != nil && h.m.Approved.Approved(s.File, sum) {
		return nil
	}
	missing := fmt.Errorf(
		"the %s %s brings hooks that you have not approved (%s); read them and run lathe hook approve %s", s.Kind, s.Name,
		s.File, s.File)
	if h.s.Ask == nil || h.s.Ask() == nil {
		return missing
	}
	changed := ""
	if h.m.Approved != nil && h.m.Approved.Changed(s.File, sum) {
		changed = " They have changed since you approved them."
	}
	a, err := h.s.Ask()(ctx, event.Question{
		Title: "Run the hooks of the " + s.Kind + " " + s.Name + "?",
		Text: "They come with the project (" + s.File + ") and run in the sandbox, without your keys." + changed + "\n\n" +
			indented(text),
		Options: []event.Option{
			{ID: event.ChoiceSession, Label: "Yes, in this session"},
			{ID: event.ChoiceAlways, Label: "Yes, until they change"},
			{ID: event.ChoiceNo, Label: "No"},
		},
	})
	switch {
	case err != nil:
		return err
	case a.Choice == event.ChoiceAlways && h.m.Approved != nil:
		return h.m.Approved.Set(s.File, sum, true)
	case a.Choice == event.ChoiceAlways, a.Choice == event.ChoiceSession:
		return nil
	}
	return missing
}

func indented(text []byte) string {
	var v any
	if json.Unmarshal(text, &v) != nil {
		return string(text)
	}
	out, _ := json.MarshalIndent(v, "", "  ") // it was JSON before
	return bounded(string(out))
}

// spend takes the one run of a handler that runs once; false: it is used up.
func (h *Hooks) spend(handler *Handler) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.spent[handler] {
		return false
	}
	if h.spent == nil {
		h.spent = map[*Handler]bool{}
	}
	h.spent[handler] = true
	return true
}
