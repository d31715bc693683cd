package term

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// tabStop is the distance of tab stops in cells.
const tabStop = 8

// Width is the number of cells that one line of escaped text takes: 2 for ideographs and emoji, 0 for
// marks and joiners, tabs up to the next stop. Characters of ambiguous width count 1, as terminals outside
// of East Asia draw them.
func Width(s string) int {
	cells := 0
	for s != "" {
		n, w := cluster(s, cells)
		s, cells = s[n:], cells+w
	}
	return cells
}

// Truncate shortens one line of escaped text to at most cells, tail included, which replaces the part that
// was cut off ("…"). No character is cut in two. If not even the tail fits, it is cut itself.
func Truncate(s string, cells int, tail string) string {
	if len(s) <= cells && plain(s) && !strings.Contains(s, "\t") || Width(s) <= cells {
		return s
	}
	room := cells - Width(tail)
	if room < 0 {
		return prefix(tail, cells)
	}
	return prefix(s, room) + tail
}

// prefix is the longest start of s that fits into cells.
func prefix(s string, cells int) string {
	end, at := 0, 0
	for end < len(s) {
		n, w := cluster(s[end:], at)
		if at+w > cells {
			break
		}
		end, at = end+n, at+w
	}
	return s[:end]
}

// cluster returns the bytes and the cells of the first character of s as people see it: with its marks,
// or a whole emoji sequence, flag or Hangul syllable. at is the cell it begins in.
func cluster(s string, at int) (bytes, cells int) {
	r, n := utf8.DecodeRuneInString(s)
	switch {
	case r == '\t':
		return n, tabStop - at%tabStop
	case r < ' ' || r == 0x7f:
		return n, 0
	case r < 0x300 && (n == len(s) || s[n] < utf8.RuneSelf):
		return n, 1
	}
	cells = runeWidth(r)
	if second, m := utf8.DecodeRuneInString(s[n:]); flagLetter(r) && flagLetter(second) {
		n, cells = n+m, 2
	}
	for n < len(s) {
		m, wide := extension(r, s[n:])
		if m == 0 {
			break
		}
		if wide {
			cells = 2
		}
		n += m
	}
	return n, cells
}

// extension returns the bytes at the start of s that belong to the character that base began, and whether
// they make it two cells wide.
func extension(base rune, s string) (bytes int, wide bool) {
	r, n := utf8.DecodeRuneInString(s)
	switch {
	case r == asEmoji:
		return n, pictorial(base) || strings.HasPrefix(s[n:], keycap)
	case r == zwj && pictorial(base):
		if next, m := utf8.DecodeRuneInString(s[n:]); pictorial(next) {
			n += m
		}
		return n, false
	case skinTone(r) && pictorial(base), r >= 0x300 && runeWidth(r) == 0:
		return n, false
	}
	return 0, false
}

// keycap encloses the digit before it.
const keycap = "\u20e3"

func flagLetter(r rune) bool { return 0x1f1e6 <= r && r <= 0x1f1ff }
func skinTone(r rune) bool   { return 0x1f3fb <= r && r <= 0x1f3ff }

// runeWidth is the width of a character that stands alone. Facts come from Unicode's East Asian Width
// (UAX #11); the vowels and tails of a Hangul syllable are drawn into the cells of its first letter.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case isMark(r) || unicode.Is(unicode.Cf, r) || 0x1160 <= r && r <= 0x11ff:
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Cluster returns the bytes and the cells of the first character of one line of escaped text, as people see
// it: with its marks, or a whole emoji sequence, flag or Hangul syllable. at is the cell it begins in.
func Cluster(s string, at int) (bytes, cells int) { return cluster(s, at) }
