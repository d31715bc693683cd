package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// quick parses the lines that are most of all lines: simple commands of literal and quoted words, with pipes, && || ;
// and redirections of output between them. Its trees are those of the parser, in memory that is used again; anything
// else in a line is left to the parser.
type quick struct {
	text string
	at   int
	mem  *trees
}

// trees is the memory of the nodes.
type trees struct {
	files   slab[syntax.File]
	stmts   slab[syntax.Stmt]
	calls   slab[syntax.CallExpr]
	lists   slab[syntax.BinaryCmd]
	redirs  slab[syntax.Redirect]
	words   slab[syntax.Word]
	lits    slab[syntax.Lit]
	singles slab[syntax.SglQuoted]
	doubles slab[syntax.DblQuoted]

	parts     slab[syntax.WordPart]
	wordRefs  slab[*syntax.Word]
	stmtRefs  slab[*syntax.Stmt]
	redirRefs slab[*syntax.Redirect]

	args       []*syntax.Word // of the command being read
	outputs    []*syntax.Redirect
	pieces     []syntax.WordPart
	statements []*syntax.Stmt
}

// empty gives all nodes back.
func (t *trees) empty() {
	t.files.empty()
	t.stmts.empty()
	t.calls.empty()
	t.lists.empty()
	t.redirs.empty()
	t.words.empty()
	t.lits.empty()
	t.singles.empty()
	t.doubles.empty()
	t.parts.empty()
	t.wordRefs.empty()
	t.stmtRefs.empty()
	t.redirRefs.empty()
}

// copied returns the members of a buffer in a slice of their own.
func (s *slab[T]) copied(list []T) []T {
	if len(list) == 0 {
		return nil
	}
	out := s.take(len(list))
	copy(out, list)
	return out
}

// quickly parses text, if it is of the simple kind.
func (t *trees) quickly(text string) (file *syntax.File, ok bool) {
	q := quick{text: text, mem: t}
	t.statements = t.statements[:0]
	for q.blanks(); q.at < len(text); q.blanks() {
		s := q.list()
		if s == nil {
			return nil, false
		}
		t.statements = append(t.statements, s)
		switch {
		case q.at == len(text):
		case text[q.at] == ';' && !q.follows(";&|"):
			s.Semicolon = q.pos()
			q.at++
		default:
			return nil, false
		}
	}
	file = t.files.one()
	file.Stmts = t.stmtRefs.copied(t.statements)
	return file, true
}

// pos is the place in the text, which has one line.
func (q *quick) pos() syntax.Pos { return syntax.NewPos(uint(q.at), 1, uint(q.at)+1) }

func (q *quick) blanks() {
	for q.at < len(q.text) && (q.text[q.at] == ' ' || q.text[q.at] == '\t') {
		q.at++
	}
}

// follows reports whether the next character but one is among those of a set.
func (q *quick) follows(set string) bool {
	return q.at+1 < len(q.text) && strings.IndexByte(set, q.text[q.at+1]) >= 0
}

// list reads a && b || c; nil for anything out of the ordinary, as with all that follow.
func (q *quick) list() *syntax.Stmt {
	s := q.pipe()
	for s != nil && q.at < len(q.text) {
		op := syntax.AndStmt
		switch c := q.text[q.at]; {
		case c == '&' && q.follows("&"):
		case c == '|' && q.follows("|"):
			op = syntax.OrStmt
		default:
			return s
		}
		s = q.join(s, op, 2, q.pipe)
	}
	return s
}

// pipe reads a | b | c.
func (q *quick) pipe() *syntax.Stmt {
	s := q.simple()
	for s != nil && q.at < len(q.text) && q.text[q.at] == '|' && !q.follows("|&") {
		s = q.join(s, syntax.Pipe, 1, q.simple)
	}
	return s
}

// join reads the operator, of n characters, and the statement behind it.
func (q *quick) join(left *syntax.Stmt, op syntax.BinCmdOperator, n int, next func() *syntax.Stmt) *syntax.Stmt {
	b, s := q.mem.lists.one(), q.mem.stmts.one()
	b.OpPos, b.Op, b.X = q.pos(), op, left
	q.at += n
	q.blanks()
	if b.Y = next(); b.Y == nil {
		return nil
	}
	s.Position, s.Cmd = left.Position, b
	return s
}

