package term

import (
	"fmt"
	"strings"
)

// How much room indentation and empty lines may take in a command that somebody decides on; beyond that
// they are counted, because they could push what follows out of sight.
const (
	indentation = 32
	emptyLines  = 3
)

// EscapeCommand makes a foreign command, or another text of several lines that somebody decides on, safe to
// show in a dialog. It is as strict as [EscapeLine], but lines stay lines: every newline is shown as ↵ and
// then obeyed, so that what the screen wraps is told from what is a line of its own. Indentation of up to
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
