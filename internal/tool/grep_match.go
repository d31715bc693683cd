package tool

import (
	"bytes"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// matcher finds lines. Its syntax is Go's, which is ripgrep's but for the rarest constructs; unlike there,
// \w, \d, \s and \b know ASCII only. A literal that every match must hold, where there is one, is looked for first: that
// is twenty times as fast as Go's regexp.
type matcher struct {
	re        *regexp.Regexp
	literal   []byte
	whole     bool // the literal is all of the pattern
	fold      bool // the literal is in lower case and letters may be in either
	multiline bool
}

func newMatcher(pattern string, ignoreCase, multiline bool) (*matcher, error) {
	flags := "m"
	if ignoreCase {
		flags += "i"
	}
	if multiline {
		flags += "s"
	}
	re, err := regexp.Compile("(?" + flags + ":" + pattern + ")")
	if err != nil {
		if _, plain := regexp.Compile(pattern); plain != nil {
			err = plain // without our own flags in the text
		}
		return nil, fmt.Errorf("the pattern is not a regular expression: %w. A literal brace, bracket or parenthesis needs a backslash", err)
	}
	m := &matcher{re: re, multiline: multiline}
	if tree, err := syntax.Parse(re.String(), syntax.Perl); err == nil {
		lit := required(tree.Simplify())
		m.literal, m.fold = []byte(lit.text), lit.fold
		m.whole = lit.whole && !lit.fold
	}
	return m, nil
}

// literalOf is a text that every match of an expression holds.
type literalOf struct {
	text  string
	fold  bool
	whole bool // it is the whole expression
}

// required finds the longest literal that every match of re holds.
func required(re *syntax.Regexp) literalOf {
	switch re.Op {
	case syntax.OpLiteral:
		return literalText(re)
	case syntax.OpCapture:
		return required(re.Sub[0])
	case syntax.OpPlus:
		l := required(re.Sub[0])
		l.whole = false
		return l
	case syntax.OpRepeat:
		if re.Min > 0 {
			l := required(re.Sub[0])
			l.whole = false
			return l
		}
	case syntax.OpConcat:
		var best literalOf
		for _, sub := range re.Sub {
			if l := required(sub); len(l.text) > len(best.text) {
				best = l
			}
		}
		best.whole = false
		return best
	}
	return literalOf{}
}

// literalText is the text of a literal. Folded, only ASCII is of use, and not k and s, which characters
// beyond ASCII fold to (the Kelvin sign, the long s).
func literalText(re *syntax.Regexp) literalOf {
	fold := re.Flags&syntax.FoldCase != 0
	if !fold {
		return literalOf{string(re.Rune), false, true}
	}
	best, at := "", 0
	lower := []byte(strings.ToLower(string(re.Rune)))
	for i := 0; i <= len(lower); i++ {
		if i < len(lower) && lower[i] < utf8.RuneSelf && lower[i] != 'k' && lower[i] != 's' {
			continue
		}
		if i-at > len(best) {
			best = string(lower[at:i])
		}
		at = i + 1
	}
	return literalOf{best, true, false}
}

// next finds the first line at or after from that may match: where its literal is, or -1. lowered is buf in
// lower case, for a folded literal.
func (m *matcher) next(buf, lowered []byte, from int) int {
	if from >= len(buf) {
		return -1
	}
	if len(m.literal) == 0 {
		return from
	}
	if m.fold {
		buf = lowered
	}
	i := bytes.Index(buf[from:], m.literal)
	if i < 0 {
		return -1
	}
	return from + i
}

// lower writes ASCII letters of src in lower case.
func (m *matcher) lower(dst, src []byte) []byte {
	if !m.fold || len(m.literal) == 0 {
		return nil
	}
	dst = append(dst[:0], src...)
	for i, c := range dst {
		if 'A' <= c && c <= 'Z' {
			dst[i] = c + 'a' - 'A'
		}
	}
	return dst
}

// in finds the first match in one line, as [start, end], or nil. at is where the literal was found in it.
func (m *matcher) in(line []byte, at int) []int {
	if m.whole {
		return []int{at, at + len(m.literal)}
	}
	return m.re.FindIndex(line)
}
