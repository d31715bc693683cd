package cli

import (
	"encoding/json"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// partials turns deltas of any provider into the stream events of Anthropic's Messages API: message_start,
// content_block_start, content_block_delta, content_block_stop, message_delta, message_stop.
//
// Blocks come one after another with indexes counted from 0 by lathe. A PartDone may come late, when later
// parts stream already: text that a block showed is not shown again. A retry voids streamed parts: the next
// message_start says so, as it does in Claude Code.
type partials struct {
	write func(v any, ttft *int64) error

	open    bool         // a message_start was written and no message_stop
	id      string       // of the open message
	part    int          // the part index of the open block, or -1
	block   int          // index of the next content_block_start
	shown   map[int]bool // parts of the open message that have or had a block
	started int64        // when the request went out, in Unix milliseconds
	told    bool         // ttft_ms was written
}

type (
	messageStart struct {
		Type    string      `json:"type"`
		Message wireMessage `json:"message"`
	}
	blockStart struct {
		Type  string `json:"type"`
		Index int    `json:"index"`
		Block any    `json:"content_block"`
	}
	blockDelta struct {
		Type  string `json:"type"`
		Index int    `json:"index"`
		Delta any    `json:"delta"`
	}
	blockStop struct {
		Type  string `json:"type"`
		Index int    `json:"index"`
	}
	messageDelta struct {
		Type  string    `json:"type"`
		Delta stopDelta `json:"delta"`
		Usage wireUsage `json:"usage"`
	}
	stopDelta struct {
		Reason   *string `json:"stop_reason"`
		Sequence *string `json:"stop_sequence"`
	}
	messageStop struct {
		Type string `json:"type"`
	}
	textDelta struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	thinkingDelta struct {
		Type     string `json:"type"`
		Thinking string `json:"thinking"`
	}
	signatureDelta struct {
		Type      string `json:"type"`
		Signature string `json:"signature"`
	}
	inputDelta struct {
		Type string `json:"type"`
		JSON string `json:"partial_json"`
	}
)

func (p *partials) event(e event.Event) error {
	switch b := e.Body.(type) {
	case event.StepStart:
		p.started = e.Time.UnixMilli()
	case event.Delta:
		return p.delta(b, e.Time.UnixMilli())
	case event.PartDone:
		return p.partDone(b)
	case event.Retry:
		return p.abandon()
	case event.Response:
		return p.end(b.Message.Stop, b.Message.Usage)
	case event.StepEnd: // of a reply without any part
		return p.end(b.Stop, &b.Usage)
	}
	return nil
}

func (p *partials) delta(b event.Delta, now int64) error {
	switch d := b.Delta.(type) {
	case llm.Started:
		return p.start(b.MessageID, d.Model, d.Usage, &now)
	case llm.TextDelta:
		return p.add(b.MessageID, d.Index, textBlock{"text", ""}, textDelta{"text_delta", d.Text}, d.Text != "")
	case llm.ReasoningDelta:
		block := thinkingBlock{"thinking", "", ""}
		if err := p.add(b.MessageID, d.Index, block, thinkingDelta{"thinking_delta", d.Text}, d.Text != ""); err != nil ||
			d.Signature == "" {
			return err
		}
		return p.add(b.MessageID, d.Index, block, signatureDelta{"signature_delta", d.Signature}, true)
	case llm.ToolDelta:
		block := toolUseBlock{"tool_use", d.ID, d.Name, json.RawMessage("{}")}
		return p.add(b.MessageID, d.Index, block, inputDelta{"input_json_delta", d.JSON}, d.JSON != "")
	}
	return nil
}

// start opens a message. A second message that opens while one is open replaces it.
func (p *partials) start(id, model string, u llm.Usage, now *int64) error {
	if p.open && p.id == id {
		return nil
	}
	p.open, p.id, p.part, p.block, p.shown = true, id, -1, 0, map[int]bool{}
	var ttft *int64
	if now != nil && p.started != 0 && !p.told {
		d := max(0, *now-p.started)
		ttft, p.told = &d, true
	}
	return p.write(messageStart{"message_start", wireMessage{
		ID: id, Type: "message", Role: "assistant", Model: model, Content: []any{}, Usage: usageOf(u),
	}}, ttft)
}

// add writes one delta of the part at index, opening its block first if need be. Parts stream one after the
// other, so a delta for a closed block belongs to a part that was shown whole.
func (p *partials) add(id string, index int, block, delta any, some bool) error {
	if err := p.start(id, "", llm.Usage{}, nil); err != nil {
		return err
	}
	if p.part != index {
		if p.shown[index] {
			return nil
		}
		if err := p.stopBlock(); err != nil {
			return err
		}
		p.part, p.shown[index] = index, true
		if err := p.write(blockStart{"content_block_start", p.block, block}, nil); err != nil {
			return err
		}
	}
	if !some {
		return nil
	}
	return p.write(blockDelta{"content_block_delta", p.block, delta}, nil)
}

func (p *partials) stopBlock() error {
	if p.part < 0 {
		return nil
	}
	p.part = -1
	p.block++
	return p.write(blockStop{"content_block_stop", p.block - 1}, nil)
}

// partDone closes the part's block if it is still open. A part that never streamed gets a block of one
// piece.
func (p *partials) partDone(b event.PartDone) error {
	streamed := p.open && p.id == b.MessageID && p.shown[b.Index]
	if !streamed {
		if err := p.whole(b); err != nil {
			return err
		}
	}
	if p.part != b.Index {
		return nil
	}
	return p.stopBlock()
}

func (p *partials) whole(b event.PartDone) error {
	if err := p.start(b.MessageID, b.Model, b.Usage, nil); err != nil {
		return err
	}
	switch part := b.Part.(type) {
	case llm.Text:
		return p.add(b.MessageID, b.Index, textBlock{"text", ""}, textDelta{"text_delta", part.Text}, true)
	case llm.ToolCall:
		return p.add(b.MessageID, b.Index, toolUseBlock{"tool_use", part.ID, part.Name, json.RawMessage("{}")},
			inputDelta{"input_json_delta", string(objectOr(part.Input))}, true)
	}
	if block := blockOf(b.Part); block != nil {
		return p.add(b.MessageID, b.Index, block, nil, false)
	}
	return nil
}

// end closes the message as the provider did. One that broke off or was interrupted has no end.
func (p *partials) end(stop llm.StopReason, u *llm.Usage) error {
	reason := wireStop(stop)
	if !p.open || reason == nil {
		return p.abandon()
	}
	p.open = false
	if err := p.stopBlock(); err != nil {
		return err
	}
	if u == nil {
		u = &llm.Usage{}
	}
	if err := p.write(messageDelta{"message_delta", stopDelta{Reason: reason}, usageOf(*u)}, nil); err != nil {
		return err
	}
	return p.write(messageStop{"message_stop"}, nil)
}

// wireStop is a stop reason in the provider's words: nil for none, and for lathe's own reasons.
func wireStop(s llm.StopReason) *string {
	if s == "" || s == llm.StopBroken || s == llm.StopInterrupted {
		return nil
	}
	text := string(s)
	return &text
}

// abandon forgets a message that broke off; the block that was open is closed, so that readers that count
// blocks stay right.
func (p *partials) abandon() error {
	if !p.open {
		return nil
	}
	p.open = false
	return p.stopBlock()
}
