package shell

import (
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
		text, known := a.integer(p.X, sc)
		if known {
			return append(out, piece{text: text, show: text, literal: true})
		}
		a.saw(oddArithmetic, a.source(p, sc))
		a.arithmetic(p.X, sc)
		return append(out, piece{text: text, show: a.source(p, sc), unknown: true, worked: true, split: true})
	case *syntax.ProcSubst:
		script := a.processSubstitution(p, sc)
		return append(out, piece{
			text: processFile, show: a.source(p, sc), unknown: script == "", worked: true, produced: p,
			quoted: true, code: script,
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

// substitute is $( ) as a piece of a word. A read-only command that can be written anew may stay in a script.
func (a *analysis) substitute(c *syntax.CmdSubst, sc *scope, split bool) piece {
	from, odd, calls := len(a.parts), len(a.odd[oddSubst]), len(a.calls)
	text, known, script := a.substitution(c, sc)
	if onlyPwd(c) && known && len(sc.dirs) == 1 && !strings.ContainsAny(text, " \t\n*?[]\\\"'$`") && a.mute == 0 {
		a.odd[oddSubst] = a.odd[oddSubst][:min(odd, len(a.odd[oddSubst]))]
		return piece{text: text, show: text, quoted: true}
	}
	if top, ok := a.topLevel(c, sc); ok && a.mute == 0 && script != "" && a.looked(from) {
		a.odd[oddSubst] = a.odd[oddSubst][:min(odd, len(a.odd[oddSubst]))]
		return piece{text: top, show: top, quoted: true}
	}
	out := piece{text: text, show: a.source(c, sc), unknown: !known, worked: true, split: split, quoted: !split}
	if a.mute == 0 && script != "" && a.looked(from) {
		out.code, out.printed = "$( "+script+" )", true
		out.list = a.namesOf(c.Stmts, calls)
		a.odd[oddSubst] = a.odd[oddSubst][:odd]
	}
	return out
}

// onlyPwd reports whether a substitution prints the current folder and nothing else.
func onlyPwd(c *syntax.CmdSubst) bool {
	if len(c.Stmts) != 1 || len(c.Stmts[0].Redirs) > 0 || c.Stmts[0].Background || c.Stmts[0].Negated {
		return false
	}
	call, ok := c.Stmts[0].Cmd.(*syntax.CallExpr)
	return ok && len(call.Args) == 1 && len(call.Assigns) == 0 && call.Args[0].Lit() == "pwd"
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
	out := piece{show: a.source(p, sc), worked: true, split: split}
	if text, ok := a.member(p, split, sc); ok {
		out.text, out.show, out.worked, out.split = text, text, false, split || wholeArray(p.Index)
		return out
	}
	a.paramParts(p, sc)
	if p.Param == nil || p.Excl || p.Names != 0 || p.NestedParam != nil || p.Flags != nil {
		a.saw(oddIndirect, out.show)
		out.unknown = true
		if p.Repl != nil {
			a.look(p.Repl.Orig, sc)
			a.look(p.Repl.With, sc)
		}
		if p.Exp != nil {
			a.look(p.Exp.Word, sc)
		}
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
		out.text, out.unknown = strconv.Itoa(len(text)), true
		if p.Length && p.Index == nil && known && sc.vars[name].turn && ascii(text) {
			out.show, out.unknown, out.worked = out.text, false, false
		}
		return out
	}
	if p.Index != nil {
		text, known = element(text, known, p.Index)
	}
	// "$@" and "${a[@]}" are several words even in quotes.
	out.split = out.split || name == "@" || wholeArray(p.Index)
	if p.Exp != nil && known && text != "" && sc.vars[name].turn && changesPlainly(p, text) && among(p.Exp.Op.String(),
		"-", ":-") {
		a.look(p.Exp.Word, sc) // the word for an empty variable is not used
	} else {
		text, known = a.operate(p, text, known, sc)
	}
	out.text, out.unknown = text, !known
	if b := sc.vars[name]; b.code != "" && !known && plainParam(p) && !a.loose {
		out.code, out.printed, out.list = b.code, true, b.list
		return out
	}
	if known && (sc.vars[name].turn && (trimsBy(p) || changesPlainly(p, sc.vars[name].text)) || name == "PWD" &&
		trimsBy(p)) {
		out.worked, out.show = false, text
	}
	if _, ok := sc.vars[name]; !ok && !known {
		if code := a.tests.code(p); code != "" && !a.loose {
			out.code, out.printed = code, true
			return out
		}
	}
	if steady(p, name, sc) {
		switch b, ok := sc.vars[name]; {
		case ok && b.turn:
			out.worked, out.show = false, text
		case known && !ok:
			out.worked = false // it is the same to whoever reads the line
		case !ok:
			out.code = "${" + name + "}"
		}
	}
	return out
}

// steady reports whether ${name} is nothing but the value of a variable that the line does not compute: one
// that every session has and that holds no secret, or the variable of a loop.
func steady(p *syntax.ParamExp, name string, sc *scope) bool {
	if !plainParam(p) {
		return false
	}
	if b, ok := sc.vars[name]; ok {
		return b.turn && b.known
	}
	switch name {
	case "HOME":
		return true
	case "PWD":
		return len(sc.dirs) == 1
	case "USER", "LOGNAME", "SHELL", "HOSTNAME", "LANG", "TERM", "PATH", "UID", "EUID", "PPID", "RANDOM", "SECONDS",
		"LINENO", "OSTYPE", "HOSTTYPE", "MACHTYPE", "BASH_VERSION", "?", "$", "#", "!", "0":
		return true
	}
	return false
}

// trimsBy reports whether it is ${name%pattern} or its kin with a written pattern in which only * and ? are special.
func trimsBy(p *syntax.ParamExp) bool {
	if p.Exp == nil || p.Exp.Word == nil || p.Index != nil || p.Slice != nil || p.Repl != nil || len(p.Modifiers) > 0 {
		return false
	}
	switch p.Exp.Op {
	case syntax.RemSmallSuffix, syntax.RemLargeSuffix, syntax.RemSmallPrefix, syntax.RemLargePrefix:
		text := p.Exp.Word.Lit()
		return text != "" && !strings.ContainsAny(text, "[]\\~'\"$`()|!@+")
	}
	return false
}

// trimmed takes off the shortest or longest part at the end or beginning of a text that a pattern of * and ? matches.
func trimmed(op syntax.ParExpOperator, text, pattern string) string {
	best, found := text, false
	for i := range len(text) + 1 {
		rest, part := text[:i], text[i:]
		if op == syntax.RemSmallPrefix || op == syntax.RemLargePrefix {
			rest, part = text[i:], text[:i]
		}
		if !stands(pattern, part) {
			continue
		}
		longest := op == syntax.RemLargeSuffix || op == syntax.RemLargePrefix
		if !found || longest == (len(rest) < len(best)) {
			best, found = rest, true
		}
	}
	return best
}

// stands reports whether a pattern of * and ? stands for a text.
func stands(pattern, text string) bool {
	at, star, from := 0, -1, 0
	for i := 0; i < len(text); {
		switch {
		case at < len(pattern) && pattern[at] == '*':
			star, from = at, i
			at++
		case at < len(pattern) && (pattern[at] == '?' || pattern[at] == text[i]):
			at++
			i++
		case star >= 0:
			from++
			at, i = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[at:], "*") == ""
}

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
