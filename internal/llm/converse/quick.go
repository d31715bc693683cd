package converse

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// quickText reads the event of which a stream mostly consists, a piece of text in the very form in which Bedrock writes it,
// if the text has no escapes. encoding/json, which reads all others, takes ten times as long.
func quickText(data []byte, e *event) bool {
	rest, ok := bytes.CutPrefix(data, []byte(`{"contentBlockIndex":`))
	comma := bytes.IndexByte(rest, ',')
	if !ok || comma <= 0 || comma > 4 {
		return false
	}
	index, err := strconv.Atoi(string(rest[:comma]))
	if err != nil || index < 0 || rest[0] == '0' && comma > 1 || rest[0] == '+' || rest[0] == '-' {
		return false
	}
	text, ok := bytes.CutPrefix(rest[comma:], []byte(`,"delta":{"text":"`))
	if !ok {
		return false
	}
	end := plainEnd(text)
	if end < 0 || !padded(text[end+1:]) {
		return false
	}
	s := string(text[:end])
	*e = event{Index: index, Delta: &delta{Text: &s}}
	return true
}

// padded reports whether the rest of an event is its end, with the padding "p" that Bedrock adds.
func padded(rest []byte) bool {
	rest, ok := bytes.CutPrefix(rest, []byte("}"))
	if !ok {
		return false
	}
	if string(rest) == "}" {
		return true
	}
	pad, ok := bytes.CutPrefix(rest, []byte(`,"p":"`))
	if !ok {
		return false
	}
	end := plainEnd(pad)
	return end >= 0 && string(pad[end+1:]) == "}"
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
