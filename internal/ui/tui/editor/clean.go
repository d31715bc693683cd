package editor

import (
	"strings"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/machine/term"
)

// clean makes text from outside fit for the editor: line ends become newlines, escape sequences and control
// characters go, and invalid UTF-8 becomes U+FFFD. Characters that are merely invisible stay: they are shown when
// drawn.
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
			n, _ := term.Sequence(s[i:])
			i += n
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
