package shell

import (
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// processFile is a name that <( ) may become.
const processFile = "/dev/fd/63"

// pieces expands one part of a word.
func (a *analysis) pieces(out []piece, part syntax.WordPart, sc *scope, first, last bool) []piece {
	switch p := part.(type) {
	case *syntax.Lit:
		return append(out, a.literalPiece(p.Value, sc, first, last)...)
	case *syntax.SglQuoted:
		if !p.Dollar {
			return append(out, piece{text: p.Value, show: p.Value, quoted: true})
		}
		a.saw(oddAnsi, a.source(p, sc))
		text, ok := ansi(p.Value)
		return append(out, piece{text: text, show: text, quoted: true, worked: encoded(p.Value), unknown: !ok})
	case *syntax.DblQuoted:
		return append(out, a.quotedPieces(p, sc)...)
	case *syntax.ParamExp:
		return append(out, a.param(p, sc, true))
	case *syntax.CmdSubst:
		return append(out, a.substitute(p, sc, true))
	case *syntax.ArithmExp:
		sum := plainSum(p.X, sc)
		if !sum {
			a.saw(oddArithmetic, a.source(p, sc))
			a.arithmetic(p.X, sc)
		}
		return append(out, piece{show: a.source(p, sc), unknown: true, worked: true, split: true, open: sum})
	case *syntax.ProcSubst:
		open := a.processSubstitution(p, sc)
		return append(out, piece{
			text: processFile, show: a.source(p, sc), unknown: !open, worked: true, produced: p, quoted: true, open: open,
		})
	case *syntax.ExtGlob:
		source := a.source(p, sc)
		a.saw(oddExtGlob, source)
		return append(out, piece{text: "*", show: source, worked: true})
	case *syntax.BraceExp:
		return append(out, piece{text: "{}", show: "{}", unknown: true, worked: true})
	}
	return append(out, piece{unknown: true, worked: true})
}

// literalPiece is unquoted text, in which only ~ at the beginning means something else.
func (a *analysis) literalPiece(text string, sc *scope, first, last bool) []piece {
	if !first || text == "" {
		return []piece{{text: text, show: unescape(text)}}
	}
	switch text[0] {
	case '~':
		user, rest, _ := strings.Cut(text[1:], "/")
		if len(user) != len(text)-1 {
			rest = "/" + rest
		}
		switch {
		case user == "" && (last || rest != ""):
			return []piece{{text: a.world.Home(), show: "~", tilde: true, literal: true}, {text: rest, show: unescape(rest)}}
		case user == "+":
			return []piece{
				{text: sc.dir(), show: "~+", worked: true, unknown: sc.dirs == nil},
				{text: rest, show: unescape(rest)},
			}
		case user != "" && user == filepath.Base(a.world.Home()):
			return []piece{{text: a.world.Home(), show: "~" + user, worked: true}, {text: rest, show: unescape(rest)}}
		default:
			return []piece{{text: text, show: text, worked: true, unknown: true}}
		}
	case '=':
		if len(text) > 1 && text[1] != '=' && text[1] != '~' {
			a.saw(oddEquals, text)
		}
	}
	return []piece{{text: text, show: unescape(text)}}
}

// plainSum reports whether arithmetic has nothing but numbers in it, and names that the line gives numbers.
func plainSum(x syntax.ArithmExpr, sc *scope) bool {
	plain := true
	syntax.Walk(x, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Word:
			name := strings.TrimPrefix(n.Lit(), "$")
			if known := variableName(n); known != "" {
				name = known
			}
			if sc.vars[name].fixed {
				name = sc.vars[name].text
			}
			plain = plain && isNumber(name) && (name[0] != '0' || name == "0")
			return false
		case *syntax.BinaryArithm:
			plain = plain && strings.Contains(" + - * == != < > <= >= && || ", " "+n.Op.String()+" ")
		case *syntax.UnaryArithm:
			plain = plain && n.Op != syntax.Inc && n.Op != syntax.Dec
		}
		return plain
	})
	return plain
}

// substitute is $( ) as a piece of a word.
func (a *analysis) substitute(c *syntax.CmdSubst, sc *scope, split bool) piece {
	text, known, open := a.substitution(c, sc)
	if open && known && !split && printsDocument(c) {
		return piece{text: text, show: text, quoted: true}
	}
	return piece{
		text: text, show: a.source(c, sc), unknown: !known, worked: true, split: split, quoted: !split, open: open,
	}
}

// printsDocument reports whether a substitution is cat with a here-document: a text over several lines.
func printsDocument(c *syntax.CmdSubst) bool {
	if len(c.Stmts) != 1 || c.Stmts[0].Negated || len(c.Stmts[0].Redirs) != 1 {
		return false
	}
	call, ok := c.Stmts[0].Cmd.(*syntax.CallExpr)
	r := c.Stmts[0].Redirs[0]
	return ok && len(call.Args) == 1 && len(call.Assigns) == 0 && call.Args[0].Lit() == "cat" && ofInput(r) &&
		(r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc)
}

