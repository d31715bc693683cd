package shell

import (
	"path/filepath"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/lathe-dev/lathe/internal/permission"
)

// member is ${a[1]}, ${a[@]}, ${#a[@]} or $a of an array of which all members are known.
func (a *analysis) member(p *syntax.ParamExp, split bool, sc *scope) (text string, ok bool) {
	if p.Param == nil || len(sc.vars) == 0 {
		return "", false
	}
	b := sc.vars[p.Param.Value]
	if b.array == nil || !b.turn || a.loose || !plainParam(&syntax.ParamExp{
		Param: p.Param, Slice: p.Slice, Repl: p.Repl,
		Exp: p.Exp, Modifiers: p.Modifiers,
	}) ||
		p.Excl || p.Width || p.IsSet || p.Names != 0 || p.NestedParam != nil || p.Flags != nil {
		return "", false
	}
	whole := wholeArray(p.Index)
	switch {
	case p.Length && whole:
		return strconv.Itoa(len(b.array.members)), true
	case p.Length:
		return "", false
	case p.Index == nil:
		return b.array.members[0], true
	case whole:
		word, _ := p.Index.(*syntax.Word)
		return strings.Join(b.array.members, " "), split || word.Lit() == "@"
	}
	n, known := (&arith{a: a, sc: sc}).value(p.Index)
	if !known || n < 0 || n >= int64(len(b.array.members)) {
		return "", false
	}
	return b.array.members[n], true
}

// changesPlainly reports whether it is an operator on a known plain text whose result is the same in every bash:
// ${x,,}, ${x^^}, ${x:-word} of a text, ${x/a/b} and ${x:1:2}.
func changesPlainly(p *syntax.ParamExp, text string) bool {
	if p.Index != nil || len(p.Modifiers) > 0 || !ascii(text) {
		return false
	}
	switch {
	case p.Slice != nil:
		_, from := number(p.Slice.Offset)
		_, count := number(p.Slice.Length)
		return p.Repl == nil && p.Exp == nil && from && (p.Slice.Length == nil || count)
	case p.Repl != nil:
		from, to := p.Repl.Orig.Lit(), ""
		if p.Repl.With != nil {
			if to = p.Repl.With.Lit(); to == "" && len(p.Repl.With.Parts) > 0 {
				return false
			}
		}
		return p.Exp == nil && from != "" && !strings.ContainsAny(from, "*?[]\\#%~/&()|!@+") && !strings.ContainsAny(to,
			"&\\~/")
	case p.Exp != nil && p.Exp.Word != nil && len(p.Exp.Word.Parts) > 0:
		return text != "" && (p.Exp.Op == syntax.DefaultUnset || p.Exp.Op == syntax.DefaultUnsetOrNull) &&
			p.Exp.Word.Lit() != ""
	case p.Exp != nil:
		return p.Exp.Op == syntax.LowerAll || p.Exp.Op == syntax.UpperAll
	}
	return false
}

// topLevel is the output of git rev-parse --show-toplevel: the folder, at or above the current one, that has a .git. In
// a folder without repository it is taken for the folder that the line began in, where the safe form then stays.
func (a *analysis) topLevel(c *syntax.CmdSubst, sc *scope) (dir string, ok bool) {
	if len(c.Stmts) != 1 || !simple(c.Stmts[0]) || len(sc.dirs) != 1 || !below(sc.dirs[0], a.start) && !below(a.start,
		sc.dirs[0]) {
		return "", false
	}
	call := c.Stmts[0].Cmd.(*syntax.CallExpr)
	if len(call.Args) != 3 || len(call.Assigns) > 0 || call.Args[0].Lit() != "git" || call.Args[1].Lit() != "rev-parse" ||
		call.Args[2].Lit() != "--show-toplevel" ||
		c.Stmts[0].Negated || c.Stmts[0].Background {
		return "", false
	}
	for dir = sc.dirs[0]; ; dir = filepath.Dir(dir) {
		if a.world.Stat(dir+"/.git").Kind != permission.Missing {
			return dir, oneWord.MatchString(dir)
		}
		if dir == filepath.Dir(dir) {
			return a.start, oneWord.MatchString(a.start) && a.supposes()
		}
	}
}
