package shell

import (
	"regexp"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// decimal is an integer that every shell reads the same way: no octal, nothing that could overflow at once.
var decimal = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,17})$`)

// maxArithmetic is how deep expressions are followed.
const maxArithmetic = 50

// arith evaluates arithmetic on written numbers and on variables that the line set to numbers.
type arith struct {
	a       *analysis
	sc      *scope
	assigns bool // assignments are made; else an expression with one is not understood
	depth   int
}

// integer is the value of an expression of which all is known.
func (a *analysis) integer(x syntax.ArithmExpr, sc *scope) (string, bool) {
	n, ok := (&arith{a: a, sc: sc}).value(x)
	return strconv.FormatInt(n, 10), ok
}

func (e *arith) value(x syntax.ArithmExpr) (int64, bool) {
	if e.depth++; e.depth > maxArithmetic {
		return 0, false
	}
	defer func() { e.depth-- }()
	switch x := x.(type) {
	case *syntax.Word:
		return e.word(x)
	case *syntax.ParenArithm:
		return e.value(x.X)
	case *syntax.UnaryArithm:
		return e.unary(x)
	case *syntax.BinaryArithm:
		return e.binary(x)
	}
	return 0, false
}

// word is a number, or a variable that holds one: i, $i, ${i}.
func (e *arith) word(w *syntax.Word) (int64, bool) {
	if text := w.Lit(); decimal.MatchString(text) {
		return toInteger(text)
	}
	name, ok := variableName(w)
	if !ok {
		return 0, false
	}
	b, ok := e.sc.vars[name]
	if !ok || !b.known || !b.turn || b.array != nil || e.a.loose || !decimal.MatchString(b.text) {
		return 0, false
	}
	return toInteger(b.text)
}

func toInteger(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// variableName is the name of the one variable that a word of an expression is.
func variableName(w *syntax.Word) (string, bool) {
	if name := w.Lit(); syntax.ValidName(name) {
		return name, true
	}
	if len(w.Parts) != 1 {
		return "", false
	}
	p, ok := w.Parts[0].(*syntax.ParamExp)
	if !ok || p.Param == nil || !plainParam(p) || p.Length || p.Excl || p.Names != 0 || p.NestedParam != nil ||
		p.Flags != nil || p.Width || p.IsSet {
		return "", false
	}
	return p.Param.Value, syntax.ValidName(p.Param.Value)
}

func (e *arith) unary(x *syntax.UnaryArithm) (int64, bool) {
	n, ok := e.value(x.X)
	switch x.Op {
	case syntax.Inc, syntax.Dec:
		next := n + 1
		if x.Op == syntax.Dec {
			next = n - 1
		}
		if !ok || !e.set(x.X, next) {
			return 0, false
		}
		if x.Post {
			return n, true
		}
		return next, true
	case syntax.Minus:
		return -n, ok
	case syntax.Plus:
		return n, ok
	case syntax.Not:
		return truth(n == 0), ok
	case syntax.BitNegation:
		return ^n, ok
	}
	return 0, false
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// assigning are the operators of assignments with that which they do before.
var assigning = map[syntax.BinAritOperator]syntax.BinAritOperator{
	syntax.Assgn: 0, syntax.AddAssgn: syntax.Add, syntax.SubAssgn: syntax.Sub, syntax.MulAssgn: syntax.Mul,
	syntax.QuoAssgn: syntax.Quo, syntax.RemAssgn: syntax.Rem,
}

func (e *arith) binary(x *syntax.BinaryArithm) (int64, bool) {
	op, assigns := assigning[x.Op]
	right, ok := e.value(x.Y)
	if assigns && op == 0 {
		return right, ok && e.set(x.X, right)
	}
	left, known := e.value(x.X)
	if !ok || !known {
		return 0, false // also where one side would not be looked at: nothing is left open
	}
	if !assigns {
		return calculated(x.Op, left, right)
	}
	n, ok := calculated(op, left, right)
	return n, ok && e.set(x.X, n)
}

func calculated(op syntax.BinAritOperator, l, r int64) (int64, bool) {
	switch op {
	case syntax.Add:
		return l + r, true
	case syntax.Sub:
		return l - r, true
	case syntax.Mul:
		return l * r, true
	case syntax.Quo:
		if r == 0 || r == -1 {
			return -l, r == -1
		}
		return l / r, true
	case syntax.Rem:
		if r == 0 || r == -1 {
			return 0, r == -1
		}
		return l % r, true
	case syntax.Eql:
		return truth(l == r), true
	case syntax.Neq:
		return truth(l != r), true
	case syntax.Leq:
		return truth(l <= r), true
	case syntax.Geq:
		return truth(l >= r), true
	case syntax.Lss:
		return truth(l < r), true
	case syntax.Gtr:
		return truth(l > r), true
	case syntax.AndArit:
		return truth(l != 0 && r != 0), true
	case syntax.OrArit:
		return truth(l != 0 || r != 0), true
	case syntax.Pow:
		n := int64(1)
		for range min(max(r, 0), 64) {
			n *= l
		}
		return n, r >= 0 && r <= 64
	case syntax.Comma:
		return r, true
	}
	return 0, false
}

// set assigns a number to the variable that an expression names.
func (e *arith) set(x syntax.ArithmExpr, n int64) bool {
	w, ok := x.(*syntax.Word)
	if !ok || !e.assigns || !syntax.ValidName(w.Lit()) || !ordinaryName(w.Lit()) || e.a.loose {
		return false
	}
	if b, had := e.sc.vars[w.Lit()]; had && b.array != nil {
		return false
	}
	e.sc.assign(w.Lit(), binding{text: strconv.FormatInt(n, 10), known: true, turn: true})
	return true
}

// calculates walks (( )) or let where all in it is known: variables get their new values at once, and only the exit
// status is left for the safe form.
func (a *analysis) calculates(exprs []syntax.ArithmExpr, raw string, sc *scope) (script string, ok bool) {
	if a.mute > 0 {
		return "", false
	}
	vars := copied(sc.vars)
	var last int64
	for _, x := range exprs {
		if last, ok = (&arith{a: a, sc: sc, assigns: true}).value(x); !ok {
			sc.vars = vars
			return "", false
		}
	}
	a.noteTest(raw, sc)
	return map[bool]string{true: "builtin true", false: "builtin false"}[last != 0], true
}

// maxTurns is how often a loop with a counter is walked.
const maxTurns = 50

// counted walks a loop whose condition is known in each turn. The safe form has the turns one after the other.
func (a *analysis) counted(c syntax.Command, sc *scope) (script string, done bool) {
	if a.mute > 0 || a.trying {
		return "", false
	}
	was := a.snapshot()
	inner := sc.child()
	a.trying = true
	turns, ok := a.turns(c, inner)
	if !ok || !a.looked(len(was.parts)) {
		*a = was
		return "", false
	}
	a.trying = false
	sc.vars, sc.dirs, sc.last, sc.stack = inner.vars, inner.dirs, inner.last, inner.stack
	return turns, true
}

// turns walks the turns of while, until or for (( )).
func (a *analysis) turns(c syntax.Command, sc *scope) (script string, ok bool) {
	var init, post []syntax.ArithmExpr
	var holds func() (bool, bool)
	var body []*syntax.Stmt
	switch c := c.(type) {
	case *syntax.WhileClause:
		body = c.Do
		holds = func() (bool, bool) {
			yes, known := a.holds(c.Cond, sc)
			return yes != c.Until, known
		}
	case *syntax.ForClause:
		l, _ := c.Loop.(*syntax.CStyleLoop)
		if l == nil || l.Init == nil || l.Cond == nil || l.Post == nil {
			return "", false
		}
		body, init, post = c.Do, []syntax.ArithmExpr{l.Init}, []syntax.ArithmExpr{l.Post}
		holds = func() (bool, bool) {
			n, known := (&arith{a: a, sc: sc, assigns: true}).value(l.Cond)
			return n != 0, known
		}
	}
	if init != nil {
		if _, ok := a.calculates(init, "for (( ))", sc); !ok {
			return "", false
		}
	}
	scripts := []string{"builtin ':'"}
	for range maxTurns {
		yes, known := holds()
		if !known {
			return "", false
		}
		if !yes {
			return group(scripts), true
		}
		text, ok := a.list(body, sc)
		if !ok {
			return "", false
		}
		scripts = append(scripts, "{ "+text+"; }")
		if post != nil {
			if _, ok := a.calculates(post, "for (( ))", sc); !ok {
				return "", false
			}
		}
	}
	return "", false
}

// group joins scripts to one command, so that an operator or redirection counts for all of them.
func group(scripts []string) string {
	if len(scripts) == 1 {
		return scripts[0]
	}
	return "{ " + strings.Join(scripts, "; ") + "; }"
}

// holds is the result of a condition of which all is known: [ 1 -lt 3 ], (( i < 3 )), [[ $i -lt 3 ]].
func (a *analysis) holds(cond []*syntax.Stmt, sc *scope) (yes, known bool) {
	if len(cond) != 1 || len(cond[0].Redirs) > 0 || cond[0].Negated || cond[0].Background {
		return false, false
	}
	switch c := cond[0].Cmd.(type) {
	case *syntax.ArithmCmd:
		script, ok := a.calculates([]syntax.ArithmExpr{c.X}, a.source(c, sc), sc)
		return script == "builtin true", ok
	case *syntax.TestClause:
		if t, ok := c.X.(*syntax.BinaryTest); ok {
			x, okX := t.X.(*syntax.Word)
			y, okY := t.Y.(*syntax.Word)
			if okX && okY {
				a.noteTest(a.source(c, sc), sc)
				return compared(a.expandOne(x, sc), t.Op.String(), a.expandOne(y, sc))
			}
		}
	case *syntax.CallExpr:
		words := a.words(c.Args, sc)
		if len(words) == 5 && words[0].text == "[" && words[4].text == "]" || len(words) == 4 && words[0].text == "test" {
			if _, ok := a.stmt(cond[0], sc, input{}); ok {
				return compared(words[1], words[2].text, words[3])
			}
		}
	}
	return false, false
}

// compared is the result of a comparison of two known texts.
func compared(x word, op string, y word) (yes, known bool) {
	if !x.literal() || !y.literal() || x.glob || y.glob {
		return false, false
	}
	switch op {
	case "=", "==":
		return x.text == y.text, decimal.MatchString(y.text)
	case "!=":
		return x.text != y.text, decimal.MatchString(y.text)
	}
	l, okL := toInteger(x.text)
	r, okR := toInteger(y.text)
	known = okL && okR && decimal.MatchString(x.text) && decimal.MatchString(y.text)
	switch op {
	case "-eq":
		return l == r, known
	case "-ne":
		return l != r, known
	case "-lt":
		return l < r, known
	case "-le":
		return l <= r, known
	case "-gt":
		return l > r, known
	case "-ge":
		return l >= r, known
	}
	return false, false
}
