package gateway

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/machine/term"
)

// Units is the length of a text in the units of UTF-16, which chat services count.
func Units(s string) (n int) {
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// Split cuts Markdown into pieces of at most so many units of UTF-16, and lines, at the ends of lines where it can. A
// fence that is cut is closed, and opened again in the next piece.
func Split(text string, units, lines int) (out []string) {
	var piece strings.Builder
	size, count, fence := 0, 0, ""
	flush := func() {
		if strings.TrimSpace(piece.String()) == "" || piece.String() == fence+"\n" {
			return
		}
		end := ""
		if fence != "" {
			end = fenceEnd(fence)
		}
		out = append(out, strings.TrimRight(piece.String(), "\n")+end)
		piece.Reset()
		if size, count = 0, 0; fence != "" {
			piece.WriteString(fence + "\n")
			size, count = Units(fence)+1, 1
		}
	}
	for line := range strings.Lines(text) {
		for _, part := range cut(line, units/2) {
			if size+Units(part)+16 > units || count+1 > lines {
				flush()
			}
			piece.WriteString(part)
			size, count = size+Units(part), count+1
		}
		fence = fenceAfter(fence, line)
	}
	fence = ""
	flush()
	return out
}

func fenceEnd(fence string) string { return "\n" + fence[:strings.IndexFunc(fence+" ", notFence)] }
func notFence(r rune) bool         { return r != '`' && r != '~' }

// fenceAfter is the line that opened the code block that a line leaves open; empty: there is none.
func fenceAfter(open, line string) string {
	t := strings.TrimSpace(line)
	n := strings.IndexFunc(t+" ", notFence)
	switch {
	case n < 3:
		return open
	case open == "":
		return t
	case n == len(t) && t[0] == open[0] && n >= strings.IndexFunc(open+" ", notFence):
		return ""
	}
	return open
}

// cut cuts a line that is too long.
func cut(line string, units int) (out []string) {
	start, n := 0, 0
	for i, r := range line {
		if n += utf16.RuneLen(r); n > units {
			out = append(out, line[start:i]+"\n")
			start, n = i, utf16.RuneLen(r)
		}
	}
	return append(out, line[start:])
}

// escape is text of a program as Markdown that shows it as it is.
func escape(s string) string {
	var b strings.Builder
	for _, r := range term.EscapeLine(strings.Join(strings.Fields(s), " ")) {
		if strings.ContainsRune("\\`*_{}[]()#+-.!|<>~=$&", r) && !(r == '.' || r == '-' || r == '(' || r == ')' || r == '!') {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// fenced is a text as a code block. What a reader would not see in it is shown.
func fenced(text, language string) string {
	text = term.Escape(strings.TrimRight(text, "\n"))
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + text + "\n" + fence
}

// upper begins with a capital letter.
func upper(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// short is the beginning of a text.
func short(s string, runes int) string {
	if utf8.RuneCountInString(s) <= runes {
		return s
	}
	return string([]rune(s)[:runes-1]) + "…"
}
