package tool

import (
	"bytes"
	"regexp/syntax"
	"slices"
)

// mostTexts is how many texts a search looks for one after the other at most.
const mostTexts = 16

// textSet is an expression that is nothing but a choice of texts, with assertions about the line before and after them.
type textSet struct {
	texts         [][]byte
	before, after []syntax.Op
}

// setOf is the set of an expression; nil where it is no such one.
func setOf(re *syntax.Regexp) *textSet {
	s, subs := &textSet{}, []*syntax.Regexp{re}
	if re.Op == syntax.OpConcat {
		subs = re.Sub
	}
	for len(subs) > 0 && asserts(subs[0].Op) {
		s.before, subs = append(s.before, subs[0].Op), subs[1:]
	}
	for len(subs) > 0 && asserts(subs[len(subs)-1].Op) {
		s.after, subs = append(s.after, subs[len(subs)-1].Op), subs[:len(subs)-1]
	}
	if len(subs) == 0 {
		return nil
	}
	s.texts = textsInARow(subs)
	if s.texts == nil || slices.ContainsFunc(s.texts, func(t []byte) bool { return len(t) < 2 || bytes.ContainsAny(t, "\r\n") }) {
		return nil
	}
	return s
}

func asserts(op syntax.Op) bool {
	return op == syntax.OpBeginLine || op == syntax.OpEndLine || op == syntax.OpWordBoundary || op == syntax.OpNoWordBoundary
}

// textsOf are all texts that an expression matches; nil where they are more than a few.
func textsOf(re *syntax.Regexp) (out [][]byte) {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return [][]byte{{}}
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return [][]byte{[]byte(string(re.Rune))}
		}
	case syntax.OpCharClass:
		return textsOfClass(re.Rune)
	case syntax.OpCapture:
		return textsOf(re.Sub[0])
	case syntax.OpQuest:
		if out = textsOf(re.Sub[0]); out != nil {
			return append(out, []byte{})
		}
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			texts := textsOf(sub)
			if out = append(out, texts...); texts == nil || len(out) > mostTexts {
				return nil
			}
		}
		return out
	case syntax.OpConcat:
		return textsInARow(re.Sub)
	}
	return nil
}

func textsOfClass(pairs []rune) (out [][]byte) {
	for i := 0; i+1 < len(pairs); i += 2 {
		for r := pairs[i]; r <= pairs[i+1]; r++ {
			if len(out) == mostTexts {
				return nil
			}
			out = append(out, []byte(string(r)))
		}
	}
	return out
}

// textsInARow joins each text of an expression with each of the next.
func textsInARow(subs []*syntax.Regexp) [][]byte {
	out := [][]byte{{}}
	for _, sub := range subs {
		texts := textsOf(sub)
		if texts == nil || len(out)*len(texts) > mostTexts {
			return nil
		}
		next := make([][]byte, 0, len(out)*len(texts))
		for _, a := range out {
			for _, b := range texts {
				next = append(next, slices.Concat(a, b))
			}
		}
		out = next
	}
	return out
}

// find is the first text in a line that stands as it should, as [start, end], or nil.
func (s *textSet) find(line []byte) (loc []int) {
	for _, text := range s.texts {
		for at := 0; at < len(line); at++ {
			i := bytes.Index(line[at:], text)
			if i < 0 || loc != nil && at+i >= loc[0] {
				break
			}
			at += i
			if holds(s.before, line, at) && holds(s.after, line, at+len(text)) {
				loc = []int{at, at + len(text)}
				break
			}
		}
	}
	return loc
}

// holds reports whether assertions are true at a place of a line.
func holds(ops []syntax.Op, line []byte, at int) bool {
	for _, op := range ops {
		ok := false
		switch op {
		case syntax.OpBeginLine:
			ok = at == 0
		case syntax.OpEndLine:
			ok = at == len(line)
		default:
			word := (at > 0 && wordByte(line[at-1])) != (at < len(line) && wordByte(line[at]))
			ok = word == (op == syntax.OpWordBoundary)
		}
		if !ok {
			return false
		}
	}
	return true
}

func wordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}
