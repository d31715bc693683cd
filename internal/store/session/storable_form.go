package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/llm"
)

// A message in memory must be equal to the one that the next process reads back, or the first request after a resume
// would differ from the last one before it. So text that cannot be stored as it is (broken UTF-8, white space
// in raw JSON) is changed before it is kept, not only when it is written.

func cleanText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// cleanReply checks and cleans one part of a reply.
func cleanReply(p llm.Part) (llm.Part, error) {
	switch p := p.(type) {
	case llm.Reasoning:
		opaque, err := cleanOpaque(p.Opaque)
		return llm.Reasoning{
			Text: cleanText(p.Text), Signature: cleanText(p.Signature), Data: cleanText(p.Data),
			Provider: cleanText(p.Provider), Opaque: opaque,
		}, err
	case llm.ToolCall:
		opaque, err := cleanOpaque(p.Opaque)
		p.Opaque = opaque
		return cleanCall(p), err
	case llm.Opaque:
		opaque, err := cleanOpaque(&p)
		if err != nil {
			return nil, err
		}
		return *opaque, nil
	case llm.Text, llm.Media:
		return cleanContent(p)
	}
	return nil, fmt.Errorf("session: a reply cannot hold a part of type %T", p)
}

// cleanOpaque makes a provider's data one line of JSON.
func cleanOpaque(o *llm.Opaque) (*llm.Opaque, error) {
	if o == nil {
		return nil, nil
	}
	var buf bytes.Buffer
	if err := json.Compact(&buf, []byte(cleanText(string(o.JSON)))); err != nil {
		return nil, fmt.Errorf("session: the opaque data of provider %q is not JSON: %w", o.Provider, err)
	}
	return &llm.Opaque{Provider: cleanText(o.Provider), JSON: buf.Bytes()}, nil
}

// cleanContent checks and cleans a part of a user message or of a result.
func cleanContent(p llm.Part) (llm.Part, error) {
	switch p := p.(type) {
	case llm.Text:
		opaque, err := cleanOpaque(p.Opaque)
		return llm.Text{Text: cleanText(p.Text), Origin: llm.Origin(cleanText(string(p.Origin))), Opaque: opaque}, err
	case llm.Media:
		return llm.Media{MIME: cleanText(p.MIME), Data: p.Data, Name: cleanText(p.Name)}, nil
	}
	return nil, fmt.Errorf("session: only text and media belong here, not %T", p)
}

func cleanContents(parts []llm.Part) ([]llm.Part, error) {
	out := make([]llm.Part, len(parts))
	for i, p := range parts {
		c, err := cleanContent(p)
		if err != nil {
			return nil, err
		}
		out[i] = c
	}
	return out, nil
}

// cleanCall makes Input one line of JSON; any other text becomes {} with the text in Raw, as package
// llm defines.
func cleanCall(c llm.ToolCall) llm.ToolCall {
	c.ID, c.Name, c.Raw = cleanText(c.ID), cleanText(c.Name), cleanText(c.Raw)
	if len(c.Input) == 0 {
		c.Input = json.RawMessage("{}")
	}
	input := []byte(cleanText(string(c.Input)))
	var buf bytes.Buffer
	if err := json.Compact(&buf, input); err != nil || buf.Bytes()[0] != '{' {
		if c.Raw == "" {
			c.Raw = string(input)
		}
		c.Input = json.RawMessage("{}")
		return c
	}
	c.Input = bytes.Clone(buf.Bytes())
	return c
}

func cleanResult(r llm.ToolResult) (llm.ToolResult, error) {
	parts, err := cleanContents(r.Parts)
	return llm.ToolResult{CallID: cleanText(r.CallID), Name: cleanText(r.Name), Parts: parts, IsError: r.IsError}, err
}

func cleanUser(m llm.Message) (llm.Message, error) {
	parts, err := cleanContents(m.Parts)
	return llm.Message{ID: cleanText(m.ID), Role: llm.User, Parts: parts, From: cleanText(m.From)}, err
}
