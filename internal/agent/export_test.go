package agent

import (
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Limits, fixed texts and the state of an agent, for the tests outside of the package.

const (
	MaxParallel     = maxParallel
	MaxBroken       = maxBroken
	MaxOverflows    = maxOverflows
	AbandonAfter    = abandonAfter
	InterruptedText = interruptedText
	NotStartedText  = notStartedText
	AbandonedText   = abandonedText
	GoOnCut         = goOnCut
)

var (
	ErrRefused = errRefused
	Refused    = refused
	SameParts  = sameParts
	ImagesOf   = imagesOf
)

// Live is the configuration that an agent works by.
func (a *Agent) Live() *Config { return &a.cfg }

// SetPoll changes how long a command waits that is run again and again.
func (a *Agent) SetPoll(d time.Duration) { a.poll = d }

// SetPatience changes how long an interrupted turn waits for a tool.
func (a *Agent) SetPatience(d time.Duration) { a.patience = d }

// PromptSize estimates the tokens of a prompt.
func (a *Agent) PromptSize(msgs []llm.Message) int { return a.promptSize(msgs) }

// Specs are the specs of tools as they are sent.
func (a *Agent) Specs() []llm.ToolSpec { return a.tools.Load().specs }

// Repair returns the repaired history of msgs, for the model with the given id and provider name.
func Repair(msgs []llm.Message, model, provider string) []llm.Message {
	r := newRepair(llm.ModelInfo{ID: model, Provider: provider})
	for _, m := range msgs {
		r.add(m)
	}
	return r.history()
}