// looked reports whether all parts from one on are read-only.
func (a *analysis) looked(from int) bool {
	for _, p := range a.parts[from:] {
		if !p.Class.ReadOnly() || !p.Exact {
			return false
		}
	}
	return from < len(a.parts)
}

// quotedPieces are the parts between double quotes.
func (a *analysis) quotedPieces(q *syntax.DblQuoted, sc *scope) []piece {
	out := []piece{{quoted: true, worked: q.Dollar}}
	for _, part := range q.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			text := unescapeDouble(p.Value)
			out = append(out, piece{text: text, show: text, quoted: true})
		case *syntax.ParamExp:
			got := a.param(p, sc, false)
			got.quoted = true
			out = append(out, got)
		case *syntax.CmdSubst:
			out = append(out, a.substitute(p, sc, false))
		default:
			for _, got := range a.pieces(nil, p, sc, false, false) {
				got.quoted, got.split = true, false
				out = append(out, got)
			}
		}
	}
	return out
}

// param expands $x and ${x...} as far as the line shows the value of x.
func (a *analysis) param(p *syntax.ParamExp, sc *scope, split bool) piece {
	out := piece{show: a.source(p, sc), worked: true, unknown: true, split: split}
	a.paramParts(p, sc)
	if p.Param == nil || p.Excl || p.Names != 0 || p.NestedParam != nil || p.Flags != nil {
		a.saw(oddIndirect, out.show)
		if p.Excl && p.Param != nil {
			name, _ := a.variable(p.Param.Value, sc)
			out.text, _ = a.variable(name, sc)
		}
		return out
	}
	name := p.Param.Value
	if name == "IFS" {
		a.saw(oddIFS, out.show)
	}
	text, known := a.variable(name, sc)
	if p.Length || p.Width || p.IsSet {
		out.text = strconv.Itoa(len(text))
		return out
	}
	if p.Index != nil {
		text, known = element(text, known, p.Index)
	}
	// "$@" and "${a[@]}" are several words even in quotes.
	out.split = out.split || name == "@" || wholeArray(p.Index)
	out.text, known = a.operate(p, text, known, sc)
	out.unknown = !known
	b, set := sc.vars[name]
	switch {
	case !plainParam(p):
	case set && b.fixed && known:
		out.worked, out.show = false, out.text
	case set:
		out.open, out.listed = b.open, b.turn != nil && b.turn.listed
	case known && (name == "HOME" || name == "PWD"):
		out.worked = false // it is the same to whoever reads the line
	default:
		out.open = inList("session variables", name)
	}
	return out
}

// trimmed takes off the shortest or longest part at the end or beginning of a text that a pattern of * and ? matches.
func trimmed(op syntax.ParExpOperator, text, pattern string) string {
	best, found := text, false
	for i := range len(text) + 1 {
		rest, part := text[:i], text[i:]
		if op == syntax.RemSmallPrefix || op == syntax.RemLargePrefix {
			rest, part = part, rest
		}
		longest := op == syntax.RemLargeSuffix || op == syntax.RemLargePrefix
		// A / is a character like others to the shell.
		if ok, err := path.Match(noSlashes.Replace(pattern), noSlashes.Replace(part)); err == nil && ok &&
			(!found || longest == (len(rest) < len(best))) {
			best, found = rest, true
		}
	}
	return best
}

var noSlashes = strings.NewReplacer("/", "\x00")

// plainParam reports whether it is ${name} and nothing else.
func plainParam(p *syntax.ParamExp) bool {
	return p.Index == nil && p.Slice == nil && p.Repl == nil && p.Exp == nil && len(p.Modifiers) == 0
}

// element is one member of an array whose members are kept joined by blanks, or all of them.
func element(text string, known bool, index syntax.ArithmExpr) (string, bool) {
	if wholeArray(index) {
		return text, known
	}
	n, ok := number(index)
	list := strings.Fields(text)
	if !ok || n < 0 || n >= len(list) {
		return text, false
	}
	return list[n], known
}

// wholeArray reports whether a subscript is @ or *.
func wholeArray(index syntax.ArithmExpr) bool {
	w, ok := index.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*")
}

// paramParts looks into everything within ${...} that bash may run.
func (a *analysis) paramParts(p *syntax.ParamExp, sc *scope) {
	if p.Index != nil {
		a.saw(oddSubscript, a.source(p, sc))
		a.arithmetic(p.Index, sc)
	}
	if p.Slice != nil {
		a.arithmetic(p.Slice.Offset, sc)
		a.arithmetic(p.Slice.Length, sc)
	}
	if p.Exp != nil && p.Exp.Op == syntax.OtherParamOps {
		a.saw(oddTransform, a.source(p, sc))
	}
	if p.NestedParam != nil {
		a.pieces(nil, p.NestedParam, sc, false, false)
	}
	if p.Param == nil || p.Excl {
		if p.Repl != nil {
			a.look(p.Repl.Orig, sc)
			a.look(p.Repl.With, sc)
		}
		if p.Exp != nil {
			a.look(p.Exp.Word, sc)
		}
	}
}

