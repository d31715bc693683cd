package event

import (
	"fmt"
	"time"
)

// GoalState is how far a goal is.
type GoalState string

// The states of a goal. All but the first are its end.
const (
	GoalActive     GoalState = "active"
	GoalMet        GoalState = "met"
	GoalImpossible GoalState = "impossible" // a judge says that it cannot be met
	GoalLimited    GoalState = "limited"    // a bound was reached
	GoalStuck      GoalState = "stuck"      // the agent did nothing in several rounds, or no verdict came
	GoalFailed     GoalState = "failed"     // an error that a person must mend
	GoalCleared    GoalState = "cleared"    // by the user or the agent
)

// GoalBounds end a goal; 0: no bound.
type GoalBounds struct {
	Rounds int           `json:"rounds,omitempty"` // verdicts
	Time   time.Duration `json:"time,omitempty"`   // nanoseconds
	Tokens int           `json:"tokens,omitempty"` // of requests and replies, read from the cache or not
	USD    float64       `json:"usd,omitempty"`
}

// Goal says what the session works for, at each change.
type Goal struct {
	Condition string     `json:"condition"`
	Check     string     `json:"check,omitempty"` // the command that decides; empty: a judge does
	State     GoalState  `json:"state"`
	Reason    string     `json:"reason,omitempty"` // of the last verdict, or of the end
	Rounds    int        `json:"rounds"`           // verdicts so far
	Tokens    int        `json:"tokens"`           // used for it
	USD       float64    `json:"usd"`
	Since     time.Time  `json:"since"`
	Bounds    GoalBounds `json:"bounds,omitzero"`
	ByAgent   bool       `json:"by_agent,omitempty"` // the agent set it
	Last      *EvalCheck `json:"last_check,omitempty"`
}

// Kind names.
func (Goal) Kind() string { return "goal" }

// Level is the level of a notice that shows it.
func (g Goal) Level() string {
	switch g.State {
	case GoalActive, GoalMet, GoalCleared:
		return "info"
	case GoalImpossible, GoalLimited, GoalStuck, GoalFailed:
	}
	return "warning"
}

// String returns one line for people.
func (g Goal) String() string {
	what := "Goal " + string(g.State)
	switch g.State {
	case GoalActive:
		if what = "Goal not met yet"; g.Rounds == 0 {
			return "Goal: " + g.Condition
		}
	case GoalLimited, GoalStuck, GoalFailed:
		what = "Goal not met"
	case GoalMet, GoalImpossible, GoalCleared:
	}
	if g.Reason != "" {
		what += ": " + firstSentence(g.Reason)
	}
	if g.Rounds > 0 {
		what += fmt.Sprintf(" (round %d)", g.Rounds)
	}
	return what
}

// Unmet reports a goal that nothing works for any more, and that was not met.
func (g *Goal) Unmet() bool {
	return g != nil && g.Level() == "warning"
}
