package patch

import (
	"strings"
	"unicode"
)

// Fold makes lines alike that differ only in one way.
type Fold struct {
	Name string // the way
	Line func(string) string
}

// Folds are the ways in which the lines of a model may differ from those of a file and still mean them, the smallest
// first.
var Folds = []Fold{
	{"spaces at line ends", trimEnd},
	{"indentation", strings.TrimSpace},
	{"quotes, dashes or other special characters", func(s string) string { return Plain(strings.TrimSpace(s)) }},
}

func trimEnd(s string) string { return strings.TrimRight(s, " \t\r") }

// Plain maps typographic characters to the ASCII ones that they are taken for. Blanks of all kinds become spaces, those
// of no width nothing.
func Plain(s string) string {
	if isASCII(s) {
		return s
	}
	s = strings.ReplaceAll(s, "…", "...")
	return strings.Map(func(r rune) rune {
		switch r {
		case '‘', '’', '‚', '‛', '′':
			return '\''
		case '“', '”', '„', '‟', '″', '«', '»':
			return '"'
		case '‐', '‑', '‒', '–', '—', '―', '−':
			return '-'
		case '\u200b', '\u200c', '\u200d', '\u2060', '\ufeff':
			return -1
		case '\t':
			return r
		}
		if unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, s)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// Shift is by how much the indentation of lines differs from that of others, if by the same in all that are not blank:
// take is what is cut from each of the first, put what comes in its place.
func Shift(from, to []string) (take, put string, ok bool) {
	known := false
	for i := range from {
		if strings.TrimSpace(from[i]) == "" || i >= len(to) {
			continue
		}
		a, b := indent(from[i]), indent(to[i])
		n := 0
		for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
			n++
		}
		t, p := a[:len(a)-n], b[:len(b)-n]
		if t != "" && p != "" { // tabs for spaces: the whole indentation changes
			t, p = a, b
		}
		if known && (t != take || p != put) {
			return "", "", false
		}
		take, put, known = t, p, true
	}
	return take, put, known
}

func indent(s string) string { return s[:len(s)-len(strings.TrimLeft(s, " \t"))] }

// Shifted applies a Shift to a line; ok is false if the line does not begin with the part to cut.
func Shifted(line, take, put string) (string, bool) {
	if strings.TrimSpace(line) == "" {
		return line, true
	}
	rest, ok := strings.CutPrefix(line, take)
	if !ok {
		return line, false
	}
	return put + rest, true
}
