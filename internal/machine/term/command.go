package term

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// How much room indentation and empty lines may take in a command that somebody decides on; beyond that
// they are counted, because they could push the rest out of sight.
const (
	indentation = 32
	emptyLines  = 3
)

// EscapeCommand makes a foreign command, or another text of several lines that somebody decides on, safe to
// show in a dialog. It is as strict as [EscapeLine], but lines stay lines: every newline is shown as ↵ and
// then obeyed, so that wrapped lines differ from separate lines. Indentation of up to
// 32 spaces stays; longer runs of blanks, and more than three empty lines in a row, are shown by their
// number.
func EscapeCommand(s string) string {
	if plain(s) && !strings.ContainsAny(s, "\n\t") && !strings.Contains(s, blanks+" ") {
		return s
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	var b []byte
	var empty []string // lines of nothing but blanks that were not written yet
	for s != "" {
		line, rest, more := strings.Cut(s, "\n")
		s = rest
		if more && strings.Trim(line, " \t") == "" {
			empty = append(empty, line)
			continue
		}
		b = appendEmpty(b, empty)
		empty = nil
		if b = appendIndented(b, line); more {
			b = append(b, "↵\n"...)
		}
	}
	return string(appendEmpty(b, empty))
}

func appendIndented(b []byte, line string) []byte {
	text := strings.TrimLeft(line, " ")
	if n := len(line) - len(text); n <= indentation && text != "" {
		b = append(b, line[:n]...)
	} else {
		b = appendBlanks(b, n)
	}
	return appendLine(b, text)
}

func appendEmpty(b []byte, lines []string) []byte {
	if len(lines) > emptyLines {
		return fmt.Appendf(b, "‹%d empty lines›↵\n", len(lines))
	}
	for _, l := range lines {
		b = append(appendIndented(b, l), "↵\n"...)
	}
	return b
}

// EscapeJSON writes the characters of JSON text that a terminal could act on or that hide others as \u
// escapes, which mean the same. Text without any is returned as it is.
func EscapeJSON(b []byte) []byte {
	at := bytes.IndexFunc(b, unsafeJSON)
	if at < 0 {
		return b
	}
	out := append(make([]byte, 0, len(b)+64), b[:at]...)
	for rest := b[at:]; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		switch {
		case !unsafeJSON(r) || r == utf8.RuneError:
			out = append(out, rest[:n]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		rest = rest[n:]
	}
	return out
}

// unsafeJSON: below DEL there are only JSON's own characters and its blanks.
func unsafeJSON(r rune) bool { return r >= 0x7f && !simple(r) && unsafeRune(r) }
