package acp

import (
	"cmp"
	"context"
	"slices"

	"github.com/lathe-dev/lathe/internal/event"
)

// modes that a client may choose, in the order of how much runs unasked.
var modes = []mode{
	{"plan", "Plan", "Look and plan; change nothing"},
	{"default", "Ask", "Ask before changes and commands"},
	{"acceptEdits", "Accept edits", "Change files in the folders of the session without a question"},
	{"auto", "Auto", "The small model answers a question first"},
	{"dontAsk", "Don't ask", "Refuse what would be asked"},
	{"bypassPermissions", "Bypass permissions", "Ask nothing that no rule asks"},
}

func (s *openSession) modes() modeState {
	return modeState{Current: string(s.state().Mode), Available: modes}
}

// options are what the client may choose, with the values of now.
func (s *openSession) options(ctx context.Context) []configOption {
	now := s.state()
	mode := configOption{
		Type: "select", ID: "mode", Name: "Permissions", Category: "mode", Current: string(now.Mode),
	}
	for _, m := range modes {
		mode.Options = append(mode.Options, optionValue{m.ID, m.Name, m.Description})
	}
	return []configOption{
		mode,
		s.choice(ctx, "model", "Model", "model", now.Model),
		s.choice(ctx, "effort", "Effort", "thought_level", cmp.Or(now.Effort, "default")),
	}
}

// choice is an option whose values are the completions of a slash command.
func (s *openSession) choice(ctx context.Context, id, name, category, current string) configOption {
	o := configOption{Type: "select", ID: id, Name: name, Category: category, Current: current}
	found, _ := s.port.Complete(ctx, event.Query{Kind: event.QueryArgument, Name: id, Limit: mostValues})
	for _, c := range found {
		o.Options = append(o.Options, optionValue{c.Text, c.Text, c.Help})
	}
	if !slices.ContainsFunc(o.Options, func(v optionValue) bool { return v.Value == current }) {
		o.Options = append(o.Options, optionValue{Value: current, Name: current})
	}
	return o
}

// mostValues is how many values one option has.
const mostValues = 500
