package llm

import (
	"cmp"
	"strings"
)

// UserText returns a user message with one text part.
func UserText(s string) Message { return Message{Role: User, Parts: []Part{Text{Text: s}}} }

// PlainText joins the text parts of a message with blank lines.
func (m Message) PlainText() string { return joinText(m.Parts) }

// PlainText joins the text parts of a result with blank lines.
func (r ToolResult) PlainText() string { return joinText(r.Parts) }

func joinText(ps []Part) string {
	var out []string
	for _, p := range ps {
		if t, ok := p.(Text); ok && t.Text != "" {
			out = append(out, t.Text)
		}
	}
	return strings.Join(out, "\n\n")
}

// Calls lists the tool calls of a message in order.
func (m Message) Calls() []ToolCall {
	var out []ToolCall
	for _, p := range m.Parts {
		if c, ok := p.(ToolCall); ok {
			out = append(out, c)
		}
	}
	return out
}

// TextResult returns a result with one text.
func TextResult(call ToolCall, text string, isError bool) ToolResult {
	return ToolResult{CallID: call.ID, Name: call.Name, Parts: []Part{Text{Text: text}}, IsError: isError}
}

// ContentBytes is the number of bytes in the texts and media of parts.
func ContentBytes(parts []Part) int {
	n := 0
	for _, p := range parts {
		switch p := p.(type) {
		case Text:
			n += len(p.Text)
		case Media:
			n += len(p.Data)
		}
	}
	return n
}

// LeftOut is the text in place of a file that the model does not take.
func LeftOut(p Media) Text {
	return Text{Text: "[" + cmp.Or(p.Name, "a file") + " (" + p.MIME + ") left out: this model does not take it]"}
}
