package tool

import (
	"bytes"
	"regexp/syntax"
	"unicode"
	"unicode/utf8"
)

// byteSet is a set of ASCII characters, with an estimate of how often one of them is in source code.
type byteSet struct {
	has    [256]bool
	n      int
	only   byte // the one character, where n is 1
	weight float64
}

func (s *byteSet) add(c byte) {
	if s.has[c] {
		return
	}
	s.has[c], s.only = true, c
	s.n++
	switch {
	case c == ' ', c == '\t':
		s.weight += 0.1
	case 'a' <= c && c <= 'z':
		s.weight += 0.025
	case c == '.', c == ',', c == '(', c == ')', c == '"', c == '_':
		s.weight += 0.012
	default:
		s.weight += 0.003
	}
}

// byteRun is a sequence of sets: every match has characters of them one after the other.
type byteRun struct {
	sets   []*byteSet
	weight float64
	anchor int // the rarest of the sets
}

// bestRun is the run of an expression that is rarest in source code; nil: there is none of use.
func bestRun(re *syntax.Regexp) *byteRun {
	var c runs
	c.walk(re)
	c.cut()
	if c.best == nil || c.best.weight > 0.05 {
		return nil
	}
	return c.best
}

// allRuns are the runs of an expression in their order: in a match each begins at or after the begin of the one before it. Those that are in
// nearly every line are left out.
func allRuns(re *syntax.Regexp) (out []*byteRun) {
	var c runs
	c.walk(re)
	c.cut()
	for _, r := range c.all {
		if r.weight <= 0.03 {
			out = append(out, r)
		}
	}
	return out
}

// inOrder reports whether a line has the runs one after the other, as each match must.
func inOrder(line []byte, runs []*byteRun) bool {
	for _, r := range runs {
		i := r.index(line)
		if i < 0 {
			return false
		}
		line = line[i:]
	}
	return true
}

// quick reports whether the run is found with few looks at its lines: its anchor is one character that is not frequent.
func (r *byteRun) quick() bool {
	return r.sets[r.anchor].n == 1 && r.sets[r.anchor].weight <= 0.012
}

// runs collects the sets of an expression and keeps the best run of them.
type runs struct {
	now  []*byteSet
	all  []*byteRun
	best *byteRun
}

func (c *runs) cut() {
	if len(c.now) > 0 {
		r := &byteRun{sets: c.now, weight: 1}
		for i, s := range c.now {
			if r.weight *= s.weight; s.weight < c.now[r.anchor].weight {
				r.anchor = i
			}
		}
		c.all = append(c.all, r)
		if c.best == nil || r.weight < c.best.weight {
			c.best = r
		}
	}
	c.now = nil
}

func (c *runs) walk(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			c.walk(sub)
		}
	case syntax.OpCapture:
		c.walk(re.Sub[0])
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			c.one(runeSet(r, re.Flags&syntax.FoldCase != 0))
		}
	case syntax.OpCharClass:
		c.one(classSet(re.Rune))
	case syntax.OpPlus:
		c.repeat(re.Sub[0], 1, -1)
	case syntax.OpRepeat:
		c.repeat(re.Sub[0], re.Min, re.Max)
	case syntax.OpAlternate:
		c.one(edge(re, false))
		c.cut()
		c.one(edge(re, true))
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
	default:
		c.cut()
	}
}

// one adds a set; nil ends the run.
func (c *runs) one(s *byteSet) {
	if s == nil {
		c.cut()
		return
	}
	c.now = append(c.now, s)
}

// repeat adds a repeated expression. After one without a fixed length the next run begins with its last character.
func (c *runs) repeat(re *syntax.Regexp, least, most int) {
	if re.Op != syntax.OpCharClass && (re.Op != syntax.OpLiteral || len(re.Rune) != 1) {
		c.cut()
		if least > 0 {
			c.walk(re)
			c.cut()
		}
		return
	}
	for range min(least, 16) {
		c.walk(re)
	}
	if least == most && least <= 16 {
		return
	}
	if c.cut(); least > 0 {
		c.walk(re)
	}
}

