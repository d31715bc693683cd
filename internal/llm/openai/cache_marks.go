package openai

import (
	"bytes"

	"github.com/lathe-dev/lathe/internal/llm"
)

// A host that passes cache marks on to Anthropic (OpenRouter, page on prompt caching) takes them on the contents of
// messages. The last message of a request carries one, and not in the next request, so its encoding is not kept.

// unmarked are the messages without the one that carries a mark.
func (m *model) unmarked(msgs []llm.Message) []llm.Message {
	if n := len(msgs); m.traits.CacheMarks && n > 0 {
		return msgs[:n-1]
	}
	return msgs
}

// appendMarked writes the last message with its mark.
func (m *model) appendMarked(b *llm.Body, msgs []llm.Message, empty bool) {
	if !m.traits.CacheMarks || len(msgs) == 0 {
		return
	}
	seg := mark(m.message(&msgs[len(msgs)-1]))
	if empty && len(seg) > 0 {
		seg = seg[1:]
	}
	b.Append(seg)
}

// mark puts a cache mark on the last content of encoded messages that is a text.
func mark(seg []byte) []byte {
	key := []byte(`"content":"`)
	at := bytes.LastIndex(seg, key)
	if at < 0 || bytes.Contains(seg[at:], []byte(`"tool_calls":`)) {
		return seg
	}
	start := at + len(key) - 1
	end := start + 1
	for end < len(seg) && seg[end] != '"' {
		if seg[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(seg) {
		return seg
	}
	out := append([]byte(nil), seg[:start]...)
	out = append(append(append(out, `[{"type":"text","text":`...), seg[start:end+1]...),
		`,"cache_control":{"type":"ephemeral"}}]`...)
	return append(out, seg[end+1:]...)
}
