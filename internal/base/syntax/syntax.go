// Package syntax highlights source code, line by line.
//
// The words: a language is a table (comments, quotes, words); a kind is the role of a piece of a line; a state
// carries over from a line to the next one: an open comment, string or here-document.
//
// It goes by the look of the words, not by grammar, and that is the point: a line costs microseconds
// whatever is in it, a reply that streams is coloured while it is written, and a file can be entered at
// any line whose state is known. (A lexer of regular expressions, chroma, takes 4 to 13 ms for 3 kB of code,
// which is more than a frame, and cannot go on where it stopped.) Nothing is built before the first call.
//
// Promises: the pieces of a line, joined, are the line; any line in any state is taken, without a panic;
// the time is linear in the line's length.
package syntax

import (
	"strings"
)

// Kind is the role of a piece of code.
type Kind int

// Kinds.
const (
	Plain Kind = iota
	Keyword
	String
	Number
	Comment
	Function
	Type
	Constant
	Variable
	Operator
	Tag // a key, a tag, a section: a name in data
	Added
	Removed
	kinds
)

// State carries over from one line to the next. The zero value is the start of a text. States can be
// compared.
type State struct {
	open  uint8  // 1 + the index of the open quote; 0: none
	depth uint8  // of comments in one another
	until string // the end of a here-document
}

// Line reads one line of code, without its newline, and emits its pieces in order. It returns the state
// behind it.
func (l *Language) Line(s State, code string, emit func(k Kind, text string)) State {
	if l.whole != nil {
		return l.whole(s, code, emit)
	}
	x := scanner{l: l, s: code, emit: emit, state: s}
	x.run()
	return x.state
}

// scanner reads one line.
type scanner struct {
	l     *Language
	s     string
	at    int  // the text before it was emitted
	kind  Kind // of the text that was read but not emitted, from at
	end   int  // where that ends
	emit  func(Kind, string)
	state State
	docs  string // a here-document begins behind this line, up to this word
}

// put notes the next n bytes as a piece. Pieces of the same kind become one.
func (x *scanner) put(k Kind, n int) {
	if k != x.kind && x.end > x.at {
		x.emit(x.kind, x.s[x.at:x.end])
		x.at = x.end
	}
	x.kind = k
	x.end += n
}

func (x *scanner) rest() string { return x.s[x.end:] }

func (x *scanner) run() {
	if x.state.until != "" {
		x.document()
		x.flush()
		return
	}
	for x.end < len(x.s) {
		if x.state.open > 0 {
			x.inQuote()
			continue
		}
		x.step()
	}
	x.flush()
	if o := x.state.open; o > 0 && !x.l.quotes[o-1].lines {
		x.state.open = 0
	}
	if x.docs != "" {
		x.state.until = x.docs
	}
}

func (x *scanner) flush() {
	if x.end > x.at {
		x.emit(x.kind, x.s[x.at:x.end])
		x.at = x.end
	}
}

// document reads a line of a here-document.
func (x *scanner) document() {
	k := String
	if strings.Trim(x.s, " \t") == x.state.until {
		x.state.until, k = "", Keyword
	}
	x.put(k, len(x.s))
}

// inQuote reads up to the end of the open quote or comment.
func (x *scanner) inQuote() {
	q := &x.l.quotes[x.state.open-1]
	rest := x.rest()
	for i := 0; i < len(rest); {
		switch {
		case q.escape && rest[i] == '\\':
			i = min(i+2, len(rest))
		case strings.HasPrefix(rest[i:], q.end):
			i += len(q.end)
			if x.state.depth > 1 {
				x.state.depth--
				continue
			}
			x.state.open, x.state.depth = 0, 0
			x.put(q.kind, i)
			return
		case q.nests && strings.HasPrefix(rest[i:], q.start):
			i += len(q.start)
			x.state.depth = min(x.state.depth+1, 200)
		default:
			i++
		}
	}
	x.put(q.kind, len(rest))
}

// step reads one piece outside of quotes.
func (x *scanner) step() {
	rest := x.rest()
	c := rest[0]
	switch {
	case c == ' ' || c == '\t':
		x.put(Plain, len(rest)-len(strings.TrimLeft(rest, " \t")))
	case x.comment(rest), x.quote(rest), x.hereDocument(rest):
	case digit(c) || c == '.' && len(rest) > 1 && digit(rest[1]):
		x.put(Number, number(rest))
	case x.word(c):
		x.name(rest)
	case c == '$' && x.l.dollar:
		x.variable(rest)
	case c == '@' && len(rest) > 1 && x.word(rest[1]):
		x.put(Variable, 1+x.wordEnd(rest[1:]))
	case c == '#' && x.l.hash && x.isFirst():
		x.put(Keyword, 1+x.wordEnd(rest[1:]))
	case c == '[' && x.l.sections && x.isFirst():
		x.put(Tag, len(strings.TrimRight(rest, " ")))
	case strings.IndexByte("+-*/%=<>!&|^~?:", c) >= 0:
		x.put(Operator, 1)
	default:
		n := 1
		for n < len(rest) && rest[n]&0xc0 == 0x80 {
			n++
		}
		x.put(Plain, n)
	}
}

// isFirst reports that only blanks are before the present place.
func (x *scanner) isFirst() bool { return strings.Trim(x.s[:x.end], " \t-") == "" }

