package llm

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxForeign limits the characters of a provider's text in an error.
const maxForeign = 500

// Clean makes foreign text fit for one line of a terminal: it collapses white space, escapes control, format
// and bidirectional characters and invalid UTF-8, and cuts text longer than 500 characters.
func Clean(s string) string {
	var b strings.Builder
	n, space := 0, false
	for i, size := 0, 0; i < len(s); i += size {
		var r rune
		r, size = utf8.DecodeRuneInString(s[i:])
		if unicode.IsSpace(r) && r != '\u0085' {
			space = b.Len() > 0
			continue
		}
		if n >= maxForeign {
			b.WriteString("…")
			break
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		n += writeClean(&b, r, s[i:i+size])
	}
	return b.String()
}

func writeClean(b *strings.Builder, r rune, raw string) int {
	switch {
	case r == utf8.RuneError && len(raw) == 1:
		fmt.Fprintf(b, `\x%02x`, raw[0])
		return 4
	case unicode.Is(unicode.C, r):
		fmt.Fprintf(b, `\u%04x`, r)
		return 6
	}
	b.WriteString(raw)
	return 1
}
