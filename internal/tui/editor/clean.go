package editor

import (
	"strings"
	"unicode/utf8"
)

// clean makes text from outside fit for the editor: line ends become newlines, escape sequences and control
// characters go, and what is not UTF-8 becomes U+FFFD. What is merely invisible stays: it is shown when drawn.
func clean(s string) string {
	if tidy(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == 0x1b:
			i += sequence(s[i:])
			continue
		case c == '\r':
			b.WriteByte('\n')
			if strings.HasPrefix(s[i+1:], "\n") {
				i++
			}
		case c == '\n' || c == '\t' || c >= ' ' && c < 0x7f:
			b.WriteByte(c)
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(s[i:])
			if r >= 0xa0 && r < chipFirst {
				b.WriteRune(r)
			} else if r >= chipFirst {
				b.WriteRune(utf8.RuneError)
			}
			i += n
			continue
		}
		i++
	}
	return b.String()
}

// tidy reports that there is nothing to clean.
func tidy(s string) bool {
	ascii := true
	for i := range len(s) {
		c := s[i]
		if c < ' ' && c != '\n' && c != '\t' || c == 0x7f || c == 0xf4 || c == 0xc2 {
			return false // 0xc2 begins the C1 controls, and harmless characters too
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	return ascii || utf8.ValidString(s)
}

// sequence is the length of the escape sequence that s begins with: CSI up to its final byte, OSC, DCS and
// the like up to their end, else the two bytes.
func sequence(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
			if s[i] < 0x20 || s[i] > 0x7e {
				return i
			}
		}
		return len(s)
	case ']', 'P', 'X', '^', '_':
		for i := 2; i < len(s); i++ {
			switch {
			case s[i] == 7:
				return i + 1
			case s[i] == 0x1b && strings.HasPrefix(s[i+1:], `\`):
				return i + 2
			case s[i] == '\n':
				return i // never swallow lines after a sequence that does not end
			}
		}
		return len(s)
	}
	if s[1] >= 0x20 && s[1] < 0x7f {
		return 2
	}
	return 1
}