// edge is the set of characters with which each match of an expression begins or ends; nil where that is not known.
func edge(re *syntax.Regexp, end bool) *byteSet {
	at := func(n int) int {
		if end {
			return n - 1
		}
		return 0
	}
	switch re.Op {
	case syntax.OpLiteral:
		return runeSet(re.Rune[at(len(re.Rune))], re.Flags&syntax.FoldCase != 0)
	case syntax.OpCharClass:
		return classSet(re.Rune)
	case syntax.OpCapture, syntax.OpPlus:
		return edge(re.Sub[0], end)
	case syntax.OpRepeat:
		if re.Min > 0 {
			return edge(re.Sub[0], end)
		}
	case syntax.OpConcat:
		return edge(re.Sub[at(len(re.Sub))], end)
	case syntax.OpAlternate:
		all := &byteSet{}
		for _, sub := range re.Sub {
			s := edge(sub, end)
			if s == nil {
				return nil
			}
			for c, has := range s.has {
				if has {
					all.add(byte(c))
				}
			}
		}
		return all
	}
	return nil
}

// runeSet is the set of one character; nil beyond ASCII.
func runeSet(r rune, fold bool) *byteSet {
	s := &byteSet{}
	for f := r; ; {
		if f >= utf8.RuneSelf {
			return nil
		}
		s.add(byte(f))
		if f = unicode.SimpleFold(f); f == r || !fold {
			return s
		}
	}
}

// classSet is the set of a class, given as pairs of first and last; nil where it has characters beyond ASCII.
func classSet(pairs []rune) *byteSet {
	s := &byteSet{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] >= utf8.RuneSelf {
			return nil
		}
		for r := pairs[i]; r <= pairs[i+1]; r++ {
			s.add(byte(r))
		}
	}
	return s
}

// index finds the first place where the run is, or -1.
func (r *byteRun) index(buf []byte) int {
	rare := r.sets[r.anchor]
	for at := r.anchor; at < len(buf); at++ {
		if rare.n == 1 {
			i := bytes.IndexByte(buf[at:], rare.only)
			if i < 0 {
				return -1
			}
			at += i
		} else if !rare.has[buf[at]] {
			continue
		}
		if start := at - r.anchor; r.at(buf[start:]) {
			return start
		}
	}
	return -1
}

func (r *byteRun) at(text []byte) bool {
	if len(text) < len(r.sets) {
		return false
	}
	for i, s := range r.sets {
		if !s.has[text[i]] {
			return false
		}
	}
	return true
}

// alternatives are literals of which every match has one, for a choice of expressions with a literal each; nil: there is no such choice.
func alternatives(re *syntax.Regexp) (out [][]byte) {
	switch re.Op {
	case syntax.OpCapture, syntax.OpPlus:
		return alternatives(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if out = alternatives(sub); out != nil {
				return out
			}
		}
		return nil
	case syntax.OpAlternate:
		if len(re.Sub) > 16 {
			return nil
		}
		for _, sub := range re.Sub {
			l := required(sub)
			if l.fold || len(l.text) < 2 {
				return nil
			}
			out = append(out, []byte(l.text))
		}
	}
	return out
}

// choice finds the first of several literals in a buffer that is searched from its begin to its end.
type choice struct {
	literals [][]byte
	found    []int // of each, its next place; -1: none is left, -2: not looked for
}

func (c *choice) reset() {
	c.found = c.found[:0]
	for range c.literals {
		c.found = append(c.found, -2)
	}
}

// next finds the first literal at or after from.
func (c *choice) next(buf []byte, from int) int {
	first := -1
	for i, lit := range c.literals {
		if at := c.found[i]; at == -2 || at >= 0 && at < from {
			c.found[i] = bytes.Index(buf[from:], lit)
			if c.found[i] >= 0 {
				c.found[i] += from
			}
		}
		if at := c.found[i]; at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	return first
}
