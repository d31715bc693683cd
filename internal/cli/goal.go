package cli

import (
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
)

// goal is the goal of the command line; nil: it has none.
func (o *Options) goal() *event.Goal {
	if o.setGoal != nil {
		return o.setGoal
	}
	if o.Goal == "" && o.GoalCheck == "" {
		return nil
	}
	return &event.Goal{Condition: o.Goal, Check: o.GoalCheck}
}

// withGoal has the goal begin the turn where there is no prompt.
func (o *Options) withGoal(words []string) []string {
	if o.goal() == nil || o.Worker != "" || o.InputFormat != "text" || strings.TrimSpace(strings.Join(words, "")) != "" {
		return words
	}
	if o.Goal != "" {
		return []string{o.Goal}
	}
	return []string{"Make the command `" + o.GoalCheck + "` succeed."}
}

// goalLine says what a session works for, or that it does no more, in the form of Claude Code's SDK.
type goalLine struct {
	Type  string     `json:"type"`
	Value *goalValue `json:"value"`
	stamped
}

type goalValue struct {
	Condition  string `json:"condition"`
	Iterations int    `json:"iterations"`
	SetAt      int64  `json:"set_at"` // milliseconds since 1970
	Tokens     int    `json:"tokens_at_start"`
	Reason     string `json:"last_reason,omitempty"`
}

func (p *streamPrinter) goal(g event.Goal) error {
	l := &goalLine{Type: "active_goal"}
	if g.State == event.GoalActive {
		l.Value = &goalValue{Condition: g.Condition, Iterations: g.Rounds, SetAt: g.Since.UnixMilli(), Reason: g.Reason}
	}
	return p.w.write(l)
}
