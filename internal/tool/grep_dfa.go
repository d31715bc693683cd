package tool

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// The bounds of the states of a lineDFA: one takes a kilobyte.
const (
	dfaStates = 1500
	dfaFlush  = 4   // times that it may start anew with its states, then it is of no use
	dfaInsts  = 800 // of the expression
)

// The next states that are none.
const (
	dfaUnknown = 0  // not computed yet
	dfaMatch   = -1 // a match ends before the character
	dfaBeyond  = -2 // a character beyond ASCII: whether the line matches is not known
	dfaReturn  = -3 // a carriage return, which may be a part of the line's end
)

// lineDFA finds the lines in which an expression matches, at about a nanosecond for each byte: its states are sets of instructions of
// the expression, made when a text first leads to them. Lines with characters beyond ASCII are all found. It is for one goroutine.
type lineDFA struct {
	prog    *syntax.Prog
	ends    bool // the expression asks for ends of lines, which a carriage return may be a part of
	across  bool // matches go over ends of lines
	next    []int32
	sets    []dfaSet // by state; the first is none
	states  map[string]int32
	flushes int
}

// dfaSet is a state: the instructions that wait for a character or an assertion, in order, and what the character before is to assertions.
type dfaSet struct {
	pcs    []uint32
	before byte
}

// newLineDFA makes the automaton of an expression; nil where it is too large, or asks for the begin or end of the text.
func newLineDFA(tree *syntax.Regexp, across bool) *lineDFA {
	prog, err := syntax.Compile(tree)
	if err != nil || len(prog.Inst) > dfaInsts {
		return nil
	}
	d := &lineDFA{prog: prog, across: across}
	for _, in := range prog.Inst {
		if in.Op == syntax.InstEmptyWidth {
			if syntax.EmptyOp(in.Arg)&(syntax.EmptyBeginText|syntax.EmptyEndText) != 0 {
				return nil
			}
			d.ends = d.ends || !across && syntax.EmptyOp(in.Arg)&syntax.EmptyEndLine != 0
		}
	}
	d.reset()
	return d
}

// reset forgets all states but the first: the begin of a line.
func (d *lineDFA) reset() {
	d.next, d.sets, d.states = make([]int32, 256), make([]dfaSet, 1, 64), map[string]int32{}
	d.state(d.closure(nil, uint32(d.prog.Start), 0), '\n')
}

// worn reports that the expression has too many states.
func (d *lineDFA) worn() bool { return d.flushes > dfaFlush }

// find is a place in the first line from a begin of a line on that may match, or -1. The place is where a match ends, or a character that
// leaves it open.
func (d *lineDFA) find(buf []byte, from int) int {
	const first = 256
	state := int32(first)
	next := d.next
	for i := from; i < len(buf); i++ {
		if to := next[state+int32(buf[i])]; to > 0 {
			state = to
			continue
		}
		to := d.step(state, buf, i)
		if to < 0 {
			return i
		}
		state, next = to, d.next
	}
	if len(buf) > from && buf[len(buf)-1] != '\n' && d.compute(state, '\n') == dfaMatch {
		return len(buf)
	}
	return -1
}

// decide reports whether an expression that goes across lines may match in a text, and whether it surely does.
func (d *lineDFA) decide(buf []byte) (may, sure bool) {
	state := int32(256)
	next := d.next
	for i := range buf {
		if to := next[state+int32(buf[i])]; to > 0 {
			state = to
			continue
		}
		to := d.step(state, buf, i)
		if to < 0 {
			return true, to == dfaMatch
		}
		if d.worn() {
			return true, false
		}
		state, next = to, d.next
	}
	return d.compute(state, '\n') == dfaMatch, false // at the end it may be an empty match, on no line
}

// step is the next state where the table does not have it.
func (d *lineDFA) step(state int32, buf []byte, i int) int32 {
	c := buf[i]
	to := d.next[state+int32(c)]
	if to == dfaUnknown {
		to = d.compute(state, c)
	}
	if to == dfaReturn {
		if i+1 == len(buf) || buf[i+1] == '\n' {
			return d.step(state, []byte{'\n'}, 0)
		}
		to = d.follow(state, c)
	}
	return to
}

// compute fills in a place of the table.
func (d *lineDFA) compute(state int32, c byte) int32 {
	flushes := d.flushes
	to := int32(dfaBeyond)
	switch {
	case c == '\r' && d.ends:
		to = dfaReturn
	case c < utf8.RuneSelf:
		to = d.follow(state, c)
	}
	if flushes == d.flushes {
		d.next[state+int32(c)] = to
	}
	return to
}

// follow is the state after a character, or dfaMatch.
func (d *lineDFA) follow(state int32, c byte) int32 {
	set := d.sets[state/256]
	holds := syntax.EmptyOpContext(rune(set.before), rune(c))
	var now []uint32
	for _, pc := range set.pcs {
		now = d.closure(now, pc, holds)
	}
	var after []uint32
	for _, pc := range now {
		in := &d.prog.Inst[pc]
		switch in.Op {
		case syntax.InstMatch:
			return dfaMatch
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			if (d.across || c != '\n') && in.MatchRune(rune(c)) {
				after = d.closure(after, in.Out, 0)
			}
		}
	}
	if c == '\n' && !d.across {
		return 256
	}
	return d.state(d.closure(after, uint32(d.prog.Start), 0), c)
}

// closure adds the instructions that wait, from one on. Assertions that hold are passed.
func (d *lineDFA) closure(set []uint32, pc uint32, holds syntax.EmptyOp) []uint32 {
	todo := []uint32{pc}
	seen := map[uint32]bool{}
	for len(todo) > 0 {
		pc := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[pc] {
			continue
		}
		seen[pc] = true
		switch in := &d.prog.Inst[pc]; in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			todo = append(todo, in.Out, in.Arg)
		case syntax.InstCapture, syntax.InstNop:
			todo = append(todo, in.Out)
		case syntax.InstFail:
		case syntax.InstEmptyWidth:
			if ask := syntax.EmptyOp(in.Arg); holds&ask == ask {
				todo = append(todo, in.Out)
			} else if holds == 0 {
				set = append(set, pc)
			}
		default:
			set = append(set, pc)
		}
	}
	return set
}

// state is the number of a set, times 256.
func (d *lineDFA) state(pcs []uint32, before byte) int32 {
	switch {
	case before == '\n':
	case wordByte(before):
		before = 'a'
	default:
		before = ' '
	}
	slices.Sort(pcs)
	pcs = slices.Compact(pcs)
	key := []byte{before}
	for _, pc := range pcs {
		key = binary.LittleEndian.AppendUint32(key, pc)
	}
	if at, ok := d.states[string(key)]; ok {
		return at
	}
	if len(d.sets) > dfaStates {
		d.flushes++
		d.reset()
		return d.state(pcs, before)
	}
	at := int32(len(d.sets)) * 256
	d.sets = append(d.sets, dfaSet{pcs, before})
	d.next = append(d.next, make([]int32, 256)...)
	d.states[string(key)] = at
	return at
}
