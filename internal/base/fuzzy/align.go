package fuzzy

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The score of a letter by its place, and the cost of letters between. The shape is fzy's (John Hawthorn,
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

// lowBytes is lowerByte of every byte, and starts is start of every two kinds.
var (
	lowBytes = func() (low [256]byte) {
		for c := range low {
			low[c] = lowerByte(byte(c))
		}
		return low
	}()
	starts = func() (b [delimiter + 1][delimiter + 1]int32) {
		for before := range b {
			for here := range b[before] {
				b[before][here] = start(kind(before), kind(here))
			}
		}
		return b
	}()
)

func kindOfRune(r rune) kind {
	switch {
	case r < utf8.RuneSelf:
		return kinds[r]
	case unicode.IsUpper(r):
		return capital
	}
	return small
}

// start is the score of a letter of a kind after one of another kind.
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
	if n > maxText {
		return s.long(t, head+tail, marks, shift)
	}
	if !t.ascii {
		return s.wide(t, head, tail, marks, shift)
	}
	// The letters must come in order. ASCII is itself in UTF-8, whatever is around it.
	q, at, first := t.text, 0, n
	for i := 0; i < len(head) && at < len(q); i++ {
		if lowBytes[head[i]] == q[at] {
			if at == 0 {
				first = i
			}
			at++
		}
	}
	for i := 0; i < len(tail) && at < len(q); i++ {
		if lowBytes[tail[i]] == q[at] {
			if at == 0 {
				first = len(head) + i
			}
			at++
		}
	}
	switch {
	case at < len(q):
		return 0, false
	case !isASCII(head) || !isASCII(tail):
		return s.wide(t, head, tail, marks, shift)
	}
	return s.narrow(t, head, tail, first, marks, shift), true
}

// narrow aligns a term with ASCII text that has its letters in order. Before the first place of the first
// letter, and after the last place of the last one, there is nothing to try.
func (s *scratch) narrow(t *term, head, tail string, first int, marks *[]int, shift int) int {
	n := len(head) + len(tail)
	s.bytes, s.bonus = grow(s.bytes, n), grow(s.bonus, n)
	before := slash
	if first > 0 {
		before = kinds[letter(head, tail, first-1)]
	}
	end, final := n, t.text[len(t.text)-1]
	for end > first && lowBytes[letter(head, tail, end-1)] != final {
		end--
	}
	for i := first; i < end; i++ {
		c := letter(head, tail, i)
		k := kinds[c]
		s.bytes[i], s.bonus[i] = lowBytes[c], starts[before][k]
		before = k
	}
	if n == len(t.text) {
		return align(s, t.low, s.bytes, s.bonus, marks, shift)
	}
	return align(s, t.low, s.bytes[first:end], s.bonus[first:end], marks, shift+first) + (first+n-end)*gapOuter
}

func letter(head, tail string, i int) byte {
	if i < len(head) {
		return head[i]
	}
	return tail[i-len(head)]
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
	outer := len(head) + len(tail) - len(s.low) // a letter counts by its bytes, as in Limit
	return align(s, t.runes, s.low, s.bonus, marks, shift) + outer*gapOuter, true
}

// align finds the best way to lay the query on the text, which has its letters in order, and returns its score.
func align[T byte | rune](s *scratch, query, text []T, bonus []int32, marks *[]int, shift int) int {
	m, n := len(query), len(text)
	switch {
	case m == n: // one run
		if marks != nil {
			for i := range m {
				*marks = append(*marks, shift+i)
			}
		}
		return (m-1)*run + int(bonus[0])
	case m == 1 && marks == nil:
		return int(single(query[0], text, bonus)) + (n-1)*gapOuter
	}
	s.here, s.upTo = grow(s.here, m*n), grow(s.upTo, m*n)
	for i := range m {
		here, upTo := s.here[i*n:(i+1)*n], s.upTo[i*n:(i+1)*n]
		between := int32(gap)
		if i == m-1 {
			between = gapOuter
		}
		best, c := int32(never), query[i]
		for j := range i {
			here[j], upTo[j] = never, never
		}
		for j := i; j < n; j++ {
			score := int32(never)
			if text[j] == c {
				switch {
				case i == 0:
					score = int32(j)*gapOuter + bonus[j]
				case j > 0:
					score = max(s.upTo[(i-1)*n+j-1]+bonus[j], s.here[(i-1)*n+j-1]+run)
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

// single is the best bonus of a letter.
func single[T byte | rune](c T, text []T, bonus []int32) int32 {
	best := int32(never)
	for j, d := range text {
		if d == c {
			best = max(best, bonus[j])
		}
	}
	return best
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
