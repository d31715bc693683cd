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
	whole     bool           // the literal is all of the pattern
	texts     *textSet       // where the pattern is a few texts, with assertions around them: no regexp is needed for a line
	fold      bool           // the literal is in lower case and letters may be in either
	rare      int            // of a folded literal, where its rarest character is
	run       *byteRun       // where the literal is short or there is none
	order     []*byteRun     // with run: all runs that a matching line has, in their order
	choices   [][]byte       // where there is neither, or texts has several: every match has one of these literals
	tree      *syntax.Regexp // of what is not one text or a few: for a lineDFA of each goroutine
	dfaFirst  bool           // the lineDFA finds lines faster than the other means
	blocks    int            // without a literal: bytes that are searched at once; 0: line by line
	ends      bool           // the pattern asks for the end of a line, which a carriage return hides in a block
	multiline bool
}

// backtrackMax is how many bytes times instructions regexp searches in its fast way; a longer text takes several times as long for
// each byte (maxBacktrackVector in package regexp).
const backtrackMax = 256 << 10

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
		m.whole = lit.whole
		m.rare = rarest(m.literal)
		m.setOthers(tree.Simplify())
	}
	return m, nil
}

// setOthers chooses the means of a pattern without a literal that is long enough.
func (m *matcher) setOthers(tree *syntax.Regexp) {
	if !m.whole && !m.multiline {
		m.texts = setOf(tree)
	}
	if m.texts != nil && len(m.texts.texts) > 1 {
		m.literal, m.choices = nil, m.texts.texts
		return
	}
	if len(m.literal) < 3 && !m.whole && !m.multiline {
		if m.run = bestRun(tree); m.run != nil {
			m.order = allRuns(tree)
		}
	}
	if m.run == nil && len(m.literal) == 0 {
		m.choices = alternatives(tree)
	}
	m.setBlocks(tree)
	if m.multiline && !m.whole {
		m.tree = tree
	}
	if !m.whole && !m.multiline {
		m.tree = tree
		m.dfaFirst = m.choices == nil && (m.run == nil && len(m.literal) == 0 || m.run != nil && !m.run.quick())
	}
}

// setBlocks decides whether a pattern without a literal can be looked for in several lines at once: not where it asks for the begin or end of
// the text.
func (m *matcher) setBlocks(tree *syntax.Regexp) {
	prog, err := syntax.Compile(tree)
	if err != nil || len(m.literal) > 0 || m.multiline {
		return
	}
	for _, in := range prog.Inst {
		if in.Op == syntax.InstEmptyWidth {
			if syntax.EmptyOp(in.Arg)&(syntax.EmptyBeginText|syntax.EmptyEndText) != 0 {
				return
			}
			m.ends = m.ends || syntax.EmptyOp(in.Arg)&syntax.EmptyEndLine != 0
		}
	}
	if m.blocks = backtrackMax/len(prog.Inst) - 1; m.blocks < 512 {
		m.blocks = 0
	}
}

// rarest is the position of the character that is least frequent in source code, as far as a table of letters tells.
func rarest(literal []byte) (at int) {
	const frequent = " etrnsaoilcdpufmghby_vw.kx(),jqz" // the most frequent first
	least := -1
	for i, c := range literal {
		rank := strings.IndexByte(frequent, c)
		if rank < 0 {
			rank = len(frequent)
		}
		if rank > least {
			at, least = i, rank
		}
	}
	return at
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
	return literalOf{best, true, len(best) == len(lower)}
}

// next finds the first line at or after from, the begin of a line, that may match: a place in it, or -1. crs: buf has carriage returns.
// choices has what was found in buf so far, dfa is nil where there is none.
func (m *matcher) next(buf []byte, from int, crs bool, choices *choice, dfa *lineDFA) int {
	var i int
	switch {
	case from >= len(buf):
		return -1
	case m.dfaFirst && dfa != nil && !dfa.worn():
		return dfa.find(buf, from)
	case m.run != nil:
		i = m.run.index(buf[from:])
	case m.fold && len(m.literal) > 0:
		i = m.indexFold(buf[from:])
	case len(m.literal) > 0:
		i = bytes.Index(buf[from:], m.literal)
	case m.choices != nil:
		return choices.next(buf, from)
	case m.blocks == 0 || m.ends && crs:
		return from
	default:
		return m.nextBlock(buf, from)
	}
	if i < 0 {
		return -1
	}
	return from + i
}

// nextBlock finds the first line in which a match begins. A match of one line is also one of the block, or follows one that begins earlier and
// goes on over the line's end; so no line is left out.
func (m *matcher) nextBlock(buf []byte, from int) int {
	for from < len(buf) {
		end := from + m.blocks
		if end >= len(buf) {
			end = len(buf)
		} else if n := bytes.LastIndexByte(buf[from:end], '\n'); n >= 0 {
			end = from + n + 1
		} else {
			end = lineStop(buf, end)
		}
		if loc := m.re.FindIndex(buf[from:end]); loc != nil && from+loc[0] < len(buf) {
			return from + loc[0]
		}
		from = end
	}
	return -1
}

// foldWindow is how far the search for one case of a letter runs ahead of the other.
const foldWindow = 4 << 10

// indexFold finds the folded literal.
func (m *matcher) indexFold(buf []byte) int {
	small := m.literal[m.rare]
	for base := m.rare; base < len(buf); base += foldWindow {
		window := buf[base:min(len(buf), base+foldWindow)]
		for at := 0; at < len(window); at++ {
			i := indexCase(window[at:], small)
			if i < 0 {
				break
			}
			at += i
			if start := base + at - m.rare; start+len(m.literal) <= len(buf) && m.equalFold(buf[start:]) {
				return start
			}
		}
	}
	return -1
}

// indexCase finds a lower-case character in either case.
func indexCase(window []byte, small byte) int {
	i := bytes.IndexByte(window, small)
	if small < 'a' || small > 'z' {
		return i
	}
	if i >= 0 {
		window = window[:i]
	}
	if j := bytes.IndexByte(window, small-'a'+'A'); j >= 0 {
		return j
	}
	return i
}

// equalFold reports that text begins with the literal.
func (m *matcher) equalFold(text []byte) bool {
	for i, c := range m.literal {
		d := text[i]
		if 'A' <= d && d <= 'Z' {
			d += 'a' - 'A'
		}
		if d != c {
			return false
		}
	}
	return true
}

// absent reports that a text lacks what every match holds.
func (m *matcher) absent(text []byte) bool {
	switch {
	case len(m.literal) == 0:
		return false
	case m.fold:
		return m.indexFold(text) < 0
	}
	return !bytes.Contains(text, m.literal)
}

// in finds the first match in one line, as [start, end], or nil. at is where the literal was found in it.
func (m *matcher) in(line []byte, at int) []int {
	if m.whole {
		return []int{at, at + len(m.literal)}
	}
	if m.texts != nil {
		return m.texts.find(line)
	}
	if !inOrder(line, m.order) {
		return nil
	}
	return m.re.FindIndex(line)
}
