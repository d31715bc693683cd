package openai

import "github.com/lathe-dev/lathe/internal/llm"

// incoming is a reply being received, in either API.
type incoming struct {
	assembly
	reply   *llm.Reply
	req     *llm.Request
	started bool
	id      string
	model   string
	named   bool        // the server gave the model's name
	message llm.Message // the whole reply, once it is complete
	sources []llm.Source
}

// Message implements llm.Decoder.
func (in *incoming) Message() llm.Message { return in.message }

// broke completes the parts of a broken reply.
func (in *incoming) broke(err error) error {
	in.message = llm.Message{ID: in.id, Parts: in.complete(), Model: in.model}
	return err
}

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
	in.message = llm.Message{
		ID: in.id, Role: llm.Assistant, Parts: in.complete(), Model: in.model, Stop: stop,
		Sources: in.sources,
	}
	if u == nil {
		u = llm.EstimatedUsage(req, in.message)
	}
	in.message.Usage = u
}
