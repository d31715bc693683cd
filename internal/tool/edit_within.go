package tool

import (
	"strings"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/tool/patch"
)

// within finds the one place where old_string is a part of the text that differs only by spaces at line ends, or also
// by typographic characters. Unlike the places of whole lines it may begin and end within a line.
func within(view, old, fresh string) (guess, bool) {
	for i, fold := range []func(string) string{func(s string) string { return s }, patch.Plain} {
		text, from := flat(view, fold)
		want, _ := flat(old, fold)
		if blanks := old[len(strings.TrimRight(old, " \t")):]; blanks != "" {
			want += blanks // the line goes on behind it
		}
		if len(strings.TrimSpace(want)) < 3 || !strings.Contains(text, want) {
			continue
		}
		at, ok := once(text, want)
		if ok = ok && whole(from, at.Start) && whole(from, at.End); !ok {
			return guess{}, false
		}
		last := from[at.End-1]
		_, size := utf8.DecodeRuneInString(view[last:])
		g := guess{region: files.Region{Start: from[at.Start], End: last + size}, new: fresh}
		g.why = "where the text is alike except for " + []string{patch.Folds[0].Name, patch.Folds[2].Name}[i]
		return g, true
	}
	return guess{}, false
}

// whole reports whether a character of the source begins at a byte of the flat text.
func whole(from []int, at int) bool { return at == 0 || at == len(from) || from[at] != from[at-1] }

// flat is a text without the spaces at its line ends and with each character folded, and where each of its bytes comes
// from.
func flat(s string, fold func(string) string) (text string, from []int) {
	var b strings.Builder
	for at := 0; at < len(s); {
		if n := blanks(s[at:]); n > 0 && (at+n == len(s) || s[at+n] == '\n') {
			at += n
			continue
		}
		_, size := utf8.DecodeRuneInString(s[at:])
		put := s[at : at+size]
		if put[0] >= utf8.RuneSelf {
			put = fold(put)
		}
		b.WriteString(put)
		for range len(put) {
			from = append(from, at)
		}
		at += size
	}
	return b.String(), from
}

// blanks counts the blanks and tabs at the start of a text.
func blanks(s string) int { return len(s) - len(strings.TrimLeft(s, " \t\r")) }
