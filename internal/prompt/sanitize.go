package prompt

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// sanitize makes foreign text safe to put between our tags: invisible characters, with which text can be
// hidden from the person who reads the file, are spelled out (<U+202E>), invalid UTF-8 becomes U+FFFD,
// CRLF becomes LF, and the tags in which lathe speaks lose their meaning.
func sanitize(s string) string {
	if plain(s) {
		return s
	}
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
	var b strings.Builder
	b.Grow(len(s))
	for i, r := range s {
		switch {
		case hidden(r) && !(i == 0 && r == 0xFEFF): // a byte order mark at the start has no meaning
			fmt.Fprintf(&b, "<U+%04X>", r)
		case r == 0xFEFF:
		case r == '<' && isReminderTag(s[i:]):
			b.WriteString("&lt;")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// plain reports whether sanitize would change nothing, as for almost every file.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= utf8.RuneSelf || c == 0x7F || (c < 0x20 && c != '\n' && c != '\t') || (c == '<' && isReminderTag(s[i:])) {
			return false
		}
	}
	return true
}

func isReminderTag(s string) bool {
	s = strings.TrimPrefix(s[1:], "/")
	const name = "system-reminder"
	return len(s) >= len(name) && strings.EqualFold(s[:len(name)], name)
}

// hidden are control characters, those that turn the direction of writing, that have no width, and the tag
// characters that spell ASCII invisibly. Joiners (U+200C, U+200D) and U+FE0F belong to scripts and emoji.
func hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20, r >= 0x7F && r <= 0x9F:
		return true
	case r == 0xAD, r == 0x34F, r == 0x61C, r == 0x180E, r == 0x200B, r == 0x200E, r == 0x200F:
		return true
	case r >= 0x2028 && r <= 0x202E, r >= 0x2060 && r <= 0x206F:
		return true
	case r == 0xFEFF, r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0, r >= 0xFFF9 && r <= 0xFFFB:
		return true
	case r >= 0xE0000 && r <= 0xE0FFF:
		return true
	}
	return false
}

// oneLine is sanitized text without line breaks, at most limit bytes long, for names out of a repository.
func oneLine(s string, limit int) string {
	s = strings.NewReplacer("\n", " ", "\t", " ").Replace(sanitize(s))
	return cut(s, limit)
}

// Sanitize makes foreign text safe to send: invisible characters are spelled out, and the tags in which lathe speaks
// lose their meaning.
func Sanitize(s string) string { return sanitize(s) }

// cut shortens s to at most limit bytes at a character's border.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}

// reminder wraps text in the tags of lathe's own messages to the model.
func reminder(text string) string {
	return "<system-reminder>\n" + strings.TrimSpace(text) + "\n</system-reminder>"
}
