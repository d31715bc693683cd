package llm

import (
	"bytes"
	"encoding/json"
)

// Mended is a call whose input is nearly JSON, with the input that it certainly means: control characters in strings
// are escaped (a newline that was written as it is), and a comma before a closing bracket is left out. Any other call,
// and one that stays broken, is returned as it is.
func (c ToolCall) Mended() ToolCall {
	if c.Raw == "" || c.Name == "" || c.Name == unnamed {
		return c
	}
	text := mend([]byte(c.Raw))
	if !IsObject(text) || hasTwins(text) {
		return c
	}
	c.Input, c.Raw = AppendCanonical(make([]byte, 0, len(text)), bytes.TrimSpace(text)), ""
	return c
}

func mend(raw []byte) []byte {
	out := make([]byte, 0, len(raw)+16)
	quoted := false
	for i := 0; i < len(raw); i++ {
		switch ch := raw[i]; {
		case quoted && ch == '\\' && i+1 < len(raw): // of a wrong escape the meaning is not certain
			out = append(out, ch, raw[i+1])
			i++
		case quoted && ch < 0x20:
			out = appendEscape(out, ch)
		case ch == '"':
			quoted = !quoted
			out = append(out, ch)
		case !quoted && ch == ',' && closes(raw[i+1:]) && !opens(out):
		default:
			out = append(out, ch)
		}
	}
	return out
}

// closes reports whether the next token of a text is a closing bracket.
func closes(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && (text[0] == '}' || text[0] == ']')
}

// opens reports whether the last token of a text is an opening bracket or a comma: nothing stands before a comma then.
func opens(text []byte) bool {
	text = bytes.TrimRight(text, " \t\r\n")
	return len(text) == 0 || bytes.IndexByte([]byte("{[,:"), text[len(text)-1]) >= 0
}

// hasTwins reports whether an object of a text has a key twice: a quotation mark is missing then, or one is too many.
func hasTwins(text []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(text))
	var open []map[string]bool // nil: an array
	key := false
	for {
		t, err := dec.Token()
		if err != nil {
			return false
		}
		inObject := len(open) > 0 && open[len(open)-1] != nil
		if d, ok := t.(json.Delim); ok {
			switch d {
			case '{':
				open, key = append(open, map[string]bool{}), true
				continue
			case '[':
				open, key = append(open, nil), false
				continue
			}
			open = open[:len(open)-1]
			key = len(open) > 0 && open[len(open)-1] != nil
			continue
		}
		if name, ok := t.(string); ok && inObject && key {
			if open[len(open)-1][name] {
				return true
			}
			open[len(open)-1][name], key = true, false
			continue
		}
		key = inObject
	}
}
