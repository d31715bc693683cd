package cli

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// escape makes foreign text safe for a terminal.
func escape(s string) string {
	clean := true
	for _, r := range s {
		if r == utf8.RuneError || (unicode.Is(unicode.C, r) && r != '\n' && r != '\t') {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.C, r) && r != '\n' && r != '\t' {
			return utf8.RuneError
		}
		return r
	}, s)
}
