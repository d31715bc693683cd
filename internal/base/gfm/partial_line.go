package gfm

import (
	"slices"
	"strings"
)

// PartialLine is the visible part of a line that has not ended: nothing while it may still become anything, so
// that a heading does not flash up for the first "-" of a list.
func PartialLine[T any](partial string, b *Blocks[T]) string {
	if b.Leaf != nil && (b.Leaf.Kind == Fence || b.Leaf.Kind == Indented || b.Leaf.Kind == HTML) {
		if b.Leaf.Kind == Fence && strings.Trim(strings.TrimSpace(partial), string(b.Leaf.fenceChar)) == "" {
			return "" // perhaps the end of the code
		}
		return partial
	}
	t := strings.Trim(partial, " >")
	switch {
	case strings.Trim(t, "-=*_+#`~|:. \t") == "":
		return ""
	case strings.Trim(t, "0123456789") == "" || strings.Trim(t, "0123456789") == "." || strings.Trim(t,
		"0123456789") == ")":
		return ""
	case strings.HasPrefix(t, "```") || strings.HasPrefix(t, "~~~"):
		return partial[:strings.IndexByte(partial, t[0])] + t[:3] // the language may still grow
	case strings.HasPrefix(t, "- [") && len(t) < 6:
		return ""
	}
	return partial
}

// CloseInline closes the open marks in the text of a block, so that it is shown as it will most likely
// be: "**bo" as bold text, "[text](http://ex" as a link's text.
func CloseInline(lines []string) []string {
	text := strings.Join(lines, "\n")
	closed := closing(text)
	if closed == text {
		return lines
	}
	return strings.Split(closed, "\n")
}

// closing adds the missing end of a text.
func closing(s string) string {
	var stack []mark
	for i := 0; i < len(s); {
		switch c := s[i]; c {
		case '\\':
			i += 2
			continue
		case '`':
			n := run(s[i:], '`')
			end := codeEnd(s[i+n:], n)
			if end < 0 {
				return closeCode(s, i, n) + unwind(stack)
			}
			i += n + end
			continue
		case '*', '_', '~':
			n := run(s[i:], c)
			if c == '_' && i > 0 && letter(s[i-1]) && i+n < len(s) && letter(s[i+n]) {
				i += n
				continue
			}
			stack = emphasis(stack, s, i, n)
			i += n
			continue
		case '[':
			if cut, ok := openLink(s[i:]); ok {
				return trimOpen(s[:i], &stack) + cut + unwind(stack)
			}
		}
		i++
	}
	return trimOpen(s, &stack) + unwind(stack)
}

func run(s string, c byte) int {
	n := 0
	for n < len(s) && s[n] == c {
		n++
	}
	return n
}

// codeEnd finds the run of n backticks that ends a code span, and returns the place behind it.
func codeEnd(s string, n int) int {
	for i := 0; i < len(s); i++ {
		if s[i] == '`' {
			m := run(s[i:], '`')
			if m == n {
				return i + m
			}
			i += m - 1
		}
	}
	return -1
}

// closeCode ends the code span that begins at i.
func closeCode(s string, i, n int) string {
	body := strings.TrimRight(s[i+n:], "` ")
	if body == "" || n > 2 {
		return strings.TrimRight(s[:i], " ")
	}
	return s[:i+n] + body + s[i:i+n]
}

func letter(c byte) bool {
	return 'a' <= c|' ' && c|' ' <= 'z' || '0' <= c && c <= '9' || c >= 0x80
}

// emphasis opens or closes emphasis with the run of n characters at i.
func emphasis(stack []mark, s string, i, n int) []mark {
	m := s[i : i+min(n, 3)]
	after := i + n
	opens := after < len(s) && s[after] != ' ' && s[after] != '\n' || after == len(s)
	closes := i > 0 && s[i-1] != ' ' && s[i-1] != '\n'
	if closes {
		for k := len(stack) - 1; k >= 0; k-- {
			if stack[k].text == m {
				return stack[:k]
			}
		}
	}
	if top := len(stack) - 1; closes && after == len(s) && top >= 0 && len(stack[top].text) > n &&
		stack[top].text[0] == m[0] {
		return append(slices.Clone(stack[:top]), mark{stack[top].text[n:], stack[top].at}) // the first half of the end
	}
	if m == "~" || !opens || closes && after == len(s) && n < 2 || len(stack) > 8 {
		return stack
	}
	return append(stack, mark{m, i})
}

// mark is emphasis that is open, from where it begins.
type mark struct {
	text string
	at   int
}

// trimOpen drops marks at the very end that have nothing in them yet.
func trimOpen(s string, stack *[]mark) string {
	for k := len(*stack) - 1; k >= 0 && (*stack)[k].at+len((*stack)[k].text) == len(s); k-- {
		s = s[:(*stack)[k].at]
		*stack = (*stack)[:k]
	}
	return s
}

func unwind(stack []mark) string {
	var b strings.Builder
	for k := len(stack) - 1; k >= 0; k-- {
		b.WriteString(stack[k].text)
	}
	return b.String()
}

// openLink reports a link at the start of s whose URL has not ended, and the text to show for it.
func openLink(s string) (shown string, ok bool) {
	end := strings.Index(s, "](")
	if end < 0 || strings.Contains(s[:end], "[[") || strings.ContainsAny(s[end+2:], ") \n") {
		return "", false
	}
	return s[1:end], true
}
