package fuzzy

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// What a letter is worth where it stands, and what letters between cost. The shape is fzy's (John Hawthorn,
// github.com/jhawthorn/fzy, ALGORITHM.md): runs count most, then the starts of path parts, words and humps.
const (
	run      = 60
	atSlash  = 55
	atWord   = 50
	atHump   = 45
	atDot    = 40
	gap      = -3 // between two letters
	gapOuter = -1 // before the first and after the last
	never    = -1 << 29
)

type kind uint8

const (
	sign kind = iota
	small
	capital
	digit
	slash
	dot
	delimiter // _ - blank
)

func kindOf(c byte) kind {
	switch {
	case c >= 'a' && c <= 'z':
		return small
	case c >= 'A' && c <= 'Z':
		return capital
	case c >= '0' && c <= '9':
		return digit
	case c == '/' || c == '\\':
		return slash
	case c == '.':
		return dot
	case c == '_' || c == '-' || c == ' ' || c == ':' || c == '\n':
		return delimiter
	}
	return sign
}

// kinds is kindOf of every byte.
var kinds = func() (k [256]kind) {
	for c := range k {
		k[c] = kindOf(byte(c))
	}
	return k
}()

func kindOfRune(r rune) kind {
	switch {
	case r < utf8.RuneSelf:
		return kinds[r]
	case unicode.IsUpper(r):
		return capital
	}
	return small
}

// start is what a letter of a kind is worth after one of another kind.
func start(before, here kind) int32 {
	if here == small || here == capital || here == digit {
		switch before {
		case slash:
			return atSlash
		case delimiter:
			return atWord
		case dot:
			return atDot
		case small:
			if here == capital {
				return atHump
			}
		}
	}
	return 0
}

// scratch is memory for aligning, kept from text to text.
type scratch struct {
	here  []int32 // for each letter of the query and of the text: the best score that ends with a match there
	upTo  []int32 // the same, ending there or before
	bonus []int32
	low   []rune
	bytes []byte
}

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n*2)
	}
	return s[:n]
}

// one matches a term with the text head+tail and adds the marks, moved by shift, to *marks.
func (s *scratch) one(t *term, head, tail string, marks *[]int, shift int) (int, bool) {
	n := len(head) + len(tail)
	switch {
	case n > maxText:
		return s.long(t, head+tail, marks, shift)
	case !t.ascii || !isASCII(head) || !isASCII(tail):
		return s.wide(t, head, tail, marks, shift)
	}
	s.bytes = grow(s.bytes, n)
	at := s.copy(s.bytes, t.text, head, 0)
	if at = s.copy(s.bytes[len(head):], t.text, tail, at); at < len(t.text) {
		return 0, false
	}
	s.bonus = grow(s.bonus, n)
	before := slash
	for i := range n {
		var c byte
		if i < len(head) {
			c = head[i]
		} else {
			c = tail[i-len(head)]
		}
		k := kinds[c]
		s.bonus[i] = start(before, k)
		before = k
	}
	return align(s, []byte(t.text), s.bytes, marks, shift), true
}

// copy writes small letters and counts those of the query, in order, beginning with the one at.
func (s *scratch) copy(to []byte, query, text string, at int) int {
	for i := range len(text) {
		c := lowerByte(text[i])
		to[i] = c
		if at < len(query) && c == query[at] {
			at++
		}
	}
	return at
}

// wide is one for text beyond ASCII.
func (s *scratch) wide(t *term, head, tail string, marks *[]int, shift int) (int, bool) {
	s.low, s.bonus = s.low[:0], s.bonus[:0]
	at, before := 0, slash
	for _, part := range [2]string{head, tail} {
		for _, r := range part {
			k := kindOfRune(r)
			s.bonus = append(s.bonus, start(before, k))
			before = k
			l := lower(r)
			s.low = append(s.low, l)
			if at < len(t.runes) && l == t.runes[at] {
				at++
			}
		}
	}
	if at < len(t.runes) {
		return 0, false
	}
	return align(s, t.runes, s.low, marks, shift), true
}

// align finds the best way to lay the query on the text, which has its letters in order, and returns its score.
func align[T byte | rune](s *scratch, query, text []T, marks *[]int, shift int) int {
	m, n := len(query), len(text)
	if m == n { // the same
		if marks != nil {
			for i := range m {
				*marks = append(*marks, shift+i)
			}
		}
		return (m + 1) * (run + atSlash)
	}
	s.here, s.upTo = grow(s.here, m*n), grow(s.upTo, m*n)
	for i := range m {
		here, upTo := s.here[i*n:(i+1)*n], s.upTo[i*n:(i+1)*n]
		between := int32(gap)
		if i == m-1 {
			between = gapOuter
		}
		best := int32(never)
		for j := range i {
			here[j], upTo[j] = never, never
		}
		for j := i; j < n; j++ {
			score := int32(never)
			if text[j] == query[i] {
				switch {
				case i == 0:
					score = int32(j)*gapOuter + s.bonus[j]
				case j > 0:
					score = max(s.upTo[(i-1)*n+j-1]+s.bonus[j], s.here[(i-1)*n+j-1]+run)
				}
			}
			best = max(score, best+between)
			here[j], upTo[j] = score, best
		}
	}
	if marks != nil {
		s.trace(m, n, marks, shift)
	}
	return int(s.upTo[m*n-1])
}

// trace finds where the best alignment has its letters, from the last one back.
func (s *scratch) trace(m, n int, marks *[]int, shift int) {
	inRun := false
	for i, j := m-1, n-1; i >= 0; j-- {
		at := i*n + j
		if j < 0 {
			return
		}
		if s.here[at] == never || !inRun && s.here[at] != s.upTo[at] {
			continue
		}
		*marks = append(*marks, shift+j)
		inRun = i > 0 && j > 0 && s.here[at] == s.here[at-n-1]+run
		i--
	}
}

// long matches a term with a long text: in one run anywhere, else as usual in the beginning.
func (s *scratch) long(t *term, text string, marks *[]int, shift int) (int, bool) {
	low := strings.ToLower(text)
	if at := strings.Index(low, t.text); at >= 0 {
		first := utf8.RuneCountInString(low[:at])
		if marks != nil {
			for i := range t.runes {
				*marks = append(*marks, shift+first+i)
			}
		}
		score := len(t.runes)*run - min(first, maxText)
		before, _ := utf8.DecodeLastRuneInString(low[:at])
		if at == 0 || kindOfRune(before) != small {
			score += atWord
		}
		return score, true
	}
	cut := maxText
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return s.one(t, "", text[:cut], marks, shift)
}
