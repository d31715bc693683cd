package call

import (
	"slices"

	"github.com/lathe-dev/lathe/internal/permission"
)

// fits reports whether an input is an object of parameters under their own names, none of them null or to be mended, as
// nearly all are: then it is canonical. It may miss one that is, and is never wrong about one that is not.
func (d *declared) fits(input []byte) bool {
	if !permission.ValidJSON(input) {
		return false
	}
	rest := blankless(input)
	if rest[0] != '{' {
		return false
	}
	own := d.parameters()
	for rest = blankless(rest[1:]); rest[0] == '"'; rest = blankless(rest[1:]) {
		n := valueLength(rest)
		key := rest[1 : n-1]
		if slices.ContainsFunc(key, func(c byte) bool { return c == '\\' || c >= 0x80 }) {
			return false
		}
		kind, ok := own[string(key)]
		if !ok {
			return false
		}
		rest = blankless(blankless(rest[n:])[1:]) // behind the colon
		n = valueLength(rest)
		if rest[0] == 'n' || mend(rest[:n], kind) != nil {
			return false
		}
		if rest = blankless(rest[n:]); rest[0] == '}' {
			return true
		}
	}
	return rest[0] == '}'
}

// blankless is JSON without the blanks at its start.
func blankless(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t' || b[0] == '\n' || b[0] == '\r') {
		b = b[1:]
	}
	return b
}

// valueLength is the length of the value that valid JSON begins with.
func valueLength(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				return i + 1 + depth // a bracket around the value is not part of it
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
	}
	return len(b)
}
