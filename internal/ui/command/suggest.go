package command

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/conversation/approval"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// Bounds of what rules are proposed from.
const (
	mostSuggestedFrom = 100 // sessions, the newest
	mostSuggested     = 20  // rules
	mostCallsOfRule   = 10  // calls of one rule
)

// suggestion is a rule that would have spared questions.
type suggestion struct {
	rule  string
	count int
	calls []string // that it would have allowed, each once
}

// suggestRules proposes rules for calls that the user allowed, and would be asked about again.
func suggestRules(ctx context.Context, h *Host, denied bool) (event.Output, error) {
	byRule := map[string]*suggestion{}
	n := 0
	for info, err := range h.Instance.Store().List(h.Instance.Dir()) {
		if err != nil {
			continue // lathe session verify reports it
		}
		if n++; n > mostSuggestedFrom || ctx.Err() != nil {
			break
		}
		for _, c := range decided(h, info.ID, denied) {
			now, err := h.Session().Consider(ctx, c)
			if err != nil || now.Decision.Effect != permission.Ask || len(now.Propose) != 1 {
				continue // it cannot be judged any more, a rule allows it, or no single rule would
			}
			s := byRule[now.Propose[0]]
			if s == nil {
				s = &suggestion{rule: now.Propose[0]}
				byRule[s.rule] = s
			}
			s.count++
			if text := callText(c); len(s.calls) < mostCallsOfRule && !slices.Contains(s.calls, text) {
				s.calls = append(s.calls, text)
			}
		}
	}
	p := &event.Pick{
		Title: "Rules for what you allowed", Command: "permissions allow",
		Empty: "No call that you allowed in this folder would be asked about again.",
	}
	done := "allowed"
	if denied {
		p.Title, p.Empty = "Rules for what the mode auto refused", "The mode auto refused nothing in this folder."
		done = "refused"
	}
	var all []*suggestion
	for _, s := range byRule {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *suggestion) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.rule, b.rule))
	})
	for _, s := range all[:min(len(all), mostSuggested)] {
		p.Items = append(p.Items, event.PickItem{
			ID: s.rule, Label: s.rule, Detail: done + " " + plural(s.count, "time"),
			Preview: "It would have allowed:\n\n" + fenced("", strings.Join(s.calls, "\n")),
		})
	}
	return event.Output{Pick: p}, nil
}

// decided lists the calls of a session that the user allowed when asked, or those that the mode auto refused.
func decided(h *Host, id string, denied bool) (out []llm.ToolCall) {
	effect, source := permission.Allow, approval.ByUser
	if denied {
		effect, source = permission.Deny, approval.ByClassifier
	}
	log := h.Session().Log()
	if id != log.ID() {
		var err error
		if log, err = h.Instance.Store().OpenReadOnly(id); err != nil {
			return nil
		}
		defer func() { _ = log.Close() }()
	}
	calls := map[string]llm.ToolCall{}
	all := log.Everything().Only(session.Part{}.Kind(), session.Decision{}.Kind())
	for _, e := range all.Entries(0, all.Len()) {
		switch b := e.Body.(type) {
		case session.Part:
			if c, ok := b.Part.(llm.ToolCall); ok {
				c.Input = slices.Clone(c.Input)
				calls[strings.Clone(c.ID)] = c
			}
		case session.Decision:
			var d permission.Decision
			c, ok := calls[b.CallID]
			if ok && json.Unmarshal(b.Decision, &d) == nil && d.Effect == effect && d.Source == source {
				out = append(out, c)
			}
		}
	}
	return out
}

func callText(c llm.ToolCall) string {
	var in map[string]any
	if json.Unmarshal(c.Input, &in) == nil {
		for _, key := range []string{"command", "file_path", "url", "path", "query"} {
			if v, ok := in[key].(string); ok {
				return short(c.Name+": "+v, 160)
			}
		}
	}
	return short(c.Name+" "+string(c.Input), 160)
}