// look expands a word only for the commands in it.
func (a *analysis) look(w *syntax.Word, sc *scope) string {
	if w == nil {
		return ""
	}
	var b strings.Builder
	for i, got := range a.fields(w, sc, true) {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(got.text)
	}
	return b.String()
}

// variable is the value of a variable: the one that the line assigned, or the usual one, which is a guess.
func (a *analysis) variable(name string, sc *scope) (text string, known bool) {
	if b, ok := sc.vars[name]; ok {
		return b.text, b.known && !a.loose
	}
	switch name {
	case "HOME":
		return a.world.Home(), true
	case "PWD":
		return sc.dir(), len(sc.dirs) == 1
	case "IFS":
		return " \t\n", true
	case "PATH":
		return "/usr/local/bin:/usr/bin:/bin", false
	case "SHELL", "BASH":
		return "/bin/bash", false
	case "@", "*":
		if len(sc.args) > 0 {
			return strings.Join(sc.args[1:], " "), true
		}
		return "", false
	}
	if n, err := strconv.Atoi(name); err == nil && n >= 0 && n < len(sc.args) {
		return sc.args[n], true
	}
	return "", false
}

// operate applies the operator in ${x...}.
func (a *analysis) operate(p *syntax.ParamExp, text string, known bool, sc *scope) (string, bool) {
	switch {
	case p.Slice != nil:
		cut, ok := slice(text, p.Slice)
		return cut, known && ok
	case p.Repl != nil:
		from, to := a.look(p.Repl.Orig, sc), a.look(p.Repl.With, sc)
		n := 1
		if p.Repl.All {
			n = -1
		}
		if from == "" {
			return text, known
		}
		return strings.Replace(text, from, to, n), known && !hasMeta(from)
	case p.Exp != nil:
		return a.expansion(p, text, known, sc)
	case len(p.Modifiers) > 0:
		a.saw(oddIndirect, a.source(p, sc))
		return text, false
	}
	return text, known
}

// expansion applies ${x:-word} and the like.
func (a *analysis) expansion(p *syntax.ParamExp, text string, known bool, sc *scope) (string, bool) {
	word := a.look(p.Exp.Word, sc)
	switch p.Exp.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		if text == "" {
			return word, false
		}
		return text, known
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		a.saw(oddAssignExpand, a.source(p, sc))
		if text == "" {
			text = word
			sc.assign(p.Param.Value, binding{text: word})
		}
		return text, false
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		return word, false
	case syntax.RemSmallSuffix, syntax.RemLargeSuffix, syntax.RemSmallPrefix, syntax.RemLargePrefix:
		return trimmed(p.Exp.Op, text, word), known && !strings.ContainsAny(word, "[\\")
	case syntax.LowerAll:
		return strings.ToLower(text), known
	case syntax.UpperAll:
		return strings.ToUpper(text), known
	case syntax.OtherParamOps:
		return a.transform(word, text, sc), false
	}
	return text, false
}

// transform follows ${x@P}, which runs the substitutions in the value of x, and ${x@E}, which decodes it.
func (a *analysis) transform(op, text string, sc *scope) string {
	switch op {
	case "P":
		a.prompt(text, sc, "${...@P}")
	case "E":
		text, _ = ansi(text)
	case "U":
		return strings.ToUpper(text)
	case "L":
		return strings.ToLower(text)
	}
	return text
}

// slice cuts ${x:from:count} for numbers that are written out.
func slice(text string, s *syntax.Slice) (string, bool) {
	from, ok := number(s.Offset)
	if !ok {
		return text, false
	}
	if from < 0 {
		from += len(text)
	}
	from = min(max(from, 0), len(text))
	text = text[from:]
	if s.Length == nil {
		return text, true
	}
	count, ok := number(s.Length)
	if !ok {
		return text, false
	}
	if count < 0 {
		count += len(text)
	}
	return text[:min(max(count, 0), len(text))], true
}

// number reads a written number, also -1 and (-1).
func number(x syntax.ArithmExpr) (int, bool) {
	switch x := x.(type) {
	case *syntax.Word:
		n, err := strconv.Atoi(x.Lit())
		return n, err == nil
	case *syntax.ParenArithm:
		return number(x.X)
	case *syntax.UnaryArithm:
		n, ok := number(x.X)
		if x.Op == syntax.Minus {
			return -n, ok
		}
		return n, ok && x.Op == syntax.Plus
	}
	return 0, false
}