// simple reads a command, and the blanks behind it.
func (q *quick) simple() *syntax.Stmt {
	s := q.mem.stmts.one()
	s.Position = q.pos()
	q.mem.args, q.mem.outputs = q.mem.args[:0], q.mem.outputs[:0]
	for ; q.at < len(q.text) && strings.IndexByte(";|&", q.text[q.at]) < 0; q.blanks() {
		if q.text[q.at] == '>' {
			if !q.output(nil) {
				return nil
			}
			continue
		}
		start := q.at
		w := q.word()
		if w == nil {
			return nil
		}
		if q.at < len(q.text) && q.text[q.at] == '>' {
			if written := q.text[start:q.at]; strings.Trim(written, "0123456789") == "" {
				if !q.output(w.Parts[0].(*syntax.Lit)) {
					return nil
				}
				continue
			} else if strings.HasSuffix(written, "}") {
				return nil
			}
		}
		if len(q.mem.args) == 0 && !ordinaryFirst(q.text[start:q.at]) {
			return nil
		}
		q.mem.args = append(q.mem.args, w)
	}
	if len(q.mem.args) == 0 {
		return nil
	}
	c := q.mem.calls.one()
	c.Args = q.mem.wordRefs.copied(q.mem.args)
	s.Cmd, s.Redirs = c, q.mem.redirRefs.copied(q.mem.outputs)
	return s
}

// output reads >file, >>file or >&1. What stands before it may be the number that it belongs to.
func (q *quick) output(number *syntax.Lit) bool {
	r := q.mem.redirs.one()
	r.N, r.OpPos, r.Op = number, q.pos(), syntax.RdrOut
	q.at++
	if q.at < len(q.text) {
		switch q.text[q.at] {
		case '>':
			r.Op = syntax.AppOut
			q.at++
		case '&':
			r.Op = syntax.DplOut
			q.at++
		}
	}
	q.blanks()
	if r.Word = q.word(); r.Word == nil || q.at < len(q.text) && q.text[q.at] == '>' {
		return false
	}
	q.mem.outputs = append(q.mem.outputs, r)
	return true
}

// ordinaryFirst reports whether the first word of a command is neither a word of the shell's grammar nor an assignment.
func ordinaryFirst(word string) bool {
	switch word {
	case "if", "then", "elif", "else", "fi", "while", "until", "for", "do", "done", "case", "esac", "in", "select",
		"function", "time", "coproc",
		"]]", "let", "declare", "local", "export", "readonly", "typeset", "nameref":
		return false
	case "[":
		return true
	}
	return !strings.ContainsAny(word, "={}[!")
}

// isPlain reports whether a character stands for itself in a word without quotes, patterns and braces included, which
// are expanded later.
func isPlain(c byte) bool {
	switch c {
	case '_', '.', '/', ':', ',', '@', '%', '+', '-', '=', '^', '*', '?', '[', ']', '~', '{', '}', '!':
		return true
	}
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// word reads one word; nil where there is none.
func (q *quick) word() *syntax.Word {
	q.mem.pieces = q.mem.pieces[:0]
	for q.at < len(q.text) {
		switch c := q.text[q.at]; {
		case isPlain(c):
			from := q.at
			for q.at++; q.at < len(q.text) && isPlain(q.text[q.at]); q.at++ {
				if q.text[q.at] == '[' { // the parser ends a piece there, for the sake of subscripts
					return nil
				}
			}
			q.mem.pieces = append(q.mem.pieces, q.lit(from))
		case c == '\'' || c == '"':
			if !q.quoted(c) {
				return nil
			}
		case strings.IndexByte(" \t;|&>", c) >= 0:
			return q.whole()
		default:
			return nil
		}
	}
	return q.whole()
}

// whole is the word of the pieces read; nil for none.
func (q *quick) whole() *syntax.Word {
	if len(q.mem.pieces) == 0 {
		return nil
	}
	w := q.mem.words.one()
	w.Parts = q.mem.parts.copied(q.mem.pieces)
	return w
}

// lit is the text from there to here.
func (q *quick) lit(from int) *syntax.Lit {
	l := q.mem.lits.one()
	l.ValuePos, l.ValueEnd, l.Value = syntax.NewPos(uint(from), 1, uint(from)+1), q.pos(), q.text[from:q.at]
	return l
}

// quoted reads text in quotes in which nothing is expanded, and no line ends.
func (q *quick) quoted(mark byte) bool {
	left, from := q.pos(), q.at+1
	for q.at++; q.at < len(q.text) && q.text[q.at] != mark; q.at++ {
		c := q.text[q.at]
		if c != '\t' && (c < ' ' || c >= 0x7f) || mark == '"' && (c == '$' || c == '`' || c == '\\') {
			return false
		}
	}
	if q.at == len(q.text) {
		return false
	}
	if mark == '\'' {
		s := q.mem.singles.one()
		s.Left, s.Right, s.Value = left, q.pos(), q.text[from:q.at]
		q.mem.pieces = append(q.mem.pieces, s)
	} else {
		d := q.mem.doubles.one()
		d.Left, d.Right = left, q.pos()
		if from < q.at {
			d.Parts = q.mem.parts.take(1)
			d.Parts[0] = q.lit(from)
		}
		q.mem.pieces = append(q.mem.pieces, d)
	}
	q.at++
	return true
}
