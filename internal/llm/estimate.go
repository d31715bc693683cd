package llm

import (
	"bytes"
	"image"
	_ "image/gif"  // dimensions
	_ "image/jpeg" // dimensions
	_ "image/png"  // dimensions
)

// The estimate of tokens: text and JSON count one token per 3.5 bytes; a message adds 4 tokens, a call or
// result 12; an image counts width*height/750 tokens after scaling to at most 1,568 pixels a side (Anthropic,
// vision guide), or 1,600 if its size cannot be read. It decides when to compact between two usages reported
// by the provider, and stands in for providers that report none; it is not meant for billing.
const (
	messageTokens = 4
	frameTokens   = 12
	imageTokens   = 1600
	imageSide     = 1568
)

// EstimateText estimates the tokens of a text of n bytes.
func EstimateText(n int) int { return (n*2 + 6) / 7 }

// EstimateTokens estimates the tokens of m.
func EstimateTokens(m Message) int { return messageTokens + estimateParts(m.Parts) }

// PromptTokens returns the tokens of a conversation as the next prompt has them: the provider's count for the newest
// reply that has one, and an estimate of the messages after it. If no reply has one, counted is false and system prompt
// and tools are missing.
func PromptTokens(msgs []Message) (n int, counted bool) {
	for i := len(msgs) - 1; i >= 0; i-- {
		if u := msgs[i].Usage; u != nil && u.Prompt() > 0 {
			return n + u.Prompt() + u.Output, true
		}
		n += EstimateTokens(msgs[i])
	}
	return n, false
}

// EstimateRequest estimates the tokens of the prompt of req.
func EstimateRequest(req *Request) int {
	n := estimateParts(req.System)
	for _, t := range req.Tools {
		if t.Deferred {
			continue
		}
		n += frameTokens + EstimateText(len(t.Name)+len(t.Description)+len(t.Schema))
	}
	for _, m := range req.Messages {
		n += EstimateTokens(m)
	}
	return n
}

func estimateParts(parts []Part) int {
	n := 0
	for _, p := range parts {
		switch p := p.(type) {
		case Text:
			n += EstimateText(len(p.Text))
		case Reasoning:
			n += EstimateText(len(p.Text) + len(p.Data))
		case Media:
			n += estimateMedia(p)
		case ToolCall:
			n += frameTokens + EstimateText(len(p.Name)+len(p.Input))
		case ToolResult:
			n += frameTokens + estimateParts(p.Parts)
		case Opaque:
			n += EstimateText(len(p.JSON))
		}
	}
	return n
}

func estimateMedia(m Media) int {
	if m.MIME == "application/pdf" { // a scanned page has some 100 kB
		return imageTokens * (1 + len(m.Data)/100_000)
	}
	conf, _, err := image.DecodeConfig(bytes.NewReader(m.Data))
	if err != nil || conf.Width <= 0 || conf.Height <= 0 {
		return imageTokens
	}
	w, h := float64(conf.Width), float64(conf.Height)
	if side := max(w, h); side > imageSide {
		w, h = w*imageSide/side, h*imageSide/side
	}
	return int(w*h/750) + 1
}
