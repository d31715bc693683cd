package anthropic

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// deltaHead begins the event of which a stream mostly consists.
const deltaHead = `{"type":"content_block_delta","index":`

// deltaForms are the members after the kind of a delta, by kind.
var deltaForms = [...]struct{ head, kind string }{
	{`,"delta":{"type":"text_delta","text":"`, "text_delta"},
	{`,"delta":{"type":"input_json_delta","partial_json":"`, "input_json_delta"},
	{`,"delta":{"type":"thinking_delta","thinking":"`, "thinking_delta"},
}

// quickDelta reads a content_block_delta in the very form in which the API writes it, if its text has no escapes. It
// takes a tenth of the time of encoding/json, which reads all others.
func quickDelta(data []byte, e *event, d *delta) bool {
	rest, ok := bytes.CutPrefix(data, []byte(deltaHead))
	comma := bytes.IndexByte(rest, ',')
	if !ok || comma <= 0 || comma > 6 || rest[0] < '0' || rest[0] > '9' || rest[0] == '0' && comma > 1 {
		return false
	}
	index, err := strconv.Atoi(string(rest[:comma]))
	if err != nil {
		return false
	}
	for _, form := range deltaForms {
		text, ok := bytes.CutPrefix(rest[comma:], []byte(form.head))
		if !ok {
			continue
		}
		end := plainEnd(text)
		if end < 0 || !closes(text[end+1:]) {
			return false
		}
		*d = delta{Type: form.kind}
		*d.member() = string(text[:end])
		*e = event{Type: "content_block_delta", Index: index, Delta: d}
		return true
	}
	return false
}

// member is the field that holds the text of a delta of its kind.
func (d *delta) member() *string {
	switch d.Type {
	case "input_json_delta":
		return &d.PartialJSON
	case "thinking_delta":
		return &d.Thinking
	}
	return &d.Text
}

// plainEnd returns the place of the quote that ends a JSON string without escapes; -1: it has some, or is not valid.
func plainEnd(b []byte) int {
	end := bytes.IndexByte(b, '"')
	if end < 0 || bytes.IndexByte(b[:end], '\\') >= 0 || !utf8.Valid(b[:end]) {
		return -1
	}
	for _, c := range b[:end] {
		if c < 0x20 {
			return -1
		}
	}
	return end
}

// closes reports whether only the two braces of an event follow, with spaces.
func closes(b []byte) bool {
	braces := 0
	for _, c := range b {
		switch c {
		case '}':
			braces++
		case ' ':
		default:
			return false
		}
	}
	return braces == 2
}