func (x *scanner) comment(rest string) bool {
	for _, c := range x.l.comments {
		if !strings.HasPrefix(rest, c) {
			continue
		}
		if c[0] == '#' && x.end > 0 && strings.IndexByte(" \t;(){}[],", x.s[x.end-1]) < 0 {
			continue // part of a word
		}
		x.put(Comment, len(rest))
		return true
	}
	return false
}

func (x *scanner) quote(rest string) bool {
	for i := range x.l.quotes {
		q := &x.l.quotes[i]
		if !strings.HasPrefix(rest, q.start) {
			continue
		}
		if q.char && !isChar(rest) {
			continue
		}
		x.state.open, x.state.depth = uint8(i+1), 1
		x.put(q.kind, len(q.start))
		if q.kind == String {
			x.end -= len(q.start)
			x.end += x.wholeString(rest, q)
		}
		return true
	}
	return false
}

// wholeString reads a string that ends on the line in one piece, so that it can be seen to be a key. It
// returns how much it took.
func (x *scanner) wholeString(rest string, q *quote) int {
	if x.l.keys != ":" {
		return len(q.start)
	}
	for i := len(q.start); i < len(rest); i++ {
		if rest[i] == '\\' && q.escape {
			i++
		} else if strings.HasPrefix(rest[i:], q.end) {
			i += len(q.end)
			if strings.HasPrefix(strings.TrimLeft(rest[i:], " "), ":") {
				x.kind = Tag
			}
			x.state.open, x.state.depth = 0, 0
			return i
		}
	}
	return len(q.start)
}

// isChar reports a character in single quotes, which lifetimes and type variables are not.
func isChar(s string) bool {
	if len(s) < 3 {
		return false
	}
	if s[1] == '\\' {
		return strings.IndexByte(s[2:min(len(s), 14)], '\'') >= 0
	}
	end := strings.IndexByte(s[1:min(len(s), 6)], '\'')
	return end > 0 && (end == 1 || s[1] >= 0x80)
}

// hereDocument reads "<<EOF" in languages that have it.
func (x *scanner) hereDocument(rest string) bool {
	if !x.l.documents || !strings.HasPrefix(rest, "<<") || strings.HasPrefix(rest, "<<<") {
		return false
	}
	n := 2
	for n < len(rest) && strings.IndexByte("-~", rest[n]) >= 0 {
		n++
	}
	word := rest[n:]
	if word == "" {
		return false
	}
	q := word[0]
	if q == '\'' || q == '"' {
		end := strings.IndexByte(word[1:], q)
		if end < 1 {
			return false
		}
		x.docs, n = word[1:1+end], n+end+2
	} else {
		end := x.wordEnd(word)
		if end == 0 || digit(q) {
			return false
		}
		x.docs, n = word[:end], n+end
	}
	x.put(Keyword, n)
	return true
}

// variable reads $name, ${name} and $1.
func (x *scanner) variable(rest string) {
	n := 1
	switch {
	case strings.HasPrefix(rest, "${"):
		if end := strings.IndexByte(rest, '}'); end > 0 {
			n = end + 1
		}
	case len(rest) > 1 && x.word(rest[1]) && rest[1] != '$':
		n += x.wordEnd(rest[1:])
	case len(rest) > 1 && strings.IndexByte("0123456789?#@*!$-", rest[1]) >= 0:
		n = 2
	}
	x.put(Variable, n)
}

// name reads a word and its kind.
func (x *scanner) name(rest string) {
	n := x.wordEnd(rest)
	word := rest[:n]
	after := rest[n:]
	if x.l.fold {
		word = strings.ToLower(word)
	}
	x.put(x.kindOf(word, after), n)
}

func (x *scanner) kindOf(word, after string) Kind {
	if k, ok := x.l.words()[word]; ok && (x.end == 0 || x.s[x.end-1] != '.') {
		return k
	}
	after = strings.TrimLeft(after, " ")
	switch {
	case x.l.keys == ":" && strings.HasPrefix(after, ":") && x.isFirst(), x.l.keys == "=" && strings.HasPrefix(after,
		"=") && x.isFirst():
		return Tag
	case strings.HasPrefix(after, "("), strings.HasPrefix(after, "!(") && x.l.bang:
		return Function
	case x.l.upper && 'A' <= word[0] && word[0] <= 'Z':
		if len(word) > 1 && strings.ToUpper(word) == word {
			return Constant
		}
		return Type
	}
	return Plain
}

func (x *scanner) word(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c >= 0x80 || strings.IndexByte(x.l.letters, c) >= 0
}

func (x *scanner) wordEnd(s string) int {
	n := 0
	for n < len(s) && (x.word(s[n]) || digit(s[n])) {
		n++
	}
	return n
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// number is the length of a number, with its base, fraction, exponent and unit.
func number(s string) int {
	n := 1
	for n < len(s) {
		c := s[n]
		sign := (c == '+' || c == '-') && strings.IndexByte("eEpP", s[n-1]) >= 0 && !strings.HasPrefix(s, "0x")
		if !digit(c) && (c|' ' < 'a' || c|' ' > 'z') && c != '_' && !sign && (c != '.' || n+1 < len(s) && s[n+1] == '.') {
			break
		}
		n++
	}
	return n
}
