// Package term holds the facts about terminals that every front end needs: which text is safe to show, how
// many cells it takes, and how many colours there are.
//
// The words: foreign text is everything that lathe did not write itself (a model's reply, a file, a
// program's output, a path, an error of a server). It must be escaped before it reaches a terminal: raw,
// it can move the cursor, rewrite earlier lines, hide a command, fill the clipboard, or answer for the
// user. A block is text of several lines; a line is text shown in a place of one line, mostly one on
// which somebody decides: a command, a path, a title.
//
// [EscapeCommand] is for the command in a dialog: several lines, each as strict as a line.
//
// Promises of [Escape], [EscapeLine], [EscapeCommand], [Escaper] and [Writer], for any input:
//
//   - The output is valid UTF-8 without control characters other than newline and tab (a line has not
//     even those), without escape sequences, bidirectional controls, tag characters, and invisible
//     characters that could hide or reorder text.
//   - Nothing is left out: an escaped character is shown by its picture (␛), its number (‹U+202E›), or its
//     byte (\x9b).
//   - Escaping twice is the same as escaping once. Safe ASCII, which is nearly everything, is returned as
//     it is without an allocation.
package term

import (
	"fmt"
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape makes a block of foreign text safe. Newlines and tabs stay, CRLF becomes a newline. Joiners and
// variation selectors stay where scripts and emoji need them.
func Escape(s string) string {
	if plain(s) {
		return s
	}
	var e Escaper
	return e.Next(s) + e.End()
}

// plain reports that s is printable ASCII, newlines and tabs: nearly everything there is to show.
func plain(s string) bool { return plainRun(s) == len(s) }

// blanks is the longest run of spaces that a line shows as it is. More could push the rest out of
// sight.
const blanks = "        "

// EscapeLine makes foreign text safe for a place of one line on which somebody decides. It is strict: a
// newline is shown as ↵ and a tab as ⇥, a run of more than eight spaces as its length, and every
// character that could be taken for a space or for nothing by its number.
func EscapeLine(s string) string {
	if plain(s) && !strings.ContainsAny(s, "\n\t") && !strings.Contains(s, blanks+" ") {
		return s
	}
	return string(appendLine(nil, s))
}

// appendLine writes text strictly: nothing of it can move the cursor, hide or look like a space.
func appendLine(b []byte, s string) []byte {
	marks := 0
	for i := 0; i < len(s); {
		if n := len(s[i:]) - len(strings.TrimLeft(s[i:], " ")); n > 0 {
			b, marks = appendBlanks(b, n), 0
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if !isMark(r) {
			marks = 0
		} else {
			marks++
		}
		switch {
		case r == utf8.RuneError && n == 1:
			b = appendByte(b, s[i])
		case strings.HasPrefix(s[i:], "\r\n"):
			b, n = append(b, "↵"...), 2
		case r == '\n':
			b = append(b, "↵"...)
		case r == '\t':
			b = append(b, "⇥"...)
		case unsafeRune(r) || contextual(r) || r != ' ' && unicode.Is(unicode.Zs, r) || r == brailleBlank ||
			marks > mostMarks:
			b = appendShown(b, r)
		default:
			b = append(b, s[i:i+n]...)
		}
		i += n
	}
	return b
}

func appendBlanks(b []byte, n int) []byte {
	if n > len(blanks) {
		return fmt.Appendf(b, "‹%d spaces›", n)
	}
	return append(b, blanks[:n]...)
}

// appendShown writes a character that must not be shown as it is.
func appendShown(b []byte, r rune) []byte {
	switch {
	case r < ' ':
		return utf8.AppendRune(b, 0x2400+r) // the control pictures stand in the order of C0
	case r == 0x7f:
		return append(b, "␡"...)
	}
	b = append(b, "‹U+"...)
	const digits = "0123456789ABCDEF"
	for shift := max(12, (bits.Len32(uint32(r))-1)/4*4); shift >= 0; shift -= 4 {
		b = append(b, digits[r>>shift&0xf])
	}
	return append(b, "›"...)
}

// appendByte writes a byte that is not UTF-8.
func appendByte(b []byte, c byte) []byte {
	const digits = "0123456789abcdef"
	return append(b, '\\', 'x', digits[c>>4], digits[c&0xf])
}

const brailleBlank = 0x2800

// unsafeRune reports characters that are shown by their number wherever they stand. Newline and tab are
// among them: callers that keep these look first.
func unsafeRune(r rune) bool {
	switch {
	case r < 0x7f:
		return r < ' '
	case r < 0xa0: // DEL and C1
		return true
	case r == 0xad:
		return true // the soft hyphen
	case r < 0x300:
		return false
	case contextual(r):
		return false
	}
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Cs, invisible) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r) ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point) || r >= 0xf0000
}

// invisible are letters and marks without a glyph, which no category names: the combining grapheme joiner,
// the Hangul fillers, the Khmer inherent vowels, and the variation selectors of Mongolian and of symbols.
var invisible = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x034f, 0x034f, 1},
		{0x115f, 0x1160, 1},
		{0x17b4, 0x17b5, 1},
		{0x180b, 0x180f, 1},
		{0x3164, 0x3164, 1},
		{0xfe00, 0xfe0d, 1},
		{0xffa0, 0xffa0, 1},
	},
}

const (
	zwnj, zwj       = 0x200c, 0x200d
	asText, asEmoji = 0xfe0e, 0xfe0f
)

// contextual reports invisible characters that some scripts and emoji need, and that are therefore kept
// in a block where they do something: the joiners, and selectors of a form.
func contextual(r rune) bool {
	return r == zwnj || r == zwj || r == asText || r == asEmoji || ideographVariant(r)
}

// ideographVariant reports the selectors U+E0100 to U+E01EF, which choose the form of a Han character.
// They are also a way to write 240 different bytes unseen.
func ideographVariant(r rune) bool { return 0xe0100 <= r && r <= 0xe01ef }

// keeps reports whether a contextual character does something between its neighbours. next is
// utf8.RuneError where nothing follows.
func keeps(prev, r, next rune) bool {
	switch {
	case ideographVariant(r):
		return unicode.Is(unicode.Han, prev)
	case r == asText || r == asEmoji:
		return pictorial(prev) || '0' <= prev && prev <= '9' || prev == '#' || prev == '*'
	case r == zwj && (pictorial(prev) || prev == asEmoji) && pictorial(next):
		return true
	}
	return joining(prev) && joining(next)
}

// pictorial reports characters that emoji are made of.
func pictorial(r rune) bool {
	return r >= 0x203c && r != utf8.RuneError && (unicode.In(r, unicode.So, unicode.Sm) || r == 0x203c || r == 0x2049 ||
		0x1f3fb <= r && r <= 0x1f3ff)
}

// joining reports letters and marks of scripts whose shapes depend on joiners.
func joining(r rune) bool {
	return r >= 0x600 && r != utf8.RuneError && unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Mongolian,
		unicode.Nko,
		unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu,
		unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Myanmar, unicode.Khmer, unicode.Tibetan) &&
		unicode.In(r, unicode.L, unicode.M)
}
