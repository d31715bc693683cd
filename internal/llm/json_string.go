package llm

import (
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendQuoted appends s as a JSON string with the minimum of escapes (no HTML escapes). Invalid UTF-8
// becomes U+FFFD, as in encoding/json.
func AppendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, s[from:i]...), "\ufffd"...)
				from = i + 1
			}
			i += size
			continue
		}
		dst = append(dst, s[from:i]...)
		dst = appendEscape(dst, c)
		i++
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// AppendCanonical appends a valid JSON value without white space between its tokens and without the HTML
// escapes of encoding/json. Storing a message compacts and escapes a model's raw JSON; this function maps
// both forms to the same bytes, which keeps the prefix of a request the same before and after a resume.
func AppendCanonical(dst, raw []byte) []byte {
	inString := false
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case !inString:
			if c == ' ' || c == '\n' || c == '\r' || c == '\t' {
				continue
			}
			inString = c == '"'
		case c == '"':
			inString = false
		case c == '\\' && i+1 < len(raw):
			if plain, n := htmlEscape(raw[i:]); n > 0 {
				dst = append(dst, plain...)
				i += n - 1
				continue
			}
			dst = append(dst, c)
			i++
			c = raw[i]
		}
		dst = append(dst, c)
	}
	return dst
}

// htmlEscape recognises escapes that json.Marshal adds although JSON allows the characters.
func htmlEscape(b []byte) (plain string, n int) {
	if len(b) < 6 {
		return "", 0
	}
	switch string(b[:6]) {
	case `\u003c`:
		return "<", 6
	case `\u003e`:
		return ">", 6
	case `\u0026`:
		return "&", 6
	case `\u2028`:
		return "\u2028", 6
	case `\u2029`:
		return "\u2029", 6
	}
	return "", 0
}
