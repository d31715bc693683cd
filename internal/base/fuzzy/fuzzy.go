// Package fuzzy finds names by a few typed letters: file paths, commands, earlier prompts, sessions.
//
// A query matches a text that has its letters in order, case aside. Blanks part a query into terms, all of
// which must match, in any order. A match is worth more at the start of words and names, in one run, and, of
// a path, in its last part.
//
// Promises: the same input gives the same ranking; marks are indices of runes of the text, ascending; a
// query without letters matches everything; beyond its first 300 characters a text matches only by runs.
package fuzzy

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The limits within which letters may be apart from each other.
const (
	maxQuery = 64
	maxText  = 300
)

// Matcher is a compiled query. It has scratch memory: not safe for concurrent use.
type Matcher struct {
	terms   []term
	mask    uint64
	scratch scratch
}

// term is one word of a query, in small letters.
type term struct {
	text  string
	runes []rune
	low   []byte // text
	ascii bool
	slash bool
}

// New compiles a query.
func New(query string) *Matcher {
	m := &Matcher{}
	for f := range strings.FieldsSeq(query) {
		runes := []rune(f)
		for i, r := range runes {
			runes[i] = lower(r)
		}
		runes = runes[:min(len(runes), maxQuery)]
		text := string(runes)
		m.terms = append(m.terms, term{text, runes, []byte(text), isASCII(text), strings.Contains(text, "/")})
		m.mask |= Mask(text)
	}
	return m
}

// Any reports a query without letters, which matches everything.
func (m *Matcher) Any() bool { return len(m.terms) == 0 }

// Mask are the letters of the query. A text whose own mask lacks one of them does not match.
func (m *Matcher) Mask() uint64 { return m.mask }

// Mask is the set of letters in a text, some of them sharing a bit. The mask of two texts joined is the union
// of theirs.
func Mask(text string) uint64 {
	var mask uint64
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			mask |= maskBits[c]
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		mask |= 1 << (52 + uint(lower(r))%12)
		i += n
	}
	return mask
}

// maskBits has a bit for each letter and digit, and shares fifteen among the signs.
var maskBits = func() (bits [utf8.RuneSelf]uint64) {
	for c := range bits {
		switch l := lowerByte(byte(c)); {
		case l >= 'a' && l <= 'z':
			bits[c] = 1 << (l - 'a')
		case l >= '0' && l <= '9':
			bits[c] = 1 << (26 + l - '0')
		case l != ' ':
			bits[c] = 1 << (36 + l%15)
		}
	}
	return bits
}()

func lowerByte(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func lower(r rune) rune {
	if r < utf8.RuneSelf {
		return rune(lowerByte(byte(r)))
	}
	if l := unicode.ToLower(r); l >= utf8.RuneSelf {
		return l
	}
	return r // the Kelvin sign is no k
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Score says how well text matches, the higher the better; false: not at all.
func (m *Matcher) Score(text string) (int, bool) { return m.match("", text, nil) }

// Path is Score for a path with slashes: matches in its last part count more.
func (m *Matcher) Path(path string) (int, bool) {
	dir, name := split(path)
	return m.match(dir, name, nil)
}

// PathIn is Path for name in dir, which is empty or ends in a slash.
func (m *Matcher) PathIn(dir, name string) (int, bool) { return m.match(dir, name, nil) }

// Limit is the highest score of PathIn for lengths in bytes: a search that has enough better ones need not
// look at a path.
func (m *Matcher) Limit(dir, name int) int {
	sum := 0
	for i := range m.terms {
		t := &m.terms[i]
		n := len(t.runes)
		best := (n-1)*run + atSlash
		if dir == 0 || !t.slash && name >= n {
			best += inNameOnce + inName*n + max(name-n, 0)*gapOuter
		} else {
			best += max(dir+name-n, 0) * gapOuter
		}
		if name+dir > maxText {
			best += atWord // runs in long texts count by other rules
		}
		sum += best
	}
	return sum
}

// Marks are the indices of the runes of text that match, nil when it does not.
func (m *Matcher) Marks(text string) []int { return m.marks("", text) }

// PathMarks is Marks as Path matches.
func (m *Matcher) PathMarks(path string) []int {
	dir, name := split(path)
	return m.marks(dir, name)
}

func (m *Matcher) marks(dir, name string) []int {
	marks := []int{}
	if _, ok := m.match(dir, name, &marks); !ok || len(marks) == 0 {
		return nil
	}
	slices.Sort(marks)
	return slices.Compact(marks)
}

// split parts a path before its last part; a slash at the end belongs to that.
func split(path string) (dir, name string) {
	i := strings.LastIndexByte(strings.TrimSuffix(path, "/"), '/') + 1
	return path[:i], path[i:]
}

// inName is the bonus of a match in the last part of a path, for each letter and at all.
const inName, inNameOnce = 12, 20

// match adds up the terms. Marks are added to *marks, which may be nil.
func (m *Matcher) match(dir, name string, marks *[]int) (int, bool) {
	sum := 0
	for i := range m.terms {
		t := &m.terms[i]
		if !t.slash || dir == "" {
			before := 0
			if marks != nil {
				before = utf8.RuneCountInString(dir)
			}
			if score, ok := m.scratch.one(t, "", name, marks, before); ok {
				sum += score + inNameOnce + inName*len(t.runes)
				continue
			}
		}
		score, ok := 0, false
		if dir != "" {
			score, ok = m.scratch.one(t, dir, name, marks, 0)
		}
		if !ok {
			return 0, false
		}
		sum += score
	}
	return sum, true
}

// Found is an item that matches.
type Found struct {
	Index int // of the item
	Score int
	Marks []int // indices of the runes that match
}

// Rank returns the items that match, best first, at most limit of them (0: all). Equal ones stay in order. bonus
// adds to the score of an item, and may be nil: a start of a word is worth about 50, a letter in a run 60.
func Rank(query string, items []string, limit int, bonus func(index int) int) []Found {
	m := New(query)
	var out []Found
	for i, s := range items {
		score, ok := m.Score(s)
		if !ok {
			continue
		}
		if bonus != nil {
			score += bonus(i)
		}
		out = append(out, Found{Index: i, Score: score})
	}
	slices.SortStableFunc(out, func(a, b Found) int { return cmp.Compare(b.Score, a.Score) })
	if limit > 0 && len(out) > limit {
		out = out[:limit]
	}
	for i := range out {
		out[i].Marks = m.Marks(items[out[i].Index])
	}
	return out
}
