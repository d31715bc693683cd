// Package consult has the calls by which the model turns to the user: questions (AskUserQuestion), and plans to approve
// (EnterPlanMode, ExitPlanMode).
//
// The words: a [Dialog] makes the question of such a call and turns the answer into a decision on the call; the answer
// travels as the call's input. A [Plan] is the plan of one session: its file, and how plan mode is entered and left. A
// draft is a plan that nobody has approved.
//
// Promises: an answer comes from a person or a host, never from the model's own input; a draft is on disk before
// somebody is asked about it; the plan that was approved is in the log as the user saw it.
package consult

import (
	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/permission"
)

// The tools by which the model turns to the user.
const (
	QuestionName  = "AskUserQuestion"
	EnterPlanName = "EnterPlanMode"
	ExitPlanName  = "ExitPlanMode"
)

// Dialog is how one tool turns to the user.
type Dialog struct {
	// Question makes the question of a call. An error is a refusal, as text for the model.
	Question func(agent.Approval) (event.Question, error)
	// Decide decides on the call by the answer. An allowed call has the answer in its input.
	Decide func(agent.Approval, event.Answer) permission.Decision
	// Nobody is the refusal where nobody can be asked, as a clause.
	Nobody string
}

// byUser is the source of decisions that a person made just now.
const byUser = "the user"

// refused is the decision on an answer that is no approval. Without words the turn ends: the user wants to speak first.
func refused(reason string, a event.Answer) permission.Decision {
	return permission.Decision{
		Effect: permission.Deny, Layer: permission.LayerAsk, Source: byUser, Reason: reason,
		Guidance: a.Text, Interrupt: a.Interrupt || a.Text == "",
	}
}

func allowed(reason string) permission.Decision {
	return permission.Decision{Effect: permission.Allow, Layer: permission.LayerAsk, Source: byUser, Reason: reason}
}
