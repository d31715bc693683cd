package permission

import (
	"bytes"
	"encoding/json"
)

// ValidJSON is json.Valid, and quicker for objects of texts, whole numbers and truth values, as the inputs of most
// calls are.
func ValidJSON(b []byte) bool { return plainObject(b) || json.Valid(b) }

// plainObject reports whether b is such an object. It may miss one.
func plainObject(b []byte) bool {
	if b = blankless(b); len(b) == 0 || b[0] != '{' {
		return false
	}
	for more := true; more; {
		ok := false
		if b, ok = plainString(blankless(b[1:])); !ok {
			return false
		}
		if b = blankless(b); len(b) == 0 || b[0] != ':' {
			return false
		}
		if b, ok = plainValue(blankless(b[1:])); !ok {
			return false
		}
		if b = blankless(b); len(b) == 0 {
			return false
		}
		more = b[0] == ','
	}
	return b[0] == '}' && len(blankless(b[1:])) == 0
}

// plainValue returns the rest behind a text, a whole number, true or false.
func plainValue(b []byte) (rest []byte, ok bool) {
	for _, word := range []string{"true", "false"} {
		if len(b) >= len(word) && string(b[:len(word)]) == word {
			return b[len(word):], true
		}
	}
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	if n > 0 {
		return b[n:], n == 1 || b[0] != '0'
	}
	return plainString(b)
}

// plainString returns the rest behind a text whose escapes are of one character.
func plainString(b []byte) (rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '"' {
		return nil, false
	}
	for i := 1; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return b[i+1:], true
		case c < ' ':
			return nil, false
		case c == '\\':
			if i++; i == len(b) {
				return nil, false
			}
			switch b[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			default:
				return nil, false
			}
		}
	}
	return nil, false
}

// blankless is JSON without the blanks at its start.
func blankless(b []byte) []byte {
	if len(b) > 0 && b[0] > ' ' {
		return b
	}
	return bytes.TrimLeft(b, " \t\r\n")
}
