package tool

import (
	"bytes"
	"fmt"
	"iter"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// matcher finds matches. Its syntax is Go's, which is ripgrep's but for the rarest constructs; unlike there,
// \w, \d, \s and \b know ASCII only. Literals of which every match has one, if there are any, are looked for first:
// that is twenty times as fast as Go's regexp.
type matcher struct {
	re        *regexp.Regexp
	literals  [][]byte
	fold      bool // the literals are in lower case, and letters of the text may be in either
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
		return nil, fmt.Errorf("the pattern is not a regular expression: %w. "+
			"A literal brace, bracket or parenthesis needs a backslash", err)
	}
	m := &matcher{re: re, multiline: multiline}
	if tree, err := syntax.Parse(re.String(), syntax.Perl); err == nil {
		found := required(tree)
		m.fold = found.fold
		for _, text := range found.texts {
			if m.fold {
				text = string(lower(nil, []byte(text)))
			}
			m.literals = append(m.literals, []byte(text))
		}
	}
	return m, nil
}

// literals are texts of which every match of an expression has one. Without texts nothing is known.
type literals struct {
	texts []string
	fold  bool // in either case
}

const mostLiterals = 16

// required finds the longest literals of an expression.
func required(re *syntax.Regexp) (best literals) {
	switch re.Op {
	case syntax.OpLiteral:
		return literalText(re)
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if l := required(sub); l.size() > best.size() {
				best = l
			}
		}
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			l := required(sub)
			best = literals{append(best.texts, l.texts...), best.fold || l.fold}
			if l.texts == nil || len(best.texts) > mostLiterals {
				return literals{}
			}
		}
	}
	return best
}

// literalText is the text of a literal. Of one in either case only ASCII is of use, and not k and s, which characters
// beyond ASCII fold to (the Kelvin sign, the long s).
func literalText(re *syntax.Regexp) literals {
	if re.Flags&syntax.FoldCase == 0 {
		return literals{texts: []string{string(re.Rune)}}
	}
	best := ""
	for part := range strings.FieldsFuncSeq(string(re.Rune), func(r rune) bool {
		return r >= utf8.RuneSelf || strings.ContainsRune("ksKS", r)
	}) {
		if len(part) > len(best) {
			best = part
		}
	}
	if best == "" {
		return literals{}
	}
	return literals{[]string{best}, true}
}

// size is that of the shortest text. Spaces do not count, since nearly each line has some.
func (l literals) size() (least int) {
	for i, text := range l.texts {
		if n := len(strings.TrimSpace(text)); i == 0 || n < least {
			least = n
		}
	}
	return least
}

// lower writes text in lower case, as far as it is ASCII, to buf or a larger one.
func lower(buf, text []byte) []byte {
	if cap(buf) < len(text) {
		buf = make([]byte, len(text))
	}
	buf = buf[:len(text)]
	for i, c := range text {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		buf[i] = c
	}
	return buf
}

// finder finds the literals in a text that is searched from its begin to its end.
type finder struct {
	text     []byte
	literals [][]byte
	found    []int // the next place of each; that of one that is not there is the end
}

// next is the first place from one on where there is a literal, or the end.
func (f *finder) next(from int) int {
	first := len(f.text)
	for i, literal := range f.literals {
		if f.found[i] < from {
			if f.found[i] = len(f.text); from < len(f.text) {
				if at := bytes.Index(f.text[from:], literal); at >= 0 {
					f.found[i] = from + at
				}
			}
		}
		first = min(first, f.found[i])
	}
	if len(f.literals) == 0 {
		return from
	}
	return first
}

// finder looks for the literals from a place on.
func (sc *scanner) finder(text []byte, from int) *finder {
	if sc.m.fold {
		sc.low = lower(sc.low, text)
		text = sc.low
	}
	f := &finder{text: text, literals: sc.m.literals, found: make([]int, len(sc.m.literals))}
	for i := range f.found {
		f.found[i] = from - 1
	}
	return f
}

// inLines yields the matches within the lines from a place on: of each line all of them with -o, else the first.
func (sc *scanner) inLines(text []byte, from int) iter.Seq[[]int] {
	most := 1
	if sc.s.in.OnlyMatch {
		most = -1
	}
	return func(yield func([]int) bool) {
		literals := sc.finder(text, from)
		for at := from; at < len(text); {
			hit := literals.next(at)
			if hit == len(text) {
				return
			}
			start, stop := lineFirst(text, hit), lineStop(text, hit)
			for _, loc := range sc.m.re.FindAllIndex(trimLine(text[start:stop]), most) {
				if !yield([]int{start + loc[0], start + loc[1]}) {
					return
				}
			}
			at = stop
		}
	}
}

// across yields the matches in a text, which may span lines.
func (sc *scanner) across(text []byte) iter.Seq[[]int] {
	most := -1
	if sc.s.mode == modeFiles {
		most = 1
	}
	return func(yield func([]int) bool) {
		if sc.finder(text, 0).next(0) == len(text) {
			return
		}
		for _, loc := range sc.m.re.FindAllIndex(text, most) {
			if loc[0] == len(text) && (loc[0] == 0 || text[loc[0]-1] == '\n') {
				return // an empty match after the last line is on no line
			}
			if !yield(loc) {
				return
			}
		}
	}
}
