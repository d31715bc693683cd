package shell

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

func escapePattern(text string) string {
	if !strings.ContainsAny(text, `*?[]\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if strings.IndexByte(`*?[]\`, text[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// unescape takes the backslashes off unquoted text.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' {
			if i++; i >= len(text) {
				b.WriteByte('\\')
				break
			}
			if text[i] == '\n' {
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// unescapeDouble takes off the backslashes that count within double quotes.
func unescapeDouble(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			switch text[i+1] {
			case '\n':
				i++
				continue
			case '$', '`', '"', '\\':
				i++
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// ansi decodes the text of $'...'; ok is false when bash would read it differently or it holds a NUL.
func ansi(text string) (out string, ok bool) {
	if !strings.Contains(text, `\`) {
		return text, true
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		if text[i] != '\\' || i+1 >= len(text) {
			b.WriteByte(text[i])
			i++
			continue
		}
		n, piece, good := ansiEscape(text[i+1:])
		if !good {
			return b.String(), false
		}
		b.WriteString(piece)
		i += 1 + n
	}
	return b.String(), !strings.Contains(b.String(), "\x00")
}

// simpleEscapes are the one-letter escapes of $'...' and printf.
const simpleEscapes = "a\ab\be\x1bE\x1bf\fn\nr\rt\tv\v\\\\''\"\"??"

// ansiEscape decodes the escape behind a backslash and returns its length in bytes.
func ansiEscape(s string) (n int, text string, ok bool) {
	for i := 0; i < len(simpleEscapes); i += 2 {
		if s[0] == simpleEscapes[i] {
			return 1, simpleEscapes[i+1 : i+2], true
		}
	}
	switch s[0] {
	case 'x':
		return digits(s, 1, 2, 16)
	case 'u':
		return digits(s, 1, 4, 16)
	case 'U':
		return digits(s, 1, 8, 16)
	case '0', '1', '2', '3', '4', '5', '6', '7':
		return digits(s, 0, 3, 8)
	case 'c':
		if len(s) < 2 {
			return 0, "", false
		}
		return 2, string(rune(s[1] & 0x1f)), true
	}
	_, size := utf8.DecodeRuneInString(s)
	return size, `\` + s[:size], true
}

// digits reads up to most digits after skip bytes. Bytes stay bytes; \u and \U become UTF-8.
func digits(s string, skip, most, base int) (n int, text string, ok bool) {
	end := skip
	for end < len(s) && end < skip+most {
		if _, err := strconv.ParseUint(s[end:end+1], base, 8); err != nil {
			break
		}
		end++
	}
	if end == skip {
		return 1, `\` + s[:1], true
	}
	v, err := strconv.ParseUint(s[skip:end], base, 32)
	if err != nil || v == 0 {
		return end, "", false
	}
	if base == 8 || most == 2 {
		return end, string([]byte{byte(v)}), true
	}
	return end, string(rune(v)), true
}
