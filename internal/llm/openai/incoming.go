package openai

import (
	"errors"

	"github.com/lathe-dev/lathe/internal/llm"
)

// incoming is a reply being received, in either API.
type incoming struct {
	assembly
	reply   *llm.Reply
	started bool
	id      string
	model   string
	named   bool        // the server gave the model's name
	message llm.Message // the whole reply, once it is complete
	sources []llm.Source
}

func (in *incoming) received() *incoming { return in }

// begin reports the start of the reply, once. The first chunk of some servers lacks id and model.
func (in *incoming) begin(id, model string) {
	if in.id == "" {
		in.id = id
	}
	if !in.named && model != "" {
		in.model, in.named = model, true
	}
	if in.started {
		return
	}
	in.started = true
	in.send(llm.Started{ID: in.id, Model: in.model})
}

// make makes the message of a complete reply. Without a reported usage it is estimated.
func (in *incoming) make(req *llm.Request, u *llm.Usage, stop llm.StopReason) {
	in.message = llm.Message{ID: in.id, Role: llm.Assistant, Parts: in.complete(), Model: in.model, Stop: stop, Sources: in.sources}
	if u == nil {
		u = &llm.Usage{Input: llm.EstimateRequest(req), Output: llm.EstimateTokens(in.message), Estimated: true}
	}
	in.message.Usage = u
}

// withPartial adds the complete parts to the error of a broken stream.
func (in *incoming) withPartial(err error) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err
	}
	if parts := in.complete(); len(parts) > 0 {
		e.Partial = &llm.Message{ID: in.id, Role: llm.Assistant, Parts: parts, Model: in.model, Stop: llm.StopBroken}
	}
	return err
}
