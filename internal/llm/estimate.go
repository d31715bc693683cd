package llm

import (
	"bytes"
	"image"
	_ "image/gif"  // dimensions
	_ "image/jpeg" // dimensions
	_ "image/png"  // dimensions
)

// The estimate of tokens: text and JSON count one token for 3.5 bytes, a message 4 tokens and a call or
// result 12 for what frames them, an image width*height/750 tokens after scaling to at most 1,568 pixels a
// side (Anthropic, vision guide), 1,600 if its size cannot be read. It is for deciding when to compact
// between two usages told by the provider, and for providers that tell none; it is no bill.
const (
	messageTokens = 4
	frameTokens   = 12
	imageTokens   = 1600
	imageSide     = 1568
)

// EstimateText is the number of tokens in a text of n bytes.
func EstimateText(n int) int { return (n*2 + 6) / 7 }

// EstimateTokens is about how many tokens m is.
func EstimateTokens(m Message) int { return messageTokens + estimateParts(m.Parts) }

// EstimateRequest is about how many tokens the prompt of req is.
func EstimateRequest(req *Request) int {
	n := estimateParts(req.System)
	for _, t := range req.Tools {
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
